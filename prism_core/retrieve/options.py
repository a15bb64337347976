"""The knobs of ranking, and the protocol for objectives of a user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from prism_core.changes import FloatArray
from prism_core.errors import QueryError
from prism_core.retrieve.recall import Recall
from prism_core.retrieve.weights import CONVERSATION, MID_TASK, TOLD_INTENTS, Weights
from prism_core.types import IntentQuery, MemoryUnit

Order = Literal["soft", "front_first", "sum"]
"""How fronts decide: a bounded penalty on the weighted sum, strictly first, or not at all."""


SMALLEST_GRAIN = 1e-6
MOST_WEIGHT = 1e6


class Objective(Protocol):
    """Something else a memory should be good at, such as trust, or cost in dollars."""

    @property
    def name(self) -> str:
        """Shown in explanations."""
        ...

    def values(self, query: IntentQuery, units: Sequence[MemoryUnit]) -> Sequence[float]:
        """How good each unit is, in [0, 1], higher is better; one value per unit, in order."""
        ...


NOTHING = 0.2
"""Every 200th of LoCoMo's answerable questions (five conversations) stays below, and 9 in 10 off-domain messages."""
FAINT = 0.08
"""One piece of evidence in 20 stays below: higher, turns beside an answer are lost; lower, small scopes come whole."""
MEDIUM = 0.24
"""One off-domain message in 15 passes, and half of the near misses."""
HIGH = 0.34
"""One near miss in 10 passes, and four in five answerable questions."""


@dataclass(frozen=True, slots=True)
class Floor:
    """What answerability means.

    Attributes:
        nothing: where no candidate reaches it, nothing is worth its tokens under a budget; in [0, 1]. Lower by
            `smallness` in a scope of fewer than 100 units.
        faint: where one does, what a candidate needs to be worth its tokens; in [0, 1].
        medium: from here on the confidence in a candidate is medium, below it is low.
        high: from here on it is high.
    """

    nothing: float = NOTHING
    faint: float = FAINT
    medium: float = MEDIUM
    high: float = HIGH

    def __post_init__(self) -> None:
        for limit in fields(self):
            _check(f"floor.{limit.name}", getattr(self, limit.name), 0.0, 1.0)

    def above(self, answerability: FloatArray, lowered: float = 0.0) -> NDArray[np.bool_]:
        """Which candidates of a pool can be worth their tokens; of their shape.

        Args:
            answerability: of the candidates, shape (p,).
            lowered: how much less than `nothing` the best of them needs.
        """
        found = float(answerability.max(initial=0.0)) >= self.nothing - lowered
        return np.asarray(found & (answerability >= self.faint))


@dataclass(frozen=True, slots=True)
class RankingOptions:
    """How candidates are found, weighed and ordered.

    Attributes:
        order: how non-dominated fronts decide; None is "soft", and "front_first" with objectives of your own, whose
            weight nobody has measured.
        front_penalty: share of the weight sum that the last fronts lose in the soft order, in [0, 1].
        grain: objectives are compared in steps of this size, > 0 (epsilon-dominance: M. Laumanns et al., "Combining
            convergence and diversity in evolutionary multiobjective optimization", 2002).
        stop: estimated chance of being evidence below which a candidate is not worth its tokens under a budget, in
            [0, 1]; 0 fills the budget.
        floor: what is worth nothing under a budget, and what a candidate's confidence is.
        limits: how many candidates each channel may propose.
        conversation: weights of a question without an agent at work.
        mid_task: weights while an agent is about to take an action.
        told_intents: weight of the intents where the caller, a language model or the task's goals tell them.
        objectives: objectives of your own, added to those of the weights.

    Raises:
        QueryError: if a value is out of its range.
    """

    order: Order | None = None
    front_penalty: float = 0.05
    grain: float = 0.05
    stop: float = 0.02
    floor: Floor = field(default_factory=Floor)
    limits: Recall = field(default_factory=Recall)
    conversation: Weights = field(default_factory=lambda: CONVERSATION)
    mid_task: Weights = field(default_factory=lambda: MID_TASK)
    told_intents: float = TOLD_INTENTS
    objectives: tuple[Objective, ...] = ()

    def __post_init__(self) -> None:
        if self.order not in (None, *get_args(Order)):
            raise QueryError("order", self.order, f"choose one of {', '.join(get_args(Order))}, or None")
        _check("front_penalty", self.front_penalty, 0.0, 1.0)
        _check("told_intents", self.told_intents, 0.0, MOST_WEIGHT)
        _check("stop", self.stop, 0.0, 1.0)
        _check("grain", self.grain, SMALLEST_GRAIN, 1.0)
        for table in (self.conversation, self.mid_task):
            _check_weights(table)
        given: object = self.objectives
        if not isinstance(given, Sequence) or isinstance(given, str):
            raise QueryError("objectives", self.objectives, "pass a tuple of objectives")
        names = [getattr(objective, "name", None) for objective in self.objectives]
        for name in names:
            if not isinstance(name, str) or names.count(name) > 1 or name in {*self.conversation, *self.mid_task}:
                raise QueryError("objectives", name, "give every objective a name of its own")


def _check(name: str, value: object, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise QueryError(name, value, f"pass a number from {low:g} to {high:g}")


def _check_weights(table: object) -> None:
    if not isinstance(table, Mapping) or not table:
        raise QueryError("weights", table, "pass the weights of signals by objective, at least one objective")
    for objective, weights in table.items():
        if not isinstance(weights, Mapping):
            raise QueryError(f"weights of {objective}", weights, "pass weights by signal")
        for signal, weight in weights.items():
            _check(f"weight of {signal}", weight, -MOST_WEIGHT, MOST_WEIGHT)
