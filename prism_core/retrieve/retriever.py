"""One search over one scope: recall, signals, objectives, floor, fronts, order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from prism_core.changes import FloatArray, IntArray
from prism_core.protocols import IntentTagger, Planner, ScopeView
from prism_core.results import Candidate, Confidence
from prism_core.retrieve.answerability import Ground, pool_answerability, smallness
from prism_core.retrieve.naming import name_aware_lexical
from prism_core.retrieve.objectives import Scored, score
from prism_core.retrieve.options import Floor, RankingOptions
from prism_core.retrieve.order import order_by
from prism_core.retrieve.pareto import best_first
from prism_core.retrieve.recall import recall
from prism_core.retrieve.signals import Evidence
from prism_core.retrieve.stopping import evidence_chances, supply_chances
from prism_core.text import analyze
from prism_core.types import IntentQuery


@dataclass(frozen=True)
class Ranking:
    """The whole pool in order, as arrays over the p candidates of the pool.

    Attributes:
        query: the query as planned.
        ids: unit ids, best first; those below the floor come last.
        order: places in the pool, best first, shape (p,).
        channels: names of the channels that proposed each place of the pool.
        tokens: tokens of each place of the pool.
        scored: signals and objectives.
        values: what each place of the pool is ordered by: its score, in the soft order less its front's penalty.
        fronts: front of each place of the pool, -1 for those out of the race.
        answerability: how much speaks for it that each place of the pool answers the question, in [0, 1].
        floor: what answerability means.
    """

    query: IntentQuery
    ids: tuple[str, ...] = ()
    order: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    channels: Sequence[tuple[str, ...]] = ()
    tokens: tuple[int, ...] = ()
    scored: Scored = field(default_factory=lambda: Scored({}, {}, np.empty(0, dtype=np.float32), 0.0))
    values: FloatArray = field(default_factory=lambda: np.empty(0, dtype=np.float32))
    fronts: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    answerability: FloatArray = field(default_factory=lambda: np.empty(0, dtype=np.float32))
    floor: Floor = field(default_factory=Floor)

    @property
    def in_race(self) -> int:
        """How many candidates are in the race; they come first."""
        return int(np.count_nonzero(self.fronts >= 0))

    def score(self, place: int) -> float:
        """What the candidate at a place of the order is ordered by."""
        return float(self.values[self.order[place]])

    def size(self, place: int) -> int:
        """Tokens of the candidate at a place of the order."""
        return self.tokens[int(self.order[place])]

    @cached_property
    def chances(self) -> FloatArray:
        """Estimated chance that each candidate in the race is evidence, best first."""
        scores = self.values[self.order[: self.in_race]]
        return supply_chances(scores) if _is_acting(self.query) else evidence_chances(scores)

    @cached_property
    def usual(self) -> Mapping[str, float]:
        """Mean of every objective over the pool."""
        return {name: float(values.mean()) for name, values in self.scored.objectives.items()}

    def chance(self, place: int) -> float:
        """Estimated chance that the candidate at a place of the order is evidence; 0 out of the race."""
        return float(self.chances[place]) if place < len(self.chances) else 0.0

    def confidence(self, place: int) -> Confidence:
        """How far the candidate at a place of the order deserves to be believed."""
        value = self.answerability[self.order[place]]
        if value >= self.floor.high:
            return Confidence.HIGH
        return Confidence.MEDIUM if value >= self.floor.medium or _is_acting(self.query) else Confidence.LOW

    def candidate(self, place: int, rank: int | None, reason: str) -> Candidate:
        """The candidate at a place of the order.

        Args:
            place: 0-based, below the number of candidates.
            rank: its place in the result; None when it is not returned.
            reason: why it is left out; when it is returned its merits are named instead.
        """
        row = self.order[place]
        objectives = {name: float(values[row]) for name, values in self.scored.objectives.items()}
        return Candidate(
            unit_id=self.ids[place],
            channels=self.channels[row],
            signals={name: float(values[row]) for name, values in self.scored.signals.items()},
            objectives=objectives,
            score=self.score(place),
            chance=self.chance(place),
            front=int(self.fronts[row]) if self.fronts[row] >= 0 else None,
            tokens=self.tokens[row],
            rank=rank,
            reason=reason if rank is None else merits(objectives, self.usual),
            answerability=float(self.answerability[row]),
        )


class Candidates(Sequence[Candidate]):
    """The candidates of a ranking, best first, each put together when it is looked at."""

    def __init__(self, ranking: Ranking, ranks: Mapping[str, int], reasons: Mapping[str, str]) -> None:
        self._ranking = ranking
        self._ranks = ranks
        self._reasons = reasons

    def __len__(self) -> int:
        return len(self._ranking.ids)

    @overload
    def __getitem__(self, place: int) -> Candidate: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Candidate]: ...
    def __getitem__(self, place: int | slice) -> Candidate | Sequence[Candidate]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        unit_id = self._ranking.ids[place]
        reason = self._reasons.get(unit_id, "ranked lower")
        return self._ranking.candidate(place % len(self), self._ranks.get(unit_id), reason)


@dataclass(frozen=True, slots=True)
class Retriever:
    """Ranks the units of a scope for a query.

    Attributes:
        planner: fills what the caller left open.
        tagger: knows the similarity of questions to intent labels.
        options: how candidates are found, weighed and ordered.
    """

    planner: Planner
    tagger: IntentTagger
    options: RankingOptions = field(default_factory=RankingOptions)

    def rank(
        self,
        query: IntentQuery,
        view: ScopeView,
        vector: FloatArray | None,
        *,
        at_least: int = 0,
        cut: bool = True,
        eligible: NDArray[np.bool_] | None = None,
    ) -> Ranking:
        """Rank the candidates of a query.

        Args:
            query: what is wanted; facets, entities and intents may be left open.
            view: the scope.
            vector: the question's embedding, shape (d,), or None to rank without one.
            at_least: fill the pool up to this many candidates while the query's limits admit that many.
            cut: whether candidates below the floor are out of the race; otherwise they only carry a low confidence.
            eligible: rows that may be candidates at all, shape (n,); None for every row.
        """
        planned = self.planner.plan(query, view)
        terms = analyze(planned.text)
        lexical = name_aware_lexical(view, terms)
        if _is_acting(planned) and view.columns.distilled.any():
            # An action is provisioned from what brought its values up, not from facts that repeat it.
            own = ~view.columns.distilled
            eligible = own if eligible is None else eligible & own
        pool = recall(planned, view, lexical, vector, self.options.limits, at_least=at_least, eligible=eligible)
        if not len(pool.rows):
            return Ranking(planned)
        evidence = Evidence(view, pool.rows, lexical, terms, vector)
        scored = score(planned, evidence, view.rows(planned.active), self.tagger, self.options)
        answerable = pool_answerability(evidence, Ground.of(self.tagger.unrelated()))
        # An action is provisioned from where the agent is, not from the words of a question.
        bound = cut and not _is_acting(planned)
        # By words alone there are no similarities to grow with the scope.
        lowered = smallness(len(view.ids)) if vector is not None else 0.0
        above = self.options.floor.above(answerable, lowered) if bound else np.ones(len(answerable), dtype=np.bool_)
        order, values, fronts = self._order(scored, above)
        return Ranking(
            query=planned,
            ids=tuple(map(view.ids.__getitem__, pool.rows[order].tolist())),
            order=order,
            channels=pool.channels,
            tokens=tuple(view.columns.tokens[pool.rows].tolist()),
            scored=scored,
            values=values,
            fronts=fronts,
            answerability=answerable,
            floor=self.options.floor,
        )

    def _order(self, scored: Scored, above: NDArray[np.bool_]) -> tuple[IntArray, FloatArray, IntArray]:
        """Places of the pool, best first, those below the floor last; what they are ordered by; their fronts."""
        kept, rest = np.flatnonzero(above), np.flatnonzero(~above)
        objectives = {name: each[kept] for name, each in scored.objectives.items()}
        ordered = order_by(objectives, scored.score[kept], scored.weight, self.options)
        fronts, values = np.full(len(above), -1, dtype=np.intp), scored.score.copy()
        fronts[kept], values[kept] = ordered.fronts, ordered.values
        return np.concatenate([kept[ordered.places], rest[best_first(values[rest])]]), values, fronts


def _is_acting(query: IntentQuery) -> bool:
    """Whether what is asked for is what the next action of an agent at work needs."""
    return bool(query.active) and query.action_type is not None


def merits(objectives: Mapping[str, float], usual: Mapping[str, float]) -> str:
    """The objectives in which a candidate stands out most from the pool."""
    lead = {name: value - usual[name] for name, value in objectives.items()}
    best = [name for name in sorted(lead, key=lambda name: -lead[name]) if lead[name] > 0][:2]
    if not best:
        return "nothing better in the pool"
    return "strong in " + " and ".join(f"{name} ({objectives[name]:.2f}, usual {usual[name]:.2f})" for name in best)
