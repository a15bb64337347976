"""Applying changes: from a list of changes to rows, inside one write transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import JsonValue
from sqlalchemy import Connection, Table, bindparam, delete, insert, literal_column, select, update
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.exc import IntegrityError

from prism_core.changes import (
    AddKey,
    AddLink,
    AddUnit,
    Change,
    MarkUnread,
    PutVector,
    RemoveLink,
    ReplaceUnit,
    UpdateUnit,
)
from prism_core.errors import LedgerError, ScopeError, StaleReadError, UnknownUnitError
from prism_core.results import Position, Receipt
from prism_core.storage import codec, schema
from prism_core.storage.codec import Values
from prism_core.storage.prepared import Prepared
from prism_core.types import Link, MemoryUnit, Scope, Status, scope_key


def _replacing(table: Table, key: Sequence[str], values: Sequence[str]) -> Prepared:
    statement = upsert(table)
    replaced = {name: statement.excluded[name] for name in values}
    return Prepared(statement.on_conflict_do_update(index_elements=list(key), set_=replaced))


_SCOPES = schema.scopes.c
_HEAD = Prepared(
    select(schema.scopes.c.id, schema.scopes.c.seq, schema.scopes.c.epoch).where(
        schema.scopes.c.key == bindparam("key")
    )
)
_ADD_SCOPE = Prepared(insert(schema.scopes))
_MOVE_HEAD = Prepared(
    update(schema.scopes).where(schema.scopes.c.id == bindparam("scope")).values(seq=bindparam("head"))
)
_BODY = Prepared(
    select(schema.units.c.body).where(
        schema.units.c.scope_id == bindparam("scope"), schema.units.c.unit_id == bindparam("unit")
    )
)
_EXISTS = Prepared(
    select(literal_column("1")).where(
        schema.units.c.scope_id == bindparam("scope"), schema.units.c.unit_id == bindparam("unit")
    )
)
_ADD_UNIT = Prepared(insert(schema.units))
_ADD_KEY = Prepared(insert(schema.keys))
_UPDATED = ("body", "text_hash", "tokens", "changed_seq")
_UPDATE_UNIT = Prepared(
    update(schema.units)
    .where(schema.units.c.scope_id == bindparam("of_scope"), schema.units.c.unit_id == bindparam("of_unit"))
    .values({name: bindparam(name) for name in _UPDATED})
)
_PUT_LINK = _replacing(
    schema.links,
    ("scope_id", "source", "target", "relation"),
    ("confidence", "reason", "label", "removed", "changed_seq"),
)
_GIVE_UP_FACT = Prepared(
    delete(schema.current_facts).where(
        schema.current_facts.c.scope_id == bindparam("scope"), schema.current_facts.c.unit_id == bindparam("unit")
    )
)
_MARK_UNREAD = _replacing(schema.unread, ("scope_id", "unit_id"), ("seq",))
_MARK_READ = Prepared(
    delete(schema.unread).where(
        schema.unread.c.scope_id == bindparam("scope"), schema.unread.c.unit_id == bindparam("unit")
    )
)
_CLAIM_FACT = Prepared(insert(schema.current_facts))
_PUT_VECTOR = _replacing(schema.vectors, ("scope_id", "unit_id"), ("embedder_id", "vector", "changed_seq"))
_ADD_LOG = Prepared(insert(schema.log))
_PUT_RECEIPT = _replacing(
    schema.receipts, ("scope_id", "receipt_id"), ("status", "unit_id", "reason", "superseded", "facts")
)
_TAKE_OFF_INBOX = Prepared(
    delete(schema.inbox).where(
        schema.inbox.c.scope_id == bindparam("scope"), schema.inbox.c.receipt_id == bindparam("receipt")
    )
)


def find_scope(connection: Connection, scope: Scope) -> tuple[int, Position] | None:
    """A scope's row id and head; None for a scope that was never written."""
    rows = _HEAD.query(connection, {"key": scope_key(scope)})
    for scope_id, seq, epoch in rows:
        return scope_id, Position(seq, epoch)
    return None


def locked_scope(connection: Connection, scope: Scope, *, now: datetime) -> tuple[int, Position]:
    """A scope's row id and head, inside a write transaction; a new scope is added."""
    found = find_scope(connection, scope)
    if found is not None:
        return found
    values = {"id": None, "key": scope_key(scope), "seq": 0, "epoch": 0, "created_at": codec.instant(now)}
    _ADD_SCOPE.run_all(connection, [values])
    return locked_scope(connection, scope, now=now)


def store_receipts(connection: Connection, scope_id: int, receipts: Sequence[Receipt]) -> None:
    """Keep receipts so that they can be asked for, and take the items they complete off the inbox."""
    # An empty id says that nothing durable was written for the event: there is nothing to ask for later.
    kept = [receipt for receipt in receipts if receipt.id]
    _PUT_RECEIPT.run_all(connection, [{"scope_id": scope_id, **codec.receipt_row(receipt)} for receipt in kept])
    _TAKE_OFF_INBOX.run_all(connection, [{"scope": scope_id, "receipt": receipt.id} for receipt in kept])


def apply_changes(
    connection: Connection, scope: Scope, scope_id: int, changes: Sequence[Change], *, head: int, now: datetime
) -> int:
    """Apply changes in order inside a write transaction.

    Args:
        connection: of a write transaction.
        scope: whose log.
        scope_id: its row id.
        changes: each gets one seq.
        head: seq of the last change before these.
        now: written to the log.

    Returns:
        The seq of the last change.

    Raises:
        UnknownUnitError: if a change concerns a unit that is neither stored nor added before it.
        InvalidEventError: if a change cannot be stored as given.
        ScopeError: if a unit belongs to another scope.
        LedgerError: if a unit is added twice.
        StaleReadError: if two values of one attribute would be current.
    """
    rows = _Rows(connection, scope, scope_id, codec.instant(now), head)
    for seq, change in enumerate(changes, start=head + 1):
        rows.take(seq, change)
    rows.flush()
    _MOVE_HEAD.run_all(connection, [{"scope": scope_id, "head": head + len(changes)}])
    return head + len(changes)


class _Rows:
    """The rows a list of changes comes to; a row that changes twice is written once."""

    def __init__(self, connection: Connection, scope: Scope, scope_id: int, recorded_at: str, based_on: int) -> None:
        self._connection = connection
        self._scope = scope
        self._scope_id = scope_id
        self._recorded_at = recorded_at
        self._based_on = based_on
        self._bodies: dict[str, str] = {}
        self._added: dict[str, Values] = {}
        self._updated: dict[str, Values] = {}
        self._keys: list[Values] = []
        self._facts: dict[str, MemoryUnit] = {}
        self._marks: dict[str, tuple[int, bool]] = {}
        self._links: dict[tuple[str, str, str], Values] = {}
        self._vectors: dict[str, Values] = {}
        self._log: list[Values] = []
        self._references: dict[str, None] = {}

    def take(self, seq: int, change: Change) -> None:
        match change:
            case AddUnit():
                self._take_unit(seq, change)
            case UpdateUnit():
                self._take_update(seq, change)
            case ReplaceUnit():
                self._take_replacement(seq, change)
            case AddLink():
                self._take_link(seq, "link", change.link, change.link.reason)
            case RemoveLink():
                self._take_link(seq, "unlink", change.link, change.reason)
            case PutVector():
                self._take_vector(seq, change)
            case MarkUnread():
                self._take_mark(seq, change)
            case AddKey():
                self._take_key(seq, change)

    def flush(self) -> None:
        self._check_references()
        _ADD_UNIT.run_all(self._connection, list(self._added.values()))
        _ADD_KEY.run_all(self._connection, self._keys)
        _UPDATE_UNIT.run_all(self._connection, list(self._updated.values()))
        _PUT_LINK.run_all(self._connection, list(self._links.values()))
        _PUT_VECTOR.run_all(self._connection, list(self._vectors.values()))
        _ADD_LOG.run_all(self._connection, self._log)
        self._settle_facts()
        unread = [
            {"scope_id": self._scope_id, "unit_id": unit_id, "seq": seq}
            for unit_id, (seq, waits) in self._marks.items()
            if waits
        ]
        read = [{"scope": self._scope_id, "unit": unit_id} for unit_id, (_, waits) in self._marks.items() if not waits]
        _MARK_UNREAD.run_all(self._connection, unread)
        _MARK_READ.run_all(self._connection, read)

    def _settle_facts(self) -> None:
        """Note which values are current; another one of the same attribute that is not given up is a conflict."""
        if not self._facts:
            return
        _GIVE_UP_FACT.run_all(self._connection, [{"scope": self._scope_id, "unit": each} for each in self._facts])
        claims = []
        for unit in self._facts.values():
            slot = codec.fact_slot(unit)
            if slot is not None and unit.status is Status.CURRENT:
                names = dict(zip(("entity", "attribute"), slot, strict=True))
                claims.append({"scope_id": self._scope_id, "unit_id": unit.id, **names})
        try:
            _CLAIM_FACT.run_all(self._connection, claims)
        except IntegrityError:
            raise StaleReadError(self._based_on, self._based_on) from None

    def _check_references(self) -> None:
        for unit_id in self._references:
            if unit_id not in self._bodies and not self._query(_EXISTS, unit_id):
                raise UnknownUnitError(unit_id, self._scope)

    def _stored_body(self, unit_id: str) -> str:
        if unit_id not in self._bodies:
            rows = self._query(_BODY, unit_id)
            if not rows:
                raise UnknownUnitError(unit_id, self._scope)
            self._bodies[unit_id] = rows[0][0]
        return self._bodies[unit_id]

    def _query(self, statement: Prepared, unit_id: str) -> list[tuple[Any, ...]]:
        return statement.query(self._connection, {"scope": self._scope_id, "unit": unit_id})

    def _take_unit(self, seq: int, change: AddUnit) -> None:
        unit = change.unit
        if unit.scope != self._scope:
            raise ScopeError(unit.scope, f"is that of a unit written to scope {self._scope!r}")
        if unit.id in self._added:
            raise LedgerError("commit", f"unit {unit.id!r} is added twice")
        row = codec.unit_row(unit, change.tokens, seq)
        self._added[unit.id] = {"pk": None, "scope_id": self._scope_id, "added_seq": seq, **row}
        self._bodies[unit.id] = row["body"]
        self._note_fact(unit)
        if unit.idempotency_key is not None:
            self._add_key(unit.id, unit.idempotency_key)
        self._record(seq, "unit", unit.id, after=codec.started_as(unit))

    def _take_update(self, seq: int, change: UpdateUnit) -> None:
        unit_id = change.unit_id
        unit = codec.updated(self._stored_body(unit_id), change.after)
        row = codec.unit_row(unit, change.tokens, seq)
        self._bodies[unit_id] = row["body"]
        self._note_fact(unit)
        if unit_id in self._added:
            self._added[unit_id].update(row)
        else:
            self._updated[unit_id] = self._update_values(unit, row)
        self._record(seq, "update", unit_id, before=change.before, after=change.after, reason=change.reason)

    def _take_replacement(self, seq: int, change: ReplaceUnit) -> None:
        unit = change.unit
        if unit.scope != self._scope:
            raise ScopeError(unit.scope, f"is that of unit {unit.id!r}, which was written to scope {self._scope!r}")
        self._stored_body(unit.id)
        row = codec.unit_row(unit, change.tokens, seq)
        self._bodies[unit.id] = row["body"]
        self._note_fact(unit)
        if unit.id in self._added:
            self._added[unit.id].update(row)
        else:
            self._updated[unit.id] = self._update_values(unit, row)
        self._record(seq, "replace", unit.id, after=codec.started_as(unit))

    def _update_values(self, unit: MemoryUnit, row: Values) -> Values:
        changed = {name: row[name] for name in _UPDATED}
        return {"of_scope": self._scope_id, "of_unit": unit.id, **changed}

    def _note_fact(self, unit: MemoryUnit) -> None:
        if unit.fact is not None:
            self._facts[unit.id] = unit

    def _take_link(self, seq: int, kind: str, link: Link, reason: str) -> None:
        self._references |= dict.fromkeys((link.source, link.target))
        key = (link.source, link.target, link.relation.value)
        self._links[key] = {"scope_id": self._scope_id, **codec.link_row(link, seq, removed=kind == "unlink")}
        after: dict[str, JsonValue] = {
            "source": link.source,
            "target": link.target,
            "relation": link.relation.value,
            "confidence": link.confidence,
        }
        self._record(seq, kind, link.target, after=after, reason=reason)

    def _take_vector(self, seq: int, change: PutVector) -> None:
        self._references[change.unit_id] = None
        self._vectors[change.unit_id] = {
            "scope_id": self._scope_id,
            "unit_id": change.unit_id,
            "embedder_id": change.embedder_id,
            "vector": None if change.vector is None else codec.dump_vector(change.vector),
            "changed_seq": seq,
        }
        after: dict[str, JsonValue] = {"embedder": change.embedder_id, "pending": change.vector is None}
        self._record(seq, "vector", change.unit_id, after=after)

    def _take_mark(self, seq: int, change: MarkUnread) -> None:
        self._references[change.unit_id] = None
        self._marks[change.unit_id] = (seq, change.unread)
        self._record(seq, "reading", change.unit_id, after={"waits": change.unread})

    def _take_key(self, seq: int, change: AddKey) -> None:
        self._references[change.unit_id] = None
        self._add_key(change.unit_id, change.key)
        self._record(seq, "key", change.unit_id, after={"idempotency_key": change.key})

    def _add_key(self, unit_id: str, key: str) -> None:
        self._keys.append({"scope_id": self._scope_id, "idempotency_key": key, "unit_id": unit_id})

    def _record(
        self,
        seq: int,
        kind: str,
        subject: str,
        *,
        before: Mapping[str, JsonValue] | None = None,
        after: Mapping[str, JsonValue],
        reason: str = "",
    ) -> None:
        self._log.append(
            {
                "scope_id": self._scope_id,
                "seq": seq,
                "recorded_at": self._recorded_at,
                "kind": kind,
                "subject": subject,
                "before": codec.dump_json(dict(before or {})),
                "after": codec.dump_json(dict(after)),
                "reason": reason,
            }
        )
