"""Between LlamaIndex's chat messages and the memory's events, and back without loss."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from llama_index.core.base.llms.types import (
    AudioBlock,
    CitableBlock,
    CitationBlock,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ToolCallBlock,
    VideoBlock,
)
from llama_index.core.llms import ChatMessage, MessageRole

from prism_core import Event, Kind, MemoryUnit, Source, message_events, without_recalled
from prism_llamaindex.storable import storable

OWN_TOOLS = ("recall_memory", "save_memory", "why_memory", "forget_memory")
"""Tools that talk to the memory; what passes through them is in it already."""
ADVICE = "It was not made now. Do something else, or make the same call again if you have reason to think it will work."
"""What stands below a warning that is answered in place of a tool's result."""

_ROLES = {MessageRole.CHATBOT: "assistant", MessageRole.MODEL: "assistant"}
_PLAIN = {MessageRole.USER: Source.USER, MessageRole.ASSISTANT: Source.ASSISTANT}
_MEDIA = (ImageBlock, AudioBlock, VideoBlock, DocumentBlock)
_SESSION = "session_id"
_REASONED = re.compile(
    r"Thought: (?P<thought>.*?)\nAction: (?P<name>[^\n]*)\nAction Input: (?P<given>.*?)"
    r"\nObservation: (?P<seen>.*?)(?=\nThought: |\Z)",
    re.DOTALL,
)
_TAGS = re.compile(r"(?:\s*</?\w+>)*\s*")


def to_events(
    message: ChatMessage, *, key: str | None = None, session_id: str | None = None, task_id: str | None = None
) -> list[Event]:
    """What a message says and does, as events.

    Text that was recalled is left out, so that no memory confirms itself, and so are calls of the memory's own tools.

    Args:
        message: of any role.
        key: idempotency key of the first event; those after it get `.1`, `.2` and so on.
        session_id: the session of every event.
        task_id: the task of every event.

    Returns:
        A message for what was said, one step per tool call, a step without an action for a tool's reply; nothing for
        a system prompt or a message without content.
    """
    if _role(message) == "assistant" and "tool_call_id" in message.additional_kwargs:
        # An agent that returns a tool's reply as its own answer; the reply is remembered with its call.
        return []
    steps, answer = _reasoned(message)
    events = [
        *(Event(**step, session_id=session_id, task_id=task_id) for step in steps),
        *message_events(_chat_form(answer), session_id=session_id, task_id=task_id),
    ]
    told = [event for event in events if event.text.strip() or event.source is Source.TOOL]
    return [
        event.model_copy(update={"idempotency_key": f"{key}.{n}" if key and n else key}) for n, event in enumerate(told)
    ]


def tool_calls(message: ChatMessage) -> list[tuple[str, str, str]]:
    """The tool calls of a message: id (the tool's name where the model gives none), name, arguments as JSON."""
    blocks = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    if blocks:
        return [_call(block.tool_call_id, block.tool_name, block.tool_kwargs) for block in blocks]
    given = message.additional_kwargs.get("tool_calls") or ()
    return [_call(*_parts(_fields(call))) for call in given]


def reply_to(message: ChatMessage) -> str | None:
    """Id of the tool call that a message answers; None for any other message."""
    if message.role not in (MessageRole.TOOL, MessageRole.FUNCTION):
        return None
    given = message.additional_kwargs
    return str(given.get("tool_call_id") or given.get("call_id") or given.get("name") or "")


def is_answer(message: ChatMessage) -> bool:
    """Whether a message ends a turn: the assistant speaks and calls no tool."""
    return _role(message) == "assistant" and not tool_calls(message)


def text_of(message: ChatMessage) -> str:
    """The text of a message, blocks joined by newlines."""
    return "\n".join(text for block in message.blocks for text in _texts(block))


def is_held(text: str) -> bool:
    """Whether a tool's reply is a warning in its place: a block of memories, and the advice."""
    return text.strip() != ADVICE and without_recalled(text).strip() == ADVICE


def fingerprint(message: ChatMessage) -> str:
    """Equal for messages that say the same.

    What is added in passing does not count: a session id, or a block of memories.
    """
    said = [_said(block) for block in message.blocks if not isinstance(block, ToolCallBlock)]
    content = [message.role.value, [each for each in said if each], tool_calls(message), reply_to(message)]
    return hashlib.blake2b(_json(content).encode(), digest_size=8).hexdigest()


def is_plain(message: ChatMessage) -> bool:
    """Whether role and text are all there is to a message."""
    blocks = message.blocks
    plain = message.role in _PLAIN and not message.additional_kwargs and len(blocks) == 1
    return plain and isinstance(blocks[0], TextBlock) and blocks[0] == TextBlock(text=blocks[0].text)


def from_unit(unit: MemoryUnit) -> ChatMessage:
    """The plain message a unit was made from."""
    role = MessageRole.ASSISTANT if unit.source is Source.ASSISTANT else MessageRole.USER
    return ChatMessage(role=role, content=unit.observation)


def dumped(message: ChatMessage) -> str:
    """A message as JSON; objects of a host's own become their text."""
    return _json(message.model_dump())


def loaded(text: str) -> ChatMessage:
    """The message that `dumped` wrote."""
    return ChatMessage.model_validate(json.loads(text))


def copied(message: ChatMessage) -> ChatMessage:
    """A copy that a host may extend, without the session id that LlamaIndex's `Memory` leaves on flushed messages."""
    kept = {key: value for key, value in message.additional_kwargs.items() if key != _SESSION}
    return message.model_copy(update={"blocks": [*message.blocks], "additional_kwargs": kept})


def _role(message: ChatMessage) -> str:
    return _ROLES.get(message.role, message.role.value)


def _reasoned(message: ChatMessage) -> tuple[list[dict[str, Any]], ChatMessage]:
    """The steps that a ReAct agent writes into its answer, and the answer by itself.

    What tools replied stays in their steps, so that it is nowhere taken for the assistant's own words.
    """
    reasoning, found, answer = (message.content or "").rpartition("\nAnswer: ")
    if _role(message) != "assistant" or not found or not reasoning.startswith("Thought: "):
        return [], message
    steps = [
        {
            "kind": Kind.STEP,
            "thought": _encodable(step["thought"]),
            "action": _encodable(f"{step['name']}({_as_json(step['given'])})"),
            "action_type": _encodable(step["name"]),
            "observation": _encodable(_new(step["seen"])),
            "source": Source.ASSISTANT,
        }
        for step in _REASONED.finditer(reasoning)
        if step["name"] not in OWN_TOOLS and not is_held(step["seen"])
    ]
    if any(step["seen"].strip() == answer.strip() for step in _REASONED.finditer(reasoning)):
        # A tool's reply that was returned as it is.
        answer = ""
    return steps, ChatMessage(role=message.role, content=answer)


def _chat_form(message: ChatMessage) -> dict[str, Any]:
    """A message in the OpenAI chat format."""
    calls = [call for call in tool_calls(message) if call[1] not in OWN_TOOLS]
    return {
        "role": _role(message),
        "content": _content(message),
        "tool_calls": [{"id": key, "function": {"name": name, "arguments": given}} for key, name, given in calls],
        "tool_call_id": reply_to(message),
        "name": message.additional_kwargs.get("name") if message.role is MessageRole.FUNCTION else None,
    }


def _content(message: ChatMessage) -> list[dict[str, Any]]:
    texts = [_encodable(_new(text)) for block in message.blocks for text in _texts(block)]
    parts: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts if text.strip()]
    if len(texts) == 1 and parts:
        parts = [{"type": "text", "text": texts[0]}]
    media = [block for block in message.blocks if isinstance(block, _MEDIA)]
    if media and not parts:
        # Text is what makes a message findable; one that only shows something says so.
        parts.append({"type": "text", "text": " ".join(f"[{block.block_type}]" for block in media)})
    return [*parts, *(_medium(block) for block in media if block.url is not None)]


def _said(block: Any) -> object:
    return _new(block.text).rstrip() if isinstance(block, TextBlock) else block.model_dump()


def _new(text: str) -> str:
    """A text without what was recalled into it, and without the tags a host wrapped around that."""
    rest = without_recalled(text)
    return "" if rest != text and _TAGS.fullmatch(rest) else rest


def _medium(block: Any) -> dict[str, Any]:
    return {"type": block.block_type, block.block_type: {"url": str(block.url)}}


def _texts(block: Any) -> Iterator[str]:
    if isinstance(block, TextBlock):
        yield block.text
    elif isinstance(block, CitableBlock):
        yield from (text for part in block.content for text in _texts(part))
    elif isinstance(block, CitationBlock):
        yield from _texts(block.cited_content)


def _call(key: object, name: object, arguments: object) -> tuple[str, str, str]:
    given = arguments if isinstance(arguments, str) else _json(arguments)
    return str(key or name), str(name), _encodable(given)


def _fields(call: object) -> Mapping[str, Any]:
    if isinstance(call, Mapping):
        return call
    dump = getattr(call, "model_dump", None)
    return dump() if callable(dump) else vars(call)


def _parts(call: Mapping[str, Any]) -> tuple[object, object, object]:
    """Id, name and arguments of a call as OpenAI's client or as LlamaIndex spells it."""
    function = call.get("function") or {}
    name = function.get("name") or call.get("tool_name") or call.get("name")
    arguments = function.get("arguments", call.get("tool_kwargs", call.get("arguments", "")))
    return call.get("id") or call.get("call_id") or call.get("tool_id"), name, arguments


def _json(value: object) -> str:
    return _encodable(json.dumps(value, ensure_ascii=False, default=_unknown))


def _as_json(arguments: str) -> str:
    """Arguments as other agents write them; those that reason print them as Python does."""
    try:
        parsed = ast.literal_eval(arguments.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return arguments
    return _json(parsed) if isinstance(parsed, dict) else arguments


def _unknown(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _encodable(text: str) -> str:
    return str(storable(text))
