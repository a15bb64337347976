from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from prism_core import Event, Kind, PrismMemory, ReceiptStatus, Source
from prism_core.errors import InvalidEventError, QueryError, UnknownUnitError
from prism_core.testing import HashedEmbedder, ScriptedClock

SCOPE = ("acme", "ann")
OLD, NEW = "marzipan ID-4711 is liked", "nougat ID-4712 is liked"


def opened(path: Path, index: str = "exact") -> PrismMemory:
    return PrismMemory.open(path, embedder=HashedEmbedder(), index=index, clock=ScriptedClock())  # type: ignore[arg-type]


def fill(memory: PrismMemory) -> str:
    """Some documents; answers the id of the one to be replaced."""
    texts = [f"note {n} about the garden" for n in range(70)]
    events = [{"kind": "document", "observation": text, "session_id": "s"} for text in texts]
    first = {"kind": "document", "observation": OLD, "session_id": "s", "idempotency_key": "k", "metadata": {"v": OLD}}
    return str(memory.write_many([first, *events], scope=SCOPE)[0].unit_id)


@pytest.mark.parametrize("index", ["exact", "chroma"])
def test_the_old_content_is_nowhere_and_the_place_is_kept(tmp_path: Path, index: str) -> None:
    with opened(tmp_path, index) as memory, opened(tmp_path) as other:
        unit_id = fill(memory)
        memory.flush()
        before = memory.get(unit_id, scope=SCOPE)
        assert other.search("marzipan", scope=SCOPE, k=1)[0].unit.id == unit_id
        assert memory.units(scope=SCOPE, where={"v": OLD})
        receipt = memory.replace(unit_id, {"observation": NEW, "metadata": {"v": NEW}}, scope=SCOPE)
        assert (receipt.status, receipt.unit_id) == (ReceiptStatus.STORED, unit_id)

        def check(memory: PrismMemory) -> None:
            unit = memory.get(unit_id, scope=SCOPE)
            assert (unit.text, unit.metadata) == (NEW, {"v": NEW})
            for kept in ("kind", "session_id", "idempotency_key", "event_time", "recorded_at"):
                assert getattr(unit, kept) == getattr(before, kept)
            assert memory.units(scope=SCOPE)[0].id == unit_id
            assert memory.units(scope=SCOPE, where={"v": OLD}) == []
            assert memory.search("nougat", scope=SCOPE, k=1)[0].unit.id == unit_id
            assert memory.search("ID-4712", scope=SCOPE, k=1)[0].unit.id == unit_id
            candidates = {each.unit_id: each for each in memory.search("marzipan", scope=SCOPE, k=5).candidates}
            assert unit_id not in candidates or "lexical" not in candidates[unit_id].channels
            assert [entry.kind for entry in memory.history(unit_id, scope=SCOPE)][-2:] == ["replace", "vector"]
            assert all(finding.ok for finding in memory.doctor())

        check(memory)
        check(other)
        memory.rebuild(SCOPE)
        check(memory)
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        assert "marzipan" not in str([row for name in names for row in connection.execute(f"SELECT * FROM {name}")])
    connection.close()


def test_identifiers_are_those_of_the_new_text_only(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        one, two = (
            str(memory.write({"kind": "document", "observation": f"{text} ID-4711"}, scope=SCOPE).unit_id)
            for text in ("first", "second")
        )
        memory.replace(one, "nothing", scope=SCOPE)
        state = memory._reader.ready(SCOPE)
        assert state.mentioning("ID-4711").tolist() == [1]
        assert state.holders("ID-4711", None, None) == [two]
        memory.replace(one, "again ID-4711", scope=SCOPE)
        assert state.mentioning("ID-4711").tolist() == [0, 1]
        assert state.holders("ID-4711", None, None) == [one, two]


@pytest.mark.parametrize(
    "event",
    [
        Event(observation="said"),
        Event(kind=Kind.STEP, action="done()"),
        Event(kind=Kind.DOCUMENT, observation="written", source=Source.ASSISTANT),
    ],
)
def test_what_happened_is_not_rewritten(tmp_path: Path, event: Event) -> None:
    with opened(tmp_path) as memory:
        unit_id = str(memory.write(event, scope=SCOPE).unit_id)
        with pytest.raises(InvalidEventError, match="stays"):
            memory.replace(unit_id, "otherwise", scope=SCOPE)
        assert memory.get(unit_id, scope=SCOPE).text == event.text


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        unit_id = fill(memory)
        with pytest.raises(UnknownUnitError):
            memory.replace("nobody", NEW, scope=SCOPE)
        with pytest.raises(UnknownUnitError):
            memory.replace(unit_id, NEW, scope="other")
        with pytest.raises(QueryError):
            memory.replace(3, NEW, scope=SCOPE)  # type: ignore[arg-type]  # the point
        assert memory.replace(unit_id, "  ", scope=SCOPE).status is ReceiptStatus.REJECTED
        assert memory.get(unit_id, scope=SCOPE).text == OLD


def test_equal_documents_with_keys_of_their_own_are_two(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        events = [Event(kind=Kind.DOCUMENT, observation="same", idempotency_key=key) for key in ("a", "b", None)]
        receipts = memory.write_many(events, scope=SCOPE)
        assert [receipt.status for receipt in receipts] == ["stored", "stored", "duplicate"]
