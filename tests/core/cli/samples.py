"""A chat with tool calls and an evidence-QA row, small enough to know by heart."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from typer.testing import Result

Prism = Callable[..., Result]
"""Runs a command of the command line."""


def call(call_id: str, name: str, **arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": call_id, "type": "function", "function": function}


CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "You book trips."},
    {"role": "user", "content": "A night in Lyon, please, near the station."},
    {"role": "assistant", "content": "I look.", "tool_calls": [call("c1", "search_hotels", city="Lyon")]},
    {"role": "tool", "tool_call_id": "c1", "content": "Sirius, 95 EUR, offer HS-4471; Vega, offer HV-2093"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [call("c2", "book_hotel", offer="HS-4471"), call("c3", "weather", city="Lyon")],
    },
    {"role": "tool", "tool_call_id": "c2", "content": "Error: offer HS-4471 is sold out"},
    {"role": "tool", "tool_call_id": "c3", "content": "Rain in Lyon"},
    {"role": "user", "content": "Then the Vega."},
]
QA_ROW: dict[str, Any] = {
    "id": "talk",
    "units": [
        {"id": "u1", "text": "I moved to Porto in March.", "speaker": "Ana", "session": "s"},
        {"id": "u2", "text": "How is the weather?", "speaker": "Ben", "session": "s"},
    ],
    "questions": [{"id": "q1", "text": "Where did Ana move in March?", "evidence": ["u1"], "category": "single"}],
}
