"""Statements that are compiled once and afterwards only bound.

SQLAlchemy takes several times as long to prepare a small statement as SQLite to run it, and a write runs ten. These
go to the driver directly, inside whatever transaction the connection has begun; the driver's errors come out as such.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from sqlalchemy import Connection
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine.interfaces import Compiled
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.compiler import SQLCompiler

_DIALECT = sqlite.dialect()


class Prepared:
    """A statement as SQL text.

    Attributes:
        sql: the text, with positional parameters.
    """

    def __init__(self, statement: ClauseElement) -> None:
        """Compile a statement.

        Args:
            statement: takes all its values from named parameters, none of them expanding. An insert without values
                takes every column of its table.
        """
        compiled: Compiled = statement.compile(dialect=_DIALECT)
        self.sql = str(compiled)
        self._names = tuple(cast(SQLCompiler, compiled).positiontup or ())

    def query(self, connection: Connection, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Run it and answer its rows, with values by parameter name."""
        cursor = connection.connection.cursor()
        cursor.execute(self.sql, self.bind(values))
        return list(cursor.fetchall())

    def run_all(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run it once per row of values; no rows, no run."""
        if rows:
            connection.connection.cursor().executemany(self.sql, [self.bind(row) for row in rows])

    def bind(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """The values in the order of the text's parameters."""
        return tuple([values[name] for name in self._names])
