"""How suspicious each step before a failure is, from the shape of the run alone.

The weights were fitted by a conditional logit on the odd runs of a file of annotated failures (Who&When: S. Zhang et
al., "Which Agent Causes Task Failures and When?", 2025) and rounded, those of `corrected` and `repeats` set by hand:
its runs have no such links. `prism eval failures` prints what the weights are worth on the other half.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prism_core.encode.outcome import outcome_of
from prism_core.storage.graph import Reached
from prism_core.storage.state import ScopeState
from prism_core.types import Kind, MemoryUnit, Outcome, Relation, Source

WEIGHTS: Mapping[str, float] = {
    "substance": 1.7,
    "takes": 1.2,
    "met by failure": 0.6,
    "failed": 0.4,
    "taken": 0.4,
    "corrected": 0.4,
    "explains": 0.3,
    "told": -0.3,
    "repeats": -1.0,
}
"""What each signal adds to the suspicion of a step; all signals lie in [0, 1].

- `substance`: the logarithm of how much it says, against the step that says most: long steps decide much.
- `takes`: from how many steps it takes values, as n / (n + 2): what combines much can combine it wrongly.
- `met by failure`: whether the step after it failed.
- `failed`: whether it failed, or reports a failure.
- `taken`: how many steps take values from it, as n / (n + 2).
- `corrected`: whether something contradicts it or took its place.
- `explains`: one over the number of links that explain, between it and the failure; 0 where there are none.
- `told`: whether a user said it, who makes no mistakes of the agent.
- `repeats`: whether it does again what was done before: the first time was the mistake.
"""
_POSITIVE = sum(weight for weight in WEIGHTS.values() if weight > 0)
_HALF = 2.0
_EXPLAINS = (Relation.REQUIRES, Relation.CAUSES)
_CORRECTS = frozenset({Relation.CONTRADICTS, Relation.SUPERSEDES})
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Suspect:
    """A step before a failure, and how it was reached.

    Attributes:
        reached: the node, its distance and the link it came through.
        unit: the unit.
    """

    reached: Reached
    unit: MemoryUnit


def suspicions(state: ScopeState, suspects: Sequence[Suspect], root: str) -> list[float]:
    """The suspicion of each of these steps, in [0, 1].

    Args:
        state: the scope.
        suspects: everything the failure rests on, the failure itself included.
        root: id of the failure.
    """
    failed = {suspect.unit.id for suspect in suspects if _failed(suspect.unit)}
    tokens = state.columns.tokens[state.rows([suspect.unit.id for suspect in suspects])]
    most = math.log1p(int(tokens.max()))
    explaining = {node.unit_id: node.depth for node in state.graph.ancestors(root, _EXPLAINS, depth=_DEEPEST)}
    found = []
    for suspect, size in zip(suspects, tokens.tolist(), strict=True):
        signals = _from_links(state, suspect.unit.id, failed) | {
            "substance": math.log1p(size) / most if most else 0.0,
            "failed": float(suspect.unit.id in failed),
            "explains": 1 / explaining[suspect.unit.id] if suspect.unit.id in explaining else 0.0,
            "told": float(suspect.unit.source is Source.USER),
        }
        score = sum(WEIGHTS[name] * value for name, value in signals.items())
        found.append(round(max(0.0, score) / _POSITIVE, 4))
    return found


def _from_links(state: ScopeState, unit_id: str, failed: set[str]) -> dict[str, float]:
    graph = state.graph.graph
    leading = [(source, relation) for source, _, relation in graph.in_edges(unit_id, keys=True)]
    onward = [(target, relation) for _, target, relation in graph.out_edges(unit_id, keys=True)]
    return {
        "takes": _share([source for source, relation in leading if relation == Relation.REQUIRES]),
        "taken": _share([target for target, relation in onward if relation == Relation.REQUIRES]),
        "met by failure": float(any(relation == Relation.FOLLOWS and target in failed for target, relation in onward)),
        "corrected": float(any(relation in _CORRECTS for _, relation in (*leading, *onward))),
        "repeats": float(any(relation == Relation.REPEATS for _, relation in leading)),
    }


def _share(units: Sequence[str]) -> float:
    return len(units) / (len(units) + _HALF)


def _failed(unit: MemoryUnit) -> bool:
    """Whether a step failed; of a message, which has no outcome, whether it reports a failure."""
    if unit.kind is Kind.MESSAGE and unit.source is not Source.USER:
        return outcome_of(unit.observation) is Outcome.FAILURE
    return unit.outcome is Outcome.FAILURE
