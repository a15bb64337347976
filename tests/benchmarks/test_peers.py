"""Other tools as systems: they remember and find, or are skipped where they are not installed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from benchmarks.compare_peers import leaders, less_tokens, main
from benchmarks.peers import PEERS
from benchmarks.peers.base import Peer
from prism_core import Event
from prism_core.evaluation.datasets import Item
from prism_core.evaluation.qa import BUDGETS
from prism_core.evaluation.report import SystemScores
from prism_core.evaluation.systems import Ask
from prism_core.evaluation.workbench import workbench

# What the tools deprecate is theirs to mend.
pytestmark = pytest.mark.filterwarnings("default")

START = datetime(2026, 1, 1, tzinfo=UTC)
TALK = (
    ("a", "1", "Ann", "I adopted a grey kitten called Pepper."),
    ("b", "1", "Bob", "The train to Lyon leaves at nine."),
    ("c", "1", "Ann", "We should repaint the kitchen."),
    ("d", "2", "Bob", "My sister studies marine biology."),
    ("e", "2", "Ann", "The train to Lyon leaves at nine."),
    ("f", "2", "Ann", "The train to Lyon leaves at nine."),
)


def _item(row: int, key: str, session: str, speaker: str, text: str) -> Item:
    event = Event(
        observation=text,
        speaker=speaker,
        session_id=session,
        event_time=START + timedelta(minutes=row),
        idempotency_key=key,
    )
    return Item(key, (event,), event)


ITEMS = tuple(_item(row, *said) for row, said in enumerate(TALK))


@pytest.fixture(params=PEERS)
def peer(request: pytest.FixtureRequest) -> Iterator[Peer]:
    """Every tool that is installed, with two sessions of talk in it."""
    tool = PEERS[request.param]
    if missing := tool.missing():
        pytest.skip(f"{request.param} is not installed: {', '.join(missing)}")
    opened = tool.open(workbench(), START)
    opened.add(ITEMS)
    yield opened
    opened.close()


def found(peer: Peer, text: str, session: str | None = None) -> list[str]:
    return [unit.id for unit in peer.search(Ask(text, session_id=session)).units]


def test_the_best_unit_comes_first_and_none_comes_twice(peer: Peer) -> None:
    order = found(peer, "What is the name of the kitten that Ann adopted?")
    assert order[0] == "a"
    assert len(order) == len(set(order))
    assert set(order) <= {item.key for item in ITEMS}


def test_equal_texts_stay_two_units(peer: Peer) -> None:
    order = found(peer, "When does the train to Lyon leave?")
    assert set(order[:3]) == {"b", "e", "f"}


def test_only_the_session_asked_about_comes_back(peer: Peer) -> None:
    order = found(peer, "When does the train to Lyon leave?", session="2")
    assert set(order[:2]) == {"e", "f"}
    assert set(order) <= {"d", "e", "f"}


def test_units_carry_what_was_said_for_the_renderer(peer: Peer) -> None:
    (best, *_) = peer.search(Ask("Who adopted a grey kitten?")).units
    assert (best.speaker, best.observation, best.event_time) == ("Ann", TALK[0][3], START)


def test_later_units_are_found_besides_the_earlier_ones(peer: Peer) -> None:
    peer.add([_item(9, "g", "3", "Bob", "The dentist moved my appointment to Friday.")])
    assert found(peer, "When is the dentist appointment?")[0] == "g"
    assert found(peer, "Who adopted a grey kitten?")[0] == "a"


def test_a_fork_remembers_the_same_and_goes_on_by_itself(peer: Peer) -> None:
    question = "When does the train to Lyon leave?"
    twin = peer.fork()
    try:
        assert set(found(twin, question)[:3]) == set(found(peer, question)[:3])
        twin.add([_item(9, "g", "3", "Bob", "The dentist moved my appointment to Friday.")])
        assert "g" not in found(peer, "When is the dentist appointment?")
    finally:
        twin.close()


def test_an_empty_tool_returns_nothing() -> None:
    peer = PEERS["bm25s"].open(workbench(), START)
    assert found(peer, "Anything?") == []


def test_texts_without_a_term_are_indexed_and_not_found() -> None:
    peer = PEERS["bm25s"].open(workbench(), START)
    peer.add([_item(0, "a", "1", "", "?"), _item(1, "b", "1", "", "...")])
    assert found(peer, "kitten") == []
    peer.add([ITEMS[0]])
    assert found(peer, "kitten") == ["a"]
    assert found(peer, "?") == []


def scores(*recall: float) -> SystemScores:
    return SystemScores(dict(zip((f"recall@{budget}t" for budget in BUDGETS), recall, strict=True)), {}, {})


def test_the_verdict_names_the_best_at_each_budget_and_who_needs_fewer_tokens() -> None:
    systems = {"prism": scores(0.5, 0.6, 0.7, 0.8, 0.9), "bm25s": scores(0.6, 0.5, 0.6, 0.7, 0.8)}
    assert leaders(systems)[:2] == [
        "250 tokens: bm25s 0.600 is best, then prism 0.500",
        "500 tokens: prism 0.600 is best, then bm25s 0.500",
    ]
    assert less_tokens(systems) == [
        "prism against bm25s: 0.500 at 250 >= 0.500 at 500; 0.600 at 500 < 0.700 at 2000; "
        "0.700 at 1000 >= 0.700 at 2000"
    ]
    assert less_tokens({"bm25s": systems["bm25s"]}) == []


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two questions about the talk."""
    units = [{"id": key, "session": session, "speaker": who, "text": text} for key, session, who, text in TALK]
    questions = [
        {"id": "q1", "text": "What is the kitten called?", "evidence": ["a"], "category": "plain"},
        {"id": "q2", "text": "What does Bob's sister study?", "evidence": ["d"], "category": "plain"},
    ]
    path = tmp_path / "talk.jsonl"
    path.write_text(json.dumps({"id": "talk", "units": units, "questions": questions}), encoding="utf-8")
    return path


def test_the_command_shows_prism_beside_the_tools(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "figures.json"
    assert main([str(file), "--systems", "prism,bm25s,chroma", "--json", str(target)]) == 0
    shown = capsys.readouterr().out
    assert "recall, by number of units" in shown and "bm25s" in shown
    figures = json.loads(target.read_text(encoding="utf-8"))
    assert list(figures["systems"]) == ["prism", "bm25s", "chroma"]
    assert figures["systems"]["bm25s"]["overall"]["R@5"] == 1.0
    assert figures["systems"]["prism"]["overall"]["recall@250t"] == 1.0
    assert list(figures["peers"]["chroma"]["versions"]) == ["chromadb"]


def test_the_command_refuses_what_it_does_not_know(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(file), "--systems", "prism,nobody"]) == 2
    assert "nobody" in capsys.readouterr().err


def test_without_a_file_the_command_lists_the_tools(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(f"{name}: " in shown for name in PEERS)
