"""Calls written as text, `book_hotel({"city": "Oslo"})`: their names, and when two are the same call."""

from __future__ import annotations

import json
import re
from functools import lru_cache

from prism_core.text.normal import normalize

_CALL = re.compile(r"([A-Za-z_][\w.:-]*)\s*\(.*\)", re.DOTALL)


def action_name(action: str) -> str | None:
    """The name of the action in a call written as text, `book_hotel({"city": "Oslo"})`; None for anything else."""
    call = _CALL.fullmatch(action.strip())
    return call[1] if call is not None else None


def action_arguments(action: str) -> str | None:
    """What stands between the outer brackets of a call; None for an action that is no call.

    >>> action_arguments('book_hotel({"city": "Oslo"})')
    '{"city": "Oslo"}'
    """
    name = action_name(action)
    return None if name is None else action.strip()[len(name) :].strip()[1:-1]


@lru_cache(maxsize=1 << 12)
def same_form(action: str) -> str:
    """A form that actions share which differ in white space or in the order of their arguments alone.

    >>> same_form('pay( {"to": "Ann", "sum": 3} )') == same_form('pay({"sum": 3, "to": "Ann"})')
    True
    """
    arguments = action_arguments(action)
    if arguments is None:
        return normalize(action)
    try:
        parsed = json.loads(arguments.strip() or "{}")
    except (ValueError, RecursionError):
        return normalize(action)
    return f"{action_name(action)}({json.dumps(parsed, sort_keys=True, ensure_ascii=False)})"
