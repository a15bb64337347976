"""What the ledger asks of its database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ScalarSelect, Select, bindparam, delete, exists, func, or_, select

from prism_core.storage import schema
from prism_core.storage.prepared import Prepared

SCOPE: ScalarSelect[int] = select(schema.scopes.c.id).where(schema.scopes.c.key == bindparam("key")).scalar_subquery()


def _since(table: Any, *columns: Any) -> Select[Any]:
    return select(*columns).where(table.c.scope_id == SCOPE, table.c.changed_seq > bindparam("after"))


HEAD = Prepared(select(schema.scopes.c.seq, schema.scopes.c.epoch).where(schema.scopes.c.key == bindparam("key")))
HAS_INBOX = Prepared(
    select(func.min(schema.inbox.c.pk))
    .select_from(schema.inbox.join(schema.scopes))
    .where(schema.scopes.c.key == bindparam("key"))
)
UNITS_SINCE = _since(schema.units, schema.units.c.added_seq, schema.units.c.tokens, schema.units.c.body)
LINKS_SINCE = _since(
    schema.links,
    schema.links.c.source,
    schema.links.c.target,
    schema.links.c.relation,
    schema.links.c.confidence,
    schema.links.c.reason,
    schema.links.c.label,
    schema.links.c.removed,
).order_by(schema.links.c.changed_seq)
VECTORS_SINCE = _since(schema.vectors, schema.vectors.c.unit_id, schema.vectors.c.vector).order_by(
    schema.vectors.c.changed_seq
)
PENDING_UNTIL = (
    select(schema.vectors.c.unit_id)
    .where(
        schema.vectors.c.scope_id == SCOPE,
        schema.vectors.c.vector.is_(None),
        schema.vectors.c.changed_seq <= bindparam("after"),
    )
    .order_by(schema.vectors.c.changed_seq)
)
# One parameter for any number of ids: the statement is compiled once, and no limit on parameters applies.
IDS = select(func.json_each(bindparam("ids")).table_valued("value").c.value)
UNITS = Prepared(
    select(schema.units.c.unit_id, schema.units.c.body).where(
        schema.units.c.scope_id == SCOPE, schema.units.c.unit_id.in_(IDS)
    )
)
VECTORS = Prepared(
    select(schema.vectors.c.unit_id, schema.vectors.c.vector).where(
        schema.vectors.c.scope_id == SCOPE,
        schema.vectors.c.unit_id.in_(IDS),
        schema.vectors.c.vector.is_not(None),
    )
)
BY_KEY = Prepared(
    select(schema.keys.c.unit_id).where(
        schema.keys.c.scope_id == SCOPE, schema.keys.c.idempotency_key == bindparam("idempotency_key")
    )
)
BY_TEXT = Prepared(
    select(schema.units.c.unit_id).where(
        schema.units.c.pk
        == select(func.min(schema.units.c.pk))
        .where(
            schema.units.c.scope_id == SCOPE,
            schema.units.c.text_hash == bindparam("text_hash"),
            schema.units.c.kind == bindparam("kind"),
        )
        .scalar_subquery()
    )
)
LOG = (
    select(
        schema.log.c.seq,
        schema.log.c.recorded_at,
        schema.log.c.kind,
        schema.log.c.subject,
        schema.log.c.before,
        schema.log.c.after,
        schema.log.c.reason,
    )
    .where(schema.log.c.scope_id == SCOPE, schema.log.c.seq > bindparam("after"))
    .order_by(schema.log.c.seq)
)
LOG_OF_UNIT = LOG.where(schema.log.c.subject == bindparam("unit"))
KINDS = (
    select(schema.units.c.kind, func.count(), func.sum(schema.units.c.tokens))
    .where(schema.units.c.scope_id == SCOPE)
    .group_by(schema.units.c.kind)
    .order_by(schema.units.c.kind)
)
RELATIONS = (
    select(schema.links.c.relation, func.count())
    .where(schema.links.c.scope_id == SCOPE, schema.links.c.removed == 0)
    .group_by(schema.links.c.relation)
    .order_by(schema.links.c.relation)
)
PENDING = select(func.count()).where(schema.vectors.c.scope_id == SCOPE, schema.vectors.c.vector.is_(None))
INBOX = select(func.count()).where(schema.inbox.c.scope_id == SCOPE)
# A scope that was erased as a whole is listed again once something is written there.
SCOPES = (
    select(schema.scopes.c.key)
    .where(
        or_(
            schema.scopes.c.epoch == 0,
            schema.scopes.c.seq > 0,
            exists().where(schema.inbox.c.scope_id == schema.scopes.c.id),
        )
    )
    .order_by(schema.scopes.c.id)
)
META = select(schema.meta.c.value).where(schema.meta.c.key == bindparam("name"))
INDEX_POSITION = select(schema.index_positions.c.seq, schema.index_positions.c.epoch).where(
    schema.index_positions.c.index_id == bindparam("index"), schema.index_positions.c.scope_id == SCOPE
)
OUTDATED = (
    select(func.count())
    .select_from(schema.index_positions.join(schema.scopes))
    .where(schema.scopes.c.key == bindparam("key"), schema.index_positions.c.epoch != schema.scopes.c.epoch)
)
FORGET_OUTDATED = delete(schema.index_positions).where(
    schema.index_positions.c.scope_id == SCOPE, schema.index_positions.c.epoch < bindparam("epoch")
)
