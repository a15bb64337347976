"""The scopes in use: states by scope, least recently used out first."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from prism_core.protocols import Ledger
from prism_core.storage.dense import IndexChoice, VectorProjection
from prism_core.storage.state import ScopeState
from prism_core.types import Scope


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
        self._lock = Lock()

    def get(self, scope: Scope) -> ScopeState:
        """The state of a scope, of the scope's present epoch; it may have to catch up."""
        epoch = self._ledger.head(scope).epoch
        with self._lock:
            state = self._states.get(scope)
            if state is None or state.vectors.lost or state.position.epoch != epoch:
                vectors = VectorProjection(scope, self._ledger, self._choice)
                state = self._states[scope] = ScopeState(scope, self._ledger, vectors)
                self._put_out(scope)
            self._states.move_to_end(scope)
            return state

    def discard(self, scope: Scope) -> None:
        """Forget the state of a scope."""
        with self._lock:
            self._states.pop(scope, None)

    def loaded(self) -> list[ScopeState]:
        """The states in use, least recently used first."""
        with self._lock:
            return list(self._states.values())

    def _put_out(self, newest: Scope) -> None:
        size = sum(state.nbytes for state in self._states.values())
        for scope in list(self._states):
            if size <= self._max_bytes or scope == newest:
                return
            size -= self._states.pop(scope).nbytes
