from __future__ import annotations

import math

import moocore
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from prism_core.errors import QueryError
from prism_core.retrieve.pareto import (
    best_first,
    crowding_distance,
    dominance_fronts,
    front_first_order,
    soft_front_scores,
)

# A coarse grid makes ties and duplicates common; fine values and both zeros are mixed in.
values = st.one_of(st.sampled_from([0.0, -0.0, 0.25, 0.5, 0.75, 1.0]), st.floats(0, 1))
matrices = st.tuples(st.integers(0, 40), st.integers(1, 4)).flatmap(
    lambda shape: st.lists(values, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]).map(
        lambda flat: np.array(flat, dtype=float).reshape(shape)
    )
)


def fronts_by_hand(matrix: NDArray[np.float64]) -> list[int]:
    """The definition, word for word: take off what nothing left dominates, again and again."""
    fronts = [-1] * len(matrix)
    left = set(range(len(matrix)))
    number = 0
    while left:
        front = {row for row in left if not any(dominates(matrix[other], matrix[row]) for other in left)}
        for row in front:
            fronts[row] = number
        left -= front
        number += 1
    return fronts


def dominates(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    return bool(np.all(one >= other) and np.any(one > other))


@settings(max_examples=300, deadline=None)
@given(matrices)
def test_fronts_agree_with_the_definition_and_with_moocore(matrix: NDArray[np.float64]) -> None:
    fronts = dominance_fronts(matrix)
    assert fronts.shape == (len(matrix),)
    assert fronts.tolist() == fronts_by_hand(matrix)
    if len(matrix):
        assert fronts.tolist() == moocore.pareto_rank(matrix, maximise=True).tolist()


@settings(deadline=None)
@given(matrices, st.randoms(use_true_random=False))
def test_fronts_follow_their_rows_and_survive_monotone_rescaling(matrix: NDArray[np.float64], chance: object) -> None:
    order = np.random.default_rng(hash(str(chance)) % 2**32).permutation(len(matrix))
    fronts = dominance_fronts(matrix)
    assert dominance_fronts(matrix[order]).tolist() == fronts[order].tolist()
    halves = np.round(matrix * 64) / 64
    assert dominance_fronts(halves**2 + 3).tolist() == dominance_fronts(halves).tolist()


def test_a_worked_example() -> None:
    rows = [[0.9, 0.1], [0.5, 0.5], [0.1, 0.9], [0.4, 0.4], [0.5, 0.5], [0.4, 0.1], [0.0, 0.0]]
    assert dominance_fronts(rows).tolist() == [0, 0, 0, 1, 0, 2, 3]


def test_equal_rows_share_a_front_and_none_is_lost() -> None:
    assert dominance_fronts([[0.9] * 3, [0.9] * 3, [0.1] * 3]).tolist() == [0, 0, 1]
    assert dominance_fronts([[0.3], [0.7], [0.3], [0.1]]).tolist() == [1, 0, 1, 2]


def test_a_total_order_gives_every_row_its_own_front() -> None:
    rows = np.repeat(np.linspace(0, 1, 60)[:, None], 3, axis=1)
    assert dominance_fronts(rows).tolist() == list(range(59, -1, -1))


def test_no_rows_no_fronts() -> None:
    assert dominance_fronts(np.empty((0, 3))).tolist() == []
    assert crowding_distance(np.empty((0, 3))).tolist() == []
    assert best_first(soft_front_scores([], [], 1.0)).tolist() == []
    assert front_first_order([], [], np.empty((0, 2))).tolist() == []


@pytest.mark.parametrize("sort", [dominance_fronts, crowding_distance])
def test_a_value_that_is_no_number_is_named(sort: object) -> None:
    assert callable(sort)
    with pytest.raises(QueryError, match=r"objectives\[2\]=nan .*such as 0"):
        sort([[0.1, 0.2], [0.3, 0.4], [0.5, math.nan], [math.nan, 0.0]])


def test_orders_name_the_row_that_is_no_number() -> None:
    with pytest.raises(QueryError, match=r"scores\[1\]"):
        best_first(soft_front_scores([0.1, math.nan], [0, 0], 1.0))
    with pytest.raises(QueryError, match=r"fronts\[0\]"):
        front_first_order([0.1], [math.nan], [[0.5]])


@pytest.mark.parametrize("objectives", [[0.1, 0.2], np.empty((3, 0)), 0.5])
def test_objectives_are_a_table(objectives: object) -> None:
    with pytest.raises(QueryError, match="shape"):
        dominance_fronts(objectives)  # type: ignore[arg-type]


def test_lengths_must_agree() -> None:
    with pytest.raises(QueryError, match="fronts"):
        best_first(soft_front_scores([0.1, 0.2], [0], 1.0))
    with pytest.raises(QueryError, match="2 scores"):
        front_first_order([0.1, 0.2], [0, 0], [[0.1]])


def test_crowding_by_hand() -> None:
    rows = [[0.0, 1.0], [0.2, 0.8], [0.3, 0.3], [1.0, 0.0]]
    assert crowding_distance(rows) == pytest.approx([math.inf, 0.3 + 0.7, 0.8 + 0.8, math.inf])


def test_crowding_ignores_an_objective_that_says_nothing() -> None:
    assert crowding_distance([[0.5, 0.1], [0.5, 0.4], [0.5, 0.9]]) == pytest.approx([math.inf, 1.0, math.inf])
    assert crowding_distance([[0.5, 0.5]] * 3).tolist() == [0, 0, 0]
    assert crowding_distance([[0.5, 0.5]]).tolist() == [0]


def test_soft_order_is_the_score_minus_a_bounded_front_term() -> None:
    scores, fronts = [2.0, 2.1, 2.05], [0, 3, 1]
    # weight sum 3, penalty .1: 0.05 per front
    assert best_first(soft_front_scores(scores, fronts, 3.0)).tolist() == [0, 2, 1]
    assert best_first(soft_front_scores(scores, fronts, 3.0, penalty=0)).tolist() == [1, 2, 0]
    assert best_first(soft_front_scores([1.0, 1.2], [6, 60], 1.0)).tolist() == [1, 0]
    assert best_first(soft_front_scores([1.0, 1.2], [1, 2], 1.0, penalty=1.0, cap=2)).tolist() == [0, 1]


def test_front_first_is_strict_then_score_then_room() -> None:
    objectives = [[0.9, 0.1], [0.1, 0.9], [0.3, 0.7], [0.5, 0.5], [0.0, 0.0]]
    fronts = dominance_fronts(objectives)
    assert front_first_order([0.1, 0.2, 0.3, 0.3, 9.0], fronts, objectives).tolist() == [3, 2, 1, 0, 4]
    # equal scores: extremes first (infinite room, in row order), then the roomier of the inner ones
    assert front_first_order([1, 1, 1, 1, 1], fronts, objectives).tolist() == [0, 1, 3, 2, 4]


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 3)), max_size=30))
def test_orders_are_permutations_with_ties_in_row_order(rows: list[tuple[float, int]]) -> None:
    scores, fronts = [row[0] for row in rows], [row[1] for row in rows]
    soft = best_first(soft_front_scores(scores, fronts, 2.0)).tolist()
    assert soft == sorted(range(len(rows)), key=lambda row: -(scores[row] - 0.1 * 2.0 * fronts[row] / 6))
    same = np.full((len(rows), 2), 0.5)
    strict = front_first_order(scores, fronts, same).tolist()
    assert strict == sorted(range(len(rows)), key=lambda row: (fronts[row], -scores[row]))
