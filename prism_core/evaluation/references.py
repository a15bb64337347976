"""Reference rows that are told what a memory has to find out: the run that asks, or even the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prism_core.context import ContextBuilder, Packed
from prism_core.evaluation.baselines import Baseline, Shelf, run_recency
from prism_core.evaluation.needs import stands
from prism_core.evaluation.systems import Ask, Ranking, bare_unit
from prism_core.text import whole_identifiers
from prism_core.types import MemoryUnit


class IdentifierList(Baseline):
    """All identifiers of the run that asks, newest first, cut at the budget: what a plain list would bring."""

    def __init__(self, shelf: Shelf, builder: ContextBuilder) -> None:
        super().__init__(shelf, run_recency)
        self.builder = builder

    def search(self, ask: Ask) -> Ranking:
        """One context per budget; no unit is returned."""
        ranking = super().search(ask)
        values = list(dict.fromkeys(value for unit in ranking.units for value in whole_identifiers(unit.text)[::-1]))
        contexts = {budget: self._cut(ranking.units, values, budget) for budget in ask.budgets}
        return Ranking((), ranking.seconds, contexts)

    def _cut(self, units: Sequence[MemoryUnit], values: Sequence[str], budget: int) -> Packed:
        low, high, best = 0, len(values), Packed("", 0, ())
        while low < high:
            middle = (low + high + 1) // 2
            packed = self.builder.pack([bare_unit(units[0], " ".join(values[:middle]))], budget)
            if packed.units:
                low, best = middle, Packed(packed.text, packed.tokens, ())
            else:
                high = middle - 1
        return best


class Oracle(Baseline):
    """Knows the run and the needed values: takes the run's steps by newly brought values per token, while they fit."""

    def __init__(self, shelf: Shelf, builder: ContextBuilder) -> None:
        super().__init__(shelf, run_recency)
        self.builder = builder

    def search(self, ask: Ask) -> Ranking:
        """One context per budget."""
        ranking = super().search(ask)
        holds = {unit.id: {value for value in ask.needed if stands(value, unit.text)} for unit in ranking.units}
        useful = [(unit, self.builder.counter.count(unit.text)) for unit in ranking.units if holds[unit.id]]
        contexts = {budget: self._fill(useful, holds, budget) for budget in ask.budgets}
        return Ranking([unit for unit, _ in useful], ranking.seconds, contexts)

    def _fill(self, sized: Sequence[tuple[MemoryUnit, int]], holds: Mapping[str, set[str]], budget: int) -> Packed:
        left, packed = list(sized), Packed("", 0, ())
        brought: set[str] = set()
        while left:
            best = max(left, key=lambda pair: len(holds[pair[0].id] - brought) / pair[1])
            left.remove(best)
            larger = self.builder.pack([*packed.units, best[0]], budget)
            if holds[best[0].id] - brought and len(larger.units) > len(packed.units):
                packed = larger
                brought |= holds[best[0].id]
        return packed
