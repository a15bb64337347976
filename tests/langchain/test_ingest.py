"""What LangChain dumps of its messages is read like any other chat."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, messages_to_dict

from prism_core.ingest import Format, detect, message_events, read, read_traces
from prism_core.types import Attachment, Outcome, Source

Dump = Callable[[list[BaseMessage]], list[dict[str, Any]]]


def lines_of(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def langchain_messages() -> list[BaseMessage]:
    call = {"name": "find", "args": {"id": "A1"}, "id": "c1", "type": "tool_call"}
    return [
        SystemMessage("Be brief."),
        HumanMessage("Where do I sit?", name="ann"),
        AIMessage("Looking it up.", tool_calls=[call]),
        ToolMessage("seat 12A", tool_call_id="c1"),
        AIMessage("12A."),
    ]


@pytest.mark.parametrize("dump", [messages_to_dict, lambda messages: [message.model_dump() for message in messages]])
def test_messages_dumped_by_langchain_are_read(tmp_path: Path, dump: Dump) -> None:
    path = lines_of(tmp_path / "chat.jsonl", dump(langchain_messages()))
    assert detect(path) is Format.CHAT
    run = next(iter(read(path)))
    question, call, reply, answer = run.events
    assert (run.items[0].label, run.items[0].events) == ("system", ())
    assert (question.observation, question.speaker, question.source) == ("Where do I sit?", "ann", Source.USER)
    assert (call.action, call.thought, call.tool_call_id) == ('find({"id": "A1"})', "Looking it up.", "c1")
    assert (reply.observation, reply.tool_call_id, reply.source) == ("seat 12A", "c1", Source.TOOL)
    assert (answer.observation, answer.source) == ("12A.", Source.ASSISTANT)


def test_messages_of_langchain_may_stand_in_a_run(tmp_path: Path) -> None:
    run = {"id": "run-1", "messages": messages_to_dict(langchain_messages())}
    assert len(next(iter(read_traces(lines_of(tmp_path / "runs.jsonl", [run])))).events) == 4


def test_a_reply_marked_as_an_error_is_a_failure() -> None:
    [event] = message_events(ToolMessage("no seat", tool_call_id="c1", status="error").model_dump())
    assert event.outcome is Outcome.FAILURE


def test_parts_that_say_nothing_leave_no_trace() -> None:
    content: list[str | dict[str, Any]] = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Looking it up."},
        {"type": "tool_use", "id": "c1", "name": "find", "input": {"id": "A1"}},
    ]
    call = {"name": "find", "args": {"id": "A1"}, "id": "c1", "type": "tool_call"}
    [event] = message_events(AIMessage(content, tool_calls=[call]).model_dump())
    assert (event.thought, event.action) == ("Looking it up.", 'find({"id": "A1"})')


def test_an_image_by_its_address_is_an_attachment() -> None:
    content: list[str | dict[str, Any]] = [{"type": "image", "url": "https://example.org/plan.png"}]
    [event] = message_events(HumanMessage(content).model_dump())
    assert event.attachments == (Attachment(media_type="image", uri="https://example.org/plan.png"),)
