"""The memory of an agent: write what happened, ask for what matters, explain the answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from prism_core.encode.options import EncodingOptions
from prism_core.errors import ClosedError, EmbedderMismatchError, QueryError, StoreNotFoundError
from prism_core.memory import selection
from prism_core.memory.arguments import (
    EventLike,
    Limits,
    Vector,
    Where,
    checked_last,
    checked_name,
    checked_unit_id,
    checked_where,
    parsed_events,
    parsed_question,
)
from prism_core.memory.assembly import Assembly, Wanted, assemble
from prism_core.memory.checkup import check
from prism_core.memory.eraser import Chosen, Eraser
from prism_core.memory.explaining import ExplainVerbs
from prism_core.memory.facts import FactVerbs
from prism_core.memory.labelling import TaxonomyVerbs
from prism_core.memory.linking import LinkVerbs
from prism_core.memory.parts import IN_MEMORY, IndexKind, Store, new_id, now_utc
from prism_core.memory.reader import Reader
from prism_core.memory.settling import META_EMBEDDER, OnEmbedderChange, settle_embedder, start_over, usable
from prism_core.protocols import Clock, Embedder, IdFactory, TokenCounter, VectorIndex
from prism_core.query import PlanningOptions
from prism_core.results import Context, Erasure, Finding, Receipt, Retrieval, ScopeStats
from prism_core.retrieve.options import RankingOptions
from prism_core.types import IntentQuery, MemoryUnit, Scope, scope_of

DEFAULT_K = 10
CACHED_BYTES = 512 * 1024 * 1024


class PrismMemory(LinkVerbs, ExplainVerbs, FactVerbs, TaxonomyVerbs):
    """A long-term memory for agents.

    Thread-safe. Every call names the scope it is about; nothing is shared between scopes.

    Attributes:
        embedder: makes vectors; None for a memory that searches by words alone.
        counter: counts tokens.
        taxonomy: the labels of intents.
    """

    def __init__(self, parts: Assembly) -> None:
        """Take over parts that belong together; `open` makes them."""
        self.embedder = parts.embedder
        self.counter = parts.builder.counter
        self.taxonomy = parts.taxonomy
        self._ledger = parts.ledger
        self._states = parts.states
        self._recorder = parts.recorder
        self._enricher = parts.enricher
        self._reader = Reader(
            parts.ledger,
            parts.states,
            parts.recorder,
            parts.retriever,
            parts.builder,
            embedder=parts.embedder,
            index=parts.index,
            introspector=parts.introspector,
        )
        self._eraser = Eraser(parts)
        self._conflicts = parts.encoder.conflicts
        self._index = parts.index
        self._new_id = parts.new_id
        self._clock = parts.clock
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
        on_embedder_change: OnEmbedderChange = "raise",
        ranking: RankingOptions | None = None,
        encoding: EncodingOptions | None = None,
        planning: PlanningOptions | None = None,
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
            encoding: how events are understood when they are written.
            planning: how it is found out what a question is after.

        Raises:
            StoreUrlError: if the path or URL cannot be a store.
            StoreNotFoundError: if there is none and `create` is false.
            FormatVersionError: if another version of prism-memory wrote it.
            EmbedderMismatchError: if its vectors come from another embedder.
        """
        store = Store.at(path)
        if not create and not store.exists():
            raise StoreNotFoundError(store.name)
        used = usable(embedder)
        wanted = Wanted(used, index, counter, clock, new_id, ranking, encoding, planning)
        memory = cls(assemble(store, wanted, create=create))
        try:
            settle_embedder(memory._ledger, memory._states, memory._recorder, used, on_embedder_change)
        except (QueryError, EmbedderMismatchError):
            memory.close()
            raise
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
        receipts = self._recorder.record(checked, parsed, [self._new_id() for _ in parsed])
        return self._enricher.complete(checked, receipts)

    def replace(self, unit_id: str, event: EventLike, *, scope: object) -> Receipt:
        """Put other content in the place of a document's or fact's; what it said before is kept nowhere.

        The unit keeps its id, its key, its session and task, its time and its links; a fact keeps what it states, as a
        new value is a fact of its own. What was said and done cannot be replaced, only erased: steps, messages, and
        what the assistant wrote.

        Args:
            unit_id: which unit.
            event: its new text, metadata, attachments and so on; where it belongs is not looked at.
            scope: whose memory.

        Raises:
            UnknownUnitError: if the scope has none of this id.
            InvalidEventError: if it cannot be stored as given, or the unit cannot be replaced; nothing is stored.
            LedgerError: if the database refused; nothing is stored.
        """
        checked, wanted = self._enter("replace", scope), checked_unit_id(unit_id)
        return self._recorder.replace(checked, wanted, parsed_events([event])[0], self._new_id())

    def accept(self, events: Iterable[EventLike], *, scope: object) -> list[Receipt]:
        """Append events to the scope's inbox: durable at once, processed by the next `drain` or search.

        Returns:
            Receipts of status `accepted`; ask for their completion with `receipt`.
        """
        checked, parsed = self._enter("accept", scope), parsed_events(events)
        return self._ledger.accept(checked, parsed, received_at=self._clock())

    def drain(self, *, scope: object) -> list[Receipt]:
        """Process what waits in the scope's inbox, embed what waits for it, and have a language model read the rest."""
        checked = self._enter("drain", scope)
        receipts = self._recorder.drain(checked)
        self._recorder.embed_pending(checked)
        self._enricher.pending(checked)
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
        where: Where | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        vector: Vector | None = None,
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
            where: only units whose `metadata` has every key of this mapping with its value (equal as JSON), or that
                this function says yes to. The mapping is looked up, and so is `Except`; any other function
                is asked about every unit that the other limits admit.
            since: only units that happened at or after this instant; aware.
            until: only units that happened before this instant; aware.
            vector: the question's embedding, shape (d,), by the store's own embedder, where the caller has it already;
                the text is then not embedded. It need not be normalised.

        Raises:
            ScopeError: if the scope is missing or malformed.
            QueryError: if the question is empty, or `k` or a limit is unusable, or `where` raised.
            BudgetError: if the budget is not a positive whole number.
            DimensionMismatchError: if `vector` is of another length than the store's vectors.
        """
        checked = self._enter("search", scope)
        if k is not None:
            selection.check_k(k)
        asked = parsed_question(query, active, vector, Limits(task_id, session_id, since, until, where))
        if budget is not None:
            return self._reader.within(checked, asked, budget, k).retrieval
        return self._reader.best(checked, asked, DEFAULT_K if k is None else k)

    def context(
        self,
        query: str | IntentQuery,
        *,
        scope: object,
        budget: int = 1000,
        active: Sequence[str] = (),
        task_id: str | None = None,
        session_id: str | None = None,
        where: Where | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        vector: Vector | None = None,
    ) -> Context:
        """The block of text for the prompt: what is worth its tokens, within the budget, wrapper included.

        The arguments and errors are those of `search`; the text is empty when nothing is worth its tokens.
        """
        checked = self._enter("context", scope)
        asked = parsed_question(query, active, vector, Limits(task_id, session_id, since, until, where))
        return self._reader.within(checked, asked, budget)

    def units(
        self,
        *,
        scope: object,
        session_id: str | None = None,
        task_id: str | None = None,
        where: Where | None = None,
        last: int | None = None,
    ) -> list[MemoryUnit]:
        """The units of a scope, oldest first, in the order they were recorded.

        Args:
            scope: whose memory.
            session_id: only units of this session.
            task_id: only units of this task; with a session, of the task within the session.
            where: only units that meet this condition, as in `search`.
            last: only so many of the newest of them.

        Raises:
            QueryError: if a limit is unusable, or `where` raised.
        """
        checked = self._enter("units", scope)
        return self._reader.units(
            checked,
            session_id=checked_name("session_id", session_id),
            task_id=checked_name("task_id", task_id),
            where=checked_where(where),
            last=checked_last(last),
        )

    def get(self, unit_id: str, *, scope: object) -> MemoryUnit:
        """One unit.

        Args:
            unit_id: its id, or what stands for the id in the mark of an excerpt.
            scope: whose memory.

        Raises:
            UnknownUnitError: if the scope has none of this id, or more than one that the mark may stand for.
        """
        return self._reader.get(self._enter("get", scope), checked_unit_id(unit_id))

    # -- erasing -----------------------------------------------------------------------------------------------------

    def erase(
        self,
        *,
        scope: object,
        unit_ids: Iterable[str] = (),
        task_id: str | None = None,
        session_id: str | None = None,
        whole_scope: bool = False,
    ) -> Erasure:
        """Remove units for good, in one transaction: their text, links, vectors, keys, receipts and history.

        What was derived from them goes with them: indexes and graph of the scope are discarded and derived anew from
        what is left, in this process at once and in others when they next use the scope. The log keeps how many units
        were erased and when, nothing else.

        Args:
            scope: whose memory.
            unit_ids: these units. A tool's reply that was joined to its call is part of the call's unit.
            task_id: every unit of this task, accepted events included. `task_id` and `session_id` together mean the
                task within the session, as they do in `units`.
            session_id: every unit of this session, accepted events included.
            whole_scope: everything; the scope is then listed no longer.

        Returns:
            What is gone. `unit_ids` come on top of the task or session. A task or session without units is no error.

        Raises:
            ScopeError: if the scope is missing or malformed.
            QueryError: if nothing is chosen, or a part beside the whole.
            UnknownUnitError: if the scope has none of one of the ids; nothing is erased.
            WriteConflictError: if other processes kept changing the scope; nothing is erased.
            LedgerError: if the database refused; nothing is erased.
        """
        checked = self._enter("erase", scope)
        return self._eraser.erase(checked, Chosen.parse(unit_ids, task_id, session_id, whole_scope))

    # -- maintenance -------------------------------------------------------------------------------------------------

    def stats(self, scope: object) -> ScopeStats:
        """Counts of a scope."""
        return self._ledger.stats(self._enter("stats", scope))

    def scopes(self) -> list[Scope]:
        """Every scope that was written and not erased since; for whoever runs the store, not for those who use it."""
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
                start_over(each, self._states, self._recorder, reembed=reembed)
            self._recorder.embed_pending(each)
            self._reader.ready(each)

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
