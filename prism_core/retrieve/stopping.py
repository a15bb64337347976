"""How likely each candidate is evidence, judged by the shape of the scores alone.

A logistic model over statistics of the ranked scores. Since it never sees a raw similarity, it does not change with
the embedder. Fitted on LoCoMo with and without an embedder and on MADial in English and Chinese, together and to round
figures: a compromise that understates high chances on LoCoMo's factual questions and overstates them on MADial's
associative ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prism_core.changes import FloatArray

INTERCEPT = -9.3
SHARE_OF_BEST = 6.35
DEVIATION = 0.35
GAP_TO_BEST = -0.1
LOG_RANK = -0.15
GAP_TO_TENTH = -0.1
BEST_DEVIATION = 0.25
LEAST_BEST = 1.0
"""A best score below this does not make small distances large."""
USUAL_POOL = 250
"""Pool size of the fit; in a smaller pool each candidate is evidence more often."""


def evidence_chances(scores: FloatArray) -> FloatArray:
    """Estimated chance that each candidate is evidence.

    Args:
        scores: shape (n,), best first.

    Returns:
        Shape (n,), in [0, 1], not rising.
    """
    n = len(scores)
    if not n:
        return np.zeros(0, dtype=np.float32)
    values = scores.astype(np.float64)
    spread = max(float(values.std()), 1e-9)
    deviation = (values - values.mean()) / spread
    logit = (
        INTERCEPT
        + SHARE_OF_BEST * _share_of_best(values)
        + DEVIATION * deviation
        + GAP_TO_BEST * (values[0] - values) / spread
        + LOG_RANK * np.log(np.arange(1, n + 1))
        + GAP_TO_TENTH * (values - values[min(9, n - 1)]) / spread
        + BEST_DEVIATION * deviation[0]
        - np.log(n / USUAL_POOL)
    )
    # The further down, the less likely, whatever the last digits of the statistics say.
    return np.minimum.accumulate(1 / (1 + np.exp(-np.clip(logit, -50, 50)))).astype(np.float32)


def supply_chances(scores: FloatArray) -> FloatArray:
    """The share of the best score, as a stand-in where an action is provisioned and no chances were fitted."""
    return np.clip(_share_of_best(scores.astype(np.float64)), 0.0, 1.0).astype(np.float32)


def _share_of_best(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 for the best, less for others by how far they are behind it; a share where scores are of the usual size.

    What a long unit costs may be more than its worth, so that the best score may be small or below 0.
    """
    if not len(values):
        return values
    return np.asarray(1.0 - (values[0] - values) / max(float(values[0]), LEAST_BEST), dtype=np.float64)
