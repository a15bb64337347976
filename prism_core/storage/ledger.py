"""The ledger: the truth about every scope, in a SQLite database."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, Self

from sqlalchemy import (
    Connection,
    literal,
    select,
)
from sqlalchemy.dialects.sqlite import insert as upsert

from prism_core.changes import Change, FloatArray
from prism_core.errors import LedgerError, StaleReadError, UnknownReceiptError, UnknownUnitError
from prism_core.protocols import Apply, Delta, InboxItem
from prism_core.results import Finding, LogEntry, Position, Receipt, ScopeStats
from prism_core.storage import check, codec, erasing, inbox, queries, schema, writer
from prism_core.storage.database import Database
from prism_core.storage.prepared import Prepared
from prism_core.types import Event, MemoryUnit, Scope, scope_key, utc


class SqlLedger:
    """Units, links, vectors, receipts and the log of every scope, in one SQLite database.

    Safe to share between threads, and between processes that each open it. The methods are those of
    `prism_core.protocols.Ledger`; beyond what is said there, every one raises `LedgerError` when the database
    refuses and `ClosedError` after `close`.
    """

    def __init__(self, database: Database) -> None:
        """Take over an open database; `SqlLedger.open` makes one."""
        self._database = database

    @classmethod
    def open(cls, url: str, *, create: bool = True, busy_seconds: float = 30.0) -> Self:
        """Open a ledger.

        Args:
            url: `sqlite:///file.db`, or `sqlite://` for one in memory that is gone when it is closed.
            create: whether a missing or empty file becomes a new ledger.
            busy_seconds: how long a write waits for another process's before it raises.

        Raises:
            StoreUrlError: if the URL names something other than a usable SQLite database.
            StoreNotFoundError: if there is no ledger and `create` is false.
            FormatVersionError: if another version of prism-memory wrote it.
            LedgerError: if the database refused.
        """
        return cls(Database.open(url, create=create, busy_seconds=busy_seconds))

    def head(self, scope: Scope) -> Position:
        """How far the scope's log has got; `Position()` for a scope that was never written."""
        rows = self._database.fetch("read the head", queries.HEAD, {"key": scope_key(scope)})
        return Position(*rows[0]) if rows else Position()

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
            UnknownUnitError: if a change concerns a unit that does not exist; nothing was stored.
            InvalidEventError: if a change cannot be stored as given; nothing was stored.
            NaiveDatetimeError: if `recorded_at` has no time zone; nothing was stored.
            ScopeError: if a unit belongs to another scope; nothing was stored.
            LedgerError: if the database refused, as it does a unit id or idempotency key that is taken.
        """
        with self.exclusive(scope, based_on=based_on, recorded_at=recorded_at) as apply:
            return apply(changes, receipts)

    @contextmanager
    def exclusive(self, scope: Scope, *, recorded_at: datetime, based_on: Position | None = None) -> Iterator[Apply]:
        """A commit during which nobody else writes: changes may be derived inside the block, then applied once.

        Reads see the scope as it was at the start. Everything `commit` says holds here too.

        Raises:
            StaleReadError: on entering, if the head is not `based_on`, where that is given.
        """
        now = utc(recorded_at, "recorded_at")
        with self._database.writing("commit") as connection:
            scope_id, head = writer.locked_scope(connection, scope, now=now)
            if based_on is not None and head != based_on:
                raise StaleReadError(based_on.seq, head.seq)

            def apply(changes: Sequence[Change], receipts: Sequence[Receipt] = ()) -> Position:
                seq = head.seq
                if changes:
                    seq = writer.apply_changes(connection, scope, scope_id, changes, head=seq, now=now)
                writer.store_receipts(connection, scope_id, receipts)
                return Position(seq, head.epoch)

            yield apply

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
            The new head, in the next epoch.

        Raises:
            StaleReadError: if the head has moved on; nothing was erased.
            UnknownUnitError: if the scope has none of one of these ids; nothing was erased.
            NaiveDatetimeError: if `recorded_at` has no time zone; nothing was erased.
        """
        now = utc(recorded_at, "recorded_at")
        with self._database.writing("erase units") as connection:
            scope_id, head = writer.locked_scope(connection, scope, now=now)
            if head != based_on:
                raise StaleReadError(based_on.seq, head.seq)
            missing = erasing.unknown(connection, scope_id, unit_ids)
            if missing is not None:
                raise UnknownUnitError(missing, scope)
            position = erasing.erase_units(connection, scope_id, head, unit_ids, receipt_ids, now=now)
        self._settle()
        return position

    def erase_scope(self, scope: Scope) -> tuple[list[str], Position]:
        """Remove everything a scope holds; only its epoch survives.

        Returns:
            The ids of the units it held, oldest first, and its new head; `Position()` for a scope never written.
        """
        with self._database.writing("erase a scope") as connection:
            found = writer.find_scope(connection, scope)
            if found is None:
                return [], Position()
            ids, position = erasing.erase_scope(connection, *found)
        self._settle()
        return ids, position

    def delta(self, scope: Scope, after: int, *, vectors_after: int | None = None) -> Delta:
        """Everything that changed after a seq, read in one snapshot.

        Args:
            scope: whose log.
            after: units and links that changed after this seq.
            vectors_after: vectors that changed after this seq (default: `after`), and all pending ones.
        """
        of = {"key": scope_key(scope), "after": after}
        of_vectors = of if vectors_after is None else {**of, "after": vectors_after}
        with self._database.reading("read changes") as connection:
            position = _head(connection, scope)
            units = connection.execute(queries.UNITS_SINCE, of).all()
            links = connection.execute(queries.LINKS_SINCE, of).all()
            waiting = connection.scalars(queries.PENDING_UNTIL, of_vectors).all()
            vectors = connection.execute(queries.VECTORS_SINCE, of_vectors).all()
        # The range read follows the index of changes; a sort here moves pointers, one in SQL would move the texts.
        in_order = sorted(units, key=lambda row: row.added_seq)
        changed = [(unit_id, None if blob is None else codec.load_vector(blob)) for unit_id, blob in vectors]
        return Delta(
            units=[(codec.load_unit(body), tokens) for _, tokens, body in in_order],
            links=[codec.load_link(row) for row in links if not row.removed],
            unlinked=[codec.load_link(row) for row in links if row.removed],
            vectors=[*((unit_id, None) for unit_id in waiting), *changed],
            position=position,
        )

    def units(self, scope: Scope, ids: Sequence[str]) -> list[MemoryUnit]:
        """The units of these ids, in the order asked for.

        Raises:
            UnknownUnitError: if one does not exist in the scope.
        """
        bodies = dict(self._by_ids("read units", queries.UNITS, scope, ids))
        for unit_id in ids:
            if unit_id not in bodies:
                raise UnknownUnitError(unit_id, scope)
        return [codec.load_unit(bodies[unit_id]) for unit_id in ids]

    def vectors(self, scope: Scope, ids: Sequence[str]) -> dict[str, FloatArray]:
        """The vectors of these units, read-only; pending and unknown ones are left out."""
        rows = self._by_ids("read vectors", queries.VECTORS, scope, ids)
        return {unit_id: codec.load_vector(blob) for unit_id, blob in rows}

    def find_key(self, scope: Scope, idempotency_key: str) -> str | None:
        """Id of the unit stored under an idempotency key."""
        return self._find(queries.BY_KEY, scope, idempotency_key=idempotency_key)

    def find_text(self, scope: Scope, kind: str, text: str) -> str | None:
        """Id of the first unit of a kind that says the same: messages by `text.wording`, others by `text.normalize`."""
        return self._find(queries.BY_TEXT, scope, kind=kind, text_hash=codec.text_hash(kind, text))

    def accept(self, scope: Scope, events: Sequence[Event], *, received_at: datetime) -> list[Receipt]:
        """Append raw events to the inbox, durably, and answer `accepted` receipts.

        Raises:
            InvalidEventError: if an event holds text that has no UTF-8 form; nothing was stored.
            NaiveDatetimeError: if `received_at` has no time zone; nothing was stored.
        """
        now = utc(received_at, "received_at")
        with self._database.writing("accept events") as connection:
            scope_id, _ = writer.locked_scope(connection, scope, now=now)
            return inbox.accept(connection, scope_id, events, received_at=now)

    def lease(self, scope: Scope, *, owner: str, now: datetime, seconds: float, limit: int) -> list[InboxItem]:
        """Take the oldest inbox items that nobody holds a live lease on.

        Args:
            scope: whose inbox.
            owner: who takes them, for a person who looks into a stuck inbox.
            now: the present instant; aware.
            seconds: how long the lease lives; an item that is not completed by then can be taken again.
            limit: how many at most.

        Raises:
            NaiveDatetimeError: if `now` has no time zone.
        """
        now = utc(now, "now")
        with self._database.writing("lease inbox items") as connection:
            found = writer.find_scope(connection, scope)
            if found is None:
                return []
            return inbox.lease(connection, found[0], owner=owner, now=now, seconds=seconds, limit=max(limit, 0))

    def unread(self, scope: Scope, limit: int, among: Sequence[str] | None = None) -> list[str]:
        """Ids of units, or of some of them, that wait to be read by a language model, the longest waiting first."""
        with self._database.reading("read what waits") as connection:
            return inbox.unread(connection, scope_key(scope), limit, among)

    def waiting(self, scope: Scope) -> bool:
        """Whether accepted events of the scope wait to be processed, leased or not."""
        return (
            self._database.fetch("look into the inbox", queries.HAS_INBOX, {"key": scope_key(scope)})[0][0] is not None
        )

    def unprocessed(self, scope: Scope, receipt_ids: Sequence[str] | None = None) -> list[InboxItem]:
        """What waits in the inbox, leased or not, oldest first: all of it, or what has one of these receipts."""
        with self._database.reading("look into the inbox") as connection:
            return inbox.unprocessed(connection, scope_key(scope), receipt_ids)

    def receipt(self, scope: Scope, receipt_id: str) -> Receipt:
        """A receipt that was given out.

        Raises:
            UnknownReceiptError: if the scope has none of this id.
        """
        with self._database.reading("read a receipt") as connection:
            receipt = inbox.find_receipt(connection, scope_key(scope), receipt_id)
        if receipt is None:
            raise UnknownReceiptError(receipt_id, scope)
        return receipt

    def log(self, scope: Scope, *, after: int = 0, unit_id: str | None = None) -> list[LogEntry]:
        """The recorded changes after a seq, oldest first, of one unit or of all."""
        parameters = {"key": scope_key(scope), "after": after, "unit": unit_id}
        with self._database.reading("read the log") as connection:
            rows = connection.execute(queries.LOG if unit_id is None else queries.LOG_OF_UNIT, parameters).all()
        return [codec.load_log_entry(row) for row in rows]

    def stats(self, scope: Scope) -> ScopeStats:
        """Counts of a scope."""
        parameters = {"key": scope_key(scope)}
        with self._database.reading("count") as connection:
            kinds = connection.execute(queries.KINDS, parameters).all()
            return ScopeStats(
                scope=scope,
                units=sum(count for _, count, _ in kinds),
                links={relation: count for relation, count in connection.execute(queries.RELATIONS, parameters)},
                kinds={kind: count for kind, count, _ in kinds},
                pending=connection.scalar(queries.PENDING, parameters) or 0,
                inbox=connection.scalar(queries.INBOX, parameters) or 0,
                unread=connection.scalar(inbox.UNREAD_COUNT, parameters) or 0,
                tokens=sum(tokens for _, _, tokens in kinds),
                position=_head(connection, scope),
            )

    def scopes(self) -> list[Scope]:
        """Every scope that was ever written and not erased since, in the order they were first written."""
        with self._database.reading("list scopes") as connection:
            return [tuple(json.loads(key)) for key in connection.scalars(queries.SCOPES)]

    def get_meta(self, key: str) -> str | None:
        """A value of the store's own settings, such as the embedder id."""
        with self._database.reading("read settings") as connection:
            value: str | None = connection.scalar(queries.META, {"name": key})
        return value

    def set_meta(self, key: str, value: str) -> None:
        """Set a value of the store's own settings."""
        statement = upsert(schema.meta).values(key=key, value=value)
        with self._database.writing("change settings") as connection:
            connection.execute(statement.on_conflict_do_update(index_elements=["key"], set_={"value": value}))

    def index_position(self, index_id: str, scope: Scope) -> Position | None:
        """How far an index has followed a scope, as last noted."""
        with self._database.reading("read an index position") as connection:
            row = connection.execute(queries.INDEX_POSITION, {"index": index_id, "key": scope_key(scope)}).first()
        return None if row is None else Position(*row)

    def note_index_position(self, index_id: str, scope: Scope, position: Position) -> None:
        """Note how far an index has followed a scope; what was noted of any index in an older epoch is forgotten.

        A scope that was never written has nothing to follow.
        """
        values = {"seq": position.seq, "epoch": position.epoch}
        statement = upsert(schema.index_positions).from_select(
            ["index_id", "scope_id", "seq", "epoch"],
            select(literal(index_id), schema.scopes.c.id, literal(position.seq), literal(position.epoch)).where(
                schema.scopes.c.key == scope_key(scope)
            ),
        )
        with self._database.writing("note an index position") as connection:
            connection.execute(statement.on_conflict_do_update(index_elements=["index_id", "scope_id"], set_=values))
            connection.execute(queries.FORGET_OUTDATED, {"key": scope_key(scope), "epoch": position.epoch})

    def index_outdated(self, scope: Scope) -> bool:
        """Whether an index was noted for the scope in another epoch: it may hold what was erased since."""
        with self._database.reading("read index positions") as connection:
            return bool(connection.scalar(queries.OUTDATED, {"key": scope_key(scope)}))

    def check(self) -> list[Finding]:
        """Look for damage, for `doctor`.

        Returns:
            One finding per thing that was looked at; one that the database could not even be asked about is not ok.
        """
        findings = [Finding("format version", True, f"{schema.FORMAT_VERSION}, checked when the store was opened")]
        for look in check.CHECKS:
            try:
                with self._database.reading("check the store") as connection:
                    findings.append(look(connection))
            except LedgerError as error:
                findings.append(Finding(look.__name__.replace("_", " "), False, str(error)))
        return findings

    def close(self) -> None:
        """Release the database; closing twice is no error."""
        self._database.close()

    def _settle(self) -> None:
        # What was erased is gone already; earlier versions of its pages follow now, or at the next chance.
        with suppress(LedgerError):
            self._database.settle()

    def _find(self, statement: Prepared, scope: Scope, **parameters: object) -> str | None:
        rows = self._database.fetch("look up a unit", statement, {"key": scope_key(scope), **parameters})
        return rows[0][0] if rows else None

    def _by_ids(self, operation: str, statement: Prepared, scope: Scope, ids: Sequence[str]) -> list[Any]:
        return self._database.fetch(operation, statement, {"key": scope_key(scope), "ids": json.dumps(list(ids))})


def _head(connection: Connection, scope: Scope) -> Position:
    rows = queries.HEAD.query(connection, {"key": scope_key(scope)})
    return Position(*rows[0]) if rows else Position()
