"""What came of an action when it was taken before."""

from __future__ import annotations

import numpy as np

from prism_core.results import Precedents
from prism_core.storage.state import ScopeState
from prism_core.text import action_name, same_form

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
