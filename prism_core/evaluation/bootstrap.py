"""How far figures may be trusted: paired bootstrap over conversations or tasks.

Questions of one conversation are alike, so that groups are drawn, not questions: B. Efron, R. Tibshirani, "An
Introduction to the Bootstrap", 1993, with the percentile interval. All systems see the same draws, which makes the
interval of a difference narrower than the intervals of its two sides.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from prism_core.evaluation.outcomes import ADVERSARIAL, Outcome

RESAMPLES = 2000
SEED = 20260101
LEVEL = 0.95
_TAILS = (100 * (1 - LEVEL) / 2, 100 * (1 + LEVEL) / 2)

Array = NDArray[np.float64]
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Intervals:
    """95 % intervals of the overall figures.

    Attributes:
        groups: how many conversations or tasks were drawn from; questions, where `of_questions`.
        reference: the system the others are compared with.
        systems: lowest and highest value by key, by system.
        differences: figure of the reference less that of the other, its lowest and its highest value; by key, by the
            other system.
        of_questions: whether the questions of a single conversation were drawn; what that says is about it alone.
    """

    groups: int
    reference: str
    systems: Mapping[str, Mapping[str, Interval]] = field(default_factory=dict)
    differences: Mapping[str, Mapping[str, tuple[float, float, float]]] = field(default_factory=dict)
    of_questions: bool = False

    def as_dict(self) -> dict[str, object]:
        """Everything as plain values, with how it was computed."""
        how = {"level": LEVEL, "resamples": RESAMPLES, "seed": SEED, "groups": self.groups}
        how |= {"of_questions": self.of_questions}
        systems = {name: {key: list(found) for key, found in keys.items()} for name, keys in self.systems.items()}
        differences = {
            name: {key: list(found) for key, found in keys.items()} for name, keys in self.differences.items()
        }
        return {**how, "reference": self.reference, "systems": systems, "differences": differences}


def resamples(groups: int) -> Array:
    """How often each group is drawn in each resample; shape (`RESAMPLES`, groups), the same in every run."""
    chances = np.full(groups, 1 / groups)
    return np.random.default_rng(SEED).multinomial(groups, chances, size=RESAMPLES).astype(np.float64)


def interval(figures: Array) -> Interval:
    """The middle 95 % of resampled figures, shape (b,); those that are not a number are left out."""
    with warnings.catch_warnings():
        # A figure that no resample has, such as one of a system that returns nothing of the kind.
        warnings.simplefilter("ignore", RuntimeWarning)
        low, high = np.nanpercentile(figures, _TAILS)
    return round(float(low), 4), round(float(high), 4)


def intervals(outcomes: Sequence[Outcome], systems: Sequence[str]) -> Intervals | None:
    """Intervals of every system's overall figures and of the differences to one of them.

    The reference is the system `prism`, or the first one where it is missing. Adversarial questions are left out, as
    they are of the overall figures. Of a single conversation or task its questions are drawn.

    Args:
        outcomes: of all systems.
        systems: names, in the order they are shown in.

    Returns:
        None where there are fewer than two groups, or questions of one group, to draw from.
    """
    counted = [outcome for outcome in outcomes if outcome.category != ADVERSARIAL]
    of_questions = len({outcome.group for outcome in counted}) < 2
    if of_questions:
        counted = [replace(outcome, group=outcome.question) for outcome in counted]
    groups = {name: number for number, name in enumerate(dict.fromkeys(outcome.group for outcome in counted))}
    if len(groups) < 2:
        return None
    draws = resamples(len(groups))
    resampled = {name: _means([o for o in counted if o.system == name], groups, draws) for name in systems}
    reference = "prism" if "prism" in systems else systems[0]
    return Intervals(
        len(groups),
        reference,
        {name: {key: interval(drawn) for key, (_, drawn) in means.items()} for name, means in resampled.items()},
        {name: _differences(resampled[reference], means) for name, means in resampled.items() if name != reference},
        of_questions,
    )


_Means = Mapping[str, tuple[float, Array]]
"""By key: the mean, and the means of all resamples, shape (b,)."""


def _means(outcomes: Sequence[Outcome], groups: Mapping[str, int], draws: Array) -> _Means:
    means: dict[str, tuple[float, Array]] = {}
    for key in dict.fromkeys(key for outcome in outcomes for key in outcome.values):
        having = [outcome for outcome in outcomes if key in outcome.values]
        rows = np.array([groups[outcome.group] for outcome in having])
        sums = np.bincount(rows, [outcome.values[key] for outcome in having], len(groups))
        counts = np.bincount(rows, minlength=len(groups))
        with np.errstate(invalid="ignore"):
            means[key] = float(sums.sum() / counts.sum()), (draws @ sums) / (draws @ counts)
    return means


def _differences(ours: _Means, theirs: _Means) -> dict[str, tuple[float, float, float]]:
    return {
        key: (round(ours[key][0] - theirs[key][0], 4), *interval(ours[key][1] - theirs[key][1]))
        for key in ours
        if key in theirs
    }
