"""A tool's structured output by what one copies from it: its identifiers, each under its key."""

from __future__ import annotations

import re

from prism_core.context.passages import leaves, parsed
from prism_core.text import whole_identifiers
from prism_core.types import MemoryUnit

LONGEST_ACTION = 240
"""Characters up to which an action is quoted with all of its arguments."""
LONGEST_VALUE = 80
_CLOCK_TIME = re.compile(r"\d\d?:\d\d(?::\d\d)?(?:\.\d+)?")
# Short numbers and decimal ones are amounts more often than identifiers.
_AMOUNT = re.compile(r"-?(?:\d{1,4}|\d+\.\d+)")


def is_structured(unit: MemoryUnit) -> bool:
    """Whether a unit is a step whose output is a JSON object or list."""
    return unit.action is not None and parsed(unit.observation) is not None


def fields(unit: MemoryUnit) -> list[str]:
    """A step by its identifiers: the action first, then `key=value,value` for every key of the output.

    Args:
        unit: a step with a structured output.

    Returns:
        Parts in the order of the text; each value once, under the first key it stands under.
    """
    seen: set[str] = set()
    under: dict[str, list[str]] = {}
    for key, value in leaves(parsed(unit.observation)):
        for name in _copied(value):
            if name not in seen:
                seen.add(name)
                under.setdefault(key, []).append(name)
    return [_action(unit), *(f"{key}={','.join(names)}" if key else " ".join(names) for key, names in under.items())]


def _action(unit: MemoryUnit) -> str:
    action = unit.action or ""
    if len(action) <= LONGEST_ACTION:
        return action
    return " ".join([unit.action_type or "", *whole_identifiers(action)]).strip()


def _copied(value: str) -> list[str]:
    if _AMOUNT.fullmatch(value):
        return []
    names = [value] if len(value) <= LONGEST_VALUE and not re.search(r"\s", value) else whole_identifiers(value)
    return [name for name in names if whole_identifiers(name) and not _CLOCK_TIME.fullmatch(name)]
