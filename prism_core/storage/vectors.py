"""An exact vector index in memory: one matrix per scope, searched whole.

Up to a few thousand vectors this is faster than any approximate index, and it never misses.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from uuid import uuid4

import numpy as np

from prism_core.changes import FloatArray, IntArray
from prism_core.errors import ClosedError, DimensionMismatchError, InvalidEventError, QueryError
from prism_core.types import Scope

_NO_ROWS: FloatArray = np.empty(0, dtype=np.float32)


class ExactIndex:
    """Vectors of any number of scopes, compared one by one.

    Rows of a scope are numbered in the order its ids were first upserted; they only grow, until the scope is
    dropped. Threads may read while one writes.
    """

    def __init__(self) -> None:
        self._scopes: dict[Scope, _Matrix] = {}
        self._lock = threading.Lock()
        self._id = f"exact-{uuid4().hex}"
        self._closed = False

    @property
    def id(self) -> str:
        """Names this filling of the index; it lives as long as the process."""
        return self._id

    @property
    def nbytes(self) -> int:
        """Size of all vectors in bytes, room for growth included."""
        return sum(matrix.rows.nbytes for matrix in list(self._scopes.values()))

    def upsert(self, scope: Scope, ids: Sequence[str], vectors: FloatArray) -> None:
        """Insert or replace vectors; the last of a repeated id counts.

        Args:
            scope: whose vectors.
            ids: n unit ids.
            vectors: shape (n, d), rows L2-normalised.

        Raises:
            DimensionMismatchError: if d differs from what the scope holds.
            InvalidEventError: if the vectors are not n rows of finite numbers; nothing was changed.
        """
        self._check_open("upsert")
        rows = checked_rows(ids, vectors)
        if not ids:
            return
        with self._lock:
            matrix = self._scopes.get(scope)
            if matrix is None:
                matrix = self._scopes[scope] = _Matrix(rows.shape[1])
            matrix.put(ids, rows)

    def search(self, scope: Scope, vector: FloatArray, k: int) -> list[tuple[str, float]]:
        """The nearest vectors of a scope.

        Args:
            scope: whose vectors; a scope that was never written has none.
            vector: shape (d,), L2-normalised.
            k: how many at most.

        Returns:
            Pairs of unit id and cosine similarity in [-1, 1], best first; equal ones in the order of their rows.

        Raises:
            DimensionMismatchError: if d differs from what the scope holds.
            QueryError: if the vector is not one row of finite numbers, or `k` is not positive.
        """
        self._check_open("search")
        check_k(k)
        query = checked_query(vector)
        matrix = self._scopes.get(scope)
        if matrix is None:
            return []
        scores = matrix.scores(query)
        return [(matrix.ids[row], float(scores[row])) for row in best_rows(scores, k).tolist()]

    def scores(self, scope: Scope, vector: FloatArray) -> FloatArray:
        """The cosine similarity of every vector of a scope.

        Args:
            scope: whose vectors.
            vector: shape (d,), L2-normalised.

        Returns:
            Shape (n,), float32 in [-1, 1], in the order of `row_ids`.

        Raises:
            DimensionMismatchError: if d differs from what the scope holds.
            QueryError: if the vector is not one row of finite numbers.
        """
        self._check_open("scores")
        query = checked_query(vector)
        matrix = self._scopes.get(scope)
        return _NO_ROWS if matrix is None else matrix.scores(query)

    def row_ids(self, scope: Scope) -> Sequence[str]:
        """The unit ids of a scope by row; grows as vectors come in, do not change it."""
        matrix = self._scopes.get(scope)
        return matrix.ids if matrix is not None else ()

    def vectors_of(self, scope: Scope, ids: Sequence[str]) -> dict[str, FloatArray]:
        """The vectors of these units, copied; unknown ones are left out."""
        matrix = self._scopes.get(scope)
        if matrix is None:
            return {}
        with self._lock:
            return {unit_id: matrix.rows[matrix.row_of[unit_id]].copy() for unit_id in ids if unit_id in matrix.row_of}

    def count(self, scope: Scope) -> int:
        """How many vectors the scope holds."""
        return len(self.row_ids(scope))

    def drop(self, scope: Scope) -> None:
        """Forget the scope; dropping an unknown scope is no error."""
        with self._lock:
            self._scopes.pop(scope, None)

    def close(self) -> None:
        """Forget everything; closing twice is no error."""
        self._closed = True
        with self._lock:
            self._scopes.clear()

    def _check_open(self, operation: str) -> None:
        if self._closed:
            raise ClosedError(operation)


def checked_rows(ids: Sequence[str], vectors: FloatArray) -> FloatArray:
    """Vectors to store as float32 rows, one per id.

    Raises:
        InvalidEventError: if they are not one row of finite numbers per id.
    """
    rows = np.asarray(vectors, dtype=np.float32)
    if rows.ndim != 2 or len(rows) != len(ids):
        raise InvalidEventError("vector", f"array of shape {rows.shape}", f"pass one row for each of {len(ids)} ids")
    if not np.isfinite(rows).all():
        raise InvalidEventError("vector", "an array with NaN or infinity", "a vector is made of finite numbers")
    return rows


def checked_query(vector: FloatArray) -> FloatArray:
    """A vector to search for as float32.

    Raises:
        QueryError: if it is not one row of finite numbers.
    """
    row = np.asarray(vector, dtype=np.float32)
    if row.ndim != 1:
        raise QueryError("vector", f"array of shape {row.shape}", "pass one row")
    if not np.isfinite(row).all():
        raise QueryError("vector", "an array with NaN or infinity", "a vector is made of finite numbers")
    return row


def check_k(k: int) -> None:
    """Check how many results are asked for.

    Raises:
        QueryError: if it is not positive.
    """
    if k <= 0:
        raise QueryError("k", k, "pass a positive whole number")


def best_rows(scores: FloatArray, k: int) -> IntArray:
    """Places of the k highest scores, best first, equal ones in the order of their places."""
    if k < len(scores):
        # Everything that ties with the last place stays in, so that rows decide and not the partition.
        worst = np.partition(scores, len(scores) - k)[len(scores) - k]
        pool = np.flatnonzero(scores >= worst)
    else:
        pool = np.arange(len(scores))
    return pool[np.argsort(-scores[pool], kind="stable")[:k]]


class _Matrix:
    """Rows of one scope. A reader takes `filled` once and computes on that: rows are never moved under it."""

    def __init__(self, dimension: int) -> None:
        self.rows: FloatArray = np.empty((0, dimension), dtype=np.float32)
        self.filled: FloatArray = self.rows
        self.ids: list[str] = []
        self.row_of: dict[str, int] = {}

    def put(self, ids: Sequence[str], vectors: FloatArray) -> None:
        dimension = self.rows.shape[1]
        if vectors.shape[1] != dimension:
            raise DimensionMismatchError(dimension, vectors.shape[1])
        for unit_id in ids:
            if unit_id not in self.row_of:
                self.row_of[unit_id] = len(self.ids)
                self.ids.append(unit_id)
        self._grow(len(self.ids))
        # A later row of a repeated id overwrites an earlier one: assignment by index goes in order.
        self.rows[[self.row_of[unit_id] for unit_id in ids]] = vectors
        self.filled = self.rows[: len(self.ids)]

    def scores(self, query: FloatArray) -> FloatArray:
        rows = self.filled
        if query.shape[0] != rows.shape[1]:
            raise DimensionMismatchError(rows.shape[1], query.shape[0])
        scores: FloatArray = np.clip(rows @ query, -1.0, 1.0)
        return scores

    def _grow(self, needed: int) -> None:
        if needed <= len(self.rows):
            return
        grown = np.zeros((max(needed, 2 * len(self.rows), 16), self.rows.shape[1]), dtype=np.float32)
        grown[: len(self.filled)] = self.filled
        self.rows = grown
