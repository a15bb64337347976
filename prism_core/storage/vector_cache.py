"""Vectors read from the ledger lately, so that scoring the same neighbourhood again does not read them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from prism_core.changes import FloatArray, IntArray


class VectorCache:
    """A ring of vectors: the oldest entry makes room for the newest.

    Attributes:
        capacity: number of vectors it holds at most.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._rows: FloatArray = np.empty((0, 0), dtype=np.float32)
        self._ids: list[str] = []
        self._place: dict[str, int] = {}
        self._next = 0

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self._rows.nbytes

    def places(self, ids: Sequence[str]) -> IntArray:
        """Place of each vector, -1 where it is not held."""
        return np.array([self._place.get(unit_id, -1) for unit_id in ids], dtype=np.intp)

    def scores(self, places: IntArray, vector: FloatArray) -> FloatArray:
        """Dot products of the vectors at these places with a vector."""
        return np.asarray(self._rows[places] @ vector, dtype=np.float32)

    def put(self, vectors: Mapping[str, FloatArray]) -> None:
        """Take in vectors; of more than it can hold, the last ones stay."""
        for unit_id, vector in vectors.items():
            if not self._ids:
                self._rows = np.empty((min(self.capacity, 256), len(vector)), dtype=np.float32)
            place = self._place.get(unit_id)
            if place is None:
                place = self._claim(unit_id)
            self._rows[place] = vector

    def discard(self, ids: Sequence[str]) -> None:
        """Forget vectors that have changed."""
        for unit_id in ids:
            place = self._place.pop(unit_id, None)
            if place is not None:
                self._ids[place] = ""

    def _claim(self, unit_id: str) -> int:
        if self._next == len(self._rows) and len(self._rows) < self.capacity:
            room = min(self.capacity, 2 * len(self._rows)) - len(self._rows)
            self._rows = np.concatenate([self._rows, np.empty((room, self._rows.shape[1]), dtype=np.float32)])
        place = self._next % self.capacity
        if place < len(self._ids):
            self._place.pop(self._ids[place], None)
            self._ids[place] = unit_id
        else:
            self._ids.append(unit_id)
        self._place[unit_id] = place
        self._next = place + 1
        return place
