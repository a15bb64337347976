from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from rich.console import Console

from prism_core.demo import run_demo
from prism_core.demo.baselines import VectorSearch, last_turns
from prism_core.demo.compare import Comparison
from prism_core.demo.run import BUDGET, SCOPE
from prism_core.demo.story import load_story
from prism_core.embed import MiniLMEmbedder
from prism_core.memory import PrismMemory
from prism_core.text import O200kCounter
from prism_core.types import MemoryUnit, Source

START = datetime(2026, 5, 8, tzinfo=UTC)


def history(*said: tuple[Source, str]) -> list[MemoryUnit]:
    return [
        MemoryUnit(
            id=f"u{number}",
            scope=("s",),
            event_time=START + timedelta(minutes=number),
            recorded_at=START,
            importance=0.5,
            source=source,
            observation=text,
        )
        for number, (source, text) in enumerate(said)
    ]


def run(path: Path) -> tuple[tuple[Comparison, ...], str]:
    page = io.StringIO()
    return run_demo(path, Console(file=page, width=100)), page.getvalue()


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[Comparison, ...], str]:
    path = tmp_path_factory.mktemp("demo") / "store"
    return path, *run(path)


def test_the_story_is_a_week_of_two_tasks_with_a_failure() -> None:
    story = load_story()
    times = [event.event_time for event in story.events if event.event_time]
    assert 75 <= story.steps <= 90
    assert times == sorted(times)
    assert len({event.session_id for event in story.events}) == 5
    assert {event.task_id for event in story.events} == {"papers", "trip"}
    assert [event.observation[:21] for event in story.events if event.outcome == "failure"] == ["Error FARE_SOLD_OUT: "]
    assert len({event.idempotency_key for event in story.events}) == len(story.events)


def test_every_step_was_taken_for_an_earlier_one_of_its_task() -> None:
    seen: set[tuple[str | None, str | None]] = set()
    for event in load_story().events:
        assert event.parent is None or (event.task_id, event.parent) in seen
        seen.add((event.task_id, event.step_id))


def test_the_story_holds_the_facts_its_questions_need() -> None:
    story = load_story()
    text = "\n".join(event.text for event in story.events)
    assert [len(question.needs) for question in story.questions] == [4, 4, 3, 0]
    for question in story.questions:
        assert question.found(text) == tuple(need[0] for need in question.needs)
        assert all(way in text for need in question.needs for way in need)
        assert not question.found(question.text)


def test_a_turn_lasts_until_the_user_speaks_again() -> None:
    units = history(
        (Source.USER, "one"), (Source.TOOL, "a"), (Source.USER, "two"), (Source.ASSISTANT, "b"), (Source.TOOL, "c")
    )
    assert last_turns(units, 1) == units[2:]
    assert last_turns(units, 2) == units
    assert last_turns(units, 9) == units
    assert last_turns([], 3) == []


def test_vector_search_finds_the_nearest_first() -> None:
    units = history(
        (Source.USER, "The cat sleeps on the sofa."),
        (Source.USER, "Shares fell after the central bank raised rates."),
        (Source.USER, "A kitten naps on the couch."),
    )
    with VectorSearch(units, MiniLMEmbedder()) as search:
        assert [unit.id for unit in search.search("where does the cat sleep", 2)] == ["u0", "u2"]
        assert len(search.search("interest rates", 10)) == 3


def test_all_systems_get_the_same_tokens_and_are_measured_exactly(
    told: tuple[Path, tuple[Comparison, ...], str],
) -> None:
    _, comparisons, _ = told
    for comparison in comparisons:
        assert [handed.system for handed in comparison.handed] == ["last 5 turns", "vector search", "prism-memory"]
        assert all(handed.tokens == O200kCounter().count(handed.text) for handed in comparison.handed)
        assert all(handed.tokens <= BUDGET for handed in comparison.handed[1:])


def test_the_memory_hands_over_what_is_needed_and_nothing_when_nothing_is(
    told: tuple[Path, tuple[Comparison, ...], str],
) -> None:
    _, comparisons, _ = told
    for comparison in comparisons:
        memory = comparison.handed[-1]
        assert len(memory.found) == len(comparison.question.needs), comparison.question.text
    assert comparisons[-1].handed[-1].text == ""


def test_the_page_fits_100_columns_and_shows_reasons_and_a_chain(
    told: tuple[Path, tuple[Comparison, ...], str],
) -> None:
    path, comparisons, page = told
    assert max(len(line) for line in page.splitlines() if str(path) not in line) <= 100
    for comparison in comparisons:
        assert comparison.question.text in page
    assert "objectives:" in page
    chain = page[page.index("How did it come about?") :]
    assert "REQUIRES: uses FA-2231" in chain
    assert chain.index("FARE_SOLD_OUT") < chain.index("no exception this time") < chain.index("(the decision)")


def test_a_second_run_uses_the_store_of_the_first(told: tuple[Path, tuple[Comparison, ...], str]) -> None:
    path, comparisons, _ = told
    with PrismMemory.open(path) as memory:
        before = memory.stats(SCOPE)
    again, page = run(path)
    with PrismMemory.open(path) as memory:
        assert memory.stats(SCOPE) == before
    assert f"{len(load_story().events)} duplicate" in page
    assert [[handed.text for handed in one.handed] for one in again] == [
        [handed.text for handed in one.handed] for one in comparisons
    ]


def test_without_a_path_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run_demo(None, Console(file=io.StringIO(), width=100))
    assert list(tmp_path.iterdir()) == []
