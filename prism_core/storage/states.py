"""The scopes in use: states by scope, least recently used out first."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from prism_core.protocols import Ledger
from prism_core.storage.dense import IndexChoice
from prism_core.storage.state import ScopeState
from prism_core.types import Scope

MEASURED_EVERY = 1000
"""Changes of a scope after which its size is estimated again."""


class ScopeStates:
    """Keeps the states of the scopes in use within a number of bytes.

    Memory is bounded by the scopes in use, not by the number of users. A state that is put out is only forgotten; the
    next use of its scope derives it from the ledger again.
    """

    def __init__(self, ledger: Ledger, choice: IndexChoice, *, max_bytes: int) -> None:
        self._ledger = ledger
        self._choice = choice
        self._max_bytes = max_bytes
        self._states: OrderedDict[Scope, ScopeState] = OrderedDict()
        self._sizes: dict[Scope, tuple[int, int]] = {}
        self._total = 0
        self._lock = Lock()

    def get(self, scope: Scope) -> ScopeState:
        """The state of a scope; it may have to catch up."""
        with self._lock:
            state = self._states.get(scope)
            if state is None:
                state = self._states[scope] = ScopeState(scope, self._ledger, self._choice)
            self._states.move_to_end(scope)
            self._measure(scope, state)
            return state

    def discard(self, scope: Scope) -> None:
        """Forget the state of a scope."""
        with self._lock:
            if self._states.pop(scope, None) is not None:
                self._total -= self._sizes.pop(scope, (0, 0))[1]

    def loaded(self) -> list[ScopeState]:
        """The states in use, least recently used first."""
        with self._lock:
            return list(self._states.values())

    def _measure(self, scope: Scope, state: ScopeState) -> None:
        """Note the size of the state in use, and put out the least recently used ones while there is too much."""
        known = self._sizes.get(scope)
        if known is not None and known[0] <= state.position.seq < known[0] + MEASURED_EVERY:
            return
        self._total += (fresh := state.nbytes) - (known[1] if known else 0)
        self._sizes[scope] = (state.position.seq, fresh)
        while self._total > self._max_bytes and len(self._states) > 1:
            oldest, _ = self._states.popitem(last=False)
            self._total -= self._sizes.pop(oldest)[1]
