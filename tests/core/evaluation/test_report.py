import io
import json

from rich.console import Console

from prism_core.evaluation.bootstrap import Intervals
from prism_core.evaluation.outcomes import Found, Outcome
from prism_core.evaluation.report import Report, SystemScores, summarize

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


INTERVALS = Intervals(
    4, "ours", {"ours": {"R@5": (0.5, 1.0)}, "other": {"R@5": (0.0, 0.25)}}, {"other": {"R@5": (0.75, -0.0021, 0.9)}}
)


def test_intervals_stand_under_their_table_and_in_the_json_form() -> None:
    report = Report("data.jsonl", summarize(OUTCOMES, ["ours", "other"]), {"recall": {"R@5": "R@5"}}, (), INTERVALS)
    out = io.StringIO()
    report.print(Console(file=out, width=80))
    text = out.getvalue()
    assert "95 % intervals, paired bootstrap over 4 groups" in text
    assert "[.500, 1.000]" in text
    assert "[-.002, +.900]" in text
    written = json.loads(report.to_json())["intervals"]
    assert written["systems"]["other"]["R@5"] == [0.0, 0.25]
    assert written["differences"]["other"]["R@5"] == [0.75, -0.0021, 0.9]


def test_every_question_is_a_line_of_json() -> None:
    seen = Outcome(
        "ours", "q1", "plain", {"R@5": 1 / 3}, {}, 0.0102, "talk", Found([["a"], ["b", "c"]], [2.0, 1.0], ["c"])
    )
    lines = Report("data.jsonl", {}, outcomes=[seen, OUTCOMES[3]]).to_lines().splitlines()
    assert json.loads(lines[0]) == {
        "system": "ours",
        "question": "q1",
        "group": "talk",
        "category": "plain",
        "ms": 10.2,
        "values": {"R@5": 0.3333},
        "returned": [["a"], ["b", "c"]],
        "scores": [2.0, 1.0],
        "evidence": ["c"],
    }
    assert "returned" not in json.loads(lines[1])


def test_categories_with_figures_of_their_own_are_shown_under_them() -> None:
    scores = SystemScores({"auroc": 0.9}, {"near": {"p5": 0.125, "p95": 0.5}}, {"p50": 1.0, "p95": 2.0})
    out = io.StringIO()
    Report("data.jsonl", {"ours": scores}, {"all": {"auroc": "auroc"}}).print(Console(file=out, width=80))
    assert ["near", "0.125", "0.500"] in [line.split() for line in out.getvalue().splitlines()]
