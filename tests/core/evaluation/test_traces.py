import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from prism_core.errors import QueryError
from prism_core.evaluation import run_traces
from prism_core.evaluation.report import SystemScores
from prism_core.evaluation.traces import ABLATIONS, BUDGETS, SYSTEMS, VARIANTS

TALK = "and this goes on for quite some time without anything of note being said by anyone at all "


def call(name: str, arguments: dict[str, str], reply: str) -> list[dict[str, Any]]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "same", "function": function}]},
        {"role": "tool", "tool_call_id": "same", "content": reply},
    ]


def run(name: str, task: int, user: str, code: str) -> dict[str, Any]:
    """A user is looked up; eleven steps later the reservation found there is needed."""
    messages = [{"role": "user", "content": f"I am {user}."}, *call("find_user", {"id": user}, f"reservation {code}")]
    messages += [
        {"role": "assistant" if number % 2 else "user", "content": f"Part {number}, {TALK}"} for number in range(10)
    ]
    messages += [{"role": "user", "content": "Please cancel it."}]
    messages += call("cancel", {"reservation": code}, "done")
    messages += [{"role": "assistant", "content": "It is cancelled."}]
    return {"id": name, "task": task, "messages": messages}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    path = tmp_path / "runs.jsonl"
    trials = [
        run("0-0", 0, "mia_1111", "ZFA04Y"),
        run("1-0", 1, "tom_2222", "QWE55R"),
        run("0-1", 0, "mia_1111", "ZFA04Y"),
        {"id": "2-0", "task": 2, "messages": [{"role": "user", "content": "Hello."}]},
    ]
    path.write_text("\n".join(json.dumps(value) for value in trials))
    return path


def scores(runs: Path, name: str, **options: Any) -> SystemScores:
    return run_traces(runs, systems=[name], **options).systems[name]


def test_every_system_answers_in_every_variant_under_the_same_keys(runs: Path) -> None:
    measures = [f"{old}{name}" for old in ("", "old_") for name in ("arg_coverage", "source_recall")]
    suffixes = [f"_{variant}" if variant else "" for variant in VARIANTS]
    keys = {f"{measure}{suffix}@{budget}t" for measure in measures for suffix in suffixes for budget in BUDGETS}
    report = run_traces(runs)
    assert list(report.systems) == list(SYSTEMS)
    for name, figures in report.systems.items():
        expected = {key for key in keys if "source" not in key} if name == "all-ids" else keys
        assert set(figures.overall) == {*expected, "n_calls", "n_values", "n_old_calls"}
        assert [figures.overall[key] for key in ("n_calls", "n_values", "n_old_calls")] == [3, 3, 3]
        assert list(figures.by_category) == ["cancel"]


def test_the_memory_brings_the_needed_value_with_its_source(runs: Path) -> None:
    overall = scores(runs, "prism").overall
    for variant in ("", "_told", "_own", "_blind"):
        assert overall[f"arg_coverage{variant}@1200t"] == overall[f"old_source_recall{variant}@1200t"] == 1.0
    # Told the task, all of the run fits.
    assert overall["source_recall_told@600t"] == 1.0


def test_compact_steps_need_fewer_tokens(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    wordy = run("0-0", 0, "mia_1111", "ZFA04Y")
    wordy["messages"][2]["content"] = json.dumps({"reservation": "ZFA04Y", "remarks": [TALK] * 9})
    for message in wordy["messages"][3:13]:
        message["content"] = message["content"].removesuffix(f", {TALK}")
    path.write_text(json.dumps(wordy))
    report = run_traces(path, systems=["prism", "prism-compact"], variants=[""])
    whole, compact = (report.systems[name].overall for name in ("prism", "prism-compact"))
    assert whole["arg_coverage@300t"] == whole["source_recall@300t"] == 0.0
    assert compact["arg_coverage@300t"] == compact["source_recall@300t"] == 1.0


def test_a_value_from_a_sibling_trial_counts_as_present_but_has_no_source(runs: Path) -> None:
    # The words of the question stand in the last steps of the sibling trial, with the reservation's code.
    figures = scores(runs, "bm25", variants=["", "own"], limit=1).overall
    assert (figures["arg_coverage@150t"], figures["source_recall@150t"]) == (1.0, 0.0)
    assert figures["arg_coverage_own@150t"] == 0.0


def test_recency_in_the_run_needs_the_tokens_of_all_that_came_between(runs: Path) -> None:
    overall = scores(runs, "recency", variants=[""]).overall
    assert overall["arg_coverage@150t"] == 0.0
    assert overall["arg_coverage@600t"] == 1.0


@pytest.mark.parametrize(("tasks", "calls"), [("even", 2), ("odd", 1), ("all", 3)])
def test_tasks_choose_the_runs_that_ask(runs: Path, tasks: str, calls: int) -> None:
    assert scores(runs, "recency", tasks=tasks, variants=["", "blind"]).overall["n_calls"] == calls


def test_several_processes_find_the_same(runs: Path) -> None:
    options: dict[str, Sequence[str]] = {"variants": ["", "blind"]}
    assert scores(runs, "bm25", jobs=2, **options).overall == scores(runs, "bm25", jobs=1, **options).overall


def test_what_is_not_known_is_refused(runs: Path, tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="scoped-bm25"):
        run_traces(runs, systems=["bm26"])
    with pytest.raises(QueryError, match="variants"):
        scores(runs, "bm25", variants=["guessed"])
    nameless = tmp_path / "nameless.jsonl"
    nameless.write_text(json.dumps({"id": "x", "task": "book", "messages": []}))
    with pytest.raises(QueryError, match="whole number"):
        scores(nameless, "bm25", tasks="odd")


def test_ablations_are_asked_by_name_and_see_the_same_pool(runs: Path) -> None:
    report = run_traces(runs, systems=["prism", *ABLATIONS], variants=[""])
    assert list(report.systems) == ["prism", *ABLATIONS]
    pools: dict[str, list[list[tuple[str, ...]]]] = {}
    for outcome in report.outcomes:
        assert outcome.found is not None
        pools.setdefault(outcome.question, []).append(sorted(map(tuple, outcome.found.returned)))
    assert all(pool == pools_of[0] for pools_of in pools.values() for pool in pools_of)


def test_intervals_are_over_tasks(runs: Path) -> None:
    report = run_traces(runs, systems=["prism", "recency"], variants=[""])
    assert report.intervals is not None
    assert report.intervals.groups == 2
    _, low, high = report.intervals.differences["recency"]["arg_coverage@1200t"]
    assert low <= high
    assert {outcome.group for outcome in report.outcomes} == {"task 0", "task 1"}


def test_a_call_is_kept_with_the_values_it_needs(runs: Path) -> None:
    found = run_traces(runs, systems=["bm25"], variants=["own"], limit=1).outcomes[0].found
    assert found is not None
    assert found.evidence == ["ZFA04Y"]
    assert len(found.returned) > 0
