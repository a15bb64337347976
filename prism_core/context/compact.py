"""The compact level of rendering: one unit in a given number of tokens."""

from __future__ import annotations

from collections.abc import Callable

from prism_core.context.excerpts import ELISION, excerpt
from prism_core.context.fields import LONGEST_ACTION, fields, is_structured
from prism_core.context.quoting import without_elisions
from prism_core.types import MemoryUnit

TITLE = 60
"""Characters up to which a first line is taken for a title and kept."""

Size = Callable[[str], int]


def compact(unit: MemoryUnit, question: str, room: int, size: Size) -> str:
    """A unit in few tokens.

    A step whose output is structured keeps its action and the identifiers of the output; any other step its action
    and an excerpt of the output; everything else its speaker, its title and an excerpt. Thoughts and attachments are
    left out.

    Args:
        unit: what is rendered.
        question: what is asked; an empty one is answered by the beginning of a text.
        room: tokens the result may take.
        size: counts tokens.

    Returns:
        The text, without a mark that says so; empty where nothing of it fits.
    """
    if is_structured(unit):
        return _fields_within(unit, room, size)
    head, body = _parts(unit)
    head = without_elisions(head)
    shown = excerpt(without_elisions(body), question, room - size(head) - 1, size)
    return head + shown if shown else ""


def _fields_within(unit: MemoryUnit, room: int, size: Size) -> str:
    action, *parts = (without_elisions(part) for part in fields(unit))
    shown = f"{action}\n->"
    left = room - size(shown) - 1
    for part in parts:
        whole, values = part, part.split(",")
        while values and size(f" {part}") > left:
            values.pop()
            part = ",".join([*values, ELISION])
        if not values:
            return f"{shown} {ELISION}" if left > 0 else ""
        shown += f" {part}"
        left -= size(f" {part}")
        if part != whole:
            return shown
    return shown if left >= 0 and parts else ""


def _parts(unit: MemoryUnit) -> tuple[str, str]:
    """What is kept of a unit and what an excerpt is made of."""
    if unit.action is not None and unit.observation and len(unit.action) <= LONGEST_ACTION:
        return f"{unit.action}\n-> ", unit.observation
    if unit.action is not None or not unit.observation:
        return "", unit.text
    head = f"{unit.speaker}: " if unit.speaker else ""
    title, _, rest = unit.observation.partition("\n")
    if len(title) <= TITLE and rest.strip():
        return f"{head}{title.rstrip()}\n", rest
    return head, unit.observation
