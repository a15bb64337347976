"""What `doctor` looks at in a ledger."""

from __future__ import annotations

from sqlalchemy import Connection, func, or_, select

from prism_core.results import Finding
from prism_core.storage import schema

_RESTORE = "restore the store from a backup, or ingest its sources again into a new one"

_LOG_ENDS = (
    select(schema.log.c.scope_id, func.count().label("entries"), func.max(schema.log.c.seq).label("last"))
    .group_by(schema.log.c.scope_id)
    .subquery()
)
_BROKEN_LOGS = (
    select(schema.scopes.c.key, schema.scopes.c.seq, func.coalesce(_LOG_ENDS.c.entries, 0).label("entries"))
    .join(_LOG_ENDS, _LOG_ENDS.c.scope_id == schema.scopes.c.id, isouter=True)
    .where(
        or_(
            func.coalesce(_LOG_ENDS.c.entries, 0) != schema.scopes.c.seq,
            func.coalesce(_LOG_ENDS.c.last, 0) != schema.scopes.c.seq,
        )
    )
)
_WITHOUT_VECTOR = (
    select(func.count())
    .select_from(schema.units)
    .join(
        schema.vectors,
        (schema.vectors.c.scope_id == schema.units.c.scope_id) & (schema.vectors.c.unit_id == schema.units.c.unit_id),
        isouter=True,
    )
    .where(schema.vectors.c.unit_id.is_(None))
)


def file_is_sound(connection: Connection) -> Finding:
    """Whether the database's pages are as they should be."""
    problems = [str(problem) for problem in connection.exec_driver_sql("PRAGMA quick_check(3)").scalars()]
    ok = problems == ["ok"]
    return Finding("database file", ok, "sound" if ok else f"{'; '.join(problems)}; {_RESTORE}")


def references_hold(connection: Connection) -> Finding:
    """Whether links and vectors concern units that exist."""
    broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    tables = ", ".join(sorted({f"{row[0]} row {row[1]}" for row in broken[:5]}))
    detail = f"{len(broken)} rows concern units that do not exist ({tables}); {_RESTORE}"
    return Finding("references", not broken, detail if broken else "links and vectors concern existing units")


def log_is_dense(connection: Connection) -> Finding:
    """Whether every scope's log holds each seq from 1 to its head once."""
    broken = connection.execute(_BROKEN_LOGS).all()
    named = "; ".join(f"scope {row.key} is at {row.seq} with {row.entries} entries" for row in broken[:5])
    return Finding("log", not broken, f"{named}; {_RESTORE}" if broken else "dense in every scope")


def units_are_embedded(connection: Connection) -> Finding:
    """Whether every unit has a vector or is marked as waiting for one, once the store has had an embedder."""
    rows = connection.scalar(select(func.count()).select_from(schema.vectors)) or 0
    if not rows:
        return Finding("vectors", True, "none: the store was never written with an embedder")
    missing = connection.scalar(_WITHOUT_VECTOR) or 0
    pending = connection.scalar(select(func.count()).where(schema.vectors.c.vector.is_(None))) or 0
    if missing:
        return Finding("vectors", False, f"{missing} units were never embedded; PrismMemory.rebuild(reembed=True) does")
    return Finding("vectors", True, f"{rows - pending} stored, {pending} waiting to be embedded")


CHECKS = (file_is_sound, references_hold, log_is_dense, units_are_embedded)
"""In the order they are reported; each takes a read transaction."""
