from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_core.errors import InvalidEventError
from prism_core.storage.vectors import ExactIndex
from prism_core.testing import VectorIndexContract, unit_vectors
from prism_core.testing.scripted import ALICE, BOB


class TestExactIndex(VectorIndexContract):
    @pytest.fixture
    def index(self) -> ExactIndex:
        return ExactIndex()


@pytest.fixture
def index() -> ExactIndex:
    return ExactIndex()


def names(rows: Sequence[int]) -> list[str]:
    return [f"u{row}" for row in rows]


def test_equal_scores_come_in_the_order_of_their_rows(index: ExactIndex) -> None:
    axis = np.eye(2, dtype=np.float32)
    index.upsert(ALICE, names(range(40)), axis[[number % 2 for number in range(40)]])
    for k in (1, 5, 20, 23, 40):
        expected = [*range(0, 40, 2), *range(1, 40, 2)][:k]
        assert [unit_id for unit_id, _ in index.search(ALICE, axis[0], k)] == names(expected)


@given(seed=st.integers(0, 1000), count=st.integers(1, 70), k=st.integers(1, 80))
def test_search_agrees_with_sorting_everything(seed: int, count: int, k: int) -> None:
    index = ExactIndex()
    vectors = np.round(unit_vectors(count, 3, seed=seed), 1)
    index.upsert(ALICE, names(range(count)), vectors)
    query = unit_vectors(1, 3, seed=seed + 1)[0]
    scores = index.scores(ALICE, query)
    expected = sorted(range(count), key=lambda row: (-scores[row], row))[:k]
    assert index.search(ALICE, query, k) == [(f"u{row}", float(scores[row])) for row in expected]


def test_rows_only_grow_and_keep_their_place(index: ExactIndex) -> None:
    vectors = unit_vectors(100)
    for start in range(0, 100, 7):
        index.upsert(ALICE, names(range(start, min(start + 7, 100))), vectors[start : start + 7])
    index.upsert(ALICE, ["u3"], vectors[:1])
    assert list(index.row_ids(ALICE)) == names(range(100))
    expected = vectors @ vectors[0]
    expected[3] = 1.0
    assert index.scores(ALICE, vectors[0]) == pytest.approx(expected, abs=1e-6)


def test_vectors_can_be_read_back(index: ExactIndex) -> None:
    vectors = unit_vectors(3)
    index.upsert(ALICE, ["a", "b", "c"], vectors)
    found = index.vectors_of(ALICE, ["c", "unknown", "a"])
    assert list(found) == ["c", "a"]
    assert np.array_equal(found["c"], vectors[2])
    found["c"][:] = 0
    assert np.array_equal(index.vectors_of(ALICE, ["c"])["c"], vectors[2])
    assert index.vectors_of(BOB, ["a"]) == {}


def test_an_unwritten_scope_has_no_scores(index: ExactIndex) -> None:
    assert index.scores(ALICE, unit_vectors(1)[0]).shape == (0,)
    assert list(index.row_ids(ALICE)) == []


def test_what_was_put_in_is_copied(index: ExactIndex) -> None:
    vectors = unit_vectors(1)
    index.upsert(ALICE, ["a"], vectors)
    query = vectors[0].copy()
    vectors[:] = 0
    assert index.search(ALICE, query, 1)[0][1] == pytest.approx(1.0)


def test_memory_is_accounted_for_and_given_back(index: ExactIndex) -> None:
    assert index.nbytes == 0
    index.upsert(ALICE, names(range(1000)), unit_vectors(1000))
    assert 1000 * 8 * 4 <= index.nbytes <= 2 * 1000 * 8 * 4
    index.drop(ALICE)
    assert index.nbytes == 0


def test_rows_must_match_their_ids(index: ExactIndex) -> None:
    for vectors in (unit_vectors(2), unit_vectors(1)[0]):
        with pytest.raises(InvalidEventError):
            index.upsert(ALICE, ["a"], vectors)
    assert index.count(ALICE) == 0


def test_two_indexes_have_different_ids(index: ExactIndex) -> None:
    assert index.id != ExactIndex().id
