"""Non-dominated fronts, crowding distance, and the two orders built on them.

Pure functions from arrays to arrays. All objectives are maximised; shapes are `n` candidates times `m` objectives.
Fronts and crowding distance are those of NSGA-II: K. Deb, A. Pratap, S. Agarwal, T. Meyarivan, "A fast and elitist
multiobjective genetic algorithm: NSGA-II", IEEE Transactions on Evolutionary Computation 6(2), 2002.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prism_core.changes import IntArray
from prism_core.errors import QueryError

Float64Array = NDArray[np.float64]


def dominance_fronts(objectives: ArrayLike) -> IntArray:
    """The front every candidate belongs to.

    A row dominates another if it is at least as good in every objective and better in one. Front 0 holds the rows
    that nothing dominates, front 1 those that only front 0 dominates, and so on; equal rows share a front.

    The domination matrix takes n² m comparisons and n² bytes, which suits the few hundred candidates of a recall.

    Args:
        objectives: shape (n, m), m >= 1, in [0, 1], higher is better. Infinities are ordinary values.

    Returns:
        Shape (n,), the 0-based front of each row.

    Raises:
        QueryError: if the shape is another one, or a value is not a number.
    """
    matrix = _matrix(objectives)
    rows, front_of_row = np.unique(matrix, axis=0, return_inverse=True)
    if rows.shape[1] == 1:
        return (len(rows) - 1 - front_of_row).reshape(-1).astype(np.intp)
    return _peel(_dominates(rows))[front_of_row.reshape(-1)]


def crowding_distance(objectives: ArrayLike) -> Float64Array:
    """How much room each candidate of one front has around it; the larger, the less alike the others.

    Per objective, the gap between a row's two neighbours in sorted order, over the front's range in that objective;
    summed over the objectives. The first and the last row of an objective have infinite room. An objective that is
    the same for all rows says nothing and is left out.

    Args:
        objectives: shape (n, m), m >= 1: the rows of a single front.

    Returns:
        Shape (n,), in [0, inf].

    Raises:
        QueryError: if the shape is another one, or a value is not a number.
    """
    matrix = _matrix(objectives)
    distance = np.zeros(len(matrix))
    for column in matrix.T:
        order = np.argsort(column, kind="stable")
        values = column[order]
        if len(values) and values[-1] > values[0]:
            distance[order[1:-1]] += (values[2:] - values[:-2]) / (values[-1] - values[0])
            distance[order[[0, -1]]] = np.inf
    return distance


def soft_front_scores(
    scores: ArrayLike, fronts: ArrayLike, weight_sum: float, penalty: float = 0.1, cap: int = 6
) -> Float64Array:
    """Scores less a bounded penalty for a late front: `penalty * weight_sum * min(front, cap) / cap`.

    Args:
        scores: shape (n,), the weighted sum of the objectives, higher is better.
        fronts: shape (n,), 0-based.
        weight_sum: sum of the objectives' weights: the largest score possible.
        penalty: share of `weight_sum` that the last fronts lose; 0 is the plain weighted sum, 1 nearly front first.
        cap: the front from which on the penalty no longer grows.

    Returns:
        Shape (n,), higher is better.

    Raises:
        QueryError: if the lengths differ, or a value is not a number.
    """
    score, front = _columns(scores, fronts)
    return score - penalty * weight_sum * np.minimum(front, cap) / cap


def best_first(scores: ArrayLike) -> IntArray:
    """Row indices by descending score, shape (n,); ties in the order of the rows."""
    return _best_first(np.asarray(scores, dtype=np.float64))


def front_first_order(scores: ArrayLike, fronts: ArrayLike, objectives: ArrayLike) -> IntArray:
    """Candidates strictly by front, within a front by score, and at equal score by crowding distance.

    Args:
        scores: shape (n,), higher is better.
        fronts: shape (n,), 0-based.
        objectives: shape (n, m), what the fronts were made of.

    Returns:
        Shape (n,), row indices, best first; remaining ties in the order of the rows.

    Raises:
        QueryError: if the shapes do not agree, or a value is not a number.
    """
    score, front = _columns(scores, fronts)
    matrix = _matrix(objectives)
    if len(matrix) != len(score):
        raise QueryError("objectives", matrix.shape, f"pass one row for each of the {len(score)} scores")
    room = np.zeros(len(score))
    for number in np.unique(front):
        members = np.flatnonzero(front == number)
        room[members] = crowding_distance(matrix[members])
    return _best_first(room, score, -front)


def _best_first(*keys: Float64Array) -> IntArray:
    """Row indices by descending keys, the last key first; lexsort is stable, so ties stay in the order of the rows."""
    return np.lexsort([-key for key in keys])


def _dominates(rows: Float64Array) -> NDArray[np.bool_]:
    """Entry [i, j] tells whether row i dominates row j; rows are distinct, so "nowhere worse" implies "better"."""
    nowhere_worse = np.ones((len(rows), len(rows)), dtype=np.bool_)
    for column in rows.T:
        nowhere_worse &= column[:, None] >= column[None, :]
    np.fill_diagonal(nowhere_worse, False)
    return nowhere_worse


def _peel(dominates: NDArray[np.bool_]) -> IntArray:
    """Take off the rows that nothing left dominates, front after front."""
    fronts = np.empty(len(dominates), dtype=np.intp)
    dominators = dominates.sum(axis=0)
    current = np.flatnonzero(dominators == 0)
    number = 0
    while len(current):
        fronts[current] = number
        dominators[current] = -1
        dominators -= dominates[current].sum(axis=0)
        current = np.flatnonzero(dominators == 0)
        number += 1
    return fronts


def _matrix(objectives: ArrayLike) -> Float64Array:
    matrix = np.asarray(objectives, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise QueryError("objectives", matrix.shape, "pass an array of shape (n, m) with at least one objective")
    _reject_nan("objectives", matrix)
    return matrix


def _columns(scores: ArrayLike, fronts: ArrayLike) -> tuple[Float64Array, Float64Array]:
    score, front = np.asarray(scores, dtype=np.float64), np.asarray(fronts, dtype=np.float64)
    if score.ndim != 1 or score.shape != front.shape:
        raise QueryError("fronts", front.shape, f"pass one front for each score; scores have shape {score.shape}")
    _reject_nan("scores", score)
    _reject_nan("fronts", front)
    return score, front


def _reject_nan(field: str, values: Float64Array) -> None:
    rows = np.argwhere(np.isnan(values))
    if len(rows):
        remedy = "not a number; give what is unknown or unreachable a number, such as 0"
        raise QueryError(f"{field}[{rows[0, 0]}]", float("nan"), remedy)
