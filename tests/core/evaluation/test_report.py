import io
import json

from rich.console import Console

from prism_core.evaluation.report import Outcome, Report, summarize

OUTCOMES = [
    Outcome("ours", "q1", "plain", {"R@5": 1.0, "tokens": 400.0}, {"n": 1}, 0.010),
    Outcome("ours", "q2", "plain", {"R@5": 0.5, "old": 0.25}, {"n": 1}, 0.030),
    Outcome("ours", "q3", "adversarial", {"R@5": 0.0}, {"n": 1}, 0.020),
    Outcome("other", "q1", "plain", {"R@5": 0.0}, {"n": 1}, 0.001),
]


def test_figures_are_means_over_the_questions_that_have_them() -> None:
    overall = summarize(OUTCOMES, ["ours", "other"])["ours"].overall
    assert overall == {"R@5": 0.75, "tokens": 400.0, "old": 0.25, "n": 2}


def test_adversarial_questions_are_reported_apart() -> None:
    scores = summarize(OUTCOMES, ["ours"])["ours"]
    assert scores.by_category["adversarial"] == {"R@5": 0.0, "n": 1}
    assert scores.by_category["plain"]["n"] == scores.overall["n"] == 2


def test_a_question_asked_in_several_ways_is_counted_once() -> None:
    told = Outcome("ours", "q1", "plain", {"R@5_told": 0.0}, {"n": 1}, 0.0)
    assert summarize([*OUTCOMES, told], ["ours"])["ours"].overall["n"] == 2


def test_the_json_form() -> None:
    report = Report("data.jsonl", summarize(OUTCOMES, ["other"]))
    assert json.loads(report.to_json()) == {
        "file": "data.jsonl",
        "systems": {
            "other": {
                "overall": {"R@5": 0.0, "n": 1},
                "by_category": {"plain": {"R@5": 0.0, "n": 1}},
                "latency_ms": {"p50": 1.0, "p95": 1.0},
            }
        },
    }


def test_tables_show_every_figure_even_on_a_narrow_console() -> None:
    columns = {f"column {number}": "R@5" for number in range(12)} | {"tokens": "tokens", "n": "n"}
    report = Report("data.jsonl", summarize(OUTCOMES, ["ours", "other"]), {"recall": columns}, ("a note",))
    out = io.StringIO()
    report.print(Console(file=out, width=40))
    text = out.getvalue()
    rows = [line.split() for line in text.splitlines()]
    assert ["ours", *["0.750"] * 12, "400.0", "2"] in rows
    assert ["other", *["0.000"] * 12, "-", "1"] in rows
    assert "adversarial" in text
    assert "a note" in text
