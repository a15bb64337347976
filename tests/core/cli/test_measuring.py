from __future__ import annotations

import json
from pathlib import Path

import pytest

from prism_core import PrismMemory
from tests.core.cli.samples import QA_ROW, Prism, call

RUNS = [
    {
        "id": f"run-{task}",
        "task": task,
        "messages": [
            {"role": "user", "content": f"Cancel SI5UK{task}, please."},
            {"role": "assistant", "content": "Anything else?"},
            {"role": "user", "content": "No."},
            {"role": "assistant", "content": "Are you sure?"},
            {"role": "user", "content": "Yes."},
            {"role": "assistant", "tool_calls": [call("c1", "cancel", reservation=f"SI5UK{task}")]},
            {"role": "tool", "tool_call_id": "c1", "content": "cancelled"},
        ],
    }
    for task in (1, 2)
]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(QA_ROW) + "\n", encoding="utf-8")
    return file


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    file = tmp_path / "runs.jsonl"
    file.write_text("\n".join(json.dumps(run) for run in RUNS), encoding="utf-8")
    return file


def test_eval_qa_prints_tables_and_writes_figures(prism: Prism, rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    result = prism("eval", "qa", rows, "--systems", "prism-lexical, bm25", "--one-scope", "--json", out)
    assert result.exit_code == 0
    assert "prism-lexical" in result.stdout
    figures = json.loads(out.read_text(encoding="utf-8"))
    assert figures["file"] == str(rows)
    assert list(figures["systems"]) == ["prism-lexical", "bm25"]
    assert figures["systems"]["bm25"]["overall"]["R@5"] == 1.0
    assert figures["systems"]["bm25"]["by_category"]["single"]["n"] == 1


def test_eval_traces_prints_tables_and_writes_figures(prism: Prism, runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    asked = ("eval", "traces", runs, "--systems", "bm25", "--variants", "plain,own", "--json", out)
    assert prism(*asked).exit_code == 0
    overall = json.loads(out.read_text(encoding="utf-8"))["systems"]["bm25"]["overall"]
    assert overall["n_calls"] == 2
    assert "arg_coverage@600t" in overall
    assert "arg_coverage_own@600t" in overall
    assert "arg_coverage_told@600t" not in overall
    prism(*asked, "--tasks", "odd")
    assert json.loads(out.read_text(encoding="utf-8"))["systems"]["bm25"]["overall"]["n_calls"] == 1


def test_single_questions_are_written_as_lines(prism: Prism, rows: Path, runs: Path, tmp_path: Path) -> None:
    raw = tmp_path / "raw.jsonl"
    assert prism("eval", "qa", rows, "--systems", "prism-lexical", "--raw", raw).exit_code == 0
    (line,) = map(json.loads, raw.read_text(encoding="utf-8").splitlines())
    assert line["returned"][0] == line["evidence"]
    assert line["values"]["R@5"] == 1.0
    prism("eval", "traces", runs, "--systems", "bm25", "--variants", "plain", "--raw", raw)
    lines = [json.loads(line) for line in raw.read_text(encoding="utf-8").splitlines()]
    assert [line["evidence"] for line in lines] == [["SI5UK1"], ["SI5UK2"]]


def test_eval_abstention_asks_what_users_said(prism: Prism, rows: Path, runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    other = json.dumps({**QA_ROW, "id": "talk-2"})
    rows.write_text(rows.read_text(encoding="utf-8") + other + "\n", encoding="utf-8")
    asked = ("eval", "abstention", rows, "--offdomain", runs, "--systems", "prism-lexical")
    result = prism(*asked, "--per-row", "2", "--json", out)
    assert result.exit_code == 0
    assert "auroc_offdomain" in result.stdout
    overall = json.loads(out.read_text(encoding="utf-8"))["systems"]["prism-lexical"]["overall"]
    assert set(overall) == {"auroc_offdomain", "kept_offdomain@5", "auroc_nearmiss", "kept_nearmiss@5", "n"}


def test_eval_robustness_prints_every_order(prism: Prism, rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    result = prism("eval", "robustness", rows, "--draws", "1", "--seed", "3", "--json", out)
    assert result.exit_code == 0
    assert "seed 3" in result.stdout
    figures = json.loads(out.read_text(encoding="utf-8"))["systems"]
    assert list(figures) == ["soft", "sum", "front_first"]
    assert {"R@10", "R@10 mean", "R@10 worst"} < set(figures["soft"]["overall"])


def test_eval_weights_prints_what_each_is_worth(prism: Prism, rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({**QA_ROW, "id": "talk-2"}) + "\n", encoding="utf-8")
    result = prism("eval", "weights", rows, other, "--pull", "0.1", "--json", out)
    assert result.exit_code == 0
    assert "pull 0.1" in result.stdout
    assert "other: refitted" in result.stdout
    weights = json.loads(out.read_text(encoding="utf-8"))["weights"]
    assert {"signal": "lexical", "objective": "lexical", "shipped": 1.0}.items() <= weights[0].items()


def test_eval_links_prints_recall_and_precision(prism: Prism, runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    result = prism("eval", "links", runs, "--json", out)
    assert result.exit_code == 0
    assert "any-word" in result.stdout
    assert "search time" not in result.stdout
    overall = json.loads(out.read_text(encoding="utf-8"))["systems"]["prism"]["overall"]
    assert overall == {"recall": 1.0, "precision": 1.0, "n_values": 2, "n_links": 2}


def test_eval_failures_prints_ranks_of_both_halves(prism: Prism, tmp_path: Path) -> None:
    runs, out = tmp_path / "failed.jsonl", tmp_path / "figures.json"
    runs.write_text("\n".join(json.dumps({**run, "mistake_step": 1}) for run in RUNS), encoding="utf-8")
    result = prism("eval", "failures", runs, "--json", out)
    assert result.exit_code == 0
    assert "runs at even places in the file" in result.stdout
    systems = json.loads(out.read_text(encoding="utf-8"))["systems"]
    assert systems["nearest"]["overall"]["median"] == 6.0
    assert prism("eval", "failures", tmp_path / "missing.jsonl").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("links", "FILE"), "needs 'messages' as a list"),
        (("failures", "FILE", "--limit", "0"), "Invalid value for '--limit'"),
        (("qa", "FILE", "--systems", "oracle-of-delphi"), "systems='oracle-of-delphi' is unusable; choose from prism"),
        (("traces", "FILE", "--variants", "plain,odd"), "'odd' is none of plain, told, own, blind"),
        (("traces", "FILE", "--tasks", "prime"), "Invalid value for '--tasks'"),
        (("traces", "FILE"), "needs 'messages' as a list"),
        (("qa", "FILE", "--jobs", "0"), "Invalid value for '--jobs'"),
        (("qa", "FILE.missing"), "cannot be read"),
        (("abstention", "FILE"), "Missing option '--offdomain'"),
        (("abstention", "FILE", "--offdomain", "FILE"), "another row is needed"),
        (("robustness", "FILE", "--draws", "0"), "Invalid value for '--draws'"),
        (("weights", "FILE"), "another row is needed"),
        (("weights", "FILE", "--pull", "0"), "Invalid value for '--pull'"),
        (("qa",), "Missing argument"),
        ((), "Missing command"),
        (("both", "FILE"), "No such command 'both'"),
    ],
)
def test_wrong_use_is_told_in_one_line(prism: Prism, rows: Path, arguments: tuple[str, ...], problem: str) -> None:
    result = prism("eval", *(argument.replace("FILE", str(rows)) for argument in arguments))
    assert result.exit_code == 2
    assert problem in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("option", ["--json", "--raw"])
def test_figures_that_cannot_be_written_stop_before_measuring(
    prism: Prism, rows: Path, tmp_path: Path, option: str
) -> None:
    result = prism("eval", "qa", rows, option, tmp_path / "nowhere" / "figures.json")
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr
    assert result.stdout == ""


def test_the_demo_tells_its_story_again_and_afresh(prism: Prism, tmp_path: Path) -> None:
    store = tmp_path / "demo"
    told = [prism("demo", "--store", store, *options).stdout for options in ((), (), ("--fresh",))]
    assert "80 stored" in told[0]
    assert "stored" not in told[1].split("In short")[0].split("duplicate")[0]
    assert "80 stored" in told[2]


def test_the_demo_keeps_a_store_that_is_not_its_own(prism: Prism, store: Path, units: dict[int, list[str]]) -> None:
    result = prism("demo", "--store", store, "--fresh")
    assert result.exit_code == 2
    assert "holds more than the demo and is kept" in result.stderr
    with PrismMemory.open(store, embedder=None) as memory:
        assert memory.stats("local").units == 5
