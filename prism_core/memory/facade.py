"""The memory of an agent: write what happened, ask for what matters, explain the answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from prism_core.changes import FloatArray
from prism_core.context import ContextBuilder, handle
from prism_core.embed import CachedEmbedder, MiniLMEmbedder
from prism_core.encode.encoder import Encoder
from prism_core.encode.extract import entities
from prism_core.encode.tag import RuleTagger
from prism_core.encode.taxonomy import IntentTaxonomy
from prism_core.errors import (
    ClosedError,
    EmbedderMismatchError,
    EmbeddingError,
    QueryError,
    StoreNotFoundError,
    UnknownUnitError,
)
from prism_core.memory import chains, selection
from prism_core.memory.arguments import EventLike, checked_unit_id, parsed_events, parsed_query
from prism_core.memory.checkup import check
from prism_core.memory.parts import IN_MEMORY, GuardedIndex, IndexKind, Store, choose_index, new_id, now_utc
from prism_core.memory.recorder import Recorder
from prism_core.protocols import Clock, Embedder, IdFactory, TokenCounter, VectorIndex, understands
from prism_core.query import RulePlanner
from prism_core.results import Chain, Context, Finding, LogEntry, Receipt, Retrieval, ScopeStats
from prism_core.retrieve.options import RankingOptions
from prism_core.retrieve.retriever import Ranking, Retriever
from prism_core.storage.ledger import SqlLedger
from prism_core.storage.state import ScopeState
from prism_core.storage.states import ScopeStates
from prism_core.text import O200kCounter
from prism_core.types import IntentQuery, MemoryUnit, Scope, scope_of

DEFAULT_K = 10
CACHED_BYTES = 512 * 1024 * 1024
META_EMBEDDER = "embedder"
LEASED = 256
EMBEDDED_PER_SEARCH = 16
LEASE_SECONDS = 60.0


class PrismMemory:
    """A long-term memory for agents.

    Thread-safe. Every call names the scope it is about; nothing is shared between scopes.

    Attributes:
        embedder: makes vectors; None for a memory that searches by words alone.
        counter: counts tokens.
    """

    def __init__(
        self,
        ledger: SqlLedger,
        states: ScopeStates,
        recorder: Recorder,
        retriever: Retriever,
        builder: ContextBuilder,
        *,
        embedder: Embedder | None,
        index: GuardedIndex | None,
        new_id: IdFactory,
        clock: Clock,
    ) -> None:
        self.embedder = embedder
        self.counter = builder.counter
        self._ledger = ledger
        self._states = states
        self._recorder = recorder
        self._retriever = retriever
        self._builder = builder
        self._index = index
        self._new_id = new_id
        self._clock = clock
        self._closed = False

    @classmethod
    def open(
        cls,
        path: str | Path = IN_MEMORY,
        *,
        embedder: Embedder | Literal["default"] | None = "default",
        index: IndexKind | VectorIndex = "auto",
        counter: TokenCounter | None = None,
        clock: Clock = now_utc,
        new_id: IdFactory = new_id,
        create: bool = True,
        on_embedder_change: Literal["raise", "reembed"] = "raise",
        ranking: RankingOptions | None = None,
    ) -> Self:
        """Open a store, or make one.

        Args:
            path: a directory, `":memory:"`, or a `sqlite:///file.db` URL.
            embedder: "default" is the bundled MiniLM; None searches by words alone.
            index: "auto" gives scopes of 15,000 units and more a Chroma collection and searches smaller ones exactly;
                "chroma" and "exact" force either; an index of your own is used for every scope.
            counter: counts tokens; o200k by default.
            clock: answers the present instant, aware.
            new_id: makes ids.
            create: whether to make a store where there is none.
            on_embedder_change: what to do with a store whose vectors another embedder made.
            ranking: how candidates are found, weighed and ordered; also takes objectives of your own.

        Raises:
            StoreUrlError: if the path or URL cannot be a store.
            StoreNotFoundError: if there is none and `create` is false.
            FormatVersionError: if another version of prism-memory wrote it.
            EmbedderMismatchError: if its vectors come from another embedder.
        """
        store = Store.at(path)
        if not create and not store.exists():
            raise StoreNotFoundError(store.name)
        ledger = SqlLedger.open(store.url, create=create)
        guarded, choice = choose_index(store, index)
        used = CachedEmbedder(MiniLMEmbedder()) if embedder == "default" else _cached(embedder)
        tagger = RuleTagger(IntentTaxonomy.default(), used)
        builder = ContextBuilder(counter or O200kCounter())
        states = ScopeStates(ledger, choice, max_bytes=CACHED_BYTES)
        encoder = Encoder(tagger, builder.counter, new_id, used.id if used else "")
        memory = cls(
            ledger,
            states,
            Recorder(ledger, states, encoder, used, clock),
            Retriever(RulePlanner(tagger, entities), tagger, ranking or RankingOptions()),
            builder,
            embedder=used,
            index=guarded,
            new_id=new_id,
            clock=clock,
        )
        memory._settle_embedder(on_embedder_change)
        return memory

    # -- writing -----------------------------------------------------------------------------------------------------

    def write(self, event: EventLike, *, scope: object) -> Receipt:
        """Store one event; when this returns, it is durable.

        Args:
            event: an `Event`, its fields as a mapping, or the text of a user's message.
            scope: whose memory; a string or a sequence of strings.

        Returns:
            What became of it: stored, joined to a call, a duplicate, rejected, or degraded, with the reason.

        Raises:
            ScopeError: if the scope is missing or malformed.
            InvalidEventError: if the event cannot be stored as given; nothing is stored.
            LedgerError: if the database refused; nothing is stored.
        """
        return self.write_many([event], scope=scope)[0]

    def write_many(self, events: Iterable[EventLike], *, scope: object) -> list[Receipt]:
        """Store events in one transaction, all or none; one receipt per event, in order.

        Raises:
            ScopeError: if the scope is missing or malformed.
            InvalidEventError: if an event cannot be stored as given; nothing is stored.
            LedgerError: if the database refused; nothing is stored.
        """
        checked, parsed = self._enter("write", scope), parsed_events(events)
        if not parsed:
            return []
        return self._recorder.record(checked, parsed, [self._new_id() for _ in parsed])

    def accept(self, events: Iterable[EventLike], *, scope: object) -> list[Receipt]:
        """Append events to the scope's inbox: durable at once, processed by the next `drain` or search.

        Returns:
            Receipts of status `accepted`; ask for their completion with `receipt`.
        """
        checked, parsed = self._enter("accept", scope), parsed_events(events)
        return self._ledger.accept(checked, parsed, received_at=self._clock())

    def drain(self, *, scope: object) -> list[Receipt]:
        """Process what waits in the scope's inbox, and embed what waits to be embedded."""
        checked = self._enter("drain", scope)
        receipts = self._drain(checked)
        self._recorder.embed_pending(checked)
        return receipts

    def receipt(self, receipt_id: str, *, scope: object) -> Receipt:
        """A receipt that was given out.

        Raises:
            UnknownReceiptError: if the scope has none of this id.
        """
        return self._ledger.receipt(self._enter("receipt", scope), receipt_id)

    # -- reading -----------------------------------------------------------------------------------------------------

    def search(
        self,
        query: str | IntentQuery,
        *,
        scope: object,
        k: int | None = None,
        budget: int | None = None,
        active: Sequence[str] = (),
        task_id: str | None = None,
        session_id: str | None = None,
    ) -> Retrieval:
        """Find the memories that matter for a question or for the next action.

        Args:
            query: a question, the name of the action about to be taken with what it is for, or an `IntentQuery`.
            scope: whose memory.
            k: exactly this many results while the scope has that many; far-off ones are marked low. 10 when neither
                `k` nor `budget` is given.
            budget: at most what fits this many tokens when rendered, and only what is worth them, possibly nothing.
            active: ids of the units the agent is working on, oldest first; unknown ids are ignored.
            task_id: only units of this task.
            session_id: only units of this session.

        Raises:
            ScopeError: if the scope is missing or malformed.
            QueryError: if the question is empty or `k` is unusable.
            BudgetError: if the budget is not a positive whole number.
        """
        checked = self._enter("search", scope)
        if k is not None:
            selection.check_k(k)
        planned = parsed_query(query, active, task_id, session_id)
        if budget is not None:
            return self._within(checked, planned, budget, k).retrieval
        limit = DEFAULT_K if k is None else k
        state, ranking, notes = self._rank(checked, planned, at_least=limit, cut=False)
        found = selection.best(ranking, limit, lambda ids: self._ledger.units(checked, ids))
        return found.retrieval(ranking, state.position, notes)

    def context(
        self,
        query: str | IntentQuery,
        *,
        scope: object,
        budget: int = 1000,
        active: Sequence[str] = (),
        task_id: str | None = None,
        session_id: str | None = None,
    ) -> Context:
        """The block of text for the prompt: what is worth its tokens, within the budget, wrapper included.

        The arguments and errors are those of `search`; the text is empty when nothing is worth its tokens.
        """
        checked = self._enter("context", scope)
        return self._within(checked, parsed_query(query, active, task_id, session_id), budget, None)

    def get(self, unit_id: str, *, scope: object) -> MemoryUnit:
        """One unit.

        Args:
            unit_id: its id, or what stands for the id in the mark of an excerpt.
            scope: whose memory.

        Raises:
            UnknownUnitError: if the scope has none of this id, or more than one that the mark may stand for.
        """
        checked, wanted = self._enter("get", scope), checked_unit_id(unit_id)
        try:
            return self._ledger.units(checked, [wanted])[0]
        except UnknownUnitError:
            meant = [each for each in self._ready(checked).ids if handle(each) == wanted]
            if len(meant) != 1:
                raise
        return self._ledger.units(checked, meant)[0]

    def why(self, unit_id: str, *, scope: object, depth: int = 4, limit: int = 50) -> Chain:
        """How a unit came about: what it required, what caused it, what it superseded.

        Args:
            unit_id: which unit.
            scope: whose memory.
            depth: links to walk at most.
            limit: units to return at most.

        Raises:
            UnknownUnitError: if the scope has none of this id.
        """
        state = self._ready(self._enter("why", scope))
        with state.lock:
            return chains.why(state, self._ledger, checked_unit_id(unit_id), depth=depth, limit=limit)

    def impact(self, unit_id: str, *, scope: object, depth: int = 4, limit: int = 50) -> Chain:
        """What a unit led to; arguments and errors are those of `why`."""
        state = self._ready(self._enter("impact", scope))
        with state.lock:
            return chains.impact(state, self._ledger, checked_unit_id(unit_id), depth=depth, limit=limit)

    def failure_path(
        self,
        unit_id: str | None = None,
        *,
        scope: object,
        task_id: str | None = None,
        depth: int = 8,
        limit: int = 50,
    ) -> Chain:
        """What a failure rests on: the steps, sources and decisions that led to it.

        Args:
            unit_id: the failed unit; the latest failed step when None.
            scope: whose memory.
            task_id: look for the latest failed step in this task only.
            depth: links to walk at most.
            limit: units to return at most.

        Raises:
            UnknownUnitError: if the scope has no unit of this id.
            QueryError: if no unit is given and nothing failed.
        """
        state = self._ready(self._enter("failure_path", scope))
        with state.lock:
            return chains.failure_path(state, self._ledger, unit_id, task_id, depth=depth, limit=limit)

    def history(self, unit_id: str, *, scope: object) -> list[LogEntry]:
        """Every recorded change of a unit, oldest first.

        Raises:
            UnknownUnitError: if the scope has none of this id.
        """
        checked = self._enter("history", scope)
        self._ledger.units(checked, [checked_unit_id(unit_id)])
        return self._ledger.log(checked, unit_id=unit_id)

    # -- maintenance -------------------------------------------------------------------------------------------------

    def stats(self, scope: object) -> ScopeStats:
        """Counts of a scope."""
        return self._ledger.stats(self._enter("stats", scope))

    def scopes(self) -> list[Scope]:
        """Every scope that was ever written; for whoever runs the store, not for those who use it."""
        self._open_only("scopes")
        return self._ledger.scopes()

    def doctor(self) -> list[Finding]:
        """Check the ledger, and every scope's projections against it."""
        self._open_only("doctor")
        stored = self._ledger.get_meta(META_EMBEDDER) or "none yet"
        return [*self._ledger.check(), Finding("embedder", True, stored), *check(self._ledger, self._states)]

    def rebuild(self, scope: object = None, *, reembed: bool = False) -> None:
        """Derive every projection from the ledger again.

        Args:
            scope: which scope; every scope when None.
            reembed: compute every vector again as well, from the kept text.
        """
        self._open_only("rebuild")
        for each in [scope_of(scope)] if scope is not None else self._ledger.scopes():
            with self._recorder.lock(each):
                if reembed:
                    self._recorder.mark_pending(each)
                self._states.get(each).vectors.forget()
                self._states.discard(each)
            self._recorder.embed_pending(each)
            self._ready(each)

    def flush(self) -> None:
        """Hand every vector that is due to the vector index."""
        self._open_only("flush")
        for state in self._states.loaded():
            with state.lock:
                state.vectors.hand_over()

    def close(self) -> None:
        """Release files and locks; closing twice is no error."""
        if self._closed:
            return
        self.flush()
        self._closed = True
        if self._index is not None:
            self._index.close()
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _open_only(self, operation: str) -> None:
        if self._closed:
            raise ClosedError(operation)

    def _enter(self, operation: str, scope: object) -> Scope:
        self._open_only(operation)
        return scope_of(scope)

    def _ready(self, scope: Scope) -> ScopeState:
        """The scope's state, caught up with every commit, its inbox drained."""
        state = self._states.get(scope)
        if self._ledger.waiting(scope):
            self._drain(scope)
        with state.lock:
            state.catch_up()
        return state

    def _drain(self, scope: Scope) -> list[Receipt]:
        receipts: list[Receipt] = []
        while True:
            items = self._ledger.lease(
                scope, owner=self._new_id(), now=self._clock(), seconds=LEASE_SECONDS, limit=LEASED
            )
            if not items:
                return receipts
            # Searchable by words at once; embedded afterwards.
            receipts += self._recorder.record_items(scope, items)

    def _rank(
        self, scope: Scope, query: IntentQuery, *, at_least: int = 0, cut: bool = True
    ) -> tuple[ScopeState, Ranking, list[str]]:
        vector, degraded = self._vector(query.text)
        state = self._ready(scope)
        if vector is not None and state.vectors.pending:
            self._recorder.embed_pending(scope, limit=EMBEDDED_PER_SEARCH)
        with state.lock:
            state.catch_up()
            ranking = self._retriever.rank(query, state, vector, at_least=at_least, cut=cut)
        notes = [*degraded, *([self._index.note] if self._index is not None and self._index.note else [])]
        if vector is not None and state.vectors.pending:
            notes.append(f"{len(state.vectors.pending)} units wait to be embedded and are found by words only")
        return state, ranking, notes

    def _within(self, scope: Scope, query: IntentQuery, budget: int, k: int | None) -> Context:
        selection.check_budget(budget)
        state, ranking, notes = self._rank(scope, query)
        found, packed = selection.worth_the_tokens(
            ranking, budget, k, lambda ids: self._ledger.units(scope, ids), self._builder, self._retriever.options.stop
        )
        return Context(packed.text, packed.tokens, found.retrieval(ranking, state.position, notes))

    def _vector(self, text: str) -> tuple[FloatArray | None, list[str]]:
        """The question's embedding, and why there is none."""
        if self.embedder is None or not text.strip():
            return None, []
        if not understands(self.embedder, text):
            return None, []
        try:
            return self.embedder.embed_query(text), []
        except EmbeddingError as error:
            return None, [str(error)]

    def _settle_embedder(self, on_change: Literal["raise", "reembed"]) -> None:
        if on_change not in ("raise", "reembed"):
            self.close()
            raise QueryError("on_embedder_change", on_change, "choose 'raise' or 'reembed'")
        if self.embedder is None:
            return
        stored = self._ledger.get_meta(META_EMBEDDER) if self._ledger.scopes() else None
        if stored is not None and stored != self.embedder.id:
            if on_change == "raise":
                self.close()
                raise EmbedderMismatchError(stored, self.embedder.id)
            for scope in self._ledger.scopes():
                self._recorder.mark_pending(scope)
                self._states.get(scope).vectors.forget()
                self._states.discard(scope)
        if stored != self.embedder.id:
            self._ledger.set_meta(META_EMBEDDER, self.embedder.id)
        if stored is not None and stored != self.embedder.id:
            for scope in self._ledger.scopes():
                self._recorder.embed_pending(scope)


def _cached(embedder: Embedder | None) -> Embedder | None:
    if embedder is None or isinstance(embedder, CachedEmbedder):
        return embedder
    return CachedEmbedder(embedder)
