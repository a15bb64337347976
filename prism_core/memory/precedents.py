"""What came of an action when it was taken before."""

from __future__ import annotations

import json

import numpy as np

from prism_core.encode.extract import action_name
from prism_core.results import Precedents
from prism_core.storage.state import ScopeState
from prism_core.text import normalize

LOOKED_AT = 200
"""Earlier steps that are compared with the action, the newest ones."""


def of(state: ScopeState, action: str, task_id: str | None) -> Precedents:
    """The earlier steps that took the very same action, newest first."""
    name, form = action_name(action), same_form(action)
    rows = state.acting(name) if name is not None else np.arange(len(state))
    if task_id is not None:
        rows = np.intersect1d(rows, state.chain(task_id=task_id))
    units = state.units(np.sort(rows)[-LOOKED_AT:])
    same = [unit for unit in units if unit.action is not None and same_form(unit.action) == form]
    same.sort(key=lambda unit: unit.event_time, reverse=True)
    return Precedents(action, tuple(same))


def same_form(action: str) -> str:
    """A form that actions share which differ in white space or in the order of their arguments alone."""
    name = action_name(action)
    if name is None:
        return normalize(action)
    arguments = action.strip()[len(name) :].strip()[1:-1]
    try:
        parsed = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return normalize(action)
    return f"{name}({json.dumps(parsed, sort_keys=True, ensure_ascii=False)})"
