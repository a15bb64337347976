from __future__ import annotations

import numpy as np
import pytest

from prism_core import normalised
from prism_core.errors import EmbeddingError


def test_lists_become_rows_of_unit_length() -> None:
    rows = normalised([[3, 4], [0, 0], [1e30, 0.0], [3e300, 4e300]], embedder="e")
    assert rows.dtype == np.float32
    assert rows == pytest.approx(np.array([[0.6, 0.8], [0, 0], [1, 0], [0.6, 0.8]]))


def test_rows_of_unit_length_stay_as_they_are() -> None:
    row = np.array([[0.6, 0.8]], dtype=np.float32)
    assert (normalised(row, embedder="e", count=1, dimension=2) == row).all()


@pytest.mark.parametrize("dimension", [None, 3])
def test_nothing_is_no_rows_of_the_dimension_asked_for(dimension: int | None) -> None:
    assert normalised([], embedder="e", count=0, dimension=dimension).shape == (0, dimension or 0)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([[1.0], [1.0, 2.0]], "no rows of numbers"),
        ([["a"]], "no rows of numbers"),
        (None, "no rows of numbers|shape"),
        ([1.0, 2.0], "shape"),
        ([[1.0, 2.0, 3.0]], "shape"),
        ([[1.0, 2.0], [1.0, 2.0]], "shape"),
        ([], "shape"),
        ([[float("nan"), 1.0]], "NaN"),
    ],
)
def test_what_is_no_rows_of_the_shape_is_a_failure_of_the_embedder(rows: object, told: str) -> None:
    with pytest.raises(EmbeddingError, match=told) as caught:
        normalised(rows, embedder="remote", count=1, dimension=2)
    assert caught.value.embedder == "remote"
