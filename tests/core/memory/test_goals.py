"""The chain of intents: a task's goal, the sub-goal, the step, and how they evolve."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from prism_core import Event, IntentQuery, Kind, PrismMemory, Source

SCOPE = ("acme", "ann")


@pytest.fixture
def memory() -> Iterator[PrismMemory]:
    with PrismMemory.open(embedder=None) as opened:
        yield opened


def say(memory: PrismMemory, text: str, source: Source = Source.USER, **fields: object) -> str:
    event = Event.model_validate({"observation": text, "source": source, "task_id": "t", **fields})
    return str(memory.write(event, scope=SCOPE).unit_id)


def act(memory: PrismMemory, action: str, **fields: object) -> str:
    event = Event.model_validate({"kind": Kind.STEP, "action": action, "task_id": "t", "source": "assistant", **fields})
    return str(memory.write(event, scope=SCOPE).unit_id)


def stack(memory: PrismMemory, **limits: str) -> list[tuple[str, str]]:
    (task,) = memory.goals(scope=SCOPE, **limits)
    return [(goal.level.value, goal.text) for goal in task.stack]


def test_a_task_has_a_goal_a_sub_goal_and_a_step(memory: PrismMemory) -> None:
    say(memory, "Please write a report on graph memories for agents.")
    assert stack(memory) == [("goal", "write a report on graph memories for agents")]
    say(memory, "First I'll collect the papers.", Source.ASSISTANT)
    act(memory, 'search({"q": "graph memory"})')
    assert stack(memory)[1:] == [("sub-goal", "collect the papers"), ("step", 'search({"q": "graph memory"})')]
    act(memory, 'read({"id": 1})', thought="Next, let me read the first one.")
    assert stack(memory)[1:] == [("sub-goal", "read the first one")]
    say(memory, "Thanks!")
    assert stack(memory)[1:] == [("sub-goal", "read the first one")]


def test_another_topic_is_another_goal_and_the_evolution_is_kept(memory: PrismMemory) -> None:
    say(memory, "Please write a report on graph memories for agents.")
    say(memory, "Can you also write a summary of the report on graph memories?")
    assert [level for level, _ in stack(memory)] == ["goal", "sub-goal"]
    say(memory, "I want you to book a table at the Italian place")
    assert stack(memory) == [("goal", "book a table at the Italian place")]
    (task,) = memory.goals(scope=SCOPE)
    assert [goal.level.value for goal in task.stated] == ["goal", "sub-goal", "goal"]


def test_the_first_request_is_the_goal_however_it_is_put(memory: PrismMemory) -> None:
    say(memory, "ok")
    say(memory, "The quarterly numbers for the board, by Friday")
    assert stack(memory) == [("goal", "The quarterly numbers for the board, by Friday")]


def test_what_arrives_late_does_not_undo_what_holds(memory: PrismMemory) -> None:
    now = datetime(2026, 5, 1, tzinfo=UTC)
    say(memory, "Please book a flight to Oslo", event_time=now)
    say(memory, "Please plan the garden party with music", event_time=now - timedelta(days=2))
    assert stack(memory)[0] == ("goal", "book a flight to Oslo")


def test_tasks_and_sessions_are_told_apart_and_come_back_with_the_store(tmp_path: Path) -> None:
    with PrismMemory.open(tmp_path, embedder=None) as memory:
        say(memory, "Please write a report on graph memories")
        say(memory, "Help me plan a trip to Norway", task_id=None, session_id="s")
    with PrismMemory.open(tmp_path, embedder=None) as memory:
        assert len(memory.goals(scope=SCOPE)) == 2
        assert stack(memory, session_id="s") == [("goal", "plan a trip to Norway")]
        assert stack(memory, task_id="t") == [("goal", "write a report on graph memories")]
        assert memory.goals(scope="bob") == []


def test_a_vague_question_within_a_task_is_about_its_present_goal(memory: PrismMemory) -> None:
    say(memory, "Please write a survey of graph memories")
    compared = act(memory, 'compare({"a": "A", "b": "B"})', observation="edges against time")
    for number in range(6):
        say(memory, f"The weather in Oslo was fine on day {number}.")
    say(memory, "Next, let's compare them in a table.")
    found = memory.search("Go on.", scope=SCOPE, task_id="t", k=3)
    assert found.query.intents_told
    assert "compare" in {label.partition("/")[0] for label in found.query.target_intents}
    assert compared in [hit.unit.id for hit in found]
    plain = memory.search("What is the weather in Oslo?", scope=SCOPE)
    assert not plain.query.intents_told
    active = memory.search("Go on.", scope=SCOPE, active=[compared])
    assert active.query.intents_told


def test_the_callers_intents_count_for_more_than_the_words(memory: PrismMemory) -> None:
    ids = [say(memory, f"Note {n} about the harbour", intent_tags=("read" if n % 2 else "buy",)) for n in range(6)]
    query = IntentQuery(text="harbour", target_intents=("buy",))
    best = [hit.unit.id for hit in memory.search(query, scope=SCOPE, k=3)]
    assert sorted(best) == sorted(ids[::2])
