"""Answers that are known already, by model, prompt and content."""

from __future__ import annotations

import json
import sqlite3
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock
from typing import Protocol


class ReplyCache(Protocol):
    """Keeps usable replies. Losing an entry only costs a call."""

    def get(self, key: str) -> str | None:
        """The reply kept under a key."""
        ...

    def put(self, key: str, reply: str) -> None:
        """Keep a reply."""
        ...

    def clear(self) -> None:
        """Forget everything: replies quote what they were asked about, so an erase clears them."""
        ...


class MemoryReplyCache:
    """Keeps the replies used last, in memory. Thread-safe."""

    def __init__(self, max_entries: int = 4096) -> None:
        self._max_entries = max_entries
        self._replies: OrderedDict[str, str] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str) -> str | None:
        """The reply kept under a key."""
        with self._lock:
            if key in self._replies:
                self._replies.move_to_end(key)
            return self._replies.get(key)

    def put(self, key: str, reply: str) -> None:
        """Keep a reply; the one used least recently makes room."""
        with self._lock:
            self._replies[key] = reply
            self._replies.move_to_end(key)
            while len(self._replies) > self._max_entries:
                self._replies.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._replies.clear()


class FileReplyCache:
    """Keeps replies in an SQLite file that several processes may share."""

    def __init__(self, path: str | Path) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        self._path = str(path)
        with self._connected() as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)")

    def get(self, key: str) -> str | None:
        """The reply kept under a key."""
        with self._connected() as connection:
            row = connection.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(json.loads(row[0]))

    def put(self, key: str, reply: str) -> None:
        """Keep a reply."""
        with self._connected() as connection:
            # As JSON, since a reply may hold what has no UTF-8 form.
            connection.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (key, json.dumps(reply)))

    def clear(self) -> None:
        """Forget everything; what was in the file is overwritten."""
        with self._connected() as connection:
            connection.execute("DELETE FROM replies")

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=30)) as connection, connection:
            connection.execute("PRAGMA secure_delete = ON")
            yield connection
