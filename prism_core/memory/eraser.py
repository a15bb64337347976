"""Erasing: choose what goes, remove it from the ledger, discard what was derived from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from prism_core.embed import CachedEmbedder
from prism_core.encode.conflict import statements_of
from prism_core.encode.encoder import Encoded
from prism_core.errors import QueryError, StaleReadError, WriteConflictError
from prism_core.memory.arguments import checked_name, checked_unit_id
from prism_core.memory.assembly import Assembly
from prism_core.memory.recorder import MAX_ATTEMPTS, back_off
from prism_core.results import Erasure, Position, Receipt, ReceiptStatus
from prism_core.storage.staged import StagedView
from prism_core.storage.state import ScopeState
from prism_core.types import Event, MemoryUnit, Relation, Scope


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
    """Erases parts of scopes, or the whole of them, and what was derived from them.

    Args:
        parts: of the memory: its recorder's lock keeps writes of this process out meanwhile, and its caches may hold
            texts.
    """

    def __init__(self, parts: Assembly) -> None:
        self._ledger = parts.ledger
        self._states = parts.states
        self._recorder = parts.recorder
        self._encoder = parts.encoder
        self._embedder = parts.embedder
        self._models = parts.models
        self._clock = parts.clock

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
            self._withdraw(scope, chosen)
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
        """Ids of what is to go, facts that nothing else says included."""
        state = self._states.get(scope)
        with state.lock:
            state.catch_up()
            ids = chosen.ids(state)
            known = state.rows([*ids, *_only_said_by(frozenset(ids), state)])
            unknown = [each for each in ids if state.known(each) is None]
            return [*(state.ids[row] for row in sorted(known.tolist())), *unknown], state.position

    def _withdraw(self, scope: Scope, chosen: Chosen) -> None:
        """Take back what the chosen units said of facts that stay, so that what they superseded may hold again."""

        def encode(state: ScopeState) -> list[Encoded]:
            ids = frozenset(chosen.ids(state))
            view = StagedView(state)
            encoded = []
            for facts in _touched(ids | frozenset(_only_said_by(ids, state)), state):
                settled = self._encoder.settler.without(facts, ids, view)
                encoded.append(Encoded(Receipt("", ReceiptStatus.STORED), tuple(settled.changes), facts=settled.units))
            return encoded

        state = self._states.get(scope)
        with state.lock:
            state.catch_up()
            ids = chosen.ids(state)
            concerned = all(state.known(each) for each in ids) and bool(_touched(frozenset(ids), state))
        if concerned:
            self._recorder.amend(scope, encode)

    def _discard(self, scope: Scope) -> None:
        state = self._states.get(scope)
        with state.lock:
            state.restart()
        if isinstance(self._embedder, CachedEmbedder):
            # A question may quote what is gone; which does, nobody knows.
            self._embedder.clear()
        for model in self._models:
            model.cache.clear()


def _stated(ids: frozenset[str], state: ScopeState) -> list[MemoryUnit]:
    """Facts that one of these units states, or that are among them."""
    successors = state.graph.graph._succ
    said = {
        target
        for each in ids & successors.keys()
        for target, links in successors[each].items()
        if Relation.SUMMARIZES in links
    }
    wanted = [each for each in state.facts.matching(None, None) if each in said | ids]
    return state.units(state.rows(wanted))


def _only_said_by(ids: frozenset[str], state: ScopeState) -> list[str]:
    """Facts outside of these units that nothing else states."""
    return [
        fact.id
        for fact in _stated(ids, state)
        if fact.id not in ids
        and all(said.unit_id in ids for said in statements_of(fact))
        and {state.ids[row] for row in state.stating(state.rows([fact.id])[0]).tolist()} <= ids
    ]


def _touched(ids: frozenset[str], state: ScopeState) -> list[list[MemoryUnit]]:
    """All values of the attributes that facts among these units, or stated by them, are about."""
    slots = dict.fromkeys(fact.fact.slot for fact in _stated(ids, state) if fact.fact is not None)
    return [list(state.facts_about(*slot)) for slot in slots]
