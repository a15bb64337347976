from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.report.__main__ import main
from benchmarks.report.page import page
from benchmarks.report.pictures import draw
from benchmarks.report.results import MeasureError, Measuring, Result, read
from benchmarks.report.suites import OWN_DATA, SUITES, Suite, chosen, locate
from benchmarks.report.tables import ahead_of_own, figure, merged, signed, table

TINY = Suite("qa-tiny", "qa", ("tiny.jsonl",), ("--systems", "prism-lexical,bm25"))
BUDGETS = (250, 500, 1000, 2000, 4000)


def overall(level: float) -> dict[str, float]:
    recall = {f"recall@{budget}t": round(level + number / 100, 4) for number, budget in enumerate(BUDGETS)}
    return {
        "R@5": level,
        "R@10": level,
        "R@20": level,
        "all@10": level,
        "MRR": level,
        **recall,
        "mean_tokens": 400.0,
        "n": 9,
    }


def scores(figures: dict[str, float]) -> dict[str, Any]:
    return {"overall": figures, "by_category": {"plain": figures}, "latency_ms": {"p50": 1.25, "p95": 2.5}}


def trust(names: list[str], keys: list[str], reference: str = "prism") -> dict[str, Any]:
    differences = {name: {key: [0.1, -0.05, 0.2] for key in keys} for name in names if name != reference}
    systems = {name: {key: [0.4, 0.6] for key in keys} for name in names}
    return {
        "resamples": 2000,
        "seed": 1,
        "groups": 5,
        "reference": reference,
        "systems": systems,
        "differences": differences,
    }


def qa_report(levels: dict[str, float]) -> dict[str, Any]:
    systems = {name: scores(overall(level)) for name, level in levels.items()}
    return {"file": "f", "systems": systems, "intervals": trust(list(levels), ["R@10", "recall@500t"])}


def trace_report() -> dict[str, Any]:
    figures = {
        f"{old}{name}{variant}@{budget}t": 0.5
        for old in ("", "old_")
        for name in ("arg_coverage", "source_recall")
        for variant in ("", "_told", "_own", "_blind")
        for budget in (150, 300, 600, 1200)
    }
    systems = {"prism": scores(figures), "oracle": scores({key: 0.75 for key in figures})}
    return {"file": "f", "systems": systems, "parts": {"odd": {"file": "f", "systems": {"prism": scores(figures)}}}}


def weight_report() -> dict[str, Any]:
    keys = ["R@5", "R@10", "recall@500t"]
    figures = {key: 0.5 for key in keys}
    systems = {name: {"overall": figures, "by_category": {"talk": figures}} for name in ("shipped", "refitted")}
    weight = {"signal": "dense", "objective": "relevance", "shipped": 0.6, "refitted": 0.5, "spread": 0.25}
    removed = {key: [-0.02, -0.04, -0.01] for key in keys}
    intervals = trust(["shipped", "refitted"], keys, "shipped")
    return {"file": "f", "systems": systems, "intervals": intervals, "weights": [{**weight, "removed": removed}]}


def candidate(place: int) -> dict[str, Any]:
    objectives = {"lexical": place / 10, "dense": 1 - place / 9}
    return {
        "objectives": objectives,
        "front": None if place == 0 else place % 8,
        "rank": place if place in (5, 6) else None,
        "evidence": place == 7,
    }


REPORTS: dict[str, dict[str, Any]] = {
    "qa-locomo": qa_report({"prism": 0.5, "prism-sum": 0.625, "bm25": 0.25}),
    "peers-locomo": {**qa_report({"prism": 0.5, "mem0": 0.375}), "peers": {"mem0": {"versions": {"mem0ai": "9.9"}}}}
    | {"notes": ["mempalace left out, not installed: mempalace"]},
    "traces-airline": trace_report(),
    "abstention-locomo": {"file": "f", "systems": {"prism": scores({"auroc_nearmiss": 0.9, "n": 9})}},
    "robustness-locomo": {
        "file": "f",
        "systems": {
            "soft": scores(
                {f"{key}{part}": 0.5 for key in ("R@5", "R@10", "recall@500t") for part in ("", " mean", " worst")}
            )
        },
    },
    "weights-locomo": weight_report(),
    "example": {"question": "q7", "budget": 500, "candidates": [candidate(place) for place in range(10)]},
}


@pytest.fixture
def results() -> dict[str, Result]:
    kinds = {suite.name: suite for suite in SUITES}
    environment = {"revision": "abc1234", "python": "3.11.0", "machine": "Linux, 2 cores", "packages": {"numpy": "2.0"}}
    return {
        name: {
            "suite": name,
            "kind": kinds[name].kind,
            "command": f"run {name}",
            "data": dict.fromkeys(kinds[name].data, "f00d"),
            "date": "2026-01-02",
            "seconds": 3.0,
            "load": [0.5, 1.5],
            "environment": environment,
            "report": report,
        }
        for name, report in REPORTS.items()
    }


def test_every_suite_has_its_tables_its_command_and_its_data(results: dict[str, Result]) -> None:
    text = page(results, {"qa-madial-en": "no file"}, "evaluation")
    lines = text.splitlines()
    assert "| `prism` | .500 | .500 | .500 | .500 | .500 | .500 | .510 | .520 | .530 | .540 | 400.0 |" in lines
    assert "| `mem0` | .375 | .375 | .375 | .375 | .375 | .375 | .385 | .395 | .405 | .415 | 400.0 |" in lines
    assert "| `prism` - `mem0` | - | +.100 [-.050, +.200] | +.100 [-.050, +.200] | - |" in lines
    assert "| dense (relevance) | 0.6 | 0.50 ± 0.25 | -.020 [-.040, -.010] |" in text
    assert "Odd tasks:" in text
    assert "| auroc_nearmiss |" in text
    assert all(f"run {name}" in lines for name in results)
    assert "| `locomo-dev.jsonl` | `f00d` |" in lines
    assert "revision abc1234, Python 3.11.0, Linux, 2 cores; numpy 2.0, mem0ai 9.9" in text
    assert "| qa-locomo: `prism` | 1.2 | 2.5 | 0.5 to 1.5 |" in lines


def test_what_beats_the_memory_and_what_was_not_measured_is_said(results: dict[str, Result]) -> None:
    text = page(results, {"qa-madial-en": "no file madial-en-dev.jsonl"}, None)
    assert "Above `prism` here: R@5 (.500): `prism-sum` .625; R@10 (.500)" in text
    assert "- `qa-madial-en`: no file madial-en-dev.jsonl" in text
    assert "- mempalace left out, not installed: mempalace" in text
    assert "Associations" not in text
    assert ".svg" not in text


def test_figures_of_two_runs_that_differ_are_not_passed_over(results: dict[str, Result]) -> None:
    assert "other figures" not in page(results, {}, None)
    results["peers-locomo"]["report"] = qa_report({"prism": 0.25, "mem0": 0.375})
    assert "`prism` has other figures (R@5, R@10, recall@500t, recall@1000t)" in page(results, {}, None)


def test_a_run_that_was_cut_short_is_told_at_the_top(results: dict[str, Result]) -> None:
    results["qa-locomo"]["command"] += " --limit 5"
    assert "asked in: qa-locomo.**" in page(results, {}, None)[:600]


def test_pictures_are_the_same_for_the_same_figures(results: dict[str, Result], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert draw(results, tmp_path / "one")
    assert draw(results, tmp_path / "two")
    drawn = sorted(file.name for file in (tmp_path / "one").iterdir())
    assert drawn == ["coverage-airline.svg", "objectives.svg", "recall-locomo.svg"]
    for name in drawn:
        first, second = ((tmp_path / folder / name).read_bytes() for folder in ("one", "two"))
        assert first == second
    named = set(re.findall(r"evaluation/([\w-]+\.svg)", page(results, {}, "evaluation")))
    assert named == set(drawn)
    recall = (tmp_path / "one" / "recall-locomo.svg").read_text(encoding="utf-8")
    assert all(f">{name}<" in recall for name in ("prism", "prism-sum", "bm25", "mem0"))
    assert "dc:date" not in recall


def test_figures_are_short_and_exact() -> None:
    assert [figure(value) for value in (0.7456, 1.0, 812, 431.26, 0.0, None)] == [
        ".746",
        "1.000",
        "812",
        "431.3",
        ".000",
        "-",
    ]
    assert signed([-0.0, -0.5, 1.25]) == "+.000 [-.500, +1.250]"
    assert table(["", "a"], [["x", "1"]]) == ["|  | a |", "|---|---:|", "| x | 1 |", ""]


def test_the_own_run_has_the_last_word_over_another_one() -> None:
    both = merged(qa_report({"prism": 0.5, "bm25": 0.25}), qa_report({"prism": 0.75, "mem0": 0.5}))
    assert {name: found["overall"]["R@5"] for name, found in both["systems"].items()} == {
        "prism": 0.5,
        "bm25": 0.25,
        "mem0": 0.5,
    }
    assert set(both["intervals"]["differences"]) == {"bm25", "mem0"}
    assert ahead_of_own(both, {"R@5": "R@5"}) == "Nothing is above `prism` here."


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    units = [{"id": "u1", "text": "My cat is called Tom."}, {"id": "u2", "text": "I live in Porto."}]
    questions = [{"id": "q1", "text": "What is the cat called?", "evidence": ["u1"]}]
    line = json.dumps({"id": "talk", "units": units, "questions": questions})
    (folder / "tiny.jsonl").write_text(line + "\n", encoding="utf-8")
    return folder


def test_a_suite_is_measured_once_for_the_same_command_and_data(data: Path, tmp_path: Path) -> None:
    measuring = Measuring(locate(data), tmp_path / "results")
    assert measuring.measured(TINY) is None
    found = measuring.measure(TINY)
    assert found["report"]["systems"]["bm25"]["overall"]["R@5"] == 1.0
    assert found["report"]["file"] == "tiny.jsonl"
    assert found["command"] == "prism eval qa tiny.jsonl --systems prism-lexical,bm25"
    assert measuring.measured(TINY) == found == read(tmp_path / "results" / "qa-tiny.json")
    assert str(tmp_path) not in (tmp_path / "results" / "qa-tiny.json").read_text(encoding="utf-8")
    assert Measuring(locate(data), tmp_path / "results", limit=1).measured(TINY) is None
    assert Measuring(locate(data), tmp_path / "results", fresh=True).measured(TINY) is None
    with (data / "tiny.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n")
    assert measuring.measured(TINY) is None


def test_what_cannot_be_measured_says_why(data: Path, tmp_path: Path) -> None:
    measuring = Measuring(locate(data), tmp_path / "results")
    with pytest.raises(MeasureError, match=r"no file gone\.jsonl"):
        measuring.measure(Suite("qa-gone", "qa", ("gone.jsonl",)))
    with pytest.raises(MeasureError, match="'nobody' is unusable"):
        measuring.measure(Suite("qa-nobody", "qa", ("tiny.jsonl",), ("--systems", "nobody")))
    assert list((tmp_path / "results").glob("*")) == []


def test_figures_measured_elsewhere_are_taken(data: Path, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    figures.write_text(json.dumps(qa_report({"prism": 0.5, "mem0": 0.25})), encoding="utf-8")
    (data / "locomo-dev.jsonl").write_bytes((data / "tiny.jsonl").read_bytes())
    out, results = tmp_path / "page.md", tmp_path / "results"
    given = [str(data), "--out", str(out), "--results", str(results)]
    assert main([*given, "--only", "qa-locomo", "--take", f"qa-locomo={figures}"]) == 0
    assert "| `mem0` | .250 |" in out.read_text(encoding="utf-8")
    out.unlink()
    assert main(["--page-only", "--out", str(out), "--results", str(results)]) == 0
    text = out.read_text(encoding="utf-8")
    assert "| `mem0` | .250 |" in text
    assert "- `traces-airline`: not measured yet" in text


def test_one_question_is_shown_with_all_its_candidates(data: Path, tmp_path: Path) -> None:
    example = Suite("example", "example", ("tiny.jsonl",))
    found = Measuring(locate(data), tmp_path / "results").measure(example)["report"]
    assert found["question"] == "q1"
    best = found["candidates"][0]
    assert best["evidence"]
    assert (best["rank"], best["front"]) == (0, 0)
    assert set(best["objectives"]) == {"lexical", "dense", "context", "cost"}


def test_suites_are_known_by_name_and_long_units_are_part_of_the_project(tmp_path: Path) -> None:
    assert [suite.name for suite in chosen(["example", "qa-locomo"])] == ["qa-locomo", "example"]
    with pytest.raises(KeyError, match="'delphi' is none of"):
        chosen(["delphi"])
    assert locate(tmp_path)("long-units.jsonl") == OWN_DATA / "long-units.jsonl"
    assert {suite.name for suite in SUITES if "long-units.jsonl" in suite.data} >= {"qa-long-units", "peers-long-units"}


@pytest.mark.parametrize("arguments", [[], ["DATA", "--only", "delphi"], ["DATA", "--take", "delphi=x.json"]])
def test_wrong_use_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert "error" in capsys.readouterr().err
