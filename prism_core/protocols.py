"""The parts a user may replace, as protocols.

Every protocol has a contract test class of the same name in `prism_core.testing`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from prism_core.changes import Change, FloatArray, IntArray
from prism_core.results import LogEntry, Position, Receipt, ScopeStats
from prism_core.types import Event, IntentQuery, Link, MemoryUnit, Relation, Scope

Clock = Callable[[], datetime]
"""Answers the present instant; aware."""

IdFactory = Callable[[], str]
"""Answers a new id; unique among all it ever answered."""


@runtime_checkable
class Embedder(Protocol):
    """Turns text into vectors.

    Attributes:
        id: names model and version; stored with every vector.
        dimension: length of a vector.
    """

    @property
    def id(self) -> str:
        """Names model and version."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """Embed texts.

        Args:
            texts: any number, each of any length; nothing is cut silently.

        Returns:
            Shape (n, dimension), float32, rows L2-normalised (a zero row for a text without content).

        Raises:
            EmbeddingError: if it cannot be computed now.
        """
        ...

    def embed_query(self, text: str) -> FloatArray:
        """Embed a question; shape (dimension,), L2-normalised.

        Raises:
            EmbeddingError: if it cannot be computed now.
        """
        ...


@runtime_checkable
class SelectiveEmbedder(Embedder, Protocol):
    """An embedder that knows what it cannot read. Implementing it is optional."""

    def understands(self, text: str) -> bool:
        """Whether vectors say anything about texts like this one; a model of one language may not know another."""
        ...


@runtime_checkable
class TokenCounter(Protocol):
    """Counts tokens the way the model that reads the context does."""

    def count(self, text: str) -> int:
        """The number of tokens of `text`."""
        ...


@runtime_checkable
class VectorIndex(Protocol):
    """Finds the nearest vectors. A cache over the ledger: it may forget everything and be filled again.

    Attributes:
        id: changes whenever the index starts empty, so that remembered positions of a lost index are not believed.
    """

    @property
    def id(self) -> str:
        """Names this filling of the index."""
        ...

    def upsert(self, scope: Scope, ids: Sequence[str], vectors: FloatArray) -> None:
        """Insert or replace vectors.

        Args:
            scope: whose vectors.
            ids: n unit ids, any number of them.
            vectors: shape (n, d), rows L2-normalised.

        Raises:
            DimensionMismatchError: if d differs from what the scope holds.
        """
        ...

    def search(self, scope: Scope, vector: FloatArray, k: int) -> list[tuple[str, float]]:
        """The nearest vectors of a scope.

        Args:
            scope: whose vectors; a scope that was never written has none.
            vector: shape (d,), L2-normalised.
            k: how many at most.

        Returns:
            Pairs of unit id and cosine similarity in [-1, 1], best first.

        Raises:
            DimensionMismatchError: if d differs from what the scope holds.
        """
        ...

    def count(self, scope: Scope) -> int:
        """How many vectors the scope holds."""
        ...

    def drop(self, scope: Scope) -> None:
        """Forget the scope; dropping an unknown scope is no error."""
        ...

    def close(self) -> None:
        """Release files and locks; closing twice is no error."""
        ...


@dataclass(frozen=True, slots=True)
class Delta:
    """What changed in a scope after some seq, as the state it has now.

    Attributes:
        units: added or updated units with their token counts, in the order they were first added.
        links: added or replaced links.
        vectors: unit ids with their vector, or None while pending.
        position: the state this leads to.
    """

    units: Sequence[tuple[MemoryUnit, int]]
    links: Sequence[Link]
    vectors: Sequence[tuple[str, FloatArray | None]]
    position: Position


@dataclass(frozen=True, slots=True)
class InboxItem:
    """An event that was accepted and waits to be processed.

    Attributes:
        receipt_id: the receipt it will complete.
        event: the event.
    """

    receipt_id: str
    event: Event


class Ledger(Protocol):
    """The truth: units, links, vectors, receipts and the log, in one transaction per write."""

    def head(self, scope: Scope) -> Position:
        """How far the scope's log has got; `Position()` for a scope that was never written."""
        ...

    def commit(
        self,
        scope: Scope,
        changes: Sequence[Change],
        *,
        based_on: Position,
        recorded_at: datetime,
        receipts: Sequence[Receipt] = (),
    ) -> Position:
        """Apply changes and complete receipts in one durable transaction. Returning is the acknowledgement.

        Args:
            scope: whose log.
            changes: applied in order; each gets one seq.
            based_on: the head the changes were derived from.
            recorded_at: aware instant written to the log.
            receipts: stored so that they can be asked for; those of inbox items take the item off the inbox.

        Returns:
            The new head.

        Raises:
            StaleReadError: if the head has moved on; nothing was stored.
            LedgerError: if the database refused; nothing was stored.
        """
        ...

    def delta(self, scope: Scope, after: int, *, vectors_after: int | None = None) -> Delta:
        """Everything that changed after a seq, read in one snapshot.

        Args:
            scope: whose log.
            after: units and links that changed after this seq.
            vectors_after: vectors that changed after this seq (default: `after`), and all pending ones.
        """
        ...

    def units(self, scope: Scope, ids: Sequence[str]) -> list[MemoryUnit]:
        """The units of these ids, in the order asked for.

        Raises:
            UnknownUnitError: if one does not exist in the scope.
        """
        ...

    def vectors(self, scope: Scope, ids: Sequence[str]) -> dict[str, FloatArray]:
        """The vectors of these units; pending and unknown ones are left out."""
        ...

    def find_key(self, scope: Scope, idempotency_key: str) -> str | None:
        """Id of the unit stored under an idempotency key."""
        ...

    def find_text(self, scope: Scope, kind: str, text: str) -> str | None:
        """Id of the first unit of a kind whose normalised text equals that of `text`."""
        ...

    def accept(self, scope: Scope, events: Sequence[Event], *, received_at: datetime) -> list[Receipt]:
        """Append raw events to the inbox, durably, and answer `accepted` receipts."""
        ...

    def lease(self, scope: Scope, *, owner: str, now: datetime, seconds: float, limit: int) -> list[InboxItem]:
        """Take the oldest inbox items that nobody holds a live lease on."""
        ...

    def receipt(self, scope: Scope, receipt_id: str) -> Receipt:
        """A receipt that was given out.

        Raises:
            UnknownReceiptError: if the scope has none of this id.
        """
        ...

    def log(self, scope: Scope, *, after: int = 0, unit_id: str | None = None) -> list[LogEntry]:
        """The recorded changes after a seq, oldest first, of one unit or of all."""
        ...

    def stats(self, scope: Scope) -> ScopeStats:
        """Counts of a scope."""
        ...

    def scopes(self) -> list[Scope]:
        """Every scope that was ever written, for maintenance."""
        ...

    def get_meta(self, key: str) -> str | None:
        """A value of the store's own settings, such as the embedder id."""
        ...

    def set_meta(self, key: str, value: str) -> None:
        """Set a value of the store's own settings."""
        ...

    def index_position(self, index_id: str, scope: Scope) -> Position | None:
        """How far an index has followed a scope, as last noted."""
        ...

    def note_index_position(self, index_id: str, scope: Scope, position: Position) -> None:
        """Note how far an index has followed a scope."""
        ...

    def close(self) -> None:
        """Release the database; closing twice is no error."""
        ...


class IntentTagger(Protocol):
    """Labels texts with what they are for."""

    def tag(self, text: str, *, action_type: str | None = None, vector: FloatArray | None = None) -> tuple[str, ...]:
        """The labels of a text, the best supported first.

        Args:
            text: what was said or done.
            action_type: the action's name, for a step.
            vector: the text's embedding, shape (d,), where there is one.
        """
        ...

    def similarities(self, vector: FloatArray) -> Mapping[str, float]:
        """Cosine similarity of a vector to every label, in [-1, 1]; empty where labels have no vectors."""
        ...


class Columns(Protocol):
    """Per-unit values of one scope, as arrays over its n rows. A row is a unit's place in the order of recording.

    Attributes:
        times: event times, POSIX seconds.
        tokens: tokens of the text.
        terms: index terms of the text.
        importance: in [0, 1].
        session: number of the unit's session, -1 without one.
        task: number of the unit's task, -1 without one.
        speaker: number of the unit's speaker, -1 without one.
        previous: row before it in its session by event time, -1 at the start.
        following: row after it in its session by event time, -1 at the end.
        introduced: identifiers in it that did not occur earlier in its chain (task, else session, else scope).
        question: whether it asks something.
        current: whether it still holds.
        step: whether it is an action.
        failed: whether it is an action that failed.
    """

    times: NDArray[np.float64]
    tokens: IntArray
    terms: IntArray
    importance: FloatArray
    session: IntArray
    task: IntArray
    speaker: IntArray
    previous: IntArray
    following: IntArray
    introduced: IntArray
    question: NDArray[np.bool_]
    current: NDArray[np.bool_]
    step: NDArray[np.bool_]
    failed: NDArray[np.bool_]

    @property
    def dialogue(self) -> NDArray[np.bool_]:
        """Whether more than one speaker takes part, by session number."""
        ...


class ScopeView(Protocol):
    """One scope at one position: all that planning and ranking may look at."""

    @property
    def position(self) -> Position:
        """The state this is a view of."""
        ...

    @property
    def columns(self) -> Columns:
        """Per-unit values."""
        ...

    @property
    def ids(self) -> Sequence[str]:
        """Unit id of every row."""
        ...

    @property
    def speakers(self) -> Sequence[str]:
        """Name of every speaker number."""
        ...

    @property
    def action_types(self) -> Sequence[str]:
        """Every action type that occurs."""
        ...

    def rows(self, unit_ids: Sequence[str]) -> IntArray:
        """Rows of these units; unknown ids are left out."""
        ...

    def chain(self, *, task_id: str | None = None, session_id: str | None = None) -> IntArray:
        """Rows of a task, of a session, or of a task within a session, in the order of time."""
        ...

    def numbered_chain(self, *, task: int | None = None, session: int | None = None) -> IntArray:
        """Rows of the task or session of a number, in the order of time."""
        ...

    def lexical(self, terms: Sequence[str]) -> FloatArray:
        """BM25 of every row, shape (n,), >= 0."""
        ...

    def session_lexical(self, terms: Sequence[str]) -> FloatArray:
        """BM25 of every session as one document, by session number, >= 0."""
        ...

    def coverage(self, terms: Sequence[str], rows: IntArray) -> FloatArray:
        """Share of the query's terms in each row, weighted by rarity, in [0, 1]."""
        ...

    def nearest(self, vector: FloatArray, k: int) -> IntArray:
        """The rows nearest to a vector, best first; an approximate index may miss some."""
        ...

    def similarities(self, vector: FloatArray, rows: IntArray) -> FloatArray:
        """Exact cosine similarity of rows to a vector, in [-1, 1]; 0 for rows without a vector."""
        ...

    def mentioning(self, entity: str) -> IntArray:
        """Rows that mention an entity by its normalised name, or hold an identifier."""
        ...

    def labelled(self, label: str) -> IntArray:
        """Rows tagged with an intent label."""
        ...

    def labels(self, row: int) -> Sequence[str]:
        """Intent labels of a row."""
        ...

    def acting(self, action_type: str) -> IntArray:
        """Rows whose action is of a type."""
        ...

    def identifiers(self, row: int) -> Sequence[int]:
        """Numbers of the identifiers in a row."""
        ...

    def identifier_forms(self, identifier: int) -> tuple[str, str]:
        """Literal and rough form of an identifier, such as `credit_card_9+` and `a+_a+_9+`."""
        ...

    def arguments(self, row: int) -> Sequence[int]:
        """Numbers of the identifiers that a row's action took as arguments."""
        ...

    def expected_arguments(self, action_type: str) -> Mapping[str, float]:
        """Mean number of identifiers per call of an action, by form, as far as the scope's calls tell."""
        ...

    def identifier_spread(self, identifier: int) -> tuple[int, IntArray]:
        """In how many chains an identifier occurs, and the rows that hold it."""
        ...

    @property
    def chain_count(self) -> int:
        """Number of chains (tasks, else sessions) in the scope."""
        ...

    def distances(self, row: int, costs: Mapping[Relation, float], *, max_rows: int) -> dict[int, float]:
        """Cheapest typed path from one row to the rows around it, in either direction of the links.

        Args:
            row: where to start.
            costs: cost of a link, by relation; relations left out are not walked.
            max_rows: stop after settling this many rows.

        Returns:
            Row to cost, for the rows reached; includes the start at 0.
        """
        ...


class WriteView(Protocol):
    """What encoding an event may look at: the scope as it is, and the events before it in the same write."""

    def unit(self, unit_id: str) -> MemoryUnit:
        """A unit of the scope.

        Raises:
            UnknownUnitError: if there is none of this id.
        """
        ...

    def known(self, unit_id: str) -> str | None:
        """The id itself where the scope has a unit of this id, else None."""
        ...

    def find_key(self, idempotency_key: str) -> str | None:
        """Id of the unit stored under an idempotency key."""
        ...

    def find_text(self, kind: str, text: str) -> str | None:
        """Id of the first unit of a kind whose normalised text equals that of `text`."""
        ...

    def last_in_task(self, task_id: str) -> str | None:
        """Id of the latest unit of a task."""
        ...

    def last_in_session(self, session_id: str) -> str | None:
        """Id of the latest unit of a session."""
        ...

    def step(self, task_id: str | None, step_id: str) -> str | None:
        """Id of the latest unit of a task with this step id."""
        ...

    def awaiting(self, session_id: str | None, tool_call_id: str) -> str | None:
        """Id of the latest call of a session that has this tool call id and no reply yet."""
        ...

    def same_action(self, task_id: str | None, action: str) -> str | None:
        """Id of the latest unit of a task that took the very same action."""
        ...

    def sources(self, identifier: str, task_id: str | None, session_id: str | None) -> Sequence[str]:
        """Ids of the units of a task (else session, else scope) that hold an identifier, oldest first."""
        ...


class Planner(Protocol):
    """Turns a question into an `IntentQuery`."""

    def plan(self, query: IntentQuery, view: ScopeView) -> IntentQuery:
        """Fill what the caller left open: intents, entities, action type and facets."""
        ...
