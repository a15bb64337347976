from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_core.changes import FloatArray
from prism_core.errors import DimensionMismatchError, IndexFailedError
from prism_core.results import Position
from prism_core.storage.dense import IndexChoice, VectorProjection
from prism_core.storage.ledger import SqlLedger
from prism_core.testing import ExactIndex, unit_vectors
from prism_core.types import Scope

SCOPE = ("a",)
IDS = [f"u{row}" for row in range(12)]
ROW_OF = {unit_id: row for row, unit_id in enumerate(IDS)}
DIRECTIONS = unit_vectors(40)
QUERY = DIRECTIONS[0]

writes = st.lists(st.tuples(st.integers(0, 11), st.none() | st.integers(0, 2)), min_size=1, max_size=4)


def direction(row: int, version: int) -> FloatArray:
    """Another vector for every row and version: which of two equal ones an index proposes is its own affair."""
    vector: FloatArray = DIRECTIONS[1 + 3 * row + version]
    return vector


class Breaking(ExactIndex):
    """Fails once it is told to."""

    broken = False

    def search(self, scope: Scope, vector: FloatArray, k: int) -> list[tuple[str, float]]:
        if self.broken:
            raise IndexFailedError("search", "no such segment")
        return super().search(scope, vector, k)


@pytest.fixture(scope="module")
def ledger() -> Iterator[SqlLedger]:
    opened = SqlLedger.open("sqlite://")
    yield opened
    opened.close()


def projection(ledger: SqlLedger, index: ExactIndex | None = None, *, batch: int = 3) -> VectorProjection:
    choice = IndexChoice(lambda: index, from_size=1, batch=batch) if index is not None else IndexChoice()
    return VectorProjection(SCOPE, ledger, choice, IDS, ROW_OF)


def exact(held: dict[int, FloatArray], query: FloatArray, k: int) -> list[int]:
    return sorted(held, key=lambda row: (-float(held[row] @ query), row))[:k]


def put(vectors: VectorProjection, written: Sequence[tuple[int, int | None]], seq: int) -> None:
    given = {IDS[row]: None if version is None else direction(row, version) for row, version in written}
    vectors.apply(list(given.items()), Position(seq, 0))


@given(st.lists(writes, max_size=8), st.booleans())
def test_what_is_found_is_what_comparing_every_vector_finds(
    ledger: SqlLedger, steps: list[list[tuple[int, int | None]]], indexed: bool
) -> None:
    vectors, held = projection(ledger, ExactIndex() if indexed else None), dict[int, FloatArray]()
    for seq, written in enumerate(steps, 1):
        put(vectors, written, seq)
        for row, version in dict(written).items():
            held.pop(row, None)
            if version is not None:
                held[row] = direction(row, version)
        assert vectors.nearest(QUERY, 5).tolist() == exact(held, QUERY, 5)
        scores = vectors.similarities(QUERY, np.arange(12))
        expected = [float(held[row] @ QUERY) if row in held else 0.0 for row in range(12)]
        np.testing.assert_allclose(scores, expected, atol=1e-6)
        assert set(vectors.pending) == {IDS[row] for row, version in last(steps[:seq]).items() if version is None}
        assert vectors.indexed + vectors.tailing >= len(held)


def last(steps: list[list[tuple[int, int | None]]]) -> dict[int, int | None]:
    return {row: version for written in steps for row, version in dict(written).items()}


def test_an_index_that_fails_is_given_up_and_misses_nothing(ledger: SqlLedger) -> None:
    index = Breaking()
    vectors = projection(ledger, index)
    put(vectors, [(row, 0) for row in range(12)], 1)
    assert vectors.followed.seq == 1
    assert vectors.tailing == 0
    index.broken = True
    held = {row: direction(row, 0) for row in range(12)}
    assert vectors.nearest(QUERY, 4).tolist() == exact(held, QUERY, 4)
    assert (vectors.indexed, vectors.tailing) == (0, 12)


def test_what_the_index_holds_already_is_filled_in_and_newer_vectors_stay(ledger: SqlLedger) -> None:
    vectors = projection(ledger)
    put(vectors, [(0, 1), (1, None)], 5)
    vectors.fill([(IDS[0], DIRECTIONS[7]), (IDS[1], DIRECTIONS[8]), (IDS[2], DIRECTIONS[9])])
    held = {0: direction(0, 1), 2: DIRECTIONS[9]}
    assert vectors.nearest(QUERY, 9).tolist() == exact(held, QUERY, 9)


def test_vectors_of_another_embedder_replace_all(ledger: SqlLedger) -> None:
    vectors = projection(ledger)
    put(vectors, [(0, 1), (1, 2)], 1)
    vectors.apply([(IDS[3], np.array([0.6, 0.8], dtype=np.float32))], Position(2, 0))
    assert vectors.nearest(np.array([0.0, 1.0], dtype=np.float32), 5).tolist() == [3]
    with pytest.raises(DimensionMismatchError):
        vectors.nearest(QUERY, 5)
    assert vectors.nbytes < 12 * QUERY.nbytes
