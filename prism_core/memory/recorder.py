"""The write path: encode against the scope as it is, commit, and do it again where another writer was faster."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from threading import Lock, RLock

from prism_core.changes import AddLink, Change, FloatArray, PutVector, RemoveLink
from prism_core.encode.encoder import Encoded, Encoder, WriteContext
from prism_core.errors import (
    EmbeddingError,
    InvalidEventError,
    ScopeError,
    StaleReadError,
    UnknownReceiptError,
    UnknownUnitError,
    WriteConflictError,
)
from prism_core.protocols import Clock, Delta, Embedder, InboxItem, Ledger
from prism_core.results import Position, Receipt, ReceiptStatus
from prism_core.storage.staged import StagedView
from prism_core.storage.state import ScopeState
from prism_core.storage.states import ScopeStates
from prism_core.types import ACYCLIC_RELATIONS, Event, Kind, MemoryUnit, Scope, Source

MAX_ATTEMPTS = 64
POLITE_ATTEMPTS = 3
"""A long write that others overtook this often keeps them out while it is made."""
STRIPES = 64
PENDING_BATCH = 64
LEASED = 256
LEASE_SECONDS = 10.0
"""What a killed process had leased is taken up by others after this long. One that is merely slow does no harm:
events have to be in the inbox still when they are stored."""
RETRY_SECONDS = 30.0
REPLACEABLE = frozenset({Kind.DOCUMENT, Kind.FACT})
RESOLUTION = timedelta(microseconds=1)


@dataclass(slots=True)
class _Written:
    """What a list of events comes to, ready to be committed."""

    encoded: list[Encoded]

    @property
    def changes(self) -> list[Change]:
        return [change for item in self.encoded for change in item.changes]

    @property
    def receipts(self) -> list[Receipt]:
        return [item.receipt for item in self.encoded]

    @property
    def texts(self) -> list[str]:
        """What is to be embedded."""
        due = {change.unit_id for change in self.changes if isinstance(change, PutVector)}
        return list({unit.text: None for unit, _ in self.units() if unit.id in due})

    def units(self) -> list[tuple[MemoryUnit, int]]:
        """The units as they are at the end, in the order they first appear."""
        final = {unit.id: (unit, tokens) for item in self.encoded for unit, tokens in item.units}
        return list(final.values())

    def delta(self, position: Position) -> Delta:
        """The changes as projections take them."""
        vectors = {change.unit_id: change.vector for change in self.changes if isinstance(change, PutVector)}
        links: dict[tuple[str, str, str], AddLink | RemoveLink] = {}
        for change in self.changes:
            if isinstance(change, AddLink | RemoveLink):
                links[change.link.source, change.link.target, change.link.relation] = change
        added = [change.link for change in links.values() if isinstance(change, AddLink)]
        removed = [change.link for change in links.values() if isinstance(change, RemoveLink)]
        return Delta(self.units(), added, list(vectors.items()), position, removed)


@dataclass(slots=True)
class _Draft:
    """A write on its way into a scope, and what is kept of it between attempts.

    Attributes:
        scope: where it belongs.
        encode: derives the changes from the scope as it is.
        embed: whether to embed now.
        vectors: by text.
        failure: why texts have none; empty while nothing failed.
    """

    scope: Scope
    encode: Callable[[ScopeState], list[Encoded]]
    embed: bool
    vectors: dict[str, FloatArray] = field(default_factory=dict)
    failure: str = ""


class Recorder:
    """Records events in scopes.

    One writer at a time per scope and process; other processes are met by re-encoding on a conflict. Embeddings are
    computed outside the transaction and kept between attempts.
    """

    def __init__(
        self, ledger: Ledger, states: ScopeStates, encoder: Encoder, embedder: Embedder | None, clock: Clock
    ) -> None:
        self._ledger = ledger
        self._states = states
        self._encoder = encoder
        self._embedder = embedder
        self._clock = clock
        self._locks = tuple(RLock() for _ in range(STRIPES))
        self._failed_at: float | None = None
        self._clock_lock = Lock()
        self._latest = datetime.min.replace(tzinfo=UTC)

    def lock(self, scope: Scope) -> RLock:
        """Held while a scope is written by this process."""
        return self._locks[hash(scope) % STRIPES]

    def record(
        self,
        scope: Scope,
        events: Sequence[Event],
        receipt_ids: Sequence[str],
        *,
        from_inbox: bool = False,
    ) -> list[Receipt]:
        """Store events in one transaction; one receipt per event, in order.

        Args:
            scope: where they belong.
            events: in the order they happened.
            receipt_ids: one per event.
            from_inbox: whether they were accepted before; they have to be in the inbox still when they are stored, and
                are left waiting to be embedded.

        Raises:
            WriteConflictError: if other processes kept changing the scope; nothing was stored.
            LedgerError: if the database refused; nothing was stored.
            UnknownReceiptError: if one of them is in the inbox no longer; nothing was stored.
        """

        def encode(state: ScopeState) -> list[Encoded]:
            encoded = self._encode(scope, state, events, receipt_ids)
            if from_inbox:
                # The state is caught up: what is erased from the inbox later moves its epoch on.
                self._check_waiting(scope, receipt_ids)
            return encoded

        return self._store(_Draft(scope, encode, not from_inbox))

    def replace(self, scope: Scope, unit_id: str, event: Event, receipt_id: str) -> Receipt:
        """Put other content in the place of a unit's.

        Raises:
            UnknownUnitError: if the scope has none of this id.
            InvalidEventError: if the unit tells what happened; nothing was stored.
            WriteConflictError: if other processes kept changing the scope; nothing was stored.
            LedgerError: if the database refused; nothing was stored.
        """

        def encode(state: ScopeState) -> list[Encoded]:
            unit = state.unit(unit_id)
            if unit.kind not in REPLACEABLE or unit.source is Source.ASSISTANT:
                raise InvalidEventError(
                    "kind", unit.kind.value, "what was said and done stays; erase it, or write anew"
                )
            return [self._encoder.replace(event, unit, receipt_id)]

        return self._store(_Draft(scope, encode, embed=True))[0]

    def amend(self, scope: Scope, encode: Callable[[ScopeState], list[Encoded]]) -> list[Receipt]:
        """Commit changes to what is stored already, derived again where another writer was faster.

        Raises:
            UnknownUnitError: if what they are about is gone; nothing was stored.
            WriteConflictError: if other processes kept changing the scope; nothing was stored.
            LedgerError: if the database refused; nothing was stored.
        """
        return self._store(_Draft(scope, encode, embed=True))

    def _store(self, draft: _Draft) -> list[Receipt]:
        with self.lock(draft.scope):
            for attempt in range(MAX_ATTEMPTS):
                try:
                    return self._commit(draft, alone=attempt >= POLITE_ATTEMPTS)
                except StaleReadError:
                    back_off(attempt)
        raise WriteConflictError(MAX_ATTEMPTS)

    def drain(self, scope: Scope) -> list[Receipt]:
        """Process what waits in a scope's inbox; it is embedded later.

        One thread of a process at a time: what another one has leased is stored when this one gets its turn.
        """
        receipts: list[Receipt] = []
        with self.lock(scope):
            while True:
                owner = self._encoder.new_id()
                items = self._ledger.lease(scope, owner=owner, now=self._clock(), seconds=LEASE_SECONDS, limit=LEASED)
                if not items:
                    return receipts
                receipts += self.record_items(scope, items)

    def take_in(self, scope: Scope) -> list[Receipt]:
        """Process what waits in a scope's inbox, whoever has leased it: who reads has to find what was acknowledged.

        The holder of a lease may have been killed. If it is merely slow, the events are gone from the inbox when it
        comes to store them.
        """
        with self.lock(scope):
            items = self._ledger.unprocessed(scope)
            batches = (items[start : start + LEASED] for start in range(0, len(items), LEASED))
            return [receipt for batch in batches for receipt in self.record_items(scope, batch)]

    def record_items(self, scope: Scope, items: Sequence[InboxItem]) -> list[Receipt]:
        """Process accepted events; one that cannot be stored is rejected in its receipt and holds up no other."""
        with self.lock(scope):
            try:
                events, receipt_ids = [item.event for item in items], [item.receipt_id for item in items]
                return self.record(scope, events, receipt_ids, from_inbox=True)
            except UnknownReceiptError:
                # Erased meanwhile, or processed by whoever held the lease before.
                left = {item.receipt_id for item in self._ledger.unprocessed(scope, receipt_ids)}
                items = [item for item in items if item.receipt_id in left]
                return self.record_items(scope, items) if items else []
            except (ValueError, ScopeError) as error:
                if len(items) > 1:
                    return [receipt for item in items for receipt in self.record_items(scope, [item])]
                return [self._refuse(scope, items[0], str(error))]

    def embed_pending(self, scope: Scope, *, limit: int | None = None) -> int:
        """Embed units that wait for it; answers how many were embedded.

        Args:
            scope: whose units.
            limit: how many at most; all when None. After a failure nothing is tried for `RETRY_SECONDS`.
        """
        if self._embedder is None or self._resting():
            return 0
        done = overtaken = 0
        with self.lock(scope):
            while limit is None or done < limit:
                try:
                    embedded = self._embed_some(scope, self._states.get(scope), alone=overtaken >= POLITE_ATTEMPTS)
                except StaleReadError:
                    back_off(overtaken)
                    overtaken += 1
                    continue
                if not embedded:
                    break
                done += embedded
                overtaken = 0
        return done

    def mark_pending(self, scope: Scope) -> None:
        """Let every unit of a scope wait to be embedded again."""
        embedder_id = self._embedder.id if self._embedder is not None else ""
        with self.lock(scope):
            for attempt in range(MAX_ATTEMPTS):
                state = self._states.get(scope)
                with state.lock:
                    state.catch_up()
                    changes = [PutVector(unit_id, embedder_id, None) for unit_id in state.ids]
                    based_on = state.position
                try:
                    position = self._ledger.commit(scope, changes, based_on=based_on, recorded_at=self._clock())
                except StaleReadError:
                    back_off(attempt)
                    continue
                _take_vectors(state, changes, based_on, position)
                return
        raise WriteConflictError(MAX_ATTEMPTS)

    def _refuse(self, scope: Scope, item: InboxItem, reason: str) -> Receipt:
        refused = Receipt(item.receipt_id, ReceiptStatus.REJECTED, reason=reason)
        for attempt in range(MAX_ATTEMPTS):
            head = self._ledger.head(scope)
            try:
                self._ledger.commit(scope, [], based_on=head, recorded_at=self._clock(), receipts=[refused])
            except StaleReadError:
                back_off(attempt)
                continue
            return refused
        raise WriteConflictError(MAX_ATTEMPTS)

    def _check_waiting(self, scope: Scope, receipt_ids: Sequence[str]) -> None:
        left = {item.receipt_id for item in self._ledger.unprocessed(scope, receipt_ids)}
        for receipt_id in receipt_ids:
            if receipt_id not in left:
                raise UnknownReceiptError(receipt_id, scope)

    def _commit(self, draft: _Draft, *, alone: bool) -> list[Receipt]:
        """Encode and commit; with everybody else kept out from before the encoding when `alone`.

        Raises:
            StaleReadError: if the scope was changed in between.
        """
        state = self._states.get(draft.scope)
        now = self._clock()
        if alone:
            # In this order: who holds the state's lock may need the ledger's.
            with state.lock, self._ledger.exclusive(draft.scope, recorded_at=now) as apply:
                written, based_on = self._written(draft, state)
                position = apply(written.changes, written.receipts)
        else:
            written, based_on = self._written(draft, state)
            position = self._ledger.commit(
                draft.scope, written.changes, based_on=based_on, recorded_at=now, receipts=written.receipts
            )
        with state.lock:
            if state.position == based_on:
                state.apply(written.delta(position))
        return written.receipts

    def _written(self, draft: _Draft, state: ScopeState) -> tuple[_Written, Position]:
        """What the events come to, with their vectors, and the state of the scope this was derived from."""
        try:
            with state.lock:
                state.catch_up()
                written, based_on = _Written(draft.encode(state)), state.position
        except UnknownUnitError:
            self._check_epoch(draft.scope, state)
            raise
        missing = [text for text in written.texts if text not in draft.vectors]
        if draft.embed and missing and self._embedder is not None and not draft.failure:
            fresh, draft.failure = self._embed(missing)
            draft.vectors |= fresh
        return self._completed(written, draft.vectors, draft.failure), based_on

    def _embed_some(self, scope: Scope, state: ScopeState, *, alone: bool) -> int:
        """Embed a batch of pending units and commit the vectors; how many, none where nothing waits or it failed.

        Raises:
            StaleReadError: if the scope was changed in between.
        """
        if alone:
            # The texts were embedded in the attempts before, and the embedder has kept them.
            with state.lock, self._ledger.exclusive(scope, recorded_at=self._clock()) as apply:
                state.catch_up()
                based_on = state.position
                changes = self._embedded(scope, state)
                position = apply(changes)
        else:
            with state.lock:
                state.catch_up()
                based_on = state.position
            changes = self._embedded(scope, state)
            position = self._ledger.commit(scope, changes, based_on=based_on, recorded_at=self._clock())
        _take_vectors(state, changes, based_on, position)
        return len(changes)

    def _embedded(self, scope: Scope, state: ScopeState) -> list[PutVector]:
        assert self._embedder is not None
        with state.lock:
            ids = list(state.vectors.pending)[:PENDING_BATCH]
        try:
            units = self._ledger.units(scope, ids)
        except UnknownUnitError:
            self._check_epoch(scope, state)
            raise
        vectors, failure = self._embed([unit.text for unit in units]) if units else ({}, "")
        return [] if failure else [PutVector(unit.id, self._embedder.id, vectors[unit.text]) for unit in units]

    def _check_epoch(self, scope: Scope, state: ScopeState) -> None:
        """Raise StaleReadError if something was erased since the scope was read."""
        head = self._ledger.head(scope)
        if head.epoch != state.position.epoch:
            raise StaleReadError(state.position.seq, head.seq)

    def _encode(
        self, scope: Scope, state: ScopeState, events: Sequence[Event], receipt_ids: Sequence[str]
    ) -> list[Encoded]:
        view = StagedView(state)
        encoded = []
        beside: dict[str, list[str]] = {}
        for event, receipt_id in zip(events, receipt_ids, strict=True):
            item = self._encoder.encode(event, WriteContext(scope, view, self._tick()), receipt_id)
            for unit, _ in item.units:
                view.stage(unit, item.key if item.unit is not None and unit.id == item.unit.id else None)
            for change in item.changes:
                if isinstance(change, AddLink):
                    state.graph.check_acyclic(change.link, beside)
                    if change.link.relation in ACYCLIC_RELATIONS:
                        beside.setdefault(change.link.source, []).append(change.link.target)
                if isinstance(change, AddLink | RemoveLink):
                    view.stage_link(change.link, removed=isinstance(change, RemoveLink))
            encoded.append(item)
        return encoded

    def _completed(self, written: _Written, vectors: Mapping[str, FloatArray], failure: str) -> _Written:
        encoded = [self._encoder.complete(item, vectors) for item in written.encoded]
        return _Written([_degraded(item, failure) for item in encoded] if failure else encoded)

    def _tick(self) -> datetime:
        """The present instant, later than the one before: units of one write keep their order."""
        with self._clock_lock:
            self._latest = max(self._clock(), self._latest + RESOLUTION)
            return self._latest

    def _embed(self, texts: Sequence[str]) -> tuple[dict[str, FloatArray], str]:
        """Vectors by text, and why there are none."""
        assert self._embedder is not None
        try:
            rows = self._embedder.embed_documents(texts)
        except EmbeddingError as error:
            self._failed_at = time.monotonic()
            return {}, str(error)
        self._failed_at = None
        return dict(zip(texts, rows, strict=True)), ""

    def _resting(self) -> bool:
        return self._failed_at is not None and time.monotonic() - self._failed_at < RETRY_SECONDS


def _degraded(item: Encoded, failure: str) -> Encoded:
    if item.unit is None:
        return item
    reason = f"{item.receipt.reason}; {failure}" if item.receipt.reason else failure
    return replace(item, receipt=replace(item.receipt, status=ReceiptStatus.DEGRADED, reason=reason))


def _take_vectors(state: ScopeState, changes: Sequence[PutVector], based_on: Position, position: Position) -> None:
    with state.lock:
        if state.position == based_on:
            state.apply(Delta([], [], [(change.unit_id, change.vector) for change in changes], position))


def back_off(attempt: int) -> None:
    """Wait a little before another attempt."""
    # Writers that met once would otherwise meet again.
    time.sleep(random.uniform(0, 0.001 * min(attempt + 1, 20)))
