"""The contract of a vector index."""

# ruff: noqa: D102  (a test's name says what it tests)
from __future__ import annotations

import numpy as np
import pytest

from prism_core.errors import ClosedError, DimensionMismatchError, InvalidEventError, QueryError
from prism_core.protocols import VectorIndex
from prism_core.testing.scripted import ALICE, BOB, run_threads, unit_vectors
from prism_core.types import Scope


class VectorIndexContract:
    """What every `VectorIndex` keeps. Provide a fixture `index` that answers an empty one."""

    def test_an_unwritten_scope_has_nothing(self, index: VectorIndex) -> None:
        assert index.count(ALICE) == 0
        assert index.search(ALICE, unit_vectors(1)[0], 5) == []
        index.drop(ALICE)

    def test_the_nearest_come_first_with_their_cosine(self, index: VectorIndex) -> None:
        vectors = unit_vectors(50)
        index.upsert(ALICE, [f"u{row}" for row in range(50)], vectors)
        found = index.search(ALICE, vectors[7], 5)
        scores = vectors @ vectors[7]
        assert [unit_id for unit_id, _ in found] == [f"u{row}" for row in np.argsort(-scores)[:5]]
        assert [score for _, score in found] == pytest.approx(sorted(scores, reverse=True)[:5], abs=1e-5)

    def test_cosines_cover_their_whole_range(self, index: VectorIndex) -> None:
        axis = np.eye(4, dtype=np.float32)
        index.upsert(ALICE, ["same", "across", "opposite"], np.stack([axis[0], axis[1], -axis[0]]))
        found = dict(index.search(ALICE, axis[0], 3))
        assert found == pytest.approx({"same": 1.0, "across": 0.0, "opposite": -1.0}, abs=1e-6)
        assert all(-1.0 <= score <= 1.0 for score in found.values())

    def test_more_than_there_is_answers_all(self, index: VectorIndex) -> None:
        index.upsert(ALICE, ["u1", "u2"], unit_vectors(2))
        assert len(index.search(ALICE, unit_vectors(1)[0], 1000)) == 2

    def test_an_upsert_replaces_in_place(self, index: VectorIndex) -> None:
        axis = np.eye(3, dtype=np.float32)
        index.upsert(ALICE, ["u1", "u2"], axis[:2])
        index.upsert(ALICE, ["u2", "u3"], axis[[2, 1]])
        assert index.count(ALICE) == 3
        assert index.search(ALICE, axis[2], 1)[0][0] == "u2"
        assert index.search(ALICE, axis[1], 1)[0][0] == "u3"

    def test_the_last_of_a_repeated_id_counts(self, index: VectorIndex) -> None:
        axis = np.eye(3, dtype=np.float32)
        index.upsert(ALICE, ["u1", "u2", "u1"], axis)
        assert index.count(ALICE) == 2
        assert dict(index.search(ALICE, axis[2], 1)) == pytest.approx({"u1": 1.0}, abs=1e-6)

    def test_an_empty_upsert_is_nothing(self, index: VectorIndex) -> None:
        index.upsert(ALICE, [], np.empty((0, 8), dtype=np.float32))
        assert index.count(ALICE) == 0

    def test_a_zero_vector_is_found_last(self, index: VectorIndex) -> None:
        vectors = np.vstack([np.zeros((1, 8), dtype=np.float32), unit_vectors(1)])
        index.upsert(ALICE, ["nothing", "u1"], vectors)
        found = index.search(ALICE, vectors[1], 2)
        assert [unit_id for unit_id, _ in found] == ["u1", "nothing"]
        assert found[1][1] == pytest.approx(0.0, abs=1e-6)

    def test_other_dimensions_are_refused(self, index: VectorIndex) -> None:
        index.upsert(ALICE, ["u1"], unit_vectors(1, 8))
        with pytest.raises(DimensionMismatchError):
            index.upsert(ALICE, ["u2"], unit_vectors(1, 7))
        with pytest.raises(DimensionMismatchError):
            index.search(ALICE, unit_vectors(1, 9)[0], 1)
        assert index.count(ALICE) == 1

    def test_what_is_no_vector_is_refused(self, index: VectorIndex) -> None:
        good = unit_vectors(2)
        index.upsert(ALICE, ["u1"], good[:1])
        for value in (np.nan, np.inf):
            broken = good.copy()
            broken[1, 3] = value
            with pytest.raises(InvalidEventError):
                index.upsert(ALICE, ["u2", "u3"], broken)
            with pytest.raises(QueryError):
                index.search(ALICE, broken[1], 1)
        assert index.count(ALICE) == 1

    @pytest.mark.parametrize("k", [0, -1])
    def test_k_must_be_positive(self, index: VectorIndex, k: int) -> None:
        with pytest.raises(QueryError):
            index.search(ALICE, unit_vectors(1)[0], k)

    def test_scopes_do_not_meet(self, index: VectorIndex) -> None:
        vectors = unit_vectors(3)
        index.upsert(ALICE, ["u1", "u2"], vectors[:2])
        index.upsert(BOB, ["u1"], vectors[2:])
        index.upsert(("acme/alice",), ["x"], vectors[:1])
        assert [index.count(scope) for scope in (ALICE, BOB)] == [2, 1]
        assert dict(index.search(BOB, vectors[0], 9)) == pytest.approx({"u1": vectors[2] @ vectors[0]}, abs=1e-5)
        index.drop(ALICE)
        assert [index.count(scope) for scope in (ALICE, BOB)] == [0, 1]

    def test_a_dropped_scope_starts_anew(self, index: VectorIndex) -> None:
        index.upsert(ALICE, ["u1"], unit_vectors(1, 8))
        index.drop(ALICE)
        assert index.search(ALICE, unit_vectors(1, 8)[0], 3) == []
        index.upsert(ALICE, ["u2"], unit_vectors(1, 5))
        assert index.count(ALICE) == 1

    def test_ids_and_scopes_may_be_any_text(self, index: VectorIndex) -> None:
        scope: Scope = ("東京", "a@b.example/c d", "é" * 200)
        ids = ["ü/1", " ", "'; DROP TABLE units; --", "x" * 300]
        vectors = unit_vectors(4)
        index.upsert(scope, ids, vectors)
        for unit_id, vector in zip(ids, vectors, strict=True):
            assert index.search(scope, vector, 1)[0][0] == unit_id

    def test_threads_may_search_while_one_writes(self, index: VectorIndex) -> None:
        vectors = unit_vectors(300)
        index.upsert(ALICE, ["u0"], vectors[:1])

        def write() -> None:
            for row in range(1, 300, 23):
                some = vectors[row : row + 23]
                index.upsert(ALICE, [f"u{row + offset}" for offset in range(len(some))], some)

        def read() -> None:
            for _ in range(30):
                assert index.search(ALICE, vectors[0], 3)[0][0] == "u0"

        run_threads(write, read, read)
        assert index.count(ALICE) == 300
        assert index.search(ALICE, vectors[299], 1)[0][0] == "u299"

    def test_closing_twice_is_fine_and_use_after_it_is_not(self, index: VectorIndex) -> None:
        index.close()
        index.close()
        with pytest.raises(ClosedError):
            index.search(ALICE, unit_vectors(1)[0], 1)
        with pytest.raises(ClosedError):
            index.upsert(ALICE, ["u1"], unit_vectors(1))
