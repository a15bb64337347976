"""The parts a user may replace, as protocols.

Every protocol has a contract test class of the same name in `prism_core.testing`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

from prism_core.changes import Change, FloatArray
from prism_core.results import LogEntry, Position, Receipt, ScopeStats
from prism_core.types import Event, IntentQuery, Link, MemoryUnit, Scope

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
    def id(self) -> str: ...

    @property
    def dimension(self) -> int: ...

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
    def id(self) -> str: ...

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

    def delta(self, scope: Scope, after: int) -> Delta:
        """Everything that changed after a seq, read in one snapshot."""
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


class Planner(Protocol):
    """Turns a question into an `IntentQuery`."""

    def plan(self, query: IntentQuery) -> IntentQuery:
        """Fill what the caller left open: intents, entities, action type and facets."""
        ...
