"""Supply: which units hold the values that the next action will need, per token, each value counted once.

An action is made of identifiers (ids, codes, dates) that came up earlier. Which ones cannot be known, but how many of
which form can: earlier calls of the same action tell. The expected number of arguments of a form is shared among the
chain's identifiers of that form by how much they stand out, and units are taken greedily by expected values per
token, values that a taken unit already holds counting for little. The greedy order maximises a monotone submodular
gain within a budget up to a constant factor (Khuller, Moss & Naor, "The budgeted maximum coverage problem", 1999).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import exp, log

import numpy as np

from prism_core.changes import FloatArray, IntArray
from prism_core.protocols import ScopeView
from prism_core.retrieve.signals import scaled


@dataclass(frozen=True, slots=True)
class SupplyWeights:
    """How identifiers stand out among those of one form, and what tokens cost.

    Attributes:
        prior: expected arguments of a form that no call is known to have taken.
        said: added for an identifier that a message names, not only a tool's output.
        repeated: times the logarithm of the number of units that hold it.
        used: added for one that an earlier action took as an argument.
        origin: exponent of how much more often than usual earlier calls took it from units like those that hold it.
        linked: times the share of identifiers already in view among those of the richest unit that holds it.
        spent: factor for one that an earlier call of the same action took.
        fading: loss per unit of the chain since it last came up.
        in_view: factor for one that the last `view` units of the active set hold.
        view: how many of the last active units the agent is taken to see anyway.
        covered: factor for one that a unit taken before holds.
        token_power: exponent of a unit's tokens in its price.
        token_floor: added to the price, so that the shortest units do not always win.
    """

    prior: float = 0.01
    said: float = 0.75
    repeated: float = 0.5
    used: float = 0.5
    origin: float = 0.5
    linked: float = 1.0
    spent: float = 0.5
    fading: float = 0.04
    in_view: float = 0.1
    view: int = 2
    covered: float = 0.3
    token_power: float = 0.75
    token_floor: float = 3.0


def supply(
    view: ScopeView, rows: IntArray, near: FloatArray, active: IntArray, action_type: str, weights: SupplyWeights
) -> FloatArray:
    """Expected values for the next action that each candidate adds per token, in greedy order, scaled to [0, 1].

    Args:
        view: the scope.
        rows: the pool, shape (p,).
        near: coherence of each candidate with the active set, shape (p,); those at 0 supply nothing.
        active: rows of the active set, oldest first.
        action_type: the action about to be taken.
        weights: how identifiers stand out.
    """
    places = np.flatnonzero(near > 0)
    places = places[np.argsort(rows[places], kind="stable")]
    holders = [list(view.identifiers(row)) for row in rows[places].tolist()]
    chances = _chances(view, rows[places].tolist(), holders, active, action_type, weights)
    tokens = view.columns.tokens[rows[places]].tolist()
    prices = [weights.token_floor + count**weights.token_power for count in tokens]
    gains = np.zeros(len(rows), dtype=np.float32)
    gains[places] = _greedy_gains(holders, chances, prices, weights.covered)
    return np.sqrt(scaled(gains))


def _chances(
    view: ScopeView,
    rows: Sequence[int],
    holders: Sequence[Sequence[int]],
    active: IntArray,
    action_type: str,
    weights: SupplyWeights,
) -> dict[int, float]:
    """Estimated chance that each identifier is among the next action's arguments."""
    expected = view.expected_arguments(action_type)
    salience = _salience(view, rows, holders, active, action_type, weights)
    forms = {number: _form(view.identifier_forms(number), expected) for number in salience}
    for number, lift in _origin_lifts(view, rows, forms, action_type).items():
        salience[number] *= lift**weights.origin
    totals: dict[str, float] = defaultdict(float)
    for number, weight in salience.items():
        totals[forms[number]] += weight
    seen = {number for row in active.tolist()[-weights.view :] for number in view.identifiers(row)}
    return {
        number: min(1.0, (expected.get(forms[number], 0.0) + weights.prior) * weight / totals[forms[number]])
        * (weights.in_view if number in seen else 1.0)
        for number, weight in salience.items()
    }


def _salience(
    view: ScopeView,
    rows: Sequence[int],
    holders: Sequence[Sequence[int]],
    active: IntArray,
    action_type: str,
    weights: SupplyWeights,
) -> dict[int, float]:
    """How much each identifier of the chain stands out, > 0."""
    steps = view.columns.step
    in_view = {number for row in active.tolist() for number in view.identifiers(row)}
    same_action = set(view.acting(action_type).tolist())
    held: Counter[int] = Counter()
    said, used, spent = set[int](), set[int](), set[int]()
    last: dict[int, int] = {}
    linked: dict[int, float] = defaultdict(float)
    for place, (row, numbers) in enumerate(zip(rows, holders, strict=True)):
        held.update(numbers)
        last.update(dict.fromkeys(numbers, place))
        if not steps[row]:
            said.update(numbers)
        taken = view.arguments(row)
        used.update(taken)
        if row in same_action:
            spent.update(taken)
        share = sum(number in in_view for number in numbers) / max(len(numbers), 1)
        if share:
            for number in numbers:
                linked[number] = max(linked[number], share)
    return {
        number: (
            1.0
            + weights.said * (number in said)
            + weights.repeated * log(count)
            + weights.used * (number in used)
            + weights.linked * linked[number]
        )
        * exp(-weights.fading * (len(rows) - last[number]))
        * (weights.spent if number in spent else 1.0)
        for number, count in held.items()
    }


def _origin_lifts(view: ScopeView, rows: Sequence[int], forms: Mapping[int, str], action_type: str) -> dict[int, float]:
    """How much more often than usual an identifier is taken from units like those that hold it, the best of them."""
    lifts = view.argument_lifts(action_type)
    return {
        number: max(lifts.get((forms[number], kind), 1.0) for kind in kinds)
        for number, kinds in view.identifier_kinds(rows).items()
    }


def _form(forms: tuple[str, str], expected: Mapping[str, float]) -> str:
    literal, rough = forms
    return literal if literal in expected else rough


def _greedy_gains(
    holders: Sequence[Sequence[int]], chances: Mapping[int, float], prices: Sequence[float], covered: float
) -> list[float]:
    """What each unit adds per price at the moment it is taken, the best first (lazy greedy: gains only fall)."""
    left = dict(chances)

    def gain(place: int) -> float:
        return sum(left[number] for number in holders[place]) / prices[place]

    heap = [(-gain(place), place) for place in range(len(holders))]
    heapify(heap)
    gains = [0.0] * len(holders)
    while heap:
        stale, place = heappop(heap)
        fresh = gain(place)
        if heap and fresh < -heap[0][0] and fresh < -stale:
            heappush(heap, (-fresh, place))
            continue
        gains[place] = fresh
        for number in holders[place]:
            left[number] *= covered
    return gains
