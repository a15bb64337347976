from __future__ import annotations

import numpy as np
import pytest

from prism_core.errors import InvalidEventError
from prism_core.testing import ExactIndex, VectorIndexContract, unit_vectors
from prism_core.testing.scripted import ALICE


class TestExactIndex(VectorIndexContract):
    @pytest.fixture
    def index(self) -> ExactIndex:
        return ExactIndex()


def test_what_was_put_in_is_copied() -> None:
    index = ExactIndex()
    vectors = unit_vectors(1)
    index.upsert(ALICE, ["a"], vectors)
    query = vectors[0].copy()
    vectors[:] = 0
    assert index.search(ALICE, query, 1)[0][1] == pytest.approx(1.0)


def test_equal_scores_come_in_the_order_they_came_in() -> None:
    index, ids = ExactIndex(), [f"u{number}" for number in range(40)]
    axis = np.eye(2, dtype=np.float32)
    index.upsert(ALICE, ids, axis[[number % 2 for number in range(40)]])
    assert [unit_id for unit_id, _ in index.search(ALICE, axis[0], 23)] == [*ids[::2], *ids[1::2]][:23]


def test_rows_must_match_their_ids() -> None:
    index = ExactIndex()
    for vectors in (unit_vectors(2), unit_vectors(1)[0]):
        with pytest.raises(InvalidEventError):
            index.upsert(ALICE, ["a"], vectors)
    assert index.count(ALICE) == 0


def test_two_indexes_have_different_ids() -> None:
    assert ExactIndex().id != ExactIndex().id
