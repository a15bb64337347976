"""Which units of a scope meet a condition, reading as few of them as the condition allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from prism_core.changes import IntArray
from prism_core.errors import QueryError
from prism_core.memory.arguments import Where
from prism_core.retrieve.recall import admitted
from prism_core.storage.state import ScopeState
from prism_core.types import Except, IntentQuery, MemoryUnit

CHUNK = 512
"""Units read at once while a function is asked about each."""


def eligible(where: Where | None, query: IntentQuery, state: ScopeState) -> NDArray[np.bool_] | None:
    """The rows that may answer, shape (n,); None without a condition.

    Metadata, ids and keys are looked up in an index. A function is asked only about units that the query's own limits
    admit.

    Raises:
        QueryError: if the function failed.
    """
    if where is None:
        return None
    mask = np.zeros(len(state), dtype=np.bool_)
    if isinstance(where, Mapping):
        mask[state.holding(where)] = True
    elif isinstance(where, Except):
        found_ids = [unit_id for key in where.keys if (unit_id := state.find_key(key)) is not None]
        mask[:] = True
        mask[state.rows([*found_ids, *where.unit_ids])] = False
    else:
        mask[_asked(where, query, state)] = True
    for row in np.flatnonzero(state.columns.distilled).tolist():
        # What units state may answer where one of them may; it has no place and no metadata of its own.
        mask[row] = bool(mask[state.stating(row)].any())
    return mask


def _asked(where: Callable[[MemoryUnit], bool], query: IntentQuery, state: ScopeState) -> IntArray:
    """The rows a function says yes to, of those that the query's own limits admit."""
    within = admitted(query, state)
    rows = np.arange(len(state)) if within is None else np.flatnonzero(within)
    return state.rows([unit.id for unit in newest_first(where, rows, state)])


def newest_first(where: Callable[[MemoryUnit], bool], rows: IntArray, state: ScopeState) -> Iterator[MemoryUnit]:
    """The units of ascending rows that a function says yes to, last recorded first, read as far as they are taken.

    Facts that other units state are passed over: whether those may answer decides about them.
    """
    rows = rows[~state.columns.distilled[rows]]
    for end in range(len(rows), 0, -CHUNK):
        for unit in reversed(state.units(rows[max(0, end - CHUNK) : end])):
            if _says_yes(where, unit):
                yield unit


def _says_yes(where: Callable[[MemoryUnit], bool], unit: MemoryUnit) -> bool:
    try:
        return bool(where(unit))
    except Exception as error:
        # A caller's function may raise anything; what matters is the unit it failed on.
        problem = f"it raised {type(error).__name__}: {error} on unit {unit.id!r}"
        raise QueryError("where", getattr(where, "__name__", repr(where)), problem) from error
