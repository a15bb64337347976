"""Every verb answers, or refuses with a typed error that leaves the store as it was; whatever it is given."""

import inspect
import math
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from prism_core import PrismMemory
from prism_core.errors import PrismError

SCOPE = ("acme", "ann")
ODD: tuple[Any, ...] = (
    None,
    0,
    -1,
    1.5,
    math.nan,
    True,
    "",
    " ",
    "no such thing",
    "x" * 100_000,
    "\ud800",
    "\x00",
    b"x",
    [],
    [None],
    [[1]],
    {},
    {"a": 1},
    ("a",),
    set(),
    object(),
    datetime(2026, 1, 1),
    len,
)
VERBS = tuple(
    name
    for name, _ in inspect.getmembers(PrismMemory, inspect.isfunction)
    if not name.startswith("_") and name not in ("close", "flush")
)


@pytest.fixture
def memory() -> Iterator[PrismMemory]:
    with PrismMemory.open(embedder=None) as memory:
        yield memory


def stored(memory: PrismMemory) -> tuple[object, ...]:
    return memory.units(scope=SCOPE), memory.links(scope=SCOPE), memory.stats(scope=SCOPE)


def usual(memory: PrismMemory) -> dict[str, Any]:
    """Arguments that the verbs take, by their names."""
    receipt = memory.write("I live in Rome", scope=SCOPE)
    return {
        "scope": SCOPE,
        "unit_id": receipt.unit_id,
        "fact_id": receipt.unit_id,
        "receipt_id": receipt.id,
        "event": "a message",
        "events": ["a message"],
        "query": "Rome",
        "entity": "user",
        "attribute": "home",
        "action": "book({})",
        "label": "blocks",
        "relation": "requires",
        "links": [],
        "taxonomy": memory.taxonomy,
        "file": "no-such-file.yaml",
    }


@pytest.mark.parametrize("verb", VERBS)
def test_odd_arguments_are_answered_or_refused(memory: PrismMemory, verb: str) -> None:
    method = getattr(memory, verb)
    parameters = [each for each in inspect.signature(method).parameters.values() if each.kind != each.VAR_KEYWORD]
    needed = [each.name for each in parameters if each.default is inspect.Parameter.empty]
    for parameter in parameters:
        for odd in ODD:
            given = usual(memory)
            arguments = {name: given[name] for name in needed} | {parameter.name: odd}
            before = stored(memory)
            try:
                method(**arguments)
            except PrismError as error:
                assert len(str(error)) < 1_000
                assert stored(memory) == before, (verb, parameter.name, odd)
