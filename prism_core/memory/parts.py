"""Where a store lives and how its vector index is opened."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Literal, Self

from prism_core.errors import IndexFailedError, IndexLockedError, StoreUrlError
from prism_core.protocols import VectorIndex
from prism_core.storage.chroma import ChromaIndex
from prism_core.storage.dense import IndexChoice

IndexKind = Literal["auto", "chroma", "exact"]
IN_MEMORY = ":memory:"
WORTH_AN_INDEX = 15_000
"""Number of vectors from which a scope gets a Chroma collection; below, exact search is as fast and misses nothing."""


def new_id() -> str:
    """A random id of 16 hexadecimal digits."""
    return secrets.token_hex(8)


def now_utc() -> datetime:
    """The present instant, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Store:
    """The places of a store.

    Attributes:
        name: as the caller gave it.
        url: of the ledger.
        index_directory: of the vector index; None for a store in memory.
    """

    name: str
    url: str
    index_directory: Path | None

    @classmethod
    def at(cls, path: str | Path) -> Self:
        """The store at a directory, in memory, or at a database URL."""
        if not isinstance(path, str | Path):
            raise StoreUrlError(repr(path), "is no path")
        name = str(path)
        if name == IN_MEMORY:
            return cls(name, "sqlite://", None)
        if "://" in name:
            scheme, _, file = name.partition(":///")
            if scheme != "sqlite" or not file:
                raise StoreUrlError(name, "is not a SQLite database")
            return cls(name, name, Path(f"{file}.index"))
        try:
            directory = Path(path).expanduser()
        except RuntimeError as error:
            raise StoreUrlError(name, f"names no folder ({error})") from None
        if not name.strip() or any(character in name for character in "?#\x00"):
            raise StoreUrlError(name, "is empty or holds one of '?', '#' and NUL")
        if directory.exists() and not directory.is_dir():
            raise StoreUrlError(name, "is a file, not a directory")
        return cls(name, f"sqlite:///{directory / 'ledger.db'}", directory / "chroma")

    def exists(self) -> bool:
        """Whether there is a ledger already."""
        return self.url != "sqlite://" and Path(self.url.removeprefix("sqlite:///")).exists()


class GuardedIndex:
    """A vector index that is opened when the first scope needs it, and no longer used once it has failed.

    Attributes:
        note: why exact search answers in its place; empty while it does not.
    """

    def __init__(self, opener: Callable[[], VectorIndex]) -> None:
        self.note = ""
        self._opener = opener
        self._index: VectorIndex | None = None
        self._lock = Lock()

    def open(self) -> VectorIndex | None:
        """The index; None when another process owns it or it has failed, and exact search has to do."""
        with self._lock:
            if self._index is None and not self.note:
                try:
                    self._index = self._opener()
                except (IndexLockedError, IndexFailedError) as error:
                    self.note = f"exact search answers: {error}"
            return self._index

    def give_up(self, reason: str) -> None:
        """Stop using it until the store is opened again; it is then filled anew from the ledger."""
        with self._lock:
            self.note = f"exact search answers: {reason}"
            self._index = None

    def close(self) -> None:
        """Close it, if it was opened."""
        with self._lock:
            if self._index is not None:
                self._index.close()
                self._index = None

    def choice(self, from_size: int) -> IndexChoice:
        """This index, for scopes of at least that many vectors."""
        return IndexChoice(self.open, self.give_up, from_size)


def choose_index(store: Store, wanted: IndexKind | VectorIndex) -> tuple[GuardedIndex | None, IndexChoice]:
    """The index a store is asked to have.

    Raises:
        StoreUrlError: if the kind is unknown, or Chroma is asked of a store in memory.
    """
    if not isinstance(wanted, str):
        guarded = GuardedIndex(lambda: wanted)
        return guarded, guarded.choice(1)
    if wanted not in ("auto", "chroma", "exact"):
        raise StoreUrlError(store.name, f"cannot have the index {wanted!r}: choose 'auto', 'chroma' or 'exact'")
    if wanted == "exact" or (wanted == "auto" and store.index_directory is None):
        return None, IndexChoice()
    directory = store.index_directory
    if directory is None:
        raise StoreUrlError(store.name, "is in memory and cannot hold a Chroma index")
    guarded = GuardedIndex(lambda: ChromaIndex.open(directory))
    return guarded, guarded.choice(1 if wanted == "chroma" else WORTH_AN_INDEX)
