"""The store and LangGraph's own, side by side on the same random operations."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import GetOp, Item, ListNamespacesOp, MatchCondition, Op, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from prism_core import PrismMemory
from prism_langchain import PrismStore

SCOPE = ("acme", "alice")
OPERATIONS = 20_000
LABELS = ("a", "b", "ü", "a b")
KEYS = ("k1", "日本", "with.dot", '"')


class Reference(InMemoryStore):
    """LangGraph's store without the namespaces that are empty, its items in the order their keys were put first."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[tuple[tuple[str, ...], str], int] = {}
        self.next_place = 0

    def _handle_list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        for namespace in [namespace for namespace, held in self._data.items() if not held]:
            del self._data[namespace]
        return super()._handle_list_namespaces(op)

    def _apply_put_ops(self, put_ops: dict[tuple[tuple[str, ...], str], PutOp]) -> None:
        super()._apply_put_ops(put_ops)
        for name, op in put_ops.items():
            if op.value is None:
                self.places.pop(name, None)
            elif name not in self.places:
                self.places[name] = self.next_place = self.next_place + 1

    def _filter_items(self, op: SearchOp) -> list[tuple[Item, list[list[float]]]]:
        found = super()._filter_items(op._replace(limit=1_000_000, offset=0))
        return sorted(found, key=lambda each: self.places[each[0].namespace, each[0].key])


class Draw:
    """Random operations, the same for a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def namespace(self, *, least: int = 1) -> tuple[str, ...]:
        depth = max(least, self.random.choice([0, 1, 1, 2, 2, 3]))
        return tuple(self.random.choice(LABELS) for _ in range(depth))

    def scalar(self) -> Any:
        return self.random.choice([0, 1, 2, 1.0, -3.5, True, False, None, "x", "ü\n", "", 10**30])

    def value(self, depth: int = 0) -> dict[str, Any]:
        kinds = ["scalar", "scalar", "list", "dict"] if depth < 2 else ["scalar"]
        value: dict[str, Any] = {}
        for name in self.random.sample(("n", "s", "t", "$x", "x.y"), self.random.randint(0, 4)):
            kind = self.random.choice(kinds)
            if kind == "scalar":
                value[name] = self.scalar()
            elif kind == "list":
                value[name] = [self.scalar() for _ in range(self.random.randint(0, 2))]
            else:
                value[name] = self.value(depth + 1)
        return value

    def filter(self) -> dict[str, Any] | None:
        if self.random.random() < 0.5:
            return None
        wanted: dict[str, Any] = {}
        for name in self.random.sample(("n", "s", "t"), self.random.randint(1, 2)):
            operator = self.random.choice(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"])
            wanted[name] = self.random.choice(
                [self.scalar(), {operator: self.random.choice([0, 1, 2])}, [self.scalar()], {"n": self.scalar()}]
            )
        return wanted

    def condition(self) -> MatchCondition:
        path = tuple("*" if self.random.random() < 0.3 else label for label in self.namespace())
        return MatchCondition(self.random.choice(("prefix", "suffix")), path)

    def window(self) -> tuple[int, int]:
        """A limit and an offset."""
        return self.random.choice([0, 1, 2, 5, 100]), self.random.choice([0, 0, 1, 3])

    def op(self) -> Op:
        kind = self.random.random()
        if kind < 0.4:
            value = None if self.random.random() < 0.3 else self.value()
            return PutOp(self.namespace(), self.random.choice(KEYS), value, self.random.choice([None, False, ["n"]]))
        if kind < 0.6:
            return GetOp(self.namespace(), self.random.choice(KEYS))
        if kind < 0.85:
            return SearchOp(self.namespace(least=0), self.filter(), *self.window())
        conditions = tuple(self.condition() for _ in range(self.random.randint(0, 2))) or None
        return ListNamespacesOp(conditions, self.random.choice([None, 1, 2, 3]), *self.window())

    def batches(self, operations: int) -> Iterator[list[Op]]:
        while operations > 0:
            ops = [self.op() for _ in range(min(operations, self.random.choice([1, 2, 16, 40, 80])))]
            operations -= len(ops)
            yield ops


def comparable(result: Any) -> Any:
    """A result without its times, and with true told from 1."""
    if isinstance(result, Item):
        return (result.namespace, result.key, repr(result.value))
    return [comparable(each) for each in result] if isinstance(result, list) else result


def answer(store: PrismStore | Reference, ops: list[Op]) -> Any:
    return [comparable(result) for result in store.batch(ops)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_both_stores_answer_alike(seed: int) -> None:
    draw, reference = Draw(seed), Reference()
    compared = 0
    with PrismMemory.open(embedder=None) as memory:
        memory.write("An agent was here.", scope=SCOPE)
        store = PrismStore(memory, SCOPE)
        for ops in draw.batches(OPERATIONS // 2):
            try:
                expected = answer(reference, ops)
            except (TypeError, ValueError):
                # The reference raises where a value is no number; the others of the batch are compared without it.
                ops = [op for op in ops if not isinstance(op, SearchOp)]
                expected = answer(reference, ops)
            assert answer(store, ops) == expected, ops
            compared += len(ops)
        assert answer(store, [SearchOp((), limit=1000)]) == answer(reference, [SearchOp((), limit=1000)])
        assert compared > OPERATIONS // 2 * 0.8
        assert [unit.text for unit in memory.units(scope=SCOPE, where=lambda unit: unit.kind == "message")] == [
            "An agent was here."
        ]


def test_both_stores_answer_alike_across_stores_on_disk(tmp_path: Path) -> None:
    draw, reference = Draw(2), Reference()
    for _ in range(4):
        with PrismMemory.open(tmp_path, embedder=None) as memory:
            store = PrismStore(memory, SCOPE)
            for ops in draw.batches(150):
                kept = [op for op in ops if not isinstance(op, SearchOp) or "$" not in str(op.filter)]
                assert answer(store, kept) == answer(reference, kept), kept
