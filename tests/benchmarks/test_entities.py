from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks import entities
from prism_core.types import EntityType

TALK = "Ines Duarte lives in Lisbon."
STEP = "Flight HAT030 costs $305."
CHINESE = "小李下午三点到上海"


def label(text: str, file: str, unit: str, sample: int, wanted: Mapping[str, str]) -> str:
    spans = [[text.index(each), text.index(each) + len(each), kind] for each, kind in wanted.items()]
    digest = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps({"file": file, "row": "a", "unit": unit, "sample": sample, "sha256": digest, "spans": spans})


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    talks = {"id": "a", "units": [{"id": "1", "text": TALK}, {"id": "2", "text": CHINESE}]}
    trace = {"id": "a", "task": 0, "messages": [{"role": "user", "content": None}, {"role": "tool", "content": STEP}]}
    (tmp_path / "talks.jsonl").write_text(json.dumps(talks) + "\n", encoding="utf-8")
    (tmp_path / "traces.jsonl").write_text(json.dumps(trace) + "\n", encoding="utf-8")
    rows = (
        label(TALK, "talks.jsonl", "1", 1, {"Ines Duarte": "person", "Lisbon": "place"}),
        # The label says more than the rules find, and another type: found by place, not exactly.
        label(STEP, "traces.jsonl", "1", 2, {"Flight HAT030": "id", "$305": "date"}),
        label(CHINESE, "talks.jsonl", "2", 2, {"小李": "person", "下午三点": "time", "上海": "place"}),
    )
    (tmp_path / "labels.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    monkeypatch.setattr(entities, "LABELS", tmp_path / "labels.jsonl")
    return tmp_path


def figures(printed: str) -> dict[str, tuple[str, ...]]:
    """The precision, recall and F1 of each row, and its spans."""
    rows = (line.rsplit(maxsplit=4) for line in printed.splitlines())
    return {row[0].strip(): tuple(row[1:]) for row in rows if len(row) == 5}


def test_the_command_prints_a_row_for_each_sample_type_and_language(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entities.main(data)
    printed = capsys.readouterr().out
    assert printed.startswith("7 spans in 3 texts")
    rows = figures(printed)
    assert rows["rules, exact and typed, sample 1, all"] == ("1.000", "1.000", "1.000", "2")
    assert rows["rules, exact and typed, sample 2, all"] == ("0.600", "0.600", "0.600", "5")
    assert rows["rules, exact and typed, sample 2, even"] == ("0.000", "0.000", "0.000", "2")
    assert rows["rules, exact, types apart"] == ("0.857", "0.857", "0.857", "7")
    assert rows["rules, overlapping"] == ("0.857", "0.857", "0.857", "7")
    assert rows["id"] == ("0.000", "0.000", "0.000", "1")
    assert rows["id, overlapping"] == ("1.000", "1.000", "1.000", "1")
    assert rows["Chinese"] == ("1.000", "1.000", "1.000", "3")
    assert "untyped names, exact, types apart" in rows


def test_texts_that_changed_since_they_were_labelled_are_refused(data: Path) -> None:
    file = data / "talks.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace("Lisbon", "Oporto"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"talks\.jsonl, a, 1: the text is not the one that was labelled"):
        entities.main(data)


def test_untyped_names_count_wherever_they_stand() -> None:
    assert entities.untyped("Yes, Mia Li and Mia Li again") == [(5, 11, ""), (16, 22, "")]


def test_labels_hold_places_and_types_and_no_text() -> None:
    rows = [json.loads(line) for line in entities.LABELS.read_text(encoding="utf-8").splitlines()]
    assert len({(row["file"], row["row"], row["unit"]) for row in rows}) == len(rows)
    for row in rows:
        assert set(row) == {"file", "row", "unit", "sample", "sha256", "spans"}
        ends = [0]
        for start, end, kind in row["spans"]:
            assert ends[-1] <= start < end
            assert EntityType(kind)
            ends.append(end)
