"""Which rows carry which keys, for keys that may change after a row was added: entities and intent labels."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable

import numpy as np

from prism_core.changes import IntArray


class KeyIndex:
    """Rows by key and keys by row."""

    def __init__(self) -> None:
        self._rows: dict[str, array[int]] = {}
        self._keys: dict[int, tuple[str, ...]] = {}

    @property
    def nbytes(self) -> int:
        """Estimated size in bytes."""
        return 250 * len(self._rows) + 160 * len(self._keys)

    def put(self, row: int, keys: Iterable[str]) -> None:
        """Set the keys of a row, in place of those it had."""
        fresh = tuple(dict.fromkeys(keys))
        stale = self._keys.get(row, ())
        if fresh == stale:
            return
        for key in stale:
            self._rows[key].remove(row)
        for key in fresh:
            rows = self._rows.setdefault(key, array("q"))
            rows.insert(len(rows) if not rows or rows[-1] < row else bisect_left(rows, row), row)
        self._keys[row] = fresh

    def rows(self, key: str) -> IntArray:
        """Rows that carry a key, ascending."""
        return np.array(self._rows.get(key, ()), dtype=np.intp)

    def keys(self, rows: IntArray) -> list[tuple[str, ...]]:
        """Keys of each of these rows."""
        return [self._keys.get(row, ()) for row in rows.tolist()]
