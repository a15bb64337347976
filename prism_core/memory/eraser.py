"""Erasing: choose what goes, remove it from the ledger, discard what was derived from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from prism_core.embed import CachedEmbedder
from prism_core.errors import QueryError, StaleReadError, WriteConflictError
from prism_core.memory.arguments import checked_name, checked_unit_id
from prism_core.memory.recorder import MAX_ATTEMPTS, Recorder, back_off
from prism_core.protocols import Clock, Embedder, Ledger
from prism_core.results import Erasure, Position
from prism_core.storage.state import ScopeState
from prism_core.storage.states import ScopeStates
from prism_core.types import Event, Scope


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is to be erased: units by id, and beside them a task, a session, or a task within a session.

    Attributes:
        unit_ids: units by id.
        task_id: everything of a task.
        session_id: everything of a session.
        whole_scope: everything.
    """

    unit_ids: tuple[str, ...] = ()
    task_id: str | None = None
    session_id: str | None = None
    whole_scope: bool = False

    @classmethod
    def parse(cls, unit_ids: object, task_id: object, session_id: object, whole_scope: object) -> Chosen:
        """What a caller chose.

        Raises:
            QueryError: if nothing is chosen, a part has the wrong type, or a part is chosen beside the whole.
        """
        if isinstance(unit_ids, str) or not isinstance(unit_ids, Iterable):
            raise QueryError("unit_ids", unit_ids, "pass a list of unit ids")
        ids = tuple(dict.fromkeys(checked_unit_id(unit_id) for unit_id in unit_ids))
        if not isinstance(whole_scope, bool):
            raise QueryError("whole_scope", repr(whole_scope), "pass True to erase everything, or leave it out")
        chosen = cls(ids, checked_name("task_id", task_id), checked_name("session_id", session_id), whole_scope)
        if chosen.whole_scope == chosen.some:
            remedy = "choose unit_ids, a task_id, a session_id, or else whole_scope=True"
            raise QueryError("whole_scope", whole_scope, remedy)
        return chosen

    @property
    def some(self) -> bool:
        """Whether anything less than the whole is chosen."""
        return bool(self.unit_ids) or self.task_id is not None or self.session_id is not None

    def ids(self, state: ScopeState) -> list[str]:
        """Ids of the chosen units in the order they were recorded; unknown ids come last."""
        chain = state.chain(task_id=self.task_id, session_id=self.session_id)
        rows = np.union1d(chain, state.rows(self.unit_ids)).astype(np.intp).tolist()
        return [*(state.ids[row] for row in rows), *(each for each in self.unit_ids if state.known(each) is None)]

    def covers(self, event: Event) -> bool:
        """Whether an event that is no unit yet is chosen by its task and session."""
        if self.task_id is None and self.session_id is None:
            return False
        return self.task_id in (None, event.task_id) and self.session_id in (None, event.session_id)


class Eraser:
    """Erases parts of scopes, or the whole of them.

    Args:
        ledger: the truth.
        states: what is derived from it.
        recorder: whose lock keeps writes of this process out meanwhile.
        embedder: whose cache may hold texts.
        clock: answers the present instant.
    """

    def __init__(
        self, ledger: Ledger, states: ScopeStates, recorder: Recorder, embedder: Embedder | None, clock: Clock
    ) -> None:
        self._ledger = ledger
        self._states = states
        self._recorder = recorder
        self._embedder = embedder
        self._clock = clock

    def erase(self, scope: Scope, chosen: Chosen) -> Erasure:
        """Erase what was chosen, in one transaction.

        Raises:
            UnknownUnitError: if the scope has none of one of the ids; nothing is erased.
            WriteConflictError: if other processes kept changing the scope; nothing is erased.
            LedgerError: if the database refused; nothing is erased.
        """
        with self._recorder.lock(scope):
            erased = self._erase_scope(scope) if chosen.whole_scope else self._erase_chosen(scope, chosen)
            if erased:
                self._discard(scope)
            return erased

    def _erase_scope(self, scope: Scope) -> Erasure:
        events = len(self._ledger.unprocessed(scope))
        ids, position = self._ledger.erase_scope(scope)
        return Erasure(tuple(ids), events, position.epoch)

    def _erase_chosen(self, scope: Scope, chosen: Chosen) -> Erasure:
        for attempt in range(MAX_ATTEMPTS):
            if self._ledger.waiting(scope):
                self._recorder.drain(scope)
            ids, based_on = self._choose(scope, chosen)
            # What another process has leased is not drained here; it is refused there once it is gone from the inbox.
            events = [item.receipt_id for item in self._ledger.unprocessed(scope) if chosen.covers(item.event)]
            if not ids and not events:
                return Erasure((), 0, based_on.epoch)
            try:
                position = self._ledger.erase(
                    scope, ids, based_on=based_on, recorded_at=self._clock(), receipt_ids=events
                )
            except StaleReadError:
                back_off(attempt)
                continue
            return Erasure(tuple(ids), len(events), position.epoch)
        raise WriteConflictError(MAX_ATTEMPTS)

    def _choose(self, scope: Scope, chosen: Chosen) -> tuple[Sequence[str], Position]:
        state = self._states.get(scope)
        with state.lock:
            state.catch_up()
            return chosen.ids(state), state.position

    def _discard(self, scope: Scope) -> None:
        state = self._states.get(scope)
        with state.lock:
            state.restart()
        if isinstance(self._embedder, CachedEmbedder):
            # A question may quote what is gone; which does, nobody knows.
            self._embedder.clear()
