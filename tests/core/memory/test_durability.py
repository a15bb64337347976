"""What was acknowledged survives; what is derived can be derived again."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from prism_core import Event, PrismMemory
from prism_core.testing import HashedEmbedder

WRITER = """
import sys
from prism_core import PrismMemory
memory = PrismMemory.open(sys.argv[1], embedder=None)
for n in range(100_000):
    receipt = memory.write({"observation": f"kill{sys.argv[2]}number{n} of the round", "task_id": "t"}, scope="s")
    print(receipt.unit_id, flush=True)
"""
KILLS = 20


@pytest.mark.slow
def test_a_killed_writer_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    acknowledged: set[str] = set()
    for kill in range(KILLS):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(kill)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        acknowledged.add(writer.stdout.readline().strip())
        time.sleep(float(random.uniform(0.0, 0.05)))
        writer.send_signal(signal.SIGKILL)
        acknowledged |= {line.strip() for line in writer.stdout.read().splitlines(keepends=True) if line.endswith("\n")}
        writer.wait()
        writer.stdout.close()
    with PrismMemory.open(tmp_path, embedder=None) as memory:
        assert len(acknowledged) > KILLS
        for unit_id in acknowledged:
            unit = memory.get(unit_id, scope="s")
            assert memory.search(unit.observation, scope="s", k=1)[0].unit.id == unit_id
        assert all(finding.ok for finding in memory.doctor())


def test_chroma_rebuilt_finds_the_same_top_ten(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    vocabulary = [f"word{n}" for n in range(400)]
    texts = [" ".join(random.choice(vocabulary, 12)) for _ in range(1500)]
    questions = [" ".join(random.choice(vocabulary, 5)) for _ in range(200)]

    def top_ten(memory: PrismMemory) -> list[list[str]]:
        return [[unit.id for unit in memory.search(question, scope="s").units] for question in questions]

    embedder = HashedEmbedder(dimension=64)
    with PrismMemory.open(tmp_path, embedder=embedder, index="chroma") as memory:
        memory.write_many([Event(observation=text) for text in texts], scope="s")
        memory.flush()
        first = top_ten(memory)
        memory.rebuild("s")
        memory.flush()
        rebuilt = top_ten(memory)
    with PrismMemory.open(tmp_path, embedder=embedder, index="exact") as memory:
        exact = top_ten(memory)
        memory.rebuild("s")
        assert top_ten(memory) == exact
    # An approximate index may miss a unit at the margin; what it finds is scored exactly.
    for other in (rebuilt, exact):
        missed = sum(len({*ours} - {*theirs}) for ours, theirs in zip(first, other, strict=True))
        assert missed <= 0.01 * 10 * len(questions)


def test_where_arguments_come_from_is_the_same_after_a_late_reply_and_a_new_start(tmp_path: Path) -> None:
    def ask(memory: PrismMemory, active: str) -> list[tuple[str, float]]:
        found = memory.search("book_it for the client", scope="a", active=[active], k=4)
        return [(hit.unit.id, hit.score) for hit in found]

    def step(**fields: str) -> dict[str, str]:
        return {"kind": "step", "session_id": "s", **fields}

    # The open call is in a task, the action that needs its reply is in the session only.
    search = step(task_id="t", action='search({"q": "HS-1111"})', action_type="search", tool_call_id="c1")
    book = step(action='book_it({"x": "HS-2222"})', action_type="book_it", observation="ok")
    look = step(action='look({"y": "HS-3333"})', action_type="look", observation="QX-7777 HS-5555")
    reply = step(source="tool", task_id="t", tool_call_id="c1", observation="found HS-2222 HS-4444")
    with PrismMemory.open(tmp_path, embedder=None) as memory:
        _, booked, _ = memory.write_many([search, book, look], scope="a")
        assert booked.unit_id is not None
        before = ask(memory, booked.unit_id)
        memory.write(reply, scope="a")
        live = ask(memory, booked.unit_id)
    with PrismMemory.open(tmp_path, embedder=None) as memory:
        assert ask(memory, booked.unit_id) == live != before
