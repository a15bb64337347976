"""The ledger's tables.

`changed_seq` is what lets a projection catch up: everything that changed after a seq is three range reads of the
present state, never a replay. Instants are ISO 8601 text in UTC with microseconds, which sorts as time does.
"""

from __future__ import annotations

from sqlalchemy import (
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

FORMAT_VERSION = 2
"""Raised whenever an older prism-memory could not read what this one writes."""

metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
    sqlite_with_rowid=False,
)

scopes = Table(
    "scopes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("seq", Integer, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("created_at", Text, nullable=False),
)

units = Table(
    "units",
    metadata,
    Column("pk", Integer, primary_key=True),
    Column("scope_id", ForeignKey("scopes.id"), nullable=False),
    Column("unit_id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("text_hash", LargeBinary, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Column("added_seq", Integer, nullable=False),
    Column("changed_seq", Integer, nullable=False),
    UniqueConstraint("scope_id", "unit_id"),
    Index("units_by_change", "scope_id", "changed_seq"),
    Index("units_by_text", "scope_id", "text_hash"),
)

current_facts = Table(
    "current_facts",
    metadata,
    # The primary key lets no two values of one attribute be current at a time.
    Column("scope_id", ForeignKey("scopes.id"), primary_key=True),
    Column("entity", Text, primary_key=True),
    Column("attribute", Text, primary_key=True),
    Column("unit_id", Text, nullable=False),
    ForeignKeyConstraint(["scope_id", "unit_id"], ["units.scope_id", "units.unit_id"]),
    Index("current_facts_by_unit", "scope_id", "unit_id"),
    sqlite_with_rowid=False,
)

unread = Table(
    "unread",
    metadata,
    # Units that wait to be read by a language model.
    Column("scope_id", ForeignKey("scopes.id"), primary_key=True),
    Column("unit_id", Text, primary_key=True),
    Column("seq", Integer, nullable=False),
    ForeignKeyConstraint(["scope_id", "unit_id"], ["units.scope_id", "units.unit_id"]),
    sqlite_with_rowid=False,
)

keys = Table(
    "keys",
    metadata,
    Column("scope_id", ForeignKey("scopes.id"), primary_key=True),
    Column("idempotency_key", Text, primary_key=True),
    Column("unit_id", Text, nullable=False),
    ForeignKeyConstraint(["scope_id", "unit_id"], ["units.scope_id", "units.unit_id"]),
    sqlite_with_rowid=False,
)

links = Table(
    "links",
    metadata,
    # The primary key also finds the links that leave a unit.
    Column("scope_id", ForeignKey("scopes.id"), primary_key=True),
    Column("source", Text, primary_key=True),
    Column("target", Text, primary_key=True),
    Column("relation", Text, primary_key=True),
    Column("confidence", Float, nullable=False),
    Column("reason", Text, nullable=False),
    Column("label", Text, nullable=False),
    # A link that was removed stays as a row, so that projections which follow by seq hear of it.
    Column("removed", Integer, nullable=False),
    Column("changed_seq", Integer, nullable=False),
    ForeignKeyConstraint(["scope_id", "source"], ["units.scope_id", "units.unit_id"]),
    ForeignKeyConstraint(["scope_id", "target"], ["units.scope_id", "units.unit_id"]),
    Index("links_by_change", "scope_id", "changed_seq"),
    Index("links_by_target", "scope_id", "target"),
    sqlite_with_rowid=False,
)

vectors = Table(
    "vectors",
    metadata,
    Column("scope_id", ForeignKey("scopes.id"), primary_key=True),
    Column("unit_id", Text, primary_key=True),
    Column("embedder_id", Text, nullable=False),
    Column("vector", LargeBinary),
    Column("changed_seq", Integer, nullable=False),
    ForeignKeyConstraint(["scope_id", "unit_id"], ["units.scope_id", "units.unit_id"]),
    Index("vectors_by_change", "scope_id", "changed_seq"),
    Index("vectors_pending", "scope_id", "changed_seq", sqlite_where=text("vector IS NULL")),
)

log = Table(
    "log",
    metadata,
    Column("scope_id", ForeignKey("scopes.id"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("recorded_at", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("before", Text, nullable=False),
    Column("after", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Index("log_by_subject", "scope_id", "subject"),
    sqlite_with_rowid=False,
)

inbox = Table(
    "inbox",
    metadata,
    Column("pk", Integer, primary_key=True),
    Column("scope_id", ForeignKey("scopes.id"), nullable=False),
    Column("receipt_id", Text, nullable=False),
    Column("received_at", Text, nullable=False),
    Column("event", Text, nullable=False),
    Column("lease_owner", Text),
    Column("lease_until", Text),
    UniqueConstraint("scope_id", "receipt_id"),
)

receipts = Table(
    "receipts",
    metadata,
    Column("scope_id", ForeignKey("scopes.id"), primary_key=True),
    Column("receipt_id", Text, primary_key=True),
    Column("status", Text, nullable=False),
    Column("unit_id", Text),
    Column("reason", Text, nullable=False),
    Column("superseded", Text, nullable=False),
    Column("facts", Text, nullable=False),
    sqlite_with_rowid=False,
)

index_positions = Table(
    "index_positions",
    metadata,
    Column("index_id", Text, primary_key=True),
    Column("scope_id", ForeignKey("scopes.id"), primary_key=True),
    Column("seq", Integer, nullable=False),
    Column("epoch", Integer, nullable=False),
    sqlite_with_rowid=False,
)
