"""The memory with its order replaced: what the weights, the fronts and the other usual orders are each worth.

Every order here works on the pool the memory itself collected, with the signals it computed, so that only the order
differs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from prism_core.changes import IntArray
from prism_core.evaluation.systems import Pool, Ranking
from prism_core.evaluation.workbench import Show
from prism_core.retrieve.pareto import best_first, crowding_distance, dominance_fronts
from prism_core.retrieve.signals import recency
from prism_core.retrieve.weights import CONVERSATION, MID_TASK

RRF_K = 60
MMR_LAMBDA = 0.7
"""Share of relevance against novelty."""

Scores = NDArray[np.float64]
Reorder = Callable[[Ranking, Pool], IntArray]
"""From an answer and its pool of p candidates, at least one, to places, best first, each once; shape (p,)."""


def reordered(reorder: Reorder) -> Show:
    """Shows the memory's pool in another order."""

    def show(ranking: Ranking) -> Ranking:
        if ranking.pool is None or not ranking.units:
            return ranking
        order = reorder(ranking, ranking.pool).tolist()
        candidates = [ranking.pool.candidates[place] for place in order]
        return replace(
            ranking,
            units=[ranking.units[place] for place in order],
            pool=replace(ranking.pool, candidates=candidates),
        )

    return show


def reciprocal_rank_fusion(ranking: Ranking, pool: Pool) -> IntArray:
    """Reciprocal ranks of the lexical and the dense signal, k = 60 (Cormack, Clarke and Buettcher 2009)."""
    return best_first(_reciprocal(pool.signal("lexical")) + _reciprocal(pool.signal("dense")))


def maximal_marginal_relevance(ranking: Ranking, pool: Pool) -> IntArray:
    """One after the other, what is relevant and unlike what was taken before (Carbonell and Goldstein 1998).

    Relevance is the memory's own score, scaled to [0, 1] over the pool. Without vectors the order stays as it is.
    """
    if pool.embedder is None:
        return np.arange(len(pool.candidates))
    vectors = pool.embedder.embed_documents([unit.text for unit in ranking.units])
    value = MMR_LAMBDA * _spread(np.array(pool.scores))
    alike = (1 - MMR_LAMBDA) * (vectors @ vectors.T)
    order = [int(np.argmax(value))]
    redundancy = alike[order[0]]
    while len(order) < len(value):
        value[order[-1]] = -np.inf
        order.append(int(np.argmax(value - redundancy)))
        redundancy = np.maximum(redundancy, alike[order[-1]])
    return np.array(order, dtype=np.intp)


def literal(ranking: Ranking, pool: Pool) -> IntArray:
    """Fronts of relevance, recency and coherence, each as good as the others; within a front by their sum."""
    objectives, fronts = _literal_fronts(ranking, pool)
    return _descending(objectives.sum(axis=1), -fronts)


def literal_crowding(ranking: Ranking, pool: Pool) -> IntArray:
    """The same fronts, and within a front by crowding distance: NSGA-II to the letter."""
    objectives, fronts = _literal_fronts(ranking, pool)
    room = np.zeros(len(fronts))
    for number in np.unique(fronts):
        members = np.flatnonzero(fronts == number)
        room[members] = crowding_distance(objectives[members])
    return _descending(room, -fronts)


def literal_first_front(ranking: Ranking, pool: Pool) -> IntArray:
    """The first of these fronts before everything else; both parts by the sum."""
    objectives, fronts = _literal_fronts(ranking, pool)
    return _descending(objectives.sum(axis=1), (fronts == 0).astype(np.float64))


REORDERS: dict[str, Reorder] = {
    "prism-rrf": reciprocal_rank_fusion,
    "prism-mmr": maximal_marginal_relevance,
    "literal": literal,
    "literal-crowding": literal_crowding,
    "literal-first-front": literal_first_front,
}
"""Other orders of the memory's pool, by the name of the system that has them."""
NOTES = {
    "prism-rrf": "prism-rrf fuses the ranks of the memory's lexical and dense signals over its pool",
    "prism-mmr": f"prism-mmr takes the memory's order for relevance, lambda {MMR_LAMBDA}",
    "literal": "literal: fronts of relevance, recency and coherence over the memory's pool, then their sum",
}


def _literal_fronts(ranking: Ranking, pool: Pool) -> tuple[Scores, Scores]:
    """Objectives, shape (p, 3), and the front of every candidate, shape (p,)."""
    newness = recency(np.array([unit.event_time.timestamp() for unit in ranking.units])).astype(np.float64)
    # Where nothing is being worked on, nothing is coherent with it.
    objectives = np.stack([_spread(_relevance(pool)), newness, _spread(pool.signal("coherence"))], axis=1)
    return objectives, dominance_fronts(objectives).astype(np.float64)


def _relevance(pool: Pool) -> Scores:
    """What the memory's own tables make of words and meaning, whatever the objectives they are grouped into."""
    table = MID_TASK if "relevance" in pool.candidates[0].objectives else CONVERSATION
    weights = [pair for group in ("relevance", "lexical", "dense") for pair in table.get(group, {}).items()]
    return np.asarray(sum(weight * pool.signal(name) for name, weight in weights), dtype=np.float64)


def _descending(*keys: Scores) -> IntArray:
    """Places by descending keys, the last key first; ties in the memory's order."""
    return np.lexsort([-key for key in keys])


def _reciprocal(values: NDArray[np.floating]) -> Scores:
    ranks = np.empty(len(values))
    ranks[best_first(values)] = np.arange(1, len(values) + 1)
    return np.where(values > 0, 1 / (RRF_K + ranks), 0.0)


def _spread(values: NDArray[np.floating]) -> Scores:
    """From the range the values have to [0, 1]; all 0 where they are all the same."""
    width = values.max() - values.min()
    return np.asarray((values - values.min()) / width if width > 0 else np.zeros(len(values)), dtype=np.float64)
