"""What was erased is nowhere: not in the ledger, not in what is derived from it, not in another process."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from prism_core import Event, PrismMemory
from prism_core.changes import FloatArray
from prism_core.errors import QueryError, ScopeError, UnknownReceiptError, UnknownUnitError
from prism_core.results import Position
from prism_core.testing import CountingIds, ExactIndex, HashedEmbedder, ScriptedClock
from prism_core.testing.scripted import run_threads

SCOPE = ("acme", "ann")
SECRET = "marzipan"


def opened(path: Path, index: str = "exact") -> PrismMemory:
    return PrismMemory.open(path, embedder=HashedEmbedder(), index=index, clock=ScriptedClock())  # type: ignore[arg-type]


def step(n: int, text: str, **fields: object) -> dict[str, object]:
    return {"observation": f"{text} number{n}", "session_id": "s", "task_id": "t", "step_id": str(n), **fields}


def fill(memory: PrismMemory, *, count: int = 6) -> str:
    """Some units around a secret call, whose reply was joined; answers the call's id."""
    memory.write_many([step(n, "garden") for n in range(count)], scope=SCOPE)
    call = {
        "kind": "step",
        "action": f'find({{"what": "{SECRET}"}})',
        "action_type": "find",
        "tool_call_id": "c",
        "source": "assistant",
        "session_id": "s",
        "task_id": "t",
        "idempotency_key": f"key {SECRET}",
        "metadata": {"about": SECRET},
    }
    answer = {
        "kind": "step",
        "observation": f"{SECRET} ID-4711",
        "tool_call_id": "c",
        "source": "tool",
        "session_id": "s",
    }
    receipts = memory.write_many([call, answer, step(count, "later ID-4711")], scope=SCOPE)
    return str(receipts[0].unit_id)


def tables(path: Path) -> str:
    """Every row of the ledger as text."""
    with sqlite3.connect(path / "ledger.db") as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = [row for name in names for row in connection.execute(f"SELECT * FROM {name}")]
    connection.close()
    return str(rows)


@pytest.mark.parametrize("index", ["exact", "chroma"])
def test_an_erased_unit_is_nowhere(tmp_path: Path, index: str) -> None:
    with opened(tmp_path, index) as memory:
        unit_id = fill(memory)
        memory.flush()
        assert memory.search(SECRET, scope=SCOPE, k=1)[0].unit.id == unit_id
        assert SECRET in tables(tmp_path)
        erased = memory.erase(scope=SCOPE, unit_ids=[unit_id])
        assert (erased.unit_ids, erased.count, erased.events, erased.epoch) == ((unit_id,), 1, 0, 1)

        def check(memory: PrismMemory) -> None:
            assert len(memory.units(scope=SCOPE)) == 7
            assert unit_id not in [
                candidate.unit_id for candidate in memory.search(SECRET, scope=SCOPE, k=10).candidates
            ]
            assert SECRET not in memory.context(f"find {SECRET}", scope=SCOPE).text
            assert memory.units(scope=SCOPE, where={"about": SECRET}) == []
            assert memory.failure_path(memory.units(scope=SCOPE, last=1)[0].id, scope=SCOPE).steps
            for ask in (memory.get, memory.history, memory.why):
                with pytest.raises(UnknownUnitError):
                    ask(unit_id, scope=SCOPE)
            assert all(finding.ok for finding in memory.doctor())

        check(memory)
        memory.rebuild(SCOPE)
        check(memory)
    assert SECRET not in tables(tmp_path)
    assert unit_id not in tables(tmp_path)
    with opened(tmp_path, index) as memory:
        check(memory)
        assert memory.write(step(9, SECRET, idempotency_key=f"key {SECRET}"), scope=SCOPE).status == "stored"


def test_no_file_of_the_ledger_holds_the_text_any_more(tmp_path: Path) -> None:
    def files() -> bytes:
        return b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())

    with opened(tmp_path) as memory:
        unit_id = fill(memory)
        assert SECRET.encode() in files()
        memory.erase(scope=SCOPE, unit_ids=[unit_id])
        assert SECRET.encode() not in files()


@pytest.mark.parametrize("index", ["exact", "chroma"])
def test_what_is_left_answers_as_if_the_erased_had_never_been(tmp_path: Path, index: str) -> None:
    texts = [f"word{n % 7} word{n % 11} about ID-{n % 5} and {'rare' if n % 9 == 0 else 'common'}" for n in range(200)]

    def write(memory: PrismMemory, keep: Callable[[int], bool]) -> None:
        events = [Event(observation=text, metadata={"n": n}) for n, text in enumerate(texts) if keep(n)]
        memory.write_many(events, scope=SCOPE)

    with opened(tmp_path / "a", index) as erasing, opened(tmp_path / "b", index) as other:
        write(erasing, lambda n: True)
        write(other, lambda n: n % 3 > 0)
        doomed = [
            unit.id for unit in erasing.units(scope=SCOPE, where=lambda unit: int(str(unit.metadata["n"])) % 3 == 0)
        ]
        erasing.erase(scope=SCOPE, unit_ids=doomed)
        for question in ("word3 rare", "word1 ID-4", "common word10"):
            answers = [
                [unit.metadata["n"] for unit in memory.search(question, scope=SCOPE, k=20).units]
                for memory in (erasing, other)
            ]
            assert answers[0] == answers[1]


class TestChoosing:
    @pytest.fixture
    def memory(self) -> Iterator[PrismMemory]:
        with PrismMemory.open(embedder=None, clock=ScriptedClock(), new_id=CountingIds()) as memory:
            chains = [("a", "x"), ("a", "y"), ("b", "x"), (None, "x"), ("a", None), (None, None)]
            memory.write_many([Event(observation=f"{t} {s}", task_id=t, session_id=s) for t, s in chains], scope=SCOPE)
            yield memory

    def left(self, memory: PrismMemory) -> list[str]:
        return [unit.observation for unit in memory.units(scope=SCOPE)]

    def test_a_task_or_a_session(self, memory: PrismMemory) -> None:
        assert memory.erase(scope=SCOPE, task_id="a").count == 3
        assert self.left(memory) == ["b x", "None x", "None None"]
        assert memory.erase(scope=SCOPE, session_id="x").count == 2
        assert self.left(memory) == ["None None"]

    def test_a_task_within_a_session_and_units_beside_it(self, memory: PrismMemory) -> None:
        some = memory.units(scope=SCOPE)[5].id
        chosen = [unit.id for unit in memory.units(scope=SCOPE, task_id="a", session_id="x")]
        erased = memory.erase(scope=SCOPE, task_id="a", session_id="x", unit_ids=[some, some])
        assert erased.unit_ids == (*chosen, some)
        assert self.left(memory) == ["a y", "b x", "None x", "a None"]

    def test_nothing_there_is_nothing_erased(self, memory: PrismMemory) -> None:
        erased = memory.erase(scope=SCOPE, task_id="unknown")
        assert (bool(erased), erased.epoch) == (False, 0)
        assert memory.erase(scope="nobody", whole_scope=True).epoch == 0
        assert memory.stats(SCOPE).position.epoch == 0

    def test_an_unknown_unit_erases_nothing(self, memory: PrismMemory) -> None:
        known = memory.units(scope=SCOPE)[0].id
        with pytest.raises(UnknownUnitError) as caught:
            memory.erase(scope=SCOPE, unit_ids=[known, "nobody"], task_id="b")
        assert caught.value.unit_id == "nobody"
        with pytest.raises(UnknownUnitError):
            memory.erase(scope=("acme", "bob"), unit_ids=[known])
        assert len(self.left(memory)) == 6

    @pytest.mark.parametrize(
        "chosen",
        [
            {},
            {"unit_ids": []},
            {"unit_ids": "u1"},
            {"unit_ids": [1]},
            {"task_id": 3},
            {"whole_scope": True, "task_id": "a"},
            {"whole_scope": False},
            {"whole_scope": "no"},
            {"whole_scope": 1},
        ],
    )
    def test_a_choice_that_makes_no_sense_is_refused(self, memory: PrismMemory, chosen: dict[str, object]) -> None:
        with pytest.raises(QueryError):
            memory.erase(scope=SCOPE, **chosen)  # type: ignore[arg-type]  # wrong values are the point
        with pytest.raises(ScopeError):
            memory.erase(scope="", unit_ids=["u1"])
        assert len(self.left(memory)) == 6


@pytest.mark.parametrize("index", ["exact", "chroma"])
def test_of_a_whole_scope_only_the_epoch_is_left(tmp_path: Path, index: str) -> None:
    with opened(tmp_path, index) as memory:
        unit_id = fill(memory)
        memory.write("kept", scope="other")
        receipt = memory.accept([Event(observation=f"{SECRET} too")], scope=SCOPE)[0]
        memory.flush()
        erased = memory.erase(scope=SCOPE, whole_scope=True)
        assert (erased.count, erased.events, erased.epoch) == (8, 1, 1)
        assert unit_id in erased.unit_ids
        assert memory.scopes() == [("other",)]
        assert memory.units(scope=SCOPE) == []
        assert not memory.search(SECRET, scope=SCOPE)
        with pytest.raises(UnknownReceiptError):
            memory.receipt(receipt.id, scope=SCOPE)
        assert SECRET not in tables(tmp_path)
        assert all(finding.ok for finding in memory.doctor())
        memory.write("begun anew", scope=SCOPE)
        assert [unit.text for unit in memory.search("new", scope=SCOPE).units] == ["begun anew"]
        assert memory.stats(SCOPE).position.epoch == 1
        assert memory.scopes() == [SCOPE, ("other",)]


def test_an_index_forgets_what_was_erased(tmp_path: Path) -> None:
    index = ExactIndex()
    with PrismMemory.open(tmp_path, embedder=HashedEmbedder(), index=index) as memory:
        unit_id = fill(memory, count=80)
        memory.flush()
        held = index.count(SCOPE)
        assert held == 82
        memory.erase(scope=SCOPE, unit_ids=[unit_id])
        assert index.count(SCOPE) == 0
        memory.search("garden", scope=SCOPE)
        memory.flush()
        assert index.count(SCOPE) == held - 1
        vector = HashedEmbedder().embed_query(SECRET)
        assert unit_id not in [found for found, _ in index.search(SCOPE, vector, 100)]
        memory.erase(scope=SCOPE, whole_scope=True)
        assert index.count(SCOPE) == 0


def test_an_index_owned_by_another_memory_forgets_when_it_is_used_next(tmp_path: Path) -> None:
    index = ExactIndex()
    with (
        PrismMemory.open(tmp_path, embedder=HashedEmbedder(), index=index) as owner,
        opened(tmp_path) as other,
    ):
        unit_id = fill(owner, count=80)
        owner.flush()
        other.erase(scope=SCOPE, unit_ids=[unit_id])
        assert index.count(SCOPE) == 82
        assert unit_id not in [unit.id for unit in owner.search(SECRET, scope=SCOPE, k=10).units]
        owner.flush()
        assert index.count(SCOPE) == 81


def test_other_memories_notice_by_the_head(tmp_path: Path) -> None:
    with opened(tmp_path) as one, opened(tmp_path) as two:
        unit_id = fill(one)
        assert two.search(SECRET, scope=SCOPE, k=1)[0].unit.id == unit_id
        one.erase(scope=SCOPE, unit_ids=[unit_id])
        found = two.search(SECRET, scope=SCOPE, k=10)
        assert unit_id not in [candidate.unit_id for candidate in found.candidates]
        assert found.position == Position(one.stats(SCOPE).position.seq, epoch=1)
        receipt = two.write(step(7, "next", parent=unit_id), scope=SCOPE)
        assert (receipt.status, receipt.reason) == ("degraded", f"its parent {unit_id!r} is unknown")
        one.erase(scope=SCOPE, whole_scope=True)
        # The log is as long as before again, and yet it is another one.
        for n in range(30):
            one.write(step(n, "anew"), scope=SCOPE)
        assert len(two.units(scope=SCOPE)) == 30


def test_a_write_that_began_before_an_erase_is_encoded_again(tmp_path: Path) -> None:
    class ErasingMeanwhile(HashedEmbedder):
        """Lets another memory erase while the first text is embedded: after it was encoded, before it is stored."""

        doomed = ""

        def embed_documents(self, texts: Sequence[str]) -> FloatArray:
            if self.doomed:
                unit_id, self.doomed = self.doomed, ""
                eraser.erase(scope=SCOPE, unit_ids=[unit_id])
            return super().embed_documents(texts)

    embedder = ErasingMeanwhile()
    with PrismMemory.open(tmp_path, embedder=embedder) as writer, opened(tmp_path) as eraser:
        first = str(writer.write(step(1, SECRET), scope=SCOPE).unit_id)
        embedder.doomed = first
        second = str(writer.write(step(2, "after"), scope=SCOPE).unit_id)
        assert embedder.doomed == ""
        assert [unit.id for unit in writer.units(scope=SCOPE)] == [second]
        assert writer.stats(SCOPE).links == {}
        assert SECRET not in tables(tmp_path)
        assert all(finding.ok for finding in writer.doctor())


def test_accepted_events_of_an_erased_session_never_become_units(tmp_path: Path) -> None:
    clock = ScriptedClock()
    with (
        PrismMemory.open(tmp_path, embedder=None, clock=clock) as one,
        PrismMemory.open(tmp_path, embedder=None, clock=clock) as two,
    ):
        events = [Event(observation=f"{SECRET} {n}", session_id="s") for n in range(3)]
        gone = two.accept([*events, Event(observation="kept", session_id="k")], scope=SCOPE)
        # Another process took them and has not stored them yet.
        leased = two._ledger.lease(SCOPE, owner="two", now=clock(), seconds=60, limit=9)
        erased = one.erase(scope=SCOPE, session_id="s")
        assert (erased.count, erased.events, erased.epoch) == (0, 3, 1)
        receipts = two._recorder.record_items(SCOPE, leased)
        assert [receipt.id for receipt in receipts] == [gone[3].id]
        assert [unit.observation for unit in one.units(scope=SCOPE)] == ["kept"]
        assert SECRET not in tables(tmp_path)


def test_events_whose_lease_ran_out_are_stored_once(tmp_path: Path) -> None:
    clock = ScriptedClock()
    with PrismMemory.open(tmp_path, embedder=None, clock=clock) as memory:
        memory.accept([Event(observation="once")], scope=SCOPE)
        slow = memory._ledger.lease(SCOPE, owner="slow", now=clock(), seconds=60, limit=9)
        clock.advance(timedelta(minutes=2))
        memory.drain(scope=SCOPE)
        assert memory._recorder.record_items(SCOPE, slow) == []
        assert len(memory.units(scope=SCOPE)) == 1


def test_searches_go_on_while_units_are_erased(tmp_path: Path) -> None:
    with opened(tmp_path) as reader, opened(tmp_path) as writer:
        writer.write_many([step(n, "garden") for n in range(60)], scope=SCOPE)

        def erase() -> None:
            for unit in writer.units(scope=SCOPE)[:40]:
                writer.erase(scope=SCOPE, unit_ids=[unit.id])

        def search() -> None:
            for _ in range(40):
                assert len(reader.search("garden", scope=SCOPE, k=10)) == 10
                assert reader.context("garden", scope=SCOPE, budget=200).text

        run_threads(erase, search)
        assert len(reader.units(scope=SCOPE)) == 20


ERASER = """
import sys
from prism_core import PrismMemory
memory = PrismMemory.open(sys.argv[1], embedder=None)
for unit in memory.units(scope="s"):
    print(unit.id, flush=True)
    memory.erase(scope="s", unit_ids=[unit.id])
"""


@pytest.mark.parametrize("pause", [0.0, 0.02, 0.05])
def test_a_killed_eraser_leaves_a_unit_whole_or_not_at_all(tmp_path: Path, pause: float) -> None:
    with PrismMemory.open(tmp_path, embedder=None) as memory:
        memory.write_many([step(n, f"secret{n}") for n in range(200)], scope="s")
    eraser = subprocess.Popen([sys.executable, "-c", ERASER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert eraser.stdout is not None
    begun = [eraser.stdout.readline().strip()]
    time.sleep(pause)
    eraser.send_signal(signal.SIGKILL)
    begun += eraser.stdout.read().split()
    eraser.wait()
    eraser.stdout.close()
    with PrismMemory.open(tmp_path, embedder=None) as memory:
        left = {unit.id for unit in memory.units(scope="s")}
        assert left.isdisjoint(begun[:-1])
        assert len(left) in (200 - len(begun), 201 - len(begun))
        assert memory.stats("s").position.epoch == 200 - len(left)
        assert all(finding.ok for finding in memory.doctor())
