"""Explanations from the graph: how a unit came about, what it led to, what a failure rests on."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import numpy as np

from prism_core.errors import QueryError, UnknownUnitError
from prism_core.memory.suspicion import Suspect, suspicions
from prism_core.protocols import Ledger
from prism_core.results import Chain, ChainStep
from prism_core.storage.graph import Reached
from prism_core.storage.state import ScopeState
from prism_core.types import EXPLAINING_RELATIONS, Relation

LEADING = EXPLAINING_RELATIONS | {Relation.FOLLOWS, Relation.REPEATS}
"""Relations along which a failure is traced back."""
WALKED = 1000
"""Units before a failure that are weighed, the nearest ones."""


def why(state: ScopeState, ledger: Ledger, unit_id: str, *, depth: int, limit: int) -> Chain:
    """What led to a unit; the step before it where nothing else is known."""
    _check(state, unit_id, depth, limit)
    reached = list(state.graph.ancestors(unit_id, EXPLAINING_RELATIONS, depth=depth))
    reached = reached or list(state.graph.ancestors(unit_id, {Relation.FOLLOWS}, depth=1))
    return _chain(ledger, state, unit_id, reached, limit)


def impact(state: ScopeState, ledger: Ledger, unit_id: str, *, depth: int, limit: int) -> Chain:
    """What a unit led to."""
    _check(state, unit_id, depth, limit)
    return _chain(ledger, state, unit_id, state.graph.descendants(unit_id, EXPLAINING_RELATIONS, depth=depth), limit)


def failure_path(
    state: ScopeState, ledger: Ledger, unit_id: str | None, task_id: str | None, *, depth: int, limit: int
) -> Chain:
    """What the given unit, or the latest failed step, rests on: decisions, sources, and the steps in between.

    Every step has its suspicion; where more are connected than may be returned, the most suspicious are.

    Raises:
        QueryError: if no unit is given and nothing failed.
    """
    root = unit_id if unit_id is not None else _latest_failure(state, task_id)
    _check(state, root, depth, limit)
    walk = islice(state.graph.ancestors(root, LEADING, depth=depth), WALKED)
    found = [Reached(root, 0, None), *walk]
    units = ledger.units(state.scope, [item.unit_id for item in found])
    suspects = [Suspect(item, unit) for item, unit in zip(found, units, strict=True)]
    steps = [
        ChainStep(suspect.unit, suspect.reached.depth, suspect.reached.link, suspicion)
        for suspect, suspicion in zip(suspects, suspicions(state, suspects, root), strict=True)
    ]
    # The failure itself, then the nearer of two that are equally suspicious.
    steps.sort(key=lambda step: (step.depth > 0, -step.suspicion, step.depth))
    return Chain(root, _in_order(state, steps[:limit]), truncated=len(steps) > limit)


def _latest_failure(state: ScopeState, task_id: str | None) -> str:
    columns = state.columns
    rows = np.arange(len(columns)) if task_id is None else state.chain(task_id=task_id)
    failed = rows[columns.failed[rows]]
    if not len(failed):
        raise QueryError("task_id", task_id, "no step of it failed; pass the id of the unit to explain")
    return state.ids[int(failed[np.argmax(columns.times[failed])])]


def _check(state: ScopeState, unit_id: str, depth: int, limit: int) -> None:
    if state.known(unit_id) is None:
        raise UnknownUnitError(unit_id, state.scope)
    for name, value in (("depth", depth), ("limit", limit)):
        if type(value) is not int or value < 1:
            raise QueryError(name, value, "pass a positive whole number")


def _chain(ledger: Ledger, state: ScopeState, root: str, reached: Iterable[Reached], limit: int) -> Chain:
    found = [Reached(root, 0, None), *reached]
    shown = found[:limit]
    units = ledger.units(state.scope, [item.unit_id for item in shown])
    steps = [ChainStep(unit, item.depth, item.link) for unit, item in zip(units, shown, strict=True)]
    return Chain(root, _in_order(state, steps), truncated=len(found) > limit)


def _in_order(state: ScopeState, steps: Iterable[ChainStep]) -> tuple[ChainStep, ...]:
    return tuple(sorted(steps, key=lambda step: (step.unit.event_time, state.rows([step.unit.id])[0])))
