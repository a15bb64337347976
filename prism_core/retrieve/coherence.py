"""Signals towards the active set: closeness in the graph, and shared identifiers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from prism_core.changes import FloatArray, IntArray
from prism_core.protocols import ScopeView
from prism_core.retrieve.signals import scaled
from prism_core.types import Relation

LINK_COSTS: Mapping[Relation, float] = {
    Relation.REQUIRES: 0.5,
    Relation.CAUSES: 0.5,
    Relation.SUPERSEDES: 0.5,
    Relation.SUMMARIZES: 0.5,
    Relation.FOLLOWS: 1.0,
    Relation.ELABORATES: 1.0,
    Relation.CONTRADICTS: 1.0,
    Relation.REPEATS: 2.0,
    Relation.RELATED: 2.0,
}
"""Cost of walking a link. Equal words bring nothing closer: "yes, please" is said in every task."""
FAR = 60.0
"""Cost at which coherence has faded to 0."""
MAX_SETTLED = 200
COMMON_SHARE = 0.125
"""Identifiers in more than this share of the chains connect nothing."""


def coherence(view: ScopeView, rows: IntArray, active: IntArray) -> FloatArray:
    """How close candidates are to the active set: mean over it of 1 - ln(1 + cost) / ln(1 + FAR).

    Cost is that of the cheapest typed path; an unreachable unit counts 0, not infinity. The articles' inverse mean
    shortest path is undefined for unreachable units; the logarithm keeps steps of a long chain apart.
    """
    total = np.zeros(len(view.ids), dtype=np.float32)
    for row in active.tolist():
        for reached, cost in view.distances(row, LINK_COSTS, max_rows=MAX_SETTLED).items():
            total[reached] += max(0.0, 1.0 - np.log1p(cost) / np.log1p(FAR))
    return np.asarray(total[rows] / max(len(active), 1), dtype=np.float32)


def shared_identifiers(view: ScopeView, rows: IntArray, active: IntArray) -> FloatArray:
    """Identifiers a candidate shares with the active set, each weighted by its rarity over the chains."""
    total = np.zeros(len(view.ids), dtype=np.float32)
    chains = max(view.chain_count, 1)
    for identifier in {number for row in active.tolist() for number in view.identifiers(row)}:
        spread, holders = view.identifier_spread(identifier)
        if spread <= max(1, COMMON_SHARE * chains):
            total[np.unique(holders)] += np.log1p(chains / spread)
    return scaled(total[rows])
