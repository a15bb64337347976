from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prism_core.errors import DatasetError
from prism_core.evaluation.datasets import load_traces
from prism_core.evaluation.links import any_word, argument_values, linked, previous, run_links, truths
from prism_core.protocols import WriteView
from prism_core.types import Link, MemoryUnit


def call(call_id: str, name: str, **arguments: object) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": call_id, "function": function}]}


RUN = [
    {"role": "system", "content": "Ask for mia_77."},
    {"role": "user", "content": "I am mia_77, fly me on HAT136 in economy."},
    call("1", "get", id="mia_77"),
    {"role": "tool", "tool_call_id": "1", "content": '{"card": "visa_4411", "flights": ["HAT136"]}'},
    {"role": "assistant", "content": "You have visa_9999."},
    {"role": "user", "content": "Yes, go."},
    call("2", "book", card="visa_4411", other="visa_9999", flight="HAT136", cabin="economy", bags=2),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(json.dumps({"id": f"r{n}", "task": n, "messages": RUN}) for n in range(2)))
    return path


def test_the_truth_is_who_observed_a_value(file: Path) -> None:
    get, book = truths(load_traces(file)[0])
    assert (get.step, book.step) == (1, 4)
    assert get.sources == {"mia_77": frozenset({0})}
    assert book.sources == {"visa_4411": frozenset({1}), "HAT136": frozenset({0, 1}), "economy": frozenset({0})}
    assert book.all_sources == {0, 1}


def test_what_counts_as_a_value() -> None:
    assert argument_values('{"a": "Mia", "b": 3, "c": [95.50, true, null], "d": "economy"}') == {
        "3",
        "95.50",
        "economy",
    }
    assert argument_values('{"e": "(158 + 141) * 2"}') == {"(158 + 141) * 2", "158", "141", "2"}
    assert argument_values("no JSON 1234") == set()


def test_links_and_baselines_by_position(file: Path) -> None:
    run = load_traces(file)[0]
    assert linked(run)[1] == {0}
    assert linked(run)[4] >= {0, 1}
    assert previous(run)[4] == {3}
    assert any_word(run) == {1: {0}, 4: {0, 1, 2}}


class Wrong:
    """Says that every unit requires the one before it."""

    def links(self, unit: MemoryUnit, parent: str | None, view: WriteView) -> list[Link]:
        before = view.last_in_session(str(unit.session_id))
        return [Link(source=before, target=unit.id, relation="REQUIRES")] if before else []  # type: ignore[arg-type]


def test_figures_of_all_systems(file: Path) -> None:
    report = run_links(file)
    ours, previous_step, any_words = (report.systems[name].overall for name in ("prism", "previous", "any-word"))
    assert (ours["recall"], ours["n_values"]) == (1.0, 8)
    # That what the assistant only said is linked as well counts against us.
    assert ours["precision"] == pytest.approx(3 / 4)
    assert previous_step["recall"] == pytest.approx(1 / 4)
    assert previous_step["precision"] == pytest.approx(1 / 2)
    assert any_words["recall"] == 1.0
    assert report.intervals is not None
    wrong = run_links(file, linker=Wrong()).systems
    assert wrong["prism"].overall == previous_step
    assert run_links(file, limit=1).systems["prism"].overall["n_values"] == 4


def test_a_file_without_values_cannot_be_judged(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps({"id": "r", "messages": RUN[:2]}))
    with pytest.raises(DatasetError, match="no call that takes a value"):
        run_links(path)
