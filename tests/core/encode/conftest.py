"""Runs of an agent, and the links a memory makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from prism_core import EncodingOptions, Event, Kind, Link, PrismMemory, RelationLinker, Source
from prism_core.protocols import Linker
from prism_core.testing import CountingIds, ScriptedClock

Relate = Callable[..., list[Link]]


def user(text: str, **fields: Any) -> Event:
    """What a user says in session s."""
    return Event(**{"observation": text, "session_id": "s", "speaker": "user", **fields})


def says(text: str, **fields: Any) -> Event:
    """What the assistant says in session s."""
    return user(text, source=Source.ASSISTANT, speaker="assistant", **fields)


def did(action: str, returned: str = "", **fields: Any) -> Event:
    """A call of session s with what it returned."""
    given = {"kind": Kind.STEP, "action": action, "observation": returned, "session_id": "s"}
    return Event(**{**given, "source": Source.ASSISTANT, **fields})


@pytest.fixture
def relate() -> Iterator[Relate]:
    """Writes events, their units u1, u2 ... in order; answers all links that are not FOLLOWS."""
    opened: list[PrismMemory] = []

    def links(events: Sequence[Event], *, linker: Linker | None = None, at_once: bool = False) -> list[Link]:
        ids = CountingIds()
        encoding = EncodingOptions(linker=linker or RelationLinker(), distiller=None)
        memory = PrismMemory.open(embedder=None, clock=ScriptedClock(), new_id=ids, encoding=encoding)
        opened.append(memory)
        batches = [list(events)] if at_once else [[event] for event in events]
        receipts = [receipt for batch in batches for receipt in memory.write_many(batch, scope="a")]
        names: dict[str, str] = {}
        for receipt in receipts:
            names.setdefault(str(receipt.unit_id), f"u{len(names) + 1}")
        return [
            link.model_copy(update={"source": names[link.source], "target": names[link.target]})
            for link in memory.links(scope="a")
            if link.relation != "FOLLOWS"
        ]

    yield links
    for memory in opened:
        memory.close()
