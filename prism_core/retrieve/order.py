"""The last step of ranking: weighed candidates put in order, with what their fronts decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from prism_core.changes import FloatArray, IntArray
from prism_core.retrieve.options import RankingOptions
from prism_core.retrieve.pareto import best_first, dominance_fronts, front_first_order, soft_front_scores


@dataclass(frozen=True, slots=True)
class Ordered:
    """n candidates in order.

    Attributes:
        places: best first, shape (n,); ties in the order of the candidates.
        values: what each is ordered by, shape (n,): its score, in the soft order less its front's penalty.
        fronts: 0-based front of each, shape (n,).
    """

    places: IntArray
    values: FloatArray
    fronts: IntArray


def order_by(
    objectives: Mapping[str, FloatArray], score: FloatArray, weight: float, options: RankingOptions
) -> Ordered:
    """Put candidates in order.

    Args:
        objectives: by name, at least one; values in [0, 1], shape (n,).
        score: weighted sum, shape (n,).
        weight: sum of the magnitudes of the weights that tell candidates apart: what the penalty is a share of.
        options: the order, the penalty of late fronts, and the grain objectives are compared in.
    """
    matrix = np.stack(list(objectives.values()), axis=1)
    # A difference too small to matter must not save a candidate from domination.
    fronts = dominance_fronts(np.floor(matrix / options.grain + 0.5))
    order = options.order or ("front_first" if options.objectives else "soft")
    if order == "front_first":
        return Ordered(front_first_order(score, fronts, matrix), score, fronts)
    penalty = options.front_penalty if order == "soft" else 0.0
    values = soft_front_scores(score, fronts, weight, penalty).astype(np.float32)
    return Ordered(best_first(values), values, fronts)
