"""What of a ranking is returned: exactly k, or as much as is worth its tokens within a budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from prism_core.context import ContextBuilder, Packed
from prism_core.errors import BudgetError, QueryError
from prism_core.memory.lineage import Lineage
from prism_core.results import Hit, Position, Retrieval
from prism_core.retrieve.retriever import Candidates, Ranking
from prism_core.storage.codec import compared_text
from prism_core.storage.state import chain_of
from prism_core.text import normalize
from prism_core.types import Kind, MemoryUnit, Status, is_distilled

MAX_PACKED = 200
MOST_RESULTS = 1_000_000

Load = Callable[[Sequence[str]], list[MemoryUnit]]
"""Reads units of the ledger by id, in the order asked for."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The units to return, what is quoted of those that did not fit whole, and why others are left out.

    What holds now instead of what a unit states is in `outdated`, by unit id.
    """

    units: Sequence[MemoryUnit]
    reasons: dict[str, str] = field(default_factory=dict)
    excerpts: Mapping[str, str] = field(default_factory=dict)
    outdated: Mapping[str, str] = field(default_factory=dict)

    def retrieval(self, ranking: Ranking, position: Position, degraded: Sequence[str]) -> Retrieval:
        """The result of a search."""
        ranks = {unit.id: rank for rank, unit in enumerate(self.units)}
        places = {unit_id: place for place, unit_id in enumerate(ranking.ids) if unit_id in ranks}
        candidates = Candidates(ranking, ranks, self.reasons)
        hits = [
            Hit(
                unit,
                candidates[places[unit.id]],
                ranking.confidence(places[unit.id]),
                self.excerpts.get(unit.id),
                self.outdated.get(unit.id),
            )
            for unit in self.units
        ]
        return Retrieval(
            query=ranking.query,
            hits=tuple(hits),
            candidates=candidates,
            objectives=tuple(ranking.scored.objectives),
            position=position,
            degraded=tuple(degraded),
            answerability=float(ranking.answerability.max(initial=0.0)),
        )


def check_k(k: object) -> None:
    """Refuse a number of results that is not a positive whole number.

    Raises:
        QueryError: if it is none.
    """
    if type(k) is not int or not 1 <= k <= MOST_RESULTS:
        raise QueryError("k", k, f"pass a whole number of results from 1 to {MOST_RESULTS:,}, for example k=10")


def check_budget(budget: object) -> None:
    """Refuse a budget that is not a positive whole number.

    Raises:
        BudgetError: if it is none.
    """
    if type(budget) is not int or budget < 1:
        raise BudgetError(budget)


def best(ranking: Ranking, k: int, load: Load, lineage: Lineage) -> Selection:
    """The k best, however far from the question; repeats and superseded facts only where there is nothing else."""
    ids, kept = list(ranking.ids), list[MemoryUnit]()
    repeats: dict[str, str] = {}
    spare: list[MemoryUnit] = []
    for start in range(0, len(ids), k):
        fresh, again = without_repeats(load(ids[start : start + k]), kept, lineage)
        kept += fresh
        # A fact adds nothing to the unit that states it, however few units there are.
        spare += [unit for unit, _ in again if not is_distilled(unit)]
        repeats |= {unit.id: reason for unit, reason in again}
        if len(kept) >= k:
            break
    units = [*kept, *spare][:k]
    taken = {unit.id for unit in units}
    place = {unit_id: number for number, unit_id in enumerate(ids)}
    units.sort(key=lambda unit: place[unit.id])
    reasons = {unit_id: reason for unit_id, reason in repeats.items() if unit_id not in taken}
    return Selection(units, reasons, outdated=lineage.outdated(units))


def without_repeats(
    units: Sequence[MemoryUnit], before: Sequence[MemoryUnit], lineage: Lineage
) -> tuple[list[MemoryUnit], list[tuple[MemoryUnit, str]]]:
    """Units that add something to those before, and the others with the reason why they do not.

    A fact adds nothing to a unit that states it, wherever among the units that stands, and nothing once it is
    superseded.
    """
    seen = {form: unit.id for unit in before for form in _forms(unit, lineage)}
    present = {unit.id for unit in (*before, *units)}
    fresh: list[MemoryUnit] = []
    again: list[tuple[MemoryUnit, str]] = []
    for unit in units:
        forms = _forms(unit, lineage)
        same = next((seen[form] for form in forms if form in seen), None)
        stated_in = next((source for source in lineage.sources(unit) if source in present), None)
        if unit.kind is Kind.FACT and unit.status is Status.SUPERSEDED:
            again.append((unit, "holds no longer: another value took its place"))
        elif stated_in is not None:
            again.append((unit, f"says the same as {stated_in}"))
        elif same is not None:
            again.append((unit, f"says the same as {same}"))
        else:
            seen |= dict.fromkeys(forms, unit.id)
            fresh.append(unit)
    return fresh, again


def _forms(unit: MemoryUnit, lineage: Lineage) -> list[str]:
    """What a unit shares with others of which one is enough: its text as it is compared, or a near-duplicate's id."""
    return [normalize(unit.text), compared_text(unit.kind, unit.text), *lineage.originals(unit.id)]


def worth_the_tokens(
    ranking: Ranking, budget: int, k: int | None, load: Load, builder: ContextBuilder, stop: float, lineage: Lineage
) -> tuple[Selection, Packed]:
    """What is above the floor and not far below the best, as far as the budget goes.

    Args:
        ranking: the pool in order.
        budget: tokens of the rendered block, wrapper included.
        k: at most this many units; None for no limit.
        load: reads units.
        builder: renders and packs.
        stop: estimated chance of being evidence below which a candidate is not worth its tokens, in [0, 1].
        lineage: which facts the units state.
    """
    reasons = dict.fromkeys(ranking.ids[ranking.in_race :], "below the floor: too far from the question")
    wanted: list[str] = []
    for place, unit_id in enumerate(ranking.ids[: ranking.in_race]):
        if ranking.chance(place) < stop:
            reasons[unit_id] = f"not worth its tokens: a chance of {ranking.chance(place):.1%} to be evidence"
        elif builder.detail == "full" and ranking.size(place) > budget:
            reasons[unit_id] = f"does not fit: {ranking.size(place)} tokens of {budget}"
        elif len(wanted) < MAX_PACKED:
            wanted.append(unit_id)
    distinct, again = without_repeats(load(wanted), (), lineage)
    reasons |= {unit.id: reason for unit, reason in again}
    # What a task says holds for the task, whatever was said elsewhere since.
    own = lineage.chains(ranking.query.active)
    outdated = lineage.outdated([unit for unit in distinct if chain_of(unit.task_id, unit.session_id) not in own])
    packed = builder.pack(distinct, budget, ranking.query.text, outdated=outdated)
    units = packed.units if k is None else packed.units[:k]
    if len(units) < len(packed.units):
        packed = builder.pack(units, budget, ranking.query.text, outdated=outdated)
    kept = {unit.id for unit in units}
    reasons |= {unit.id: "did not fit the budget any more" for unit in distinct if unit.id not in kept}
    return Selection(packed.units, reasons, packed.excerpts, outdated), packed
