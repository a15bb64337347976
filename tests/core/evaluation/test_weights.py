import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from prism_core.errors import DatasetError
from prism_core.evaluation.datasets import load_qa
from prism_core.evaluation.weight_report import without
from prism_core.evaluation.weights import fits, reweighted, run_weights, weighables
from prism_core.retrieve.weights import CONVERSATION

SAYINGS = {
    "Ann": [
        "My cat is called Tom.",
        "My boat is red.",
        "I live in Porto.",
        "The soup was cold.",
        "Nice weather today.",
    ],
    "Eve": [
        "My dog is called Rex.",
        "My bike is blue.",
        "I live in Turin.",
        "The tea was hot.",
        "It rains a lot here.",
    ],
}
ASKED = ["What is the pet called?", "What colour is it, red or blue?", "Where does she live now?"]


def row(name: str) -> dict[str, Any]:
    units = [{"id": f"u{place}", "text": text, "speaker": name} for place, text in enumerate(SAYINGS[name])]
    questions = [{"id": f"q{place}", "text": text, "evidence": [f"u{place}"]} for place, text in enumerate(ASKED)]
    return {"id": name, "units": units, "questions": questions}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row(name)) for name in SAYINGS), encoding="utf-8")
    return path


def test_every_weight_stands_beside_its_fits_and_what_is_lost_without_it(rows: Path) -> None:
    report = run_weights([rows])
    table = {signal: weight for weights in CONVERSATION.values() for signal, weight in weights.items()}
    # One of the questions asks for a current value.
    assert {each.signal: each.shipped for each in report.worth} == {**table, "recency": 0.1}
    assert {each.objective for each in report.worth} == {*CONVERSATION, "recency"}
    assert report.systems["shipped"].overall["n"] == 6
    assert report.intervals is not None
    changed = report.removed("lexical")["R@5"]
    shipped, left = report.systems["shipped"].overall["R@5"], report.systems[without("lexical")].overall["R@5"]
    assert changed[0] == pytest.approx(left - shipped)
    assert changed[1] <= changed[0] <= changed[2]


def test_the_fit_for_a_row_does_not_know_its_evidence(rows: Path) -> None:
    ann, eve = load_qa(rows)
    turned = [replace(question, evidence=frozenset({"u4"})) for question in eve.questions]
    asked = weighables("rows", ann) + weighables("rows", eve)
    other = weighables("rows", ann) + weighables("rows", replace(eve, questions=tuple(turned)))
    assert fits(asked)["rows/Eve"] == fits(other)["rows/Eve"]
    assert fits(asked)["rows/Ann"] != fits(other)["rows/Ann"]


def test_a_table_without_a_signal_has_no_empty_objective() -> None:
    left = reweighted(CONVERSATION, {"length": 0.0, "lexical": 2.0})
    assert "cost" not in left
    assert left["lexical"] == {**CONVERSATION["lexical"], "lexical": 2.0}


def test_it_can_be_read_and_written(rows: Path) -> None:
    report = run_weights([rows], limit=4)
    out = io.StringIO()
    report.print(Console(file=out, width=60))
    assert "rows: refitted" in out.getvalue()
    assert "shipped - refitted" in out.getvalue()
    written = json.loads(report.to_json())
    assert {"signal", "objective", "shipped", "refitted", "spread", "removed"} == set(written["weights"][0])
    assert set(written["weights"][0]["removed"]) == {"R@5", "R@10", "recall@500t"}


def test_one_row_is_not_enough(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps(row("Ann")), encoding="utf-8")
    with pytest.raises(DatasetError, match="another row is needed"):
        run_weights([path])
