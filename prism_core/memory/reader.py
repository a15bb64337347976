"""The read path: bring the scope up to date, rank what may answer, choose what is returned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import TypeVar

import numpy as np

from prism_core.changes import FloatArray
from prism_core.context import ContextBuilder, handle
from prism_core.errors import DimensionMismatchError, EmbeddingError, UnknownUnitError
from prism_core.memory import filters, selection
from prism_core.memory.arguments import Question, Where
from prism_core.memory.lineage import Lineage
from prism_core.memory.parts import GuardedIndex
from prism_core.memory.recorder import Recorder
from prism_core.protocols import Embedder, Introspector, Ledger, understands
from prism_core.results import Context, Retrieval
from prism_core.retrieve.retriever import Ranking, Retriever
from prism_core.storage.state import ScopeState
from prism_core.storage.states import ScopeStates
from prism_core.types import MemoryUnit, Scope

EMBEDDED_PER_SEARCH = 16

_T = TypeVar("_T")


class Reader:
    """Answers questions about scopes.

    Args:
        ledger: the truth.
        states: what is derived from it.
        recorder: processes the inbox and embeds what waits.
        retriever: ranks.
        builder: renders within a budget.
        embedder: embeds questions; None to rank by words alone.
        index: says when exact search stands in for it; None without one.
        introspector: asks a language model what a question is after; None to plan by rules.
    """

    def __init__(
        self,
        ledger: Ledger,
        states: ScopeStates,
        recorder: Recorder,
        retriever: Retriever,
        builder: ContextBuilder,
        *,
        embedder: Embedder | None,
        index: GuardedIndex | None,
        introspector: Introspector | None = None,
    ) -> None:
        self._ledger = ledger
        self._states = states
        self._recorder = recorder
        self._retriever = retriever
        self._builder = builder
        self._embedder = embedder
        self._index = index
        self._introspector = introspector

    def ready(self, scope: Scope) -> ScopeState:
        """The scope's state, caught up with every commit, its inbox drained."""
        state = self._states.get(scope)
        if self._ledger.waiting(scope):
            self._recorder.take_in(scope)
        with state.lock:
            state.catch_up()
        return state

    def undisturbed(self, scope: Scope, read: Callable[[ScopeState], _T]) -> _T:
        """Read a scope, and again where units that were found are erased before they could be read.

        Raises:
            UnknownUnitError: if the scope never had one that was asked for.
        """
        while True:
            state = self.ready(scope)
            epoch = state.position.epoch
            try:
                return read(state)
            except UnknownUnitError:
                if self._ledger.head(scope).epoch == epoch:
                    raise

    def locked(self, scope: Scope, read: Callable[[ScopeState], _T]) -> _T:
        """The same with the state locked, caught up when the reading begins."""

        def hold(state: ScopeState) -> _T:
            with state.lock:
                state.catch_up()
                return read(state)

        return self.undisturbed(scope, hold)

    def get(self, scope: Scope, unit_id: str) -> MemoryUnit:
        """The unit of an id, or of what stands for an id in the mark of an excerpt.

        Raises:
            UnknownUnitError: if the scope has none, or more than one that the mark may stand for.
        """
        try:
            return self._ledger.units(scope, [unit_id])[0]
        except UnknownUnitError:
            meant = [each for each in self.ready(scope).ids if handle(each) == unit_id]
            if len(meant) != 1:
                raise
        return self._ledger.units(scope, meant)[0]

    def best(self, scope: Scope, question: Question, k: int) -> Retrieval:
        """The k best answers to a question."""

        def read(state: ScopeState) -> Retrieval:
            ranking, notes = self._rank(state, question, at_least=k, cut=False)
            found = selection.best(ranking, k, lambda ids: self._ledger.units(scope, ids), Lineage(state))
            return found.retrieval(ranking, state.position, notes)

        return self.undisturbed(scope, read)

    def within(self, scope: Scope, question: Question, budget: int, k: int | None = None) -> Context:
        """What is worth its tokens, at most k units of it.

        Raises:
            BudgetError: if the budget is not a positive whole number.
        """
        selection.check_budget(budget)

        def read(state: ScopeState) -> Context:
            ranking, notes = self._rank(state, question)
            stop = self._retriever.options.stop
            found, packed = selection.worth_the_tokens(
                ranking, budget, k, lambda ids: self._ledger.units(scope, ids), self._builder, stop, Lineage(state)
            )
            return Context(packed.text, packed.tokens, found.retrieval(ranking, state.position, notes))

        return self.undisturbed(scope, read)

    def units(
        self, scope: Scope, *, session_id: str | None, task_id: str | None, where: Where | None, last: int | None
    ) -> list[MemoryUnit]:
        """Units in the order they were recorded."""

        def read(state: ScopeState) -> list[MemoryUnit]:
            if session_id is None and task_id is None:
                rows = np.arange(len(state))
            else:
                rows = np.sort(state.chain(task_id=task_id, session_id=session_id))
            if where is not None and not isinstance(where, Mapping):
                return list(islice(filters.newest_first(where, rows, state), last))[::-1]
            if where is not None:
                rows = np.intersect1d(rows, state.holding(where), assume_unique=True)
            return state.units(rows if last is None else rows[-last:])

        return self.locked(scope, read)

    def _rank(
        self, state: ScopeState, question: Question, *, at_least: int = 0, cut: bool = True
    ) -> tuple[Ranking, list[str]]:
        vector, degraded = self._vector(question)
        query, note = question.query, ""
        if self._introspector is not None:
            # Ahead of the ranking, and with nothing locked: a model may take its time.
            query, note = self._introspector.introspect(query, state)
        if vector is not None and state.vectors.pending:
            self._recorder.embed_pending(state.scope, limit=EMBEDDED_PER_SEARCH)
        with state.lock:
            state.catch_up()
            may_answer = filters.eligible(question.where, query, state)
            ranking = self._retriever.rank(query, state, vector, at_least=at_least, cut=cut, eligible=may_answer)
        notes = [
            *degraded,
            *([note] if note else []),
            *([self._index.note] if self._index is not None and self._index.note else []),
        ]
        if vector is not None and state.vectors.pending:
            notes.append(f"{len(state.vectors.pending)} units wait to be embedded and are found by words only")
        return ranking, notes

    def _vector(self, question: Question) -> tuple[FloatArray | None, list[str]]:
        """The question's embedding, and why there is none."""
        if question.vector is not None:
            if self._embedder is not None and len(question.vector) != self._embedder.dimension:
                raise DimensionMismatchError(self._embedder.dimension, len(question.vector))
            return question.vector, []
        text = question.query.text
        if self._embedder is None or not text.strip():
            return None, []
        if not understands(self._embedder, text):
            return None, []
        try:
            return self._embedder.embed_query(text), []
        except EmbeddingError as error:
            return None, [str(error)]
