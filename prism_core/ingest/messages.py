"""Messages in the OpenAI chat format, turned into events.

| message | event |
|---|---|
| from the user, or from the assistant without a call | a message |
| from the assistant with calls | one step per call: `name(arguments)`; what was said beside it is its thought |
| a tool's reply | a step without an action, which the memory joins to its call |
| a system prompt | none: it is an instruction, not something that happened |

A host's live messages become the same events one by one, with `message_events`.

A message without a time happened next to its dated neighbours; where no message has one, the clock dates them all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from prism_core.ingest.files import Record, kind_of
from prism_core.ingest.langchain import openai_form
from prism_core.ingest.times import filled
from prism_core.types import Attachment, Event, Kind, Outcome, Source

_SILENT = frozenset({"tool_use", "tool_call", "function_call", "thinking", "redacted_thinking", "reasoning"})
"""Parts that say nothing: calls, which stand in the message's `tool_calls` as well, and what a model thought."""

_SKIPPED = "a system prompt is an instruction, not something that happened"


@dataclass(frozen=True, slots=True)
class IngestItem:
    """What one message (or one unit of an evidence-QA row) becomes.

    Attributes:
        run_id: the run it belongs to.
        index: 0-based position in the run.
        label: who said it, such as `user` or `tool`; for display.
        events: what is to be written; empty when skipped.
        skipped: why nothing is written; empty otherwise.
    """

    run_id: str
    index: int
    label: str
    events: tuple[Event, ...]
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class IngestRun:
    """One run of an agent, one chat, or one evidence-QA row.

    Attributes:
        id: names the run; unique in its file.
        items: one per message, in order.
        task: what the run was an attempt at, as the file has it; None where it does not say.
    """

    id: str
    items: tuple[IngestItem, ...]
    task: JsonValue = None

    @property
    def events(self) -> tuple[Event, ...]:
        """All events, in order."""
        return tuple(event for item in self.items for event in item.events)


def chat_run(run_id: str, messages: Sequence[Record], task: JsonValue = None) -> IngestRun:
    """Convert the messages of one run.

    Args:
        run_id: becomes the session and the task of every event, and with the message's index its idempotency key.
        messages: in the order in which they were said.
        task: kept in the metadata of every event.

    Raises:
        DatasetError: if a message does not have the chat format.
    """
    times = filled([None if _is_system(message) else _time(message) for message in messages])
    shared: dict[str, Any] = {
        "session_id": run_id,
        "task_id": run_id,
        "metadata": {} if task is None else {"task": task},
    }
    items = [
        _item(run_id, index, message, {**shared, "event_time": time})
        for index, (message, time) in enumerate(zip(messages, times, strict=True))
    ]
    return IngestRun(run_id, tuple(items), task)


def message_events(
    message: Mapping[str, Any], *, key: str | None = None, session_id: str | None = None, task_id: str | None = None
) -> tuple[Event, ...]:
    """The events of one message, as a file's messages become events.

    Args:
        message: in the OpenAI chat format, or as LangChain dumps it.
        key: idempotency key of its first event; those after it get `.1`, `.2` and so on.
        session_id: the session of every event.
        task_id: the task of every event.

    Returns:
        One event; one per call for calls of tools; none for a system prompt.

    Raises:
        DatasetError: if the message does not have the chat format.
        InvalidEventError: if it holds what cannot be stored.
    """
    record = Record("messages", 1, openai_form(message), in_file=False)
    shared = {"session_id": session_id, "task_id": task_id, "event_time": _time(record)}
    return _events(key, record, shared)


def derived_run_id(messages: Sequence[Record]) -> str:
    """An id for a run without one, which it keeps while it grows: its file's name, and a hash.

    The hash is over the place of the file, so that files of one name that begin alike stay apart, and over the first
    message that is no system prompt; over that alone for messages passed as a list.
    """
    place = [str(Path(message.path).resolve()) for message in messages[:1] if message.in_file]
    begin = [message.value for message in messages if not _is_system(message)][:1]
    canonical = json.dumps([*place, *begin], ensure_ascii=True, sort_keys=True)
    name = Path(messages[0].path).stem if messages else "chat"
    return f"{name}-{hashlib.blake2b(canonical.encode(), digest_size=6).hexdigest()}"


def _is_system(message: Record) -> bool:
    return message.value.get("role") in ("system", "developer")


def _time(message: Record) -> datetime | None:
    return message.time("time", "timestamp", "created_at")


def _item(run_id: str, index: int, message: Record, shared: Mapping[str, Any]) -> IngestItem:
    role = message.text("role")
    if _is_system(message):
        return IngestItem(run_id, index, role, (), _SKIPPED)
    return IngestItem(run_id, index, role, _events(f"{run_id}#{index}", message, shared))


def _events(key: str | None, message: Record, shared: Mapping[str, Any]) -> tuple[Event, ...]:
    if _is_system(message):
        return ()
    drafts = _CONVERT.get(message.text("role"), _other)(message)
    keys = [f"{key}.{number}" if key and number else key for number in range(len(drafts))]
    return tuple(
        Event.parse({**draft, **shared, "idempotency_key": key}) for draft, key in zip(drafts, keys, strict=True)
    )


def _user(message: Record) -> list[dict[str, Any]]:
    return [_said(message, Source.USER, message.text("name", "user"))]


def _other(message: Record) -> list[dict[str, Any]]:
    return [_said(message, Source.EXTERNAL, message.text("name", message.text("role")))]


def _said(message: Record, source: Source, speaker: str) -> dict[str, Any]:
    text, attachments = _content(message)
    return {
        "kind": Kind.MESSAGE,
        "observation": text,
        "attachments": attachments,
        "source": source,
        "speaker": speaker,
    }


def _assistant(message: Record) -> list[dict[str, Any]]:
    calls = _calls(message)
    if not calls:
        return [_said(message, Source.ASSISTANT, message.text("name", "assistant"))]
    text, attachments = _content(message)
    steps = [_step(call, call_id) for call, call_id in calls]
    # What was said beside several calls belongs to the message; it is kept once, with the first of them.
    steps[0].update(thought=text or None, attachments=attachments)
    return steps


def _calls(message: Record) -> list[tuple[Record, str | None]]:
    if message.value.get("tool_calls"):
        calls = [message.nested(call, f"tool_calls[{n}]") for n, call in enumerate(message.items("tool_calls"))]
        return [(call.nested(call.value.get("function"), "function"), call.optional("id")) for call in calls]
    if message.value.get("function_call"):
        call = message.nested(message.value["function_call"], "function_call")
        return [(call, _legacy_id(call.text("name")))]
    return []


def _legacy_id(name: str) -> str:
    # The older function_call format has no ids; a reply follows the call of the same name.
    return f"function:{name}"


def _step(call: Record, call_id: str | None) -> dict[str, Any]:
    name, arguments = call.text("name"), call.value.get("arguments")
    if not isinstance(arguments, str):
        arguments = "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    return {
        "kind": Kind.STEP,
        "action": f"{name}({arguments})",
        "action_type": name,
        "tool_call_id": call_id,
        "source": Source.ASSISTANT,
    }


def _tool(message: Record) -> list[dict[str, Any]]:
    return [_reply(message, message.optional("tool_call_id"))]


def _function(message: Record) -> list[dict[str, Any]]:
    return [_reply(message, _legacy_id(message.text("name")))]


def _reply(message: Record, call_id: str | None) -> dict[str, Any]:
    text, attachments = _content(message)
    return {
        "kind": Kind.STEP,
        "observation": text,
        "attachments": attachments,
        "tool_call_id": call_id,
        "source": Source.TOOL,
        "outcome": Outcome.FAILURE if message.value.get("status") == "error" else Outcome.UNKNOWN,
    }


_CONVERT: dict[str, Callable[[Record], list[dict[str, Any]]]] = {
    "user": _user,
    "assistant": _assistant,
    "tool": _tool,
    "function": _function,
}


def _content(message: Record) -> tuple[str, tuple[Attachment, ...]]:
    content = message.value.get("content")
    if content is None:
        return "", ()
    if isinstance(content, str):
        return content, ()
    if not isinstance(content, list):
        message.fail(f"needs 'content' as text, null or a list of parts; it is {kind_of(content)}")
    texts: list[str] = []
    attachments: list[Attachment] = []
    for number, value in enumerate(content):
        part = _part(message, number, value)
        if isinstance(part, Attachment):
            attachments.append(part)
        elif part:
            texts.append(part)
    return "\n".join(texts), tuple(attachments)


def _part(message: Record, number: int, value: object) -> str | Attachment:
    if isinstance(value, str):
        return value
    part = message.nested(value, f"content[{number}]")
    kind = part.text("type", "text")
    if kind in ("text", "input_text", "output_text"):
        return part.text("text", "")
    if kind == "refusal":
        return part.text("refusal", "")
    if kind in _SILENT:
        return ""
    url = _url(part.value.get(kind)) or _url(part.value.get("url"))
    # Inline data would be kept as text; naming it says that something was there.
    return f"[{kind}]" if url is None or url.startswith("data:") else Attachment(media_type=kind, uri=url)


def _url(value: object) -> str | None:
    url = value.get("url") if isinstance(value, dict) else value
    return url if isinstance(url, str) and url else None
