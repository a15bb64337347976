"""One search over one scope: recall, signals, objectives, floor, fronts, order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray

from prism_core.changes import FloatArray, IntArray
from prism_core.protocols import IntentTagger, Planner, ScopeView
from prism_core.results import Candidate, Confidence
from prism_core.retrieve.objectives import Scored, score
from prism_core.retrieve.pareto import dominance_fronts, front_first_order, soft_front_order
from prism_core.retrieve.recall import Recall, recall
from prism_core.retrieve.signals import Evidence
from prism_core.text import analyze
from prism_core.types import IntentQuery

Order = Literal["soft", "front_first", "sum"]
"""How fronts decide: a bounded penalty on the weighted sum, strictly first, or not at all."""


@dataclass(frozen=True, slots=True)
class Floor:
    """When a candidate is too far from the question to be worth anything.

    Attributes:
        coverage: least share of the question's terms, weighted by rarity, that a candidate must hold, in [0, 1] ...
        similarity: ... or else the least cosine similarity, in [-1, 1].
        sure_coverage: share of terms from which a candidate is believed.
        sure_similarity: similarity from which a candidate is believed.
    """

    coverage: float = 0.2
    similarity: float = 0.3
    sure_coverage: float = 0.35
    sure_similarity: float = 0.45


@dataclass(frozen=True, slots=True)
class Ranking:
    """The whole pool in order, as arrays over the p candidates of the pool.

    Attributes:
        query: the query as planned.
        ids: unit ids, best first; those below the floor come last.
        order: places in the pool, best first, shape (p,).
        channels: names of the channels that proposed each place of the pool.
        tokens: tokens of each place of the pool.
        scored: signals and objectives.
        fronts: front of each place of the pool, -1 below the floor.
        sure: whether each place of the pool is close to the question.
    """

    query: IntentQuery
    ids: tuple[str, ...] = ()
    order: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    channels: tuple[tuple[str, ...], ...] = ()
    tokens: tuple[int, ...] = ()
    scored: Scored = field(default_factory=lambda: Scored({}, {}, np.empty(0, dtype=np.float32), 0.0))
    fronts: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    sure: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=np.bool_))

    @property
    def above_floor(self) -> int:
        """How many candidates are above the floor; they come first."""
        return int(np.count_nonzero(self.fronts >= 0))

    def score(self, place: int) -> float:
        """Score of the candidate at a place of the order."""
        return float(self.scored.score[self.order[place]])

    def size(self, place: int) -> int:
        """Tokens of the candidate at a place of the order."""
        return self.tokens[int(self.order[place])]

    def confidence(self, place: int) -> Confidence:
        """How far the candidate at a place of the order deserves to be believed."""
        if self.fronts[self.order[place]] < 0:
            return Confidence.LOW
        return Confidence.HIGH if self.sure[self.order[place]] else Confidence.MEDIUM

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
            front=int(self.fronts[row]) if self.fronts[row] >= 0 else None,
            tokens=self.tokens[row],
            rank=rank,
            reason=reason if rank is None else _merits(objectives),
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
        limits: how many candidates each channel may propose.
        floor: when a candidate is worth nothing.
        order: how non-dominated fronts decide.
        front_penalty: share of the weight sum that the last fronts lose in the soft order, in [0, 1].
    """

    planner: Planner
    tagger: IntentTagger
    limits: Recall = field(default_factory=Recall)
    floor: Floor = field(default_factory=Floor)
    order: Order = "soft"
    front_penalty: float = 0.1

    def rank(self, query: IntentQuery, view: ScopeView, vector: FloatArray | None, *, at_least: int = 0) -> Ranking:
        """Rank the candidates of a query.

        Args:
            query: what is wanted; facets, entities and intents may be left open.
            view: the scope.
            vector: the question's embedding, shape (d,), or None to rank without one.
            at_least: fill the pool up to this many candidates while the query's limits admit that many.
        """
        planned = self.planner.plan(query, view)
        terms = analyze(planned.text)
        lexical = view.lexical(terms)
        pool = recall(planned, view, lexical, vector, self.limits, at_least=at_least)
        if not len(pool.rows):
            return Ranking(planned)
        evidence = Evidence(view, pool.rows, lexical, terms, vector)
        scored = score(planned, evidence, view.rows(planned.active), self.tagger)
        coverage, similarity = _closeness(evidence)
        fronts = np.full(len(pool.rows), -1, dtype=np.intp)
        order = self._order(scored, self._above_floor(planned, coverage, similarity), fronts)
        return Ranking(
            query=planned,
            ids=tuple(view.ids[row] for row in pool.rows[order].tolist()),
            order=order,
            channels=tuple(tuple(pool.channels[row]) for row in pool.rows.tolist()),
            tokens=tuple(view.columns.tokens[pool.rows].tolist()),
            scored=scored,
            fronts=fronts,
            sure=(coverage >= self.floor.sure_coverage) | (similarity >= self.floor.sure_similarity),
        )

    def _above_floor(self, query: IntentQuery, coverage: FloatArray, similarity: FloatArray) -> NDArray[np.bool_]:
        if query.active and query.action_type is not None:
            # An action is provisioned from where the agent is, not from the words of a question.
            return np.ones(len(coverage), dtype=np.bool_)
        return (coverage >= self.floor.coverage) | (similarity >= self.floor.similarity)

    def _order(self, scored: Scored, above: NDArray[np.bool_], fronts: IntArray) -> IntArray:
        """Places of the pool, best first, those below the floor last; fills in the fronts of those above."""
        kept, rest = np.flatnonzero(above), np.flatnonzero(~above)
        objectives = np.stack(list(scored.objectives.values()), axis=1)[kept]
        fronts[kept] = dominance_fronts(objectives)
        score = scored.score
        if self.order == "front_first":
            best = front_first_order(score[kept], fronts[kept], objectives)
        else:
            penalty = self.front_penalty if self.order == "soft" else 0.0
            best = soft_front_order(score[kept], fronts[kept], scored.weight, penalty)
        return np.concatenate([kept[best], rest[np.argsort(-score[rest], kind="stable")]])


def _closeness(evidence: Evidence) -> tuple[FloatArray, FloatArray]:
    coverage = evidence.view.coverage(evidence.terms, evidence.rows)
    if evidence.vector is None:
        return coverage, np.zeros(len(evidence.rows), dtype=np.float32)
    return coverage, evidence.view.similarities(evidence.vector, evidence.rows)


def _merits(objectives: Mapping[str, float]) -> str:
    best = sorted(objectives, key=lambda name: -objectives[name])[:2]
    return "strong in " + " and ".join(f"{name} ({objectives[name]:.2f})" for name in best)
