"""The memory as a LangGraph store: items by namespace and key, found by meaning and words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp

from prism_core import MemoryUnit, PrismMemory, ReceiptStatus
from prism_core.errors import UnknownUnitError, WriteConflictError
from prism_langchain import items
from prism_langchain.conditions import fits, meets

ATTEMPTS = 32
_MOST_RESULTS = 1_000_000
_KEPT = frozenset({ReceiptStatus.STORED, ReceiptStatus.DEGRADED})


class PrismStore(BaseStore):
    """A `BaseStore` over one scope of a memory. Namespaces are data inside the scope; isolation is by scope only.

    Every item is a document of the scope, so that it is durable once `put` returns and seen by every other store over
    the same scope, also in other processes. Values come back as they were put. An overwritten value is kept nowhere,
    and a deleted item is erased.

    Items and what agents remember do not meet where the store has a scope of its own, such as `("acme", "alice",
    "store")`. In a shared scope the store shows items only, and `PrismMemory.search` finds items too.

    Beyond what LangGraph says of a store: items come in the order their keys were put first, emptied namespaces are not
    listed, and a namespace with a period, such as an e-mail address, is written with `to_label`. Time to live is not
    supported.

    Args:
        memory: an open memory; the store never closes it.
        scope: whose items; required, there is no shared default.
        fields: paths of a value that its item is found by unless `put(index=...)` says otherwise; `"$"` is all of it.
    """

    supports_ttl = False

    def __init__(
        self, memory: PrismMemory, scope: str | Sequence[str], *, fields: Sequence[str] = (items.WHOLE,)
    ) -> None:
        self.memory = memory
        self.scope = scope
        self.fields = tuple(fields)
        self._listed: tuple[object, frozenset[items.Path]] | None = None

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations: reads first, against the state before any put; of several puts of a key the last counts.

        Raises:
            InvalidEventError: if a value is not JSON; nothing is stored.
            NotImplementedError: if a put has a time to live.
            ValueError: if a filter or a condition is unknown.
        """
        results: list[Result] = []
        puts: dict[str, PutOp] = {}
        for op in ops:
            if isinstance(op, PutOp):
                puts[items.identity(op.namespace, op.key)] = op
                results.append(None)
            else:
                results.append(self._read(op))
        self._put(puts)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch` in a worker thread; the event loop stays free."""
        return await asyncio.to_thread(self.batch, list(ops))

    # -- reading -----------------------------------------------------------------------------------------------------

    def _read(self, op: Op) -> Result:
        match op:
            case GetOp():
                return self._get(op)
            case SearchOp():
                return self._search(op) if op.query and op.query.strip() else self._list(op)
            case ListNamespacesOp():
                return self._namespaces(op)
        raise ValueError(f"unknown operation {type(op).__name__}")

    def _get(self, op: GetOp) -> Item | None:
        unit = self._unit(items.identity(op.namespace, op.key))
        return None if unit is None else items.to_item(unit)

    def _list(self, op: SearchOp) -> list[SearchItem]:
        found = [items.to_search_item(unit) for unit in self._below(op)]
        return found[op.offset : op.offset + op.limit]

    def _search(self, op: SearchOp) -> list[SearchItem]:
        """Best first; then those that the index does not hold, while there is room."""
        wanted = min(max(op.offset + op.limit, 0), _MOST_RESULTS)
        scored: list[SearchItem] = []
        if wanted:
            hits = self.memory.search(str(op.query), scope=self.scope, k=wanted, where=_searched(op))
            scored = [items.to_search_item(hit.unit, hit.candidate.chance) for hit in hits]
            scored.sort(key=lambda item: -(item.score or 0.0))
        kept = scored[max(op.offset, 0) :]
        if len(kept) < op.limit:
            unscored = [unit for unit in self._below(op) if not unit.metadata[items.INDEXED]]
            kept += [items.to_search_item(unit) for unit in unscored[: op.limit - len(kept)]]
        return kept

    def _namespaces(self, op: ListNamespacesOp) -> list[items.Path]:
        found = {namespace[: op.max_depth] for namespace in self._known() if fits(namespace, op.match_conditions)}
        return sorted(found)[op.offset : op.offset + op.limit]

    def _known(self) -> frozenset[items.Path]:
        """Every namespace that holds something; read again only where the scope has changed since."""
        position = self.memory.stats(self.scope).position
        if self._listed is None or self._listed[0] != position:
            # Read after the position: at worst what came in meanwhile is known already.
            found = frozenset(items.namespace_of(unit) for unit in self._units(items.within(())))
            self._listed = (position, found)
        return self._listed[1]

    def _below(self, op: SearchOp) -> list[MemoryUnit]:
        units = self._units(items.within(op.namespace_prefix))
        return [unit for unit in units if meets(items.value_of(unit), op.filter)] if op.filter else units

    def _unit(self, identity: str) -> MemoryUnit | None:
        return next(iter(self._units({items.IDENTITY: identity})), None)

    def _units(self, metadata: Mapping[str, Any]) -> list[MemoryUnit]:
        return self.memory.units(scope=self.scope, where=metadata)

    # -- writing -----------------------------------------------------------------------------------------------------

    def _put(self, puts: Mapping[str, PutOp]) -> None:
        """Put and delete; every value is checked before the first is stored."""
        now = datetime.now(UTC)
        for op in puts.values():
            if op.ttl is not None:
                raise NotImplementedError("PrismStore does not support TTL; pass ttl=None")
        events = {key: items.to_event(op, self.fields, now, now) for key, op in puts.items() if op.value is not None}
        fresh = [key for key in events if self._unit(key) is None]
        receipts = self.memory.write_many([events[key] for key in fresh], scope=self.scope)
        stored = {key for key, receipt in zip(fresh, receipts, strict=True) if receipt.status in _KEPT}
        for key in events:
            if key not in stored:
                self._overwrite(key, puts[key], now)
        self._delete([key for key, op in puts.items() if op.value is None])

    def _overwrite(self, key: str, op: PutOp, now: datetime) -> None:
        """Put an item whose key is taken, as far as other writers have not deleted it meanwhile."""
        for _ in range(ATTEMPTS):
            unit = self._unit(key)
            created = now if unit is None else items.created_at(unit)
            event = items.to_event(op, self.fields, created, max(now, created))
            try:
                receipt = (
                    self.memory.write(event, scope=self.scope)
                    if unit is None
                    else self.memory.replace(unit.id, event, scope=self.scope)
                )
            except UnknownUnitError:
                continue
            if receipt.status in _KEPT:
                return
        raise WriteConflictError(ATTEMPTS)

    def _delete(self, keys: Sequence[str]) -> None:
        for _ in range(ATTEMPTS):
            units = [unit for unit in map(self._unit, keys) if unit is not None]
            if not units:
                return
            try:
                self.memory.erase(scope=self.scope, unit_ids=[unit.id for unit in units])
            except UnknownUnitError:
                continue
            return
        raise WriteConflictError(ATTEMPTS)


def _searched(op: SearchOp) -> Mapping[str, Any] | Callable[[MemoryUnit], bool]:
    """Which documents may answer a search: by their metadata, or where values are filtered by a look at each."""
    wanted = {**items.within(op.namespace_prefix), items.INDEXED: True}
    if not op.filter:
        return wanted

    def answers(unit: MemoryUnit) -> bool:
        return wanted.items() <= unit.metadata.items() and meets(items.value_of(unit), op.filter)

    return answers
