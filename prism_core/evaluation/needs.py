"""Which values a tool call takes from the past of its run.

A call needs a value that it could not have read off the last steps: the memory has to bring it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from prism_core.evaluation.datasets import TraceRun

RECENT = 2
"""Steps before a call that its author has in view."""
OLD = 8
"""A value is old if it last occurred before these many steps."""
_SHORTEST = 4


@dataclass(frozen=True, slots=True)
class Need:
    """A call and the values it needs from the past.

    Attributes:
        step: 0-based position of the call in its run.
        tool: name of the called function.
        values: arguments that stand before the last two steps and not in them.
        old: those of them that last stood before the last eight steps.
        question: what is asked: the tool's name and the last user message.
    """

    step: int
    tool: str
    values: frozenset[str]
    old: frozenset[str]
    question: str


def needs(run: TraceRun) -> list[Need]:
    """The calls of a run that need at least one value, in order."""
    found: list[Need] = []
    last_user_message = ""
    for position, step in enumerate(run.steps):
        if step.tool is None:
            if step.item.whole.source == "user":
                last_user_message = step.item.whole.observation
            continue
        latest = {value: _latest(run, value, position) for value in arguments(step.arguments)}
        values = {value for value, seen in latest.items() if seen is not None and seen < position - RECENT}
        if values:
            old = {value for value in values if (latest[value] or 0) < position - OLD}
            question = f"{step.tool} {last_user_message}"
            found.append(Need(position, step.tool, frozenset(values), frozenset(old), question))
    return found


def arguments(raw: str) -> set[str]:
    """The identifiers among a call's arguments: leaf strings with a digit, without white space, four characters up.

    Args:
        raw: the arguments as JSON; text that is not JSON has none.
    """
    try:
        parsed = json.loads(raw)
    except ValueError:
        return set()
    return {leaf for leaf in _leaves(parsed) if len(leaf) >= _SHORTEST and _is_identifier(leaf)}


def stands(value: str, text: str) -> bool:
    """Whether a value stands in a text by itself: case-sensitive and not adjoined by `[A-Za-z0-9_]`."""
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(value)}(?![A-Za-z0-9_])", text) is not None


def _latest(run: TraceRun, value: str, before: int) -> int | None:
    return next((i for i in reversed(range(before)) if stands(value, run.steps[i].text)), None)


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from _leaves(member)
    elif isinstance(value, list):
        for member in value:
            yield from _leaves(member)


def _is_identifier(text: str) -> bool:
    return not re.search(r"\s", text) and re.search(r"[0-9]", text) is not None
