"""What every vector index checks, and how the best of many scores are picked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from prism_core.changes import FloatArray, IntArray
from prism_core.errors import InvalidEventError, QueryError


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
