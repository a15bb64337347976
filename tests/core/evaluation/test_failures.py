from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prism_core.errors import DatasetError
from prism_core.evaluation.failures import at_random, load_failures, longest, nearest, run_failures, suspects

MISTAKE = "I plan to add the figures of the wrong table, those of May, and to leave out the others altogether."
MESSAGES = [
    {"role": "system", "content": "Be exact."},
    {"role": "user", "name": "Ann", "content": "What is the sum of all figures of June?"},
    {"role": "assistant", "name": "Planner", "content": MISTAKE},
    {"role": "assistant", "name": "Worker", "content": "Done, as planned."},
    {"role": "assistant", "name": "Worker", "content": "It is nine."},
]


def row(**fields: Any) -> dict[str, Any]:
    return {"id": "r", "messages": MESSAGES, "mistake_step": 2, **fields}


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "runs.jsonl", row(), row(id="s", mistake_step=4), row(id="t", mistake_step=1))


def test_orders_and_ranks(file: Path) -> None:
    failed, last, users = load_failures(file)
    assert (failed.steps, failed.half, last.half) == ([1, 2, 3, 4], "odd", "even")
    assert (nearest(failed).order, nearest(failed).rank, nearest(last).rank) == ([4, 3, 2, 1], 3, 1)
    assert (longest(failed).order, longest(failed).rank) == ([2, 3, 4, 1], 1)
    assert (suspects(failed).order[0], suspects(failed).rank) == (2, 1)
    assert (at_random(failed).rank, list(at_random(failed).hits)) == (2.0, [1 / 3, 1.0, 1.0, 1.0])
    assert (at_random(users).rank, list(at_random(users).hits)) == (None, [0.0] * 4)


def test_figures_of_all_runs_and_of_both_halves(file: Path) -> None:
    report = run_failures(file)
    assert list(report.systems) == ["prism", "longest", "nearest", "random"]
    figures = report.systems["nearest"].overall
    assert (figures["rank odd"], figures["rank even"], figures["median"]) == (3.5, 1.0, 3.0)
    assert figures["hit@1"] == pytest.approx(1 / 3, abs=1e-4)
    assert (figures["hit@1 even"], figures["hit@10"]) == (1.0, 1.0)
    assert (figures["runs"], figures["runs odd"], figures["in path"]) == (3, 2, 1.0)
    # What is never looked at has the last place of the run.
    assert report.systems["random"].overall["rank odd"] == (2 + 4) / 2
    assert report.systems["random"].overall["in path"] == pytest.approx(2 / 3, abs=1e-4)
    assert report.intervals is not None
    assert run_failures(file, limit=2).systems["prism"].overall["runs"] == 2


@pytest.mark.parametrize("mistake", [0, 5, None, "2"])
def test_a_mistake_has_to_be_a_message(tmp_path: Path, mistake: object) -> None:
    path = write(tmp_path / "runs.jsonl", row(mistake_step=mistake))
    with pytest.raises(DatasetError, match="mistake_step"):
        run_failures(path)
