"""A turn pays for one durable append; nothing that was accepted is lost."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from prism_core import BackgroundWriter, Event, FloatArray, PrismMemory, ReceiptStatus
from prism_core.errors import ClosedError, FlushTimeoutError, InvalidEventError, LedgerError, ScopeError
from prism_core.testing import HashedEmbedder

SCOPE = ("acme", "ann")
LONG = 30.0
KILLED = """
import sys
from prism_core import BackgroundWriter, PrismMemory
writer = BackgroundWriter(PrismMemory.open(sys.argv[1], embedder=None))
for n in range(100_000):
    receipt = writer.write(f"note number{n} of the round", scope="s")
    print(receipt.id, flush=True)
"""


class Gate(HashedEmbedder):
    """Embeds once it is let; notes who asked."""

    def __init__(self) -> None:
        super().__init__()
        self.let = threading.Event()
        self.let.set()
        self.threads: set[str] = set()

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        self.threads.add(threading.current_thread().name)
        assert self.let.wait(LONG)
        return super().embed_documents(texts)


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def memory(tmp_path: Path, gate: Gate) -> Iterator[PrismMemory]:
    with PrismMemory.open(tmp_path / "store", embedder=gate) as opened:
        yield opened


def test_the_turn_pays_for_the_append_and_the_thread_for_the_rest(memory: PrismMemory, gate: Gate) -> None:
    gate.threads.clear()
    gate.let.clear()
    with BackgroundWriter(memory) as writer:
        receipt = writer.write("The client wants the blue variant.", scope=SCOPE)
        assert receipt.status is ReceiptStatus.ACCEPTED
        assert memory.stats(SCOPE).inbox + memory.stats(SCOPE).units == 1
        gate.let.set()
        writer.flush(LONG)
        assert memory.receipt(receipt.id, scope=SCOPE).status is ReceiptStatus.STORED
        assert (memory.stats(SCOPE).inbox, memory.stats(SCOPE).pending) == (0, 0)
    assert gate.threads == {"prism-background-writer"}


def test_what_waits_is_found_by_its_words_at_once(tmp_path: Path) -> None:
    with PrismMemory.open(tmp_path, embedder=None) as memory, BackgroundWriter(memory) as writer:
        for n in range(20):
            writer.write(f"the code of door {n} is {n}77", scope=SCOPE)
            assert f"{n}77" in memory.search(f"code of door {n}", scope=SCOPE, k=1)[0].unit.text


def test_many_threads_and_scopes_lose_nothing_and_keep_their_order(memory: PrismMemory) -> None:
    with BackgroundWriter(memory) as writer:

        def work(number: int) -> None:
            for n in range(20):
                writer.write(Event(observation=f"{number}: {n}", session_id=str(number)), scope=("s", str(number % 3)))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for number in range(6):
        units = memory.units(scope=("s", str(number % 3)), session_id=str(number))
        assert [unit.observation for unit in units] == [f"{number}: {n}" for n in range(20)]


def test_a_new_writer_begins_with_what_another_left(tmp_path: Path) -> None:
    with PrismMemory.open(tmp_path, embedder=HashedEmbedder()) as memory:
        receipt = memory.accept(["left behind"], scope=SCOPE)[0]
    with PrismMemory.open(tmp_path, embedder=HashedEmbedder()) as memory, BackgroundWriter(memory) as writer:
        writer.flush(LONG)
        assert memory.receipt(receipt.id, scope=SCOPE).status is ReceiptStatus.STORED
        assert memory.stats(SCOPE).pending == 0


def test_b9_a_killed_process_loses_nothing_it_accepted(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    accepted = [process.stdout.readline().strip() for _ in range(40)]
    process.send_signal(signal.SIGKILL)
    accepted += [line.strip() for line in process.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    process.wait()
    process.stdout.close()
    with PrismMemory.open(tmp_path, embedder=None) as memory:
        memory.search("note", scope="s")
        # Also what the process that is gone had leased.
        assert memory.stats("s").inbox == 0
        known = [memory.receipt(receipt_id, scope="s") for receipt_id in accepted]
        assert {receipt.status for receipt in known} == {ReceiptStatus.STORED}
        assert all(finding.ok for finding in memory.doctor() if "inbox" not in finding.check)


def test_erasing_takes_what_waits_off_the_inbox(memory: PrismMemory, gate: Gate) -> None:
    gate.let.clear()
    with BackgroundWriter(memory) as writer:
        writer.write(Event(observation="elsewhere", session_id="other"), scope=("s", "0"))
        writer.write(Event(observation="my secret", session_id="mine"), scope=SCOPE)
        memory.erase(scope=SCOPE, session_id="mine")
        gate.let.set()
        writer.flush(LONG)
    assert memory.units(scope=SCOPE) == []
    assert len(memory.units(scope=("s", "0"))) == 1


def test_what_the_thread_met_is_raised_by_flush_and_tried_again(tmp_path: Path) -> None:
    with PrismMemory.open(tmp_path, embedder=None) as memory:
        writer = BackgroundWriter(memory, retry_seconds=0.01)
        with sqlite3.connect(tmp_path / "ledger.db") as database:
            database.execute("ALTER TABLE links RENAME TO hidden")
        receipt = writer.write("kept all the same", scope=SCOPE)
        with pytest.raises(LedgerError):
            writer.flush(LONG)
        database.execute("ALTER TABLE hidden RENAME TO links")
        database.close()
        with suppress(LedgerError):
            writer.flush(LONG)  # it may have been met once more before it was mended
        writer.flush(LONG)
        assert memory.receipt(receipt.id, scope=SCOPE).status is ReceiptStatus.STORED
        writer.close()


def test_waiting_has_an_end(memory: PrismMemory, gate: Gate) -> None:
    gate.let.clear()
    writer = BackgroundWriter(memory)
    writer.write("slow", scope=SCOPE)
    with pytest.raises(FlushTimeoutError, match="durable"):
        writer.flush(0.05)
    gate.let.set()
    writer.close(LONG)
    writer.close()
    with pytest.raises(ClosedError):
        writer.write("too late", scope=SCOPE)


def test_what_cannot_be_accepted_is_refused_at_once(memory: PrismMemory) -> None:
    with BackgroundWriter(memory) as writer:
        with pytest.raises(ScopeError):
            writer.write("nobody's", scope="")
        with pytest.raises(InvalidEventError):
            writer.write({"observation": 5}, scope=SCOPE)
    assert memory.stats(SCOPE).units == 0
