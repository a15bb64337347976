"""Messages as LangChain dumps them, turned into the OpenAI chat format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "function"}


def openai_form(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message of `messages_to_dict` or `model_dump` in the OpenAI chat format; any other as it is."""
    kind, data = message.get("type"), message.get("data", message)
    if "role" in message or not isinstance(kind, str) or kind not in _ROLES or not isinstance(data, dict):
        return message
    calls = data.get("tool_calls")
    return {**data, "role": _ROLES[kind], "tool_calls": [*map(_call, calls)] if isinstance(calls, list) else calls}


def _call(call: object) -> object:
    if not isinstance(call, dict):
        return call
    return {"id": call.get("id"), "function": {"name": call.get("name"), "arguments": call.get("args")}}
