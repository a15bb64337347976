import json
from pathlib import Path
from typing import Any

import pytest

from prism_core.errors import DatasetError, QueryError
from prism_core.evaluation import run_qa
from prism_core.evaluation.qa import ABLATIONS, SYSTEMS

KEYS = {
    *("R@5", "R@10", "R@20", "all@10", "MRR", "mean_tokens", "n"),
    *(f"excerpt_recall@{budget}t" for budget in (250, 500, 1000, 2000, 4000)),
    *("R@5 other", "R@10 other", "n named"),
    *("recall@250t", "recall@500t", "recall@1000t", "recall@2000t", "recall@4000t"),
}


def unit(number: int, text: str, session: str) -> dict[str, Any]:
    time = f"2023-05-08T13:{number:02d}:00Z"
    return {"id": f"D{number}", "text": text, "speaker": "Ann", "time": time, "session": session}


def row(name: str, pet: str) -> dict[str, Any]:
    units = [unit(number, f"Small talk number {number}.", "1") for number in range(30)]
    units += [unit(30, f"I adopted a {pet} called Tom.", "1"), unit(31, f"The {pet} likes tuna.", "2")]
    questions = [
        {"id": "name", "text": f"What is the {pet} called?", "evidence": ["D30"], "category": "single"},
        {"id": "food", "text": f"What does the {pet} like?", "evidence": ["D31"], "category": "single", "session": "2"},
        {"id": "trap", "text": "What is the horse called?", "evidence": ["D31"], "category": "adversarial"},
    ]
    return {"id": name, "units": units, "questions": questions}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "qa.jsonl"
    path.write_text("\n".join(json.dumps(value) for value in (row("a", "cat"), row("b", "dog"))))
    return path


def test_every_system_answers_under_the_same_keys(rows: Path) -> None:
    report = run_qa(rows)
    assert list(report.systems) == list(SYSTEMS)
    for scores in report.systems.values():
        assert set(scores.overall) == KEYS
        assert scores.overall["n"] == 4
        assert scores.by_category["adversarial"]["n"] == 2
        assert 0 < scores.overall["mean_tokens"] <= 500
        assert scores.latency_ms["p95"] >= scores.latency_ms["p50"] > 0


def test_evidence_that_is_easy_to_find_is_found(rows: Path) -> None:
    report = run_qa(rows, systems=["prism", "prism-lexical", "prism-stop", "bm25"])
    for scores in report.systems.values():
        assert (scores.overall["R@5"], scores.overall["MRR"], scores.overall["recall@500t"]) == (1.0, 1.0, 1.0)


def test_recency_finds_only_what_is_new(rows: Path) -> None:
    scores = run_qa(rows, systems=["recency"]).systems["recency"].overall
    # The name is the second newest unit, the food the only one of its session.
    assert (scores["R@5"], scores["MRR"]) == (1.0, 0.75)


def test_one_scope_mixes_the_rows(rows: Path) -> None:
    apart, mixed = (run_qa(rows, systems=["recency"], one_scope=value).systems["recency"] for value in (False, True))
    assert apart.overall["n"] == mixed.overall["n"] == 4
    # Equal times: the units of both rows alternate, which pushes one of the names further down.
    assert mixed.overall["MRR"] < apart.overall["MRR"]


def test_a_limit_asks_the_first_questions_of_the_file(rows: Path) -> None:
    scores = run_qa(rows, systems=["bm25"], limit=4).systems["bm25"]
    assert (scores.overall["n"], scores.by_category["adversarial"]["n"]) == (3, 1)


def test_several_processes_find_the_same(rows: Path) -> None:
    alone, together = (run_qa(rows, systems=["bm25"], jobs=jobs).systems["bm25"] for jobs in (1, 2))
    assert alone.overall == together.overall


def test_questions_that_name_one_speaker_of_their_row_are_told_apart(tmp_path: Path) -> None:
    said = row("a", "cat")
    said["units"][0]["speaker"] = "Bob"
    texts = {"one": "What is Ann's cat called?", "both": "What do Ann and Bob call it?", "part": "Who is Anna?"}
    said["questions"] = [{"id": name, "text": text, "evidence": ["D30"]} for name, text in texts.items()]
    path = tmp_path / "qa.jsonl"
    path.write_text(json.dumps(said))
    for one_scope in (False, True):
        report = run_qa(path, systems=["bm25"], one_scope=one_scope)
        assert report.systems["bm25"].overall["n named"] == 1
        named = [outcome.question for outcome in report.outcomes if "R@5 named" in outcome.values]
        assert [name.rpartition("/")[2] for name in named] == ["one"]


def test_unknown_systems_are_refused_by_name(rows: Path) -> None:
    with pytest.raises(QueryError, match="prism-stop"):
        run_qa(rows, systems=["prsim"])
    with pytest.raises(QueryError, match="at least one"):
        run_qa(rows, systems=[])


def test_ablations_are_asked_by_name_and_answer_under_the_same_keys(rows: Path) -> None:
    report = run_qa(rows, systems=["prism", *ABLATIONS])
    assert list(report.systems) == ["prism", *ABLATIONS]
    assert not set(ABLATIONS) & set(SYSTEMS)
    for scores in report.systems.values():
        assert set(scores.overall) == KEYS
        assert scores.overall["n"] == 4


def test_only_the_order_differs_in_an_ablation(rows: Path) -> None:
    report = run_qa(rows, systems=["prism", "literal"], limit=1)
    ours, theirs = (outcome.found for outcome in report.outcomes)
    assert ours is not None
    assert theirs is not None
    assert sorted(map(tuple, ours.returned)) == sorted(map(tuple, theirs.returned))
    assert ours.returned != theirs.returned


@pytest.mark.parametrize("one_scope", [False, True])
def test_intervals_are_over_the_rows_of_the_file(rows: Path, one_scope: bool) -> None:
    found = run_qa(rows, systems=["bm25", "recency"], one_scope=one_scope).intervals
    assert found is not None
    assert (found.groups, found.reference) == (2, "bm25")
    low, high = found.systems["bm25"]["R@5"]
    assert 0.0 <= low <= high <= 1.0
    assert set(found.differences["recency"]) == KEYS - {"n", "n named"}


def test_what_was_returned_is_kept_beside_the_evidence(rows: Path) -> None:
    outcome = run_qa(rows, systems=["prism"], limit=1).outcomes[0]
    assert outcome.found is not None
    assert outcome.found.evidence == ["D30"]
    assert list(outcome.found.returned[0]) == ["D30"]
    assert list(outcome.found.scores) == sorted(outcome.found.scores, reverse=True)


def test_an_excerpt_counts_apart_and_an_answer_only_where_it_stands(tmp_path: Path) -> None:
    talk = " ".join(f"Then we spoke about matter number {number}, which was settled." for number in range(90))
    long = {"a": f"{talk} The bell weighs 412 kilos. {talk}", "b": f"{talk} {talk}"}
    units = [unit(number, long[key], "1") | {"id": key} for number, key in enumerate(long)]
    asked = [{"id": "q", "text": "How much does the bell weigh?", "evidence": ["a"]}]
    path = tmp_path / "long.jsonl"
    path.write_text(json.dumps({"id": "s", "units": units, "questions": asked}))
    spans = {"store": "s", "question": "q", "answers": [{"unit": "a", "span": "weighs 412  kilos"}]}
    (tmp_path / "long-answers.jsonl").write_text(json.dumps(spans))
    for name in ("prism", "bm25"):
        report = run_qa(path, systems=[name])
        scores = report.systems[name].overall
        assert (scores["recall@500t"], scores["excerpt_recall@500t"], scores["answer_recall@500t"]) == (0, 1, 1)
        assert len(report.tables) == 3
    spans["answers"] = [{"unit": "a", "span": "weighs 413 kilos"}]
    (tmp_path / "long-answers.jsonl").write_text(json.dumps(spans))
    assert run_qa(path, systems=["bm25"], one_scope=True).systems["bm25"].overall["answer_recall@4000t"] == 0


def test_a_file_without_a_question_to_ask_has_no_figures(tmp_path: Path) -> None:
    path = tmp_path / "qa.jsonl"
    asked = {"id": "q", "text": "Whose cat is it?", "evidence": ["nowhere"]}
    path.write_text(json.dumps({"id": "r", "units": [unit(0, "A cat.", "s")], "questions": [asked]}))
    with pytest.raises(DatasetError, match=r"no question whose evidence is in the file \(1 left out\)"):
        run_qa(path, systems=["recency"])
