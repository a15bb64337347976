"""Erasing: what is removed from which table, inside one write transaction.

Rows that hold a unit's text, or were derived from it, are deleted. Entries of the log are blanked in place instead, so
that every seq still stands for one entry; nothing of a blanked entry is kept but its seq and when it was recorded.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, exists, func, insert, or_, select, update

from prism_core.results import Position
from prism_core.storage import codec, schema

BLANKED = "erased"
"""Kind of a log entry whose unit was erased."""
ERASE = "erase"
"""Kind of the log entry that says that an erase took place."""

_IDS = select(func.json_each(bindparam("ids")).table_valued("value").c.value)
_SUPERSEDED = func.json_each(schema.receipts.c.superseded).table_valued("value", name="replaced")
_STATED = func.json_each(schema.receipts.c.facts).table_valued("value", name="stated")
_OF_UNITS = (
    delete(schema.links).where(
        schema.links.c.scope_id == bindparam("scope"),
        or_(schema.links.c.source.in_(_IDS), schema.links.c.target.in_(_IDS)),
    ),
    delete(schema.vectors).where(schema.vectors.c.scope_id == bindparam("scope"), schema.vectors.c.unit_id.in_(_IDS)),
    delete(schema.keys).where(schema.keys.c.scope_id == bindparam("scope"), schema.keys.c.unit_id.in_(_IDS)),
    delete(schema.unread).where(schema.unread.c.scope_id == bindparam("scope"), schema.unread.c.unit_id.in_(_IDS)),
    delete(schema.current_facts).where(
        schema.current_facts.c.scope_id == bindparam("scope"), schema.current_facts.c.unit_id.in_(_IDS)
    ),
    delete(schema.receipts).where(
        schema.receipts.c.scope_id == bindparam("scope"),
        or_(
            schema.receipts.c.unit_id.in_(_IDS),
            exists(select(_SUPERSEDED.c.value).where(_SUPERSEDED.c.value.in_(_IDS))),
            exists(select(_STATED.c.value).where(_STATED.c.value.in_(_IDS))),
        ),
    ),
    update(schema.log)
    .where(
        schema.log.c.scope_id == bindparam("scope"),
        or_(
            schema.log.c.subject.in_(_IDS),
            # A link is filed under its target, and names its source.
            schema.log.c.kind.in_(("link", "unlink")) & func.json_extract(schema.log.c.after, "$.source").in_(_IDS),
        ),
    )
    .values(kind=BLANKED, subject="", before="{}", after="{}", reason=""),
    delete(schema.units).where(schema.units.c.scope_id == bindparam("scope"), schema.units.c.unit_id.in_(_IDS)),
)
_OF_INBOX = delete(schema.inbox).where(
    schema.inbox.c.scope_id == bindparam("scope"), schema.inbox.c.receipt_id.in_(_IDS)
)
# Rows that refer to others go first.
_EVERYTHING = tuple(
    delete(table).where(table.c.scope_id == bindparam("scope"))
    for table in (
        schema.links,
        schema.vectors,
        schema.keys,
        schema.unread,
        schema.current_facts,
        schema.receipts,
        schema.inbox,
        schema.log,
        schema.units,
    )
)
_ALL_IDS = (
    select(schema.units.c.unit_id).where(schema.units.c.scope_id == bindparam("scope")).order_by(schema.units.c.pk)
)
_KNOWN_IDS = select(schema.units.c.unit_id).where(
    schema.units.c.scope_id == bindparam("scope"), schema.units.c.unit_id.in_(_IDS)
)
_SET_HEAD = (
    update(schema.scopes)
    .where(schema.scopes.c.id == bindparam("scope"))
    .values(seq=bindparam("head"), epoch=bindparam("next"))
)


def unknown(connection: Connection, scope_id: int, unit_ids: Sequence[str]) -> str | None:
    """The first of these ids that no unit of the scope has; None when all are known."""
    known = set(connection.scalars(_KNOWN_IDS, {"scope": scope_id, "ids": json.dumps(list(unit_ids))}))
    return next((unit_id for unit_id in unit_ids if unit_id not in known), None)


def erase_units(
    connection: Connection,
    scope_id: int,
    head: Position,
    unit_ids: Sequence[str],
    receipt_ids: Sequence[str],
    *,
    now: datetime,
) -> Position:
    """Remove units with all that was derived from them, and accepted events by the ids of their receipts.

    Answers the new head: one log entry further, in the next epoch.
    """
    ids = {"scope": scope_id, "ids": json.dumps(list(unit_ids))}
    for statement in _OF_UNITS:
        connection.execute(statement, ids)
    connection.execute(_OF_INBOX, {"scope": scope_id, "ids": json.dumps(list(receipt_ids))})
    seq = head.seq + 1
    entry = {
        "scope_id": scope_id,
        "seq": seq,
        "recorded_at": codec.instant(now),
        "kind": ERASE,
        "subject": "",
        "before": "{}",
        "after": codec.dump_json({"units": len(unit_ids), "events": len(receipt_ids)}),
        "reason": "",
    }
    connection.execute(insert(schema.log), entry)
    return _move_head(connection, scope_id, Position(seq, head.epoch + 1))


def erase_scope(connection: Connection, scope_id: int, head: Position) -> tuple[list[str], Position]:
    """Remove everything of a scope; answers the ids of its units and the new head, seq 0 of the next epoch."""
    ids = list(connection.scalars(_ALL_IDS, {"scope": scope_id}))
    for statement in _EVERYTHING:
        connection.execute(statement, {"scope": scope_id})
    return ids, _move_head(connection, scope_id, Position(0, head.epoch + 1))


def _move_head(connection: Connection, scope_id: int, position: Position) -> Position:
    connection.execute(_SET_HEAD, {"scope": scope_id, "head": position.seq, "next": position.epoch})
    return position
