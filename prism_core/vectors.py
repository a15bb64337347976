"""Rows of numbers as anybody hands them in, turned into the vectors that are stored and compared.

For adapters of other libraries' embedders: lists of floats in, rows of unit length out, without importing NumPy.
"""

from __future__ import annotations

import numpy as np

from prism_core.changes import FloatArray
from prism_core.errors import EmbeddingError

_ROUNDING = 1e-3
"""How far from 1 a length may be and still be taken for 1, so that normalised rows stay as they are, bit for bit."""

_LARGE = 1e100
"""Numbers beyond this are made smaller first, as their squares overflow."""


def normalised(rows: object, *, embedder: str, count: int | None = None, dimension: int | None = None) -> FloatArray:
    """Rows of unit length.

    Args:
        rows: a sequence of sequences of numbers, or an array.
        embedder: whose answer it is; named in the error.
        count: how many rows there must be; any number when None.
        dimension: how long a row must be; any length when None.

    Returns:
        Shape (n, dimension), float32, rows L2-normalised; a row of zeros stays one. Without rows, (0, dimension).

    Raises:
        EmbeddingError: if it is something else, of another shape, or holds NaN or infinity.
    """
    try:
        array = np.asarray(rows, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise EmbeddingError(embedder, f"it answered no rows of numbers: {error}") from error
    if array.shape == (0,) and not count:
        return np.zeros((0, dimension or 0), dtype=np.float32)
    wanted = tuple(of if given is None else given for of, given in zip(array.shape, (count, dimension), strict=False))
    if array.ndim != 2 or array.shape != wanted:
        raise EmbeddingError(embedder, f"it answered shape {array.shape}, not {(count or 'n', dimension or 'd')}")
    if not np.isfinite(array).all():
        raise EmbeddingError(embedder, "it answered NaN or infinity")
    peaks = np.abs(array).max(axis=1, initial=0.0, keepdims=True)
    array = np.where(peaks > _LARGE, array / np.maximum(peaks, 1.0), array)
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    return np.where(np.abs(lengths - 1) > _ROUNDING, array / np.maximum(lengths, 1e-12), array).astype(np.float32)
