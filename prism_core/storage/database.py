"""The database under the ledger: how it is opened, and how a transaction is begun, ended and refused.

SQLite is opened in WAL mode with `synchronous=FULL`: a commit that returned survives a power cut, and readers never
wait for the writer. The driver's own implicit transactions are switched off, because they begin too late to hold a
snapshot over several reads and never take the write lock up front.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Self

from sqlalchemy import URL, Connection, Engine, StaticPool, create_engine, event, insert, inspect, make_url, select
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from prism_core.errors import ClosedError, FormatVersionError, LedgerError, StoreNotFoundError, StoreUrlError
from prism_core.storage import schema
from prism_core.storage.codec import unstorable
from prism_core.storage.prepared import Prepared

_BEGIN = "prism_begin"


class _Mine(threading.local):
    """The write transaction a thread is in."""

    connection: Connection | None = None


class Database:
    """Connections to one SQLite database, shared by the threads of a process."""

    def __init__(self, engine: Engine, *, shared: bool) -> None:
        """Take over an engine.

        Args:
            engine: configured as `open` does it.
            shared: whether all threads share one connection (a database in memory), so that they must take turns.
        """
        self._reader = engine
        self._writer = engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})
        # Writers of this process queue here: SQLite's own waiting is polling, and neither fair nor quick.
        # The writer itself may read on in between.
        self._write_turn = threading.RLock()
        self._read_turn: AbstractContextManager[Any] = self._write_turn if shared else nullcontext()
        self._driver_error: type[Exception] = engine.dialect.loaded_dbapi.Error
        self._shared = shared
        self._mine = _Mine()
        self._closed = False

    @classmethod
    def open(cls, url: str, *, create: bool, busy_seconds: float) -> Self:
        """Open a database and check that it is a ledger's, or make it one.

        Args:
            url: `sqlite:///file.db`, or `sqlite://` for one in memory.
            create: whether a missing or empty database becomes a new ledger.
            busy_seconds: how long to wait for another process's transaction.

        Raises:
            StoreUrlError: if the URL names something that cannot be used.
            StoreNotFoundError: if there is none and `create` is false.
            FormatVersionError: if another version of prism-memory wrote it.
            LedgerError: if the database refused.
        """
        parsed = _checked_url(url)
        file = _file_of(parsed)
        if file is not None:
            _prepare_directory(file, create=create)
        database = cls(_engine(parsed, in_memory=file is None, busy_seconds=busy_seconds), shared=file is None)
        try:
            with database.writing("open the store") as connection:
                _ensure_schema(connection, str(file or url), create=create or file is None)
        except BaseException:
            database.close()
            raise
        return database

    @contextmanager
    def reading(self, operation: str) -> Iterator[Connection]:
        """A read transaction: one snapshot, however many queries.

        Raises:
            LedgerError: if the database refused.
            ClosedError: if it was closed.
        """
        if self._shared and self._mine.connection is not None:
            yield self._mine.connection  # there is only one
            return
        with self._read_turn, self._guard(operation), self._reader.begin() as connection:
            yield connection

    @contextmanager
    def writing(self, operation: str) -> Iterator[Connection]:
        """A write transaction that holds the write lock from its start and is durable when the block ends.

        Within another one of the same thread it is part of that one.

        Raises:
            LedgerError: if the database refused; nothing was stored.
            InvalidEventError: if a text has no UTF-8 form; nothing was stored.
            ClosedError: if it was closed.
        """
        if self._mine.connection is not None:
            yield self._mine.connection
            return
        with self._write_turn, self._guard(operation), self._writer.begin() as connection:
            self._mine.connection = connection
            try:
                yield connection
            finally:
                self._mine.connection = None

    def fetch(self, operation: str, statement: Prepared, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Run one query outside any transaction: about a fifth of the time `reading` takes.

        Raises:
            LedgerError: if the database refused.
            ClosedError: if it was closed.
        """
        with self._read_turn, self._guard(operation):
            connection = self._reader.raw_connection()
            try:
                cursor = connection.cursor()
                cursor.execute(statement.sql, statement.bind(values))
                return list(cursor.fetchall())
            finally:
                connection.close()

    def settle(self) -> None:
        """Move what was committed from the write-ahead log into the database, and empty the log.

        The log keeps earlier versions of pages. Where another process is reading, it is emptied at a later call, or
        when the last process closes the database.
        """
        with self._write_turn, self._guard("empty the write-ahead log"):
            connection = self._reader.raw_connection()
            try:
                connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                connection.close()

    def close(self) -> None:
        """Release every connection; closing twice is no error."""
        self._closed = True
        self._reader.dispose()

    @contextmanager
    def _guard(self, operation: str) -> Iterator[None]:
        if self._closed:
            raise ClosedError(operation)
        try:
            yield
        except (SQLAlchemyError, self._driver_error) as error:
            raise LedgerError(operation, str(getattr(error, "orig", None) or error)) from error
        except UnicodeEncodeError as error:
            raise unstorable(error.object) from error


def _checked_url(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise StoreUrlError(url, "is not a database URL") from None
    shown = parsed.render_as_string(hide_password=True)
    if parsed.drivername not in {"sqlite", "sqlite+pysqlite"}:
        raise StoreUrlError(shown, f"names a {parsed.drivername} database, and only SQLite is supported")
    if parsed.query or (parsed.database or "").startswith("file:"):
        raise StoreUrlError(shown, "carries connection options, which would undo the ledger's own")
    return parsed


def _file_of(url: URL) -> Path | None:
    return None if url.database in (None, "", ":memory:") else Path(url.database or "")


def _prepare_directory(file: Path, *, create: bool) -> None:
    if not create and not file.exists():
        raise StoreNotFoundError(str(file))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LedgerError("open the store", str(error)) from error


def _engine(url: URL, *, in_memory: bool, busy_seconds: float) -> Engine:
    # Every transaction here ends in a commit or a rollback, so the pool's own rollback would only cost time.
    options: dict[str, Any] = {"pool_reset_on_return": None}
    if in_memory:
        options |= {"poolclass": StaticPool, "connect_args": {"check_same_thread": False}}
    engine = create_engine(url, **options)

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, _record: object) -> None:
        connection.isolation_level = None
        for pragma in (f"busy_timeout={int(busy_seconds * 1000)}", "journal_mode=WAL", "synchronous=FULL"):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        connection.execute("PRAGMA foreign_keys=ON")
        # What is deleted is overwritten with zeros, not only unlinked.
        connection.execute("PRAGMA secure_delete=ON").fetchall()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get(_BEGIN, "BEGIN"))

    return engine


def _ensure_schema(connection: Connection, name: str, *, create: bool) -> None:
    tables = inspect(connection).get_table_names()
    if not tables:
        if not create:
            raise StoreNotFoundError(name)
        schema.metadata.create_all(connection)
        connection.execute(insert(schema.meta).values(key="format_version", value=str(schema.FORMAT_VERSION)))
        return
    if schema.meta.name not in tables:
        raise StoreUrlError(name, "is a database of something else")
    stored = connection.scalar(select(schema.meta.c.value).where(schema.meta.c.key == "format_version"))
    if stored != str(schema.FORMAT_VERSION):
        raise FormatVersionError(int(stored or 0), schema.FORMAT_VERSION)
