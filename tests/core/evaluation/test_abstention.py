import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_core.errors import DatasetError, QueryError
from prism_core.evaluation.abstention import (
    ANSWERABLE,
    NEAR_MISS,
    OFF_DOMAIN,
    auroc,
    kept_at,
    probes,
    renamed,
    run_abstention,
    speakers,
    user_messages,
)
from prism_core.evaluation.datasets import load_qa

TALK = {
    ("Ann", "Bob"): [("Ann", "I adopted a cat called Tom."), ("Bob", "My boat needs new sails."), ("Ann", "Nice!")],
    ("Cleo", "Dan"): [("Cleo", "We climbed a volcano in Iceland."), ("Dan", "I bake rye bread."), ("Dan", "Bye.")],
}
ASKED = {
    ("Ann", "Bob"): ["What is Ann's cat called?", "What does Bob's boat need?"],
    ("Cleo", "Dan"): ["Where did Cleo climb a volcano?", "Which bread does DAN bake?"],
}
MESSAGES = ["Cancel reservation ZFA04Y.", "Refund my credit card, please.", "Is economy cheaper?", " "]


def row(number: int, names: tuple[str, str]) -> dict[str, Any]:
    units = [{"id": f"u{place}", "text": text, "speaker": name} for place, (name, text) in enumerate(TALK[names])]
    questions = [
        {"id": f"q{place}", "text": text, "evidence": [f"u{place}"], "category": "single"}
        for place, text in enumerate(ASKED[names])
    ]
    trap = {"id": "trap", "text": f"What is {names[1]}'s cat called?", "evidence": ["u0"], "category": "adversarial"}
    return {"id": f"row-{number}", "units": units, "questions": [*questions, trap]}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row(number, names)) for number, names in enumerate(TALK)))
    return path


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    path = tmp_path / "runs.jsonl"
    messages = [{"role": "user", "content": text} for text in MESSAGES] + [{"role": "assistant", "content": "Done."}]
    path.write_text(json.dumps({"id": "run", "messages": messages}))
    return path


def test_answerable_questions_are_told_from_others(rows: Path, runs: Path) -> None:
    report = run_abstention(rows, runs)
    assert list(report.systems) == ["prism", "prism-lexical"]
    for scores in report.systems.values():
        assert scores.overall == {
            "auroc_offdomain": 1.0,
            "kept_offdomain@5": 1.0,
            "auroc_nearmiss": 1.0,
            "kept_nearmiss@5": 1.0,
            "n": 4,
        }
        assert {kind: figures["n"] for kind, figures in scores.by_category.items()} == {
            "answerable": 4,
            "adversarial": 2,
            "near miss": 4,
            "off-domain": 6,
        }
    assert report.intervals is not None
    assert report.intervals.systems["prism"]["auroc_nearmiss"] == (1.0, 1.0)


def test_near_misses_are_the_questions_of_the_row_before_under_the_own_names(rows: Path) -> None:
    first, second = load_qa(rows)
    asked = probes(first, second, ["Hello?"])
    assert [(probe.kind, probe.text) for probe in asked if probe.kind not in (ANSWERABLE, "adversarial")] == [
        (NEAR_MISS, "Where did Ann climb a volcano?"),
        (NEAR_MISS, "Which bread does Bob bake?"),
        (OFF_DOMAIN, "Hello?"),
    ]
    assert speakers(first) == ["Ann", "Bob"]


def test_names_are_replaced_all_at_once_and_as_whole_words() -> None:
    assert renamed("ann saw Bob, not Annette", ["Ann", "Bob"], ["Bob", "Ann"]) == "Bob saw Ann, not Annette"
    assert renamed("Ann and Bob", ["Ann", "Bob"], ["Cleo"]) == "Cleo and Bob"
    assert renamed("Ann", [], ["Cleo"]) == "Ann"


def test_a_share_of_the_messages_is_drawn_alike_every_time(rows: Path, runs: Path) -> None:
    first, again = (run_abstention(rows, runs, systems=["prism-lexical"], per_row=2) for _ in range(2))
    kinds = [outcome.category for outcome in first.outcomes]
    assert kinds.count(OFF_DOMAIN) == 4
    assert "2 (seed 0) of 3 off-domain messages" in first.notes[0]
    assert [outcome.question for outcome in first.outcomes] == [outcome.question for outcome in again.outcomes]
    assert first.systems["prism-lexical"].overall == again.systems["prism-lexical"].overall


def test_only_what_users_say_is_off_domain(runs: Path) -> None:
    assert user_messages(runs) == MESSAGES[:3]


def test_what_cannot_be_asked_is_refused(rows: Path, runs: Path, tmp_path: Path) -> None:
    lonely, silent = tmp_path / "lonely.jsonl", tmp_path / "silent.jsonl"
    lonely.write_text(json.dumps(row(0, ("Ann", "Bob"))))
    silent.write_text(json.dumps({"id": "x", "messages": [{"role": "assistant", "content": "Hm."}]}))
    with pytest.raises(DatasetError, match="another row is needed"):
        run_abstention(lonely, runs)
    with pytest.raises(DatasetError, match="no user says anything"):
        run_abstention(rows, silent)
    with pytest.raises(QueryError, match="prism-lexical"):
        run_abstention(rows, runs, systems=["bm25"])


SCORES = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=20)


@given(SCORES, SCORES)
def test_auroc_is_the_share_of_pairs_in_the_right_order(answerable: list[float], others: list[float]) -> None:
    pairs = [(one > other) + (one == other) / 2 for one in answerable for other in others]
    (found,) = auroc(np.array(answerable), np.array(others))
    assert found == pytest.approx(np.mean(pairs))


@given(SCORES, SCORES)
def test_a_weight_of_two_counts_a_question_twice(answerable: list[float], others: list[float]) -> None:
    weighted = auroc(
        np.array(answerable),
        np.array(others),
        np.full((1, len(answerable)), 2.0),
        np.arange(1.0, len(others) + 1)[None],
    )
    repeated = np.repeat(others, np.arange(1, len(others) + 1))
    assert weighted == pytest.approx(auroc(np.array(answerable), repeated))


def test_kept_counts_what_passes_where_few_others_do() -> None:
    others = np.arange(100.0)
    assert kept_at(np.array([94.0, 95.0, 96.0, 200.0]), others) == 0.5
    assert kept_at(np.array([94.0, 95.0, 96.0, 200.0]), others, 0.5) == 1.0
