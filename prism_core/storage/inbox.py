"""The inbox: events that were accepted durably and wait to be processed, and the receipts given out for them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import uuid4

from sqlalchemy import Connection, bindparam, func, insert, or_, select, update

from prism_core.protocols import InboxItem
from prism_core.results import Receipt, ReceiptStatus
from prism_core.storage import codec, schema
from prism_core.storage.prepared import Prepared
from prism_core.types import Event

_ACCEPT = Prepared(insert(schema.inbox))
_OLDEST_FREE = (
    select(schema.inbox.c.pk, schema.inbox.c.receipt_id, schema.inbox.c.event)
    .where(
        schema.inbox.c.scope_id == bindparam("scope"),
        or_(schema.inbox.c.lease_until.is_(None), schema.inbox.c.lease_until <= bindparam("now")),
    )
    .order_by(schema.inbox.c.pk)
    .limit(bindparam("limit"))
)
_LEASE = (
    update(schema.inbox)
    .where(schema.inbox.c.pk == bindparam("item"))
    .values(lease_owner=bindparam("owner"), lease_until=bindparam("until"))
)
_UNPROCESSED = (
    select(schema.inbox.c.receipt_id, schema.inbox.c.event)
    .join(schema.scopes)
    .where(schema.scopes.c.key == bindparam("key"))
    .order_by(schema.inbox.c.pk)
)
_IDS = select(func.json_each(bindparam("ids")).table_valued("value").c.value)
_UNREAD = (
    select(schema.unread.c.unit_id)
    .join(schema.scopes)
    .where(schema.scopes.c.key == bindparam("key"))
    .order_by(schema.unread.c.seq)
    .limit(bindparam("limit"))
)
UNREAD_COUNT = (
    select(func.count()).select_from(schema.unread.join(schema.scopes)).where(schema.scopes.c.key == bindparam("key"))
)
_RECEIPT = (
    select(
        schema.receipts.c.receipt_id,
        schema.receipts.c.status,
        schema.receipts.c.unit_id,
        schema.receipts.c.reason,
        schema.receipts.c.superseded,
        schema.receipts.c.facts,
    )
    .join(schema.scopes)
    .where(schema.scopes.c.key == bindparam("key"), schema.receipts.c.receipt_id == bindparam("receipt"))
)
_WAITING = (
    select(schema.inbox.c.receipt_id)
    .join(schema.scopes)
    .where(schema.scopes.c.key == bindparam("key"), schema.inbox.c.receipt_id == bindparam("receipt"))
)


def accept(connection: Connection, scope_id: int, events: Sequence[Event], *, received_at: datetime) -> list[Receipt]:
    """Append events to a scope's inbox, inside a write transaction.

    Raises:
        InvalidEventError: if an event holds text that has no UTF-8 form.
    """
    receipts = [Receipt(id=uuid4().hex, status=ReceiptStatus.ACCEPTED) for _ in events]
    rows = [
        {
            "pk": None,
            "scope_id": scope_id,
            "receipt_id": receipt.id,
            "received_at": codec.instant(received_at),
            "event": codec.dump(event),
            "lease_owner": None,
            "lease_until": None,
        }
        for receipt, event in zip(receipts, events, strict=True)
    ]
    _ACCEPT.run_all(connection, rows)
    return receipts


def lease(
    connection: Connection, scope_id: int, *, owner: str, now: datetime, seconds: float, limit: int
) -> list[InboxItem]:
    """Take the oldest items without a live lease, inside a write transaction."""
    rows = connection.execute(_OLDEST_FREE, {"scope": scope_id, "now": codec.instant(now), "limit": limit}).all()
    if rows:
        until = codec.instant(now + timedelta(seconds=seconds))
        connection.execute(_LEASE, [{"item": row.pk, "owner": owner, "until": until} for row in rows])
    return [InboxItem(receipt_id=row.receipt_id, event=Event.model_validate_json(row.event)) for row in rows]


def find_receipt(connection: Connection, key: str, receipt_id: str) -> Receipt | None:
    """The receipt of an id in the scope of a key; None when none was given out."""
    parameters = {"key": key, "receipt": receipt_id}
    row = connection.execute(_RECEIPT, parameters).first()
    if row is not None:
        return codec.load_receipt(row)
    if connection.execute(_WAITING, parameters).first() is not None:
        return Receipt(id=receipt_id, status=ReceiptStatus.ACCEPTED)
    return None


def unread(connection: Connection, key: str, limit: int, among: Sequence[str] | None) -> list[str]:
    """Ids of a scope's units that wait to be read by a language model, those that wait longest first."""
    wanted = _UNREAD if among is None else _UNREAD.where(schema.unread.c.unit_id.in_(_IDS))
    return list(connection.scalars(wanted, {"key": key, "limit": limit, "ids": json.dumps(list(among or ()))}))


def unprocessed(connection: Connection, key: str, receipt_ids: Sequence[str] | None) -> list[InboxItem]:
    """What waits in a scope's inbox, leased or not, oldest first: all of it, or what has one of these receipts."""
    parameters = {"key": key, "ids": json.dumps(list(receipt_ids or ()))}
    wanted = _UNPROCESSED if receipt_ids is None else _UNPROCESSED.where(schema.inbox.c.receipt_id.in_(_IDS))
    rows = connection.execute(wanted, parameters).all()
    return [InboxItem(receipt_id, Event.model_validate_json(event)) for receipt_id, event in rows]
