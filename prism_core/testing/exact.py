"""The plainest vector index there is: every vector compared with every query."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from uuid import uuid4

import numpy as np

from prism_core.changes import FloatArray
from prism_core.errors import ClosedError, DimensionMismatchError
from prism_core.storage.vectors import best_rows, check_k, checked_query, checked_rows
from prism_core.types import Scope


class ExactIndex:
    """A `VectorIndex` in memory that misses nothing: what an index of your own can be compared with."""

    def __init__(self) -> None:
        self._scopes: dict[Scope, dict[str, FloatArray]] = {}
        self._lock = Lock()
        self._id = f"exact-{uuid4().hex}"
        self._closed = False

    @property
    def id(self) -> str:
        """Names this filling of the index; it lives as long as the process."""
        return self._id

    def upsert(self, scope: Scope, ids: Sequence[str], vectors: FloatArray) -> None:
        """Insert or replace vectors; the last of a repeated id counts.

        Raises:
            DimensionMismatchError: if their dimension differs from what the scope holds.
            InvalidEventError: if they are not one row of finite numbers per id; nothing was changed.
        """
        self._check_open("upsert")
        rows = checked_rows(ids, vectors).copy()
        with self._lock:
            held = self._scopes.setdefault(scope, {}) if len(rows) else {}
            _check_dimension(held, rows.shape[1])
            held.update(zip(ids, rows, strict=True))

    def search(self, scope: Scope, vector: FloatArray, k: int) -> list[tuple[str, float]]:
        """The nearest vectors of a scope with their cosine, best first, equal ones in the order they came in.

        Raises:
            DimensionMismatchError: if the dimension differs from what the scope holds.
            QueryError: if the vector is not one row of finite numbers, or `k` is not positive.
        """
        self._check_open("search")
        check_k(k)
        query = checked_query(vector)
        with self._lock:
            held = dict(self._scopes.get(scope, {}))
        _check_dimension(held, len(query))
        if not held:
            return []
        ids, scores = list(held), np.clip(np.stack(list(held.values())) @ query, -1.0, 1.0)
        return [(ids[place], float(scores[place])) for place in best_rows(scores, k).tolist()]

    def count(self, scope: Scope) -> int:
        """How many vectors the scope holds."""
        return len(self._scopes.get(scope, ()))

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


def _check_dimension(held: dict[str, FloatArray], dimension: int) -> None:
    for vector in held.values():
        if len(vector) != dimension:
            raise DimensionMismatchError(len(vector), dimension)
        return
