import json
from pathlib import Path
from typing import Any

import pytest

from prism_core.errors import DatasetError
from prism_core.evaluation.datasets import anonymous, load_qa, load_traces

ROW: dict[str, Any] = {
    "id": "a",
    "units": [{"id": "1", "text": "x", "session": "s"}, {"id": "2", "text": "y", "session": "t"}],
    "questions": [
        {"id": "q1", "text": "?", "evidence": ["1", "1", "9"], "category": "plain", "session": "s"},
        {"id": "q2", "text": "?", "evidence": ["9"], "category": "plain"},
        {"id": "q3", "text": "?", "evidence": []},
    ],
}


def write(path: Path, *values: object) -> Path:
    path.write_text("\n".join(map(json.dumps, values)))
    return path


def test_rows_are_stores_of_their_own(tmp_path: Path) -> None:
    first, second = load_qa(write(tmp_path / "qa.jsonl", ROW, {**ROW, "id": "b"}))
    assert [item.key for item in first.items] == [item.key for item in second.items] == ["1", "2"]
    assert first.questions[0].session == first.items[0].whole.session_id == "s"


def test_one_scope_prefixes_units_questions_and_sessions_with_the_row(tmp_path: Path) -> None:
    (row,) = load_qa(write(tmp_path / "qa.jsonl", ROW, {**ROW, "id": "b"}), one_scope=True)
    assert [item.key for item in row.items] == ["a/1", "a/2", "b/1", "b/2"]
    assert [item.whole.idempotency_key for item in row.items] == ["a/1", "a/2", "b/1", "b/2"]
    assert row.items[2].whole.session_id == row.questions[1].session == "b/s"
    assert [question.id for question in row.questions] == ["a/q1", "b/q1"]
    assert "b/1" in row.questions[1].evidence


def test_questions_without_any_evidence_in_the_store_are_left_out_and_counted(tmp_path: Path) -> None:
    (row,) = load_qa(write(tmp_path / "qa.jsonl", ROW))
    assert [question.id for question in row.questions] == ["q1"]
    assert row.unusable == 2
    assert row.questions[0].evidence == {"1", "9"}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"evidence": "1"}, "needs 'evidence' as a list"),
        ({"text": None}, "question 0: needs 'text'"),
        ({"text": " "}, "it has 0"),
        ({"text": "x" * 20_001}, "it has 20001"),
    ],
)
def test_a_broken_question_names_its_line(tmp_path: Path, change: dict[str, object], problem: str) -> None:
    row = {**ROW, "id": "b", "questions": [{**ROW["questions"][0], **change}]}
    with pytest.raises(DatasetError, match=problem) as error:
        load_qa(write(tmp_path / "qa.jsonl", ROW, row))
    assert error.value.line == 2


def test_an_anonymous_step_is_one_event_that_names_no_run(tmp_path: Path) -> None:
    function = {"name": "find", "arguments": '{"id": 1}'}
    messages = [
        {"role": "assistant", "content": "Hm.", "tool_calls": [{"id": "c", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": "found"},
    ]
    (run,) = load_traces(write(tmp_path / "runs.jsonl", {"id": "run-1", "task": 7, "messages": messages}))
    item = anonymous(run.steps[0])
    (event,) = item.events
    assert item.key == "run-1#0"
    assert event.text == 'Hm.\nfind({"id": 1})\n-> found'
    assert (event.session_id, event.task_id, event.parent, event.tool_call_id) == (None, None, None, None)
    assert "run-1" not in event.model_dump_json()
    assert event.metadata == {}


def test_ids_that_occur_twice_are_refused_where_they_occur_again(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="line 2: the id 'a' occurs twice"):
        load_qa(write(tmp_path / "rows.jsonl", ROW, ROW))
    twice = {**ROW, "questions": [ROW["questions"][0]] * 2}
    with pytest.raises(DatasetError, match="line 1: question 1: the id 'q1' occurs twice"):
        load_qa(write(tmp_path / "questions.jsonl", twice))
