"""Faults that users of other memories reported, tried on this one; named by the id of the report."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from prism_core import Event, Kind, PrismMemory, ReceiptStatus, Reranker, Source
from prism_core.testing import HashedEmbedder

ROOT = Path(__file__).resolve().parents[2]
OFFLINE = """
import socket, sys
class NoNetwork(socket.socket):
    def connect(self, address): raise OSError(f"tried to reach {address}")
    connect_ex = connect
socket.socket = NoNetwork
from prism_core import PrismMemory
with PrismMemory.open(sys.argv[1], index="chroma") as memory:
    memory.write("The valve was set to 3.7 bar.", scope="s")
    memory.flush()
    print(memory.search("What is the pressure of the valve?", scope="s", k=1)[0].unit.text)
"""


def test_c6_empty_lists_and_nested_metadata_are_stored_and_come_back(tmp_path: Path) -> None:
    metadata: dict[str, JsonValue] = {
        "tags": [],
        "mixed": [1, "a", None],
        "nested": {"deep": {"list": [{}]}},
        "empty": {},
    }
    with PrismMemory.open(tmp_path, embedder=HashedEmbedder(), index="chroma") as memory:
        event = Event(observation="It rains in Oslo.", entities=(), intent_tags=(), metadata=metadata)
        unit_id = memory.write(event, scope="s").unit_id
        memory.flush()
        assert memory.search("rain in Oslo", scope="s", k=1)[0].unit.id == unit_id
    with PrismMemory.open(tmp_path, embedder=HashedEmbedder(), index="chroma") as memory:
        assert memory.get(str(unit_id), scope="s").metadata == metadata


def test_c9_c10_the_first_use_is_offline_and_quiet(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(home)}
    command = [sys.executable, "-c", OFFLINE, str(tmp_path / "store")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
    assert "3.7 bar" in done.stdout
    assert done.stderr == ""
    assert not any(path.suffix == ".onnx" for path in home.rglob("*"))


def test_c27_names_of_parameters_are_kept() -> None:
    # Whoever renames one of these breaks every program and page that uses it: deprecate, do not rename.
    verbs: dict[Callable[..., Any], str] = {
        PrismMemory.open: "path embedder index counter clock new_id create on_embedder_change ranking",
        PrismMemory.write: "self event scope",
        PrismMemory.write_many: "self events scope",
        PrismMemory.search: "self query scope k budget active task_id session_id where since until vector",
        PrismMemory.context: "self query scope budget active task_id session_id where since until vector",
        PrismMemory.units: "self scope session_id task_id where last",
        PrismMemory.erase: "self scope unit_ids task_id session_id whole_scope",
        PrismMemory.why: "self unit_id scope depth limit",
        Reranker.rank: "self query passages k budget",
    }
    for verb, names in verbs.items():
        given = list(inspect.signature(verb).parameters)
        assert given[: len(names.split())] == names.split()


def test_c30_indexes_opened_in_threads_do_not_meet(tmp_path: Path) -> None:
    found: dict[int, str] = {}

    def work(number: int) -> None:
        with PrismMemory.open(tmp_path / str(number), embedder=HashedEmbedder(), index="chroma") as memory:
            memory.write(f"the note of thread {number}", scope="s")
            memory.flush()
            found[number] = memory.search("the note", scope="s", k=1)[0].unit.observation

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: f"the note of thread {number}" for number in range(6)}


def links_of(memory: PrismMemory) -> list[tuple[str, str, str]]:
    return sorted((link.source, link.relation.value, link.target) for link in memory.links(scope="s"))


def test_a14_an_episode_that_comes_in_twice_adds_no_units_and_no_links(tmp_path: Path) -> None:
    events = [
        Event(observation="My id is mia_77.", session_id="day 1", idempotency_key="1"),
        Event(kind=Kind.STEP, action='get({"id": "mia_77"})', source=Source.ASSISTANT, session_id="day 1", step_id="2"),
    ]
    with PrismMemory.open(tmp_path, embedder=None) as memory:
        memory.write_many(events, scope="s")
        units, links = memory.units(scope="s"), links_of(memory)
        assert sorted(relation for _, relation, _ in links) == ["FOLLOWS", "REQUIRES", "SUMMARIZES"]
        again = memory.write_many([*events, *events], scope="s")
        assert {receipt.status for receipt in again} == {ReceiptStatus.DUPLICATE}
        assert (memory.units(scope="s"), links_of(memory)) == (units, links)


def test_a25_the_same_event_from_two_sessions_is_one(tmp_path: Path) -> None:
    with PrismMemory.open(tmp_path, embedder=None) as memory:
        keyed = [Event(observation="The valve leaks.", session_id=name, idempotency_key="e1") for name in ("a", "b")]
        page = [Event(kind=Kind.DOCUMENT, observation="Valve manual V-4711", session_id=name) for name in ("a", "b")]
        uses = Event(kind=Kind.STEP, action="open(V-4711)", source=Source.ASSISTANT, session_id="a")
        memory.write_many([*keyed, *page, uses], scope="s")
        assert memory.stats("s").units == 3
        # The valve is followed by its manual, and that by the step that uses it: once each.
        assert [relation for _, relation, _ in links_of(memory)].count("REQUIRES") == 1
        assert [relation for _, relation, _ in links_of(memory)].count("FOLLOWS") == 2


def test_b18_a_retry_under_the_same_step_id_keeps_both_and_their_links(tmp_path: Path) -> None:
    def step(returned: str) -> Event:
        call = Event(kind=Kind.STEP, action="fetch(R-100)", source=Source.ASSISTANT, task_id="t", step_id="1")
        return call.model_copy(update={"observation": returned})

    with PrismMemory.open(tmp_path, embedder=None) as memory:
        first, retry = (
            str(memory.write(step(text), scope="s").unit_id) for text in ("Error: timed out", "R-100 is Q-200")
        )
        assert first != retry
        assert memory.get(first, scope="s").observation == "Error: timed out"
        using = Event(kind=Kind.STEP, action="use(Q-200)", source=Source.ASSISTANT, task_id="t", parent="1")
        last = str(memory.write(using, scope="s").unit_id)
        expected = [
            (first, "FOLLOWS", retry),
            (first, "REPEATS", retry),
            (retry, "CAUSES", last),
            (retry, "FOLLOWS", last),
            (retry, "REQUIRES", last),
        ]
        assert links_of(memory) == sorted(expected)
