"""The ledger: what a store of record has to do."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from prism_core.changes import Change, FloatArray
from prism_core.results import LogEntry, Position, Receipt, ScopeStats
from prism_core.types import Event, Link, MemoryUnit, Scope


@dataclass(frozen=True, slots=True)
class Delta:
    """What changed in a scope after some seq, as the state it has now.

    Attributes:
        units: added or updated units with their token counts, in the order they were first added.
        links: added or replaced links.
        vectors: unit ids with their vector, or None while pending.
        position: the state this leads to.
        unlinked: links that were removed.
    """

    units: Sequence[tuple[MemoryUnit, int]]
    links: Sequence[Link]
    vectors: Sequence[tuple[str, FloatArray | None]]
    position: Position
    unlinked: Sequence[Link] = ()


@dataclass(frozen=True, slots=True)
class InboxItem:
    """An event that was accepted and waits to be processed.

    Attributes:
        receipt_id: the receipt it will complete.
        event: the event.
    """

    receipt_id: str
    event: Event


class Apply(Protocol):
    """Applies changes and completes receipts in the transaction it was given for; answers the new head."""

    def __call__(self, changes: Sequence[Change], receipts: Sequence[Receipt] = ()) -> Position:
        """Apply them, in order; each change gets one seq."""
        ...


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

    def exclusive(
        self, scope: Scope, *, recorded_at: datetime, based_on: Position | None = None
    ) -> AbstractContextManager[Apply]:
        """A commit during which nobody else writes: changes may be derived inside the block, then applied once.

        For a writer that others have overtaken too often. Reads see the scope as it was at the start; everything
        `commit` says holds here too.

        Raises:
            StaleReadError: on entering, if the head is not `based_on`, where that is given.
        """
        ...

    def erase(
        self,
        scope: Scope,
        unit_ids: Sequence[str],
        *,
        based_on: Position,
        recorded_at: datetime,
        receipt_ids: Sequence[str] = (),
    ) -> Position:
        """Remove units with their links, vectors, keys and receipts, and blank what the log says of them.

        Args:
            scope: whose units.
            unit_ids: which units.
            based_on: the head the choice was made at.
            recorded_at: aware instant written to the log.
            receipt_ids: receipts of accepted events that are taken off the inbox unprocessed.

        Returns:
            The new head: one entry further, in the next epoch, so that whatever was derived before is discarded.

        Raises:
            StaleReadError: if the head has moved on; nothing was erased.
            UnknownUnitError: if the scope has none of one of these ids; nothing was erased.
        """
        ...

    def erase_scope(self, scope: Scope) -> tuple[list[str], Position]:
        """Remove everything a scope holds, its log included; only its epoch survives, raised by one.

        Returns:
            The ids of the units it held, oldest first, and its new head, seq 0 of the next epoch; `Position()` for a
            scope that was never written.
        """
        ...

    def delta(self, scope: Scope, after: int, *, vectors_after: int | None = None) -> Delta:
        """Everything that changed after a seq, read in one snapshot.

        What was erased is not told: where the position is of another epoch, the delta from 0 is the whole truth.

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
        """Id of the first unit of a kind that says the same: messages by `text.wording`, others by `text.normalize`."""
        ...

    def accept(self, scope: Scope, events: Sequence[Event], *, received_at: datetime) -> list[Receipt]:
        """Append raw events to the inbox, durably, and answer `accepted` receipts."""
        ...

    def lease(self, scope: Scope, *, owner: str, now: datetime, seconds: float, limit: int) -> list[InboxItem]:
        """Take the oldest inbox items that nobody holds a live lease on."""
        ...

    def unread(self, scope: Scope, limit: int, among: Sequence[str] | None = None) -> list[str]:
        """Ids of units that wait to be read by a language model, those that wait longest first.

        Args:
            scope: whose units.
            limit: at most so many.
            among: only of these units; None for all.
        """
        ...

    def waiting(self, scope: Scope) -> bool:
        """Whether accepted events of the scope wait to be processed, leased or not."""
        ...

    def unprocessed(self, scope: Scope, receipt_ids: Sequence[str] | None = None) -> list[InboxItem]:
        """What waits in the inbox, leased or not, oldest first: all of it, or what has one of these receipts."""
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
        """Every scope that was ever written and not erased as a whole since, for maintenance."""
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
        """Note how far an index has followed a scope; what was noted in an older epoch is forgotten."""
        ...

    def index_outdated(self, scope: Scope) -> bool:
        """Whether an index was noted for the scope in another epoch: it may hold what was erased since."""
        ...

    def close(self) -> None:
        """Release the database; closing twice is no error."""
        ...
