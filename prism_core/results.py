"""What the memory answers: receipts, retrievals, contexts, chains, history."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from pydantic import JsonValue

from prism_core.types import IntentQuery, Link, MemoryUnit, Outcome, Scope

MOST_SHOWN = 300
"""Characters of what a tool said that are quoted in a sentence."""


class ReceiptStatus(StrEnum):
    """What became of one event."""

    STORED = "stored"
    JOINED = "joined"
    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    SUPERSEDED = "superseded"
    DROPPED = "dropped"
    REJECTED = "rejected"
    DEGRADED = "degraded"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a write answers, per event.

    Attributes:
        id: asks for this receipt again with `PrismMemory.receipt`; empty when nothing durable was written.
        status: what became of the event. `degraded` means stored, with something missing that `reason` names.
        unit_id: the unit that holds the event now; None when rejected or not yet processed.
        reason: why, in one sentence; empty for a plain `stored`.
        superseded: ids of the units this one took the place of.
        facts: ids of the facts it states, new or known before.
    """

    id: str
    status: ReceiptStatus
    unit_id: str | None = None
    reason: str = ""
    superseded: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Position:
    """How far a scope's log has got.

    Attributes:
        seq: number of the last change; dense, per scope, from 1; 0 for an empty scope.
        epoch: bumped by an erase; what was derived in an older epoch is discarded.
    """

    seq: int = 0
    epoch: int = 0


class Confidence(StrEnum):
    """How far a result deserves to be believed relevant."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One unit that was considered, with everything that decided about it.

    Attributes:
        unit_id: which unit.
        channels: the recall channels that proposed it, such as `lexical` or `dense`.
        signals: every signal's value, scaled to [0, 1] within the pool.
        objectives: every objective's value in [0, 1], higher is better.
        score: the weighted sum of its signals, in the soft order less its front's penalty; higher is better, and
            comparable within one retrieval only.
        chance: estimated chance that it is evidence, in [0, 1].
        front: 0-based non-dominated front; None for candidates below the floor.
        tokens: tokens of its text.
        rank: 0-based place in the result; None when it was not returned.
        reason: why it was returned or left out, in words.
        answerability: how much speaks for it that it answers the question, in [0, 1]; comparable between questions,
            scopes and embedders.
    """

    unit_id: str
    channels: tuple[str, ...]
    signals: Mapping[str, float]
    objectives: Mapping[str, float]
    score: float
    chance: float
    front: int | None
    tokens: int
    rank: int | None
    reason: str
    answerability: float = 0.0

    @property
    def kept(self) -> bool:
        """Whether it was returned."""
        return self.rank is not None


_SHARED_FIELDS = frozenset(
    {
        "kind",
        "source",
        "speaker",
        "session_id",
        "task_id",
        "step_id",
        "event_time",
        "outcome",
        "status",
        "intent_tags",
        "metadata",
    }
)


@dataclass(frozen=True, slots=True)
class Hit:
    """One returned memory.

    Attributes:
        unit: the unit, read from the ledger.
        candidate: how it was ranked.
        confidence: how far it deserves to be believed relevant.
        excerpt: what a context quotes of it, where a budget did not hold the whole unit; None where it did, and
            wherever there was no budget.
        now: what holds now instead of what the unit states, empty where nothing does any more; None where all of it
            still holds.
    """

    unit: MemoryUnit
    candidate: Candidate
    confidence: Confidence
    excerpt: str | None = None
    now: str | None = None

    @property
    def text(self) -> str:
        """What was returned within the budget: the unit's text, or the excerpt of it."""
        return self.unit.text if self.excerpt is None else self.excerpt

    @property
    def score(self) -> float:
        """The value it was ordered by, higher is better."""
        return self.candidate.score

    def metadata(self) -> dict[str, JsonValue]:
        """What travels with the text into a host's document or node, as JSON.

        The unit's id and fields (`event_time` as ISO 8601 in UTC, the caller's own metadata under `metadata`) and how
        it was ranked: `score`, `front` (0-based or None), `confidence`, `reason`; `excerpt` says whether the text is
        only a part of the unit's, `now` what holds now instead of what it states.
        """
        return self.unit.model_dump(mode="json", include=set(_SHARED_FIELDS)) | {
            "unit_id": self.unit.id,
            "score": self.score,
            "front": self.candidate.front,
            "confidence": self.confidence.value,
            "reason": self.candidate.reason,
            "excerpt": self.excerpt is not None,
            "now": self.now,
        }


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """What the best candidates together are expected to bring.

    Attributes:
        units: how many of the best candidates.
        tokens: tokens of their texts together, without the block around them.
        expected: expected number of pieces of evidence among them.
    """

    units: int
    tokens: int
    expected: float


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The answer to one search; holds what is needed to explain it without computing again.

    Attributes:
        query: the query as the planner understood it.
        hits: what is returned, best first.
        candidates: everything that was considered, in the final order, returned or not.
        objectives: names of the objectives that were active, in the order they were weighed.
        position: the state of the scope that was searched.
        degraded: what was missing, in words, such as an unavailable embedder; empty when nothing.
        answerability: how much speaks for it that the scope can answer the question at all, in [0, 1]: the highest
            among all candidates, 0 without any.
    """

    query: IntentQuery
    hits: tuple[Hit, ...]
    candidates: Sequence[Candidate]
    objectives: tuple[str, ...]
    position: Position
    degraded: tuple[str, ...] = ()
    answerability: float = 0.0

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, rank: int) -> Hit:
        return self.hits[rank]

    @property
    def units(self) -> tuple[MemoryUnit, ...]:
        """The returned units, best first."""
        return tuple(hit.unit for hit in self.hits)

    @property
    def frontier(self) -> tuple[FrontierPoint, ...]:
        """Expected evidence against tokens, candidate by candidate in their order, to pick a budget by its knee."""
        points: list[FrontierPoint] = []
        tokens, expected = 0, 0.0
        for candidate in self.candidates:
            tokens += candidate.tokens
            expected += candidate.chance
            points.append(FrontierPoint(len(points) + 1, tokens, expected))
        return tuple(points)

    def explain(self, unit_id: str) -> str:
        """Say why a unit was returned or left out.

        Args:
            unit_id: any unit's id.

        Returns:
            A few lines: place, front, objectives, the strongest signals, and the reason. A unit that no channel
            proposed is said to be so.
        """
        for candidate in self.candidates:
            if candidate.unit_id == unit_id:
                return _describe(candidate)
        return f"{unit_id}: not considered; no recall channel proposed it for this query"


@dataclass(frozen=True, slots=True)
class Context:
    """A block of text for the prompt.

    Attributes:
        text: the block, wrapper included; empty when nothing is worth its tokens.
        tokens: exact size of `text` in tokens.
        retrieval: what it was made from; its hits are the units in the block, in the order of the ranking.
    """

    text: str
    tokens: int
    retrieval: Retrieval

    @property
    def excerpts(self) -> Mapping[str, str]:
        """What the block quotes of those units that it does not hold whole, by unit id."""
        return {hit.unit.id: hit.excerpt for hit in self.retrieval.hits if hit.excerpt is not None}

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)


@dataclass(frozen=True, slots=True)
class ChainStep:
    """One unit of a chain of links.

    Attributes:
        unit: the unit.
        depth: number of links between it and the unit that was asked about; 0 for that unit.
        link: the link through which it was reached; None for depth 0.
        suspicion: of a step before a failure, how likely it is where things went wrong, against the others of the
            chain, in [0, 1]; 0 in other chains.
    """

    unit: MemoryUnit
    depth: int
    link: Link | None
    suspicion: float = 0.0


@dataclass(frozen=True, slots=True)
class Chain:
    """How a unit came about, what it led to, or what a failure rests on.

    Attributes:
        root: id of the unit that was asked about.
        steps: the units, in the order of time.
        truncated: whether more units are connected than were asked for.
    """

    root: str
    steps: tuple[ChainStep, ...]
    truncated: bool = False

    def __iter__(self) -> Iterator[ChainStep]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def units(self) -> tuple[MemoryUnit, ...]:
        """The units of the chain, in the order of time."""
        return tuple(step.unit for step in self.steps)

    @property
    def suspects(self) -> tuple[ChainStep, ...]:
        """The steps of a failure path, the most suspicious first; of equal ones the later first."""
        return tuple(sorted(reversed(self.steps), key=lambda step: -step.suspicion))

    def render(self) -> str:
        """The chain as text, one unit a line, indented by depth, each with the link that reached it."""
        return "\n".join(_chain_line(step) for step in self.steps)


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One recorded change.

    Attributes:
        seq: its number in the scope.
        recorded_at: when it was committed; aware UTC.
        kind: `unit`, `update`, `replace`, `link`, `unlink`, `key`, `vector` or `reading`; `erase` says that units were
            erased, and `erased` stands where an entry about one of them was.
        subject: id of the unit it concerns; empty for the last two.
        before: the old values, for an update.
        after: the new values (update), the link (link), or what the unit started as (unit, replace).
        reason: why.
    """

    seq: int
    recorded_at: datetime
    kind: str
    subject: str
    before: Mapping[str, JsonValue] = field(default_factory=dict)
    after: Mapping[str, JsonValue] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Erasure:
    """What an erase removed.

    Attributes:
        unit_ids: ids of the units that are gone, in the order they were recorded.
        events: accepted events that were dropped before they were processed.
        epoch: the scope's epoch afterwards; whatever was derived in an older one is discarded. Unchanged where there
            was nothing to erase.
    """

    unit_ids: tuple[str, ...]
    events: int
    epoch: int

    def __len__(self) -> int:
        return len(self.unit_ids)

    def __bool__(self) -> bool:
        return bool(self.unit_ids or self.events)

    @property
    def count(self) -> int:
        """Number of units that are gone."""
        return len(self.unit_ids)


@dataclass(frozen=True, slots=True)
class ScopeStats:
    """Counts of one scope.

    Attributes:
        scope: which scope.
        units: stored units.
        links: stored links, by relation.
        kinds: stored units, by kind.
        pending: units waiting to be embedded.
        inbox: events accepted and not yet processed.
        unread: units waiting to be read by a language model.
        tokens: tokens of all texts.
        position: how far its log has got.
    """

    scope: Scope
    units: int
    links: Mapping[str, int]
    kinds: Mapping[str, int]
    pending: int
    inbox: int
    tokens: int
    position: Position
    unread: int = 0


@dataclass(frozen=True, slots=True)
class Precedents:
    """What came of an action when it was taken before.

    Attributes:
        action: the action that was asked about.
        units: the units of the very same action, newest first.
    """

    action: str
    units: tuple[MemoryUnit, ...] = ()

    @property
    def failed(self) -> MemoryUnit | None:
        """The latest failure, unless the action has succeeded since."""
        for unit in self.units:
            if unit.outcome is Outcome.FAILURE:
                return unit
            if unit.outcome is Outcome.SUCCESS:
                return None
        return None

    def render(self) -> str:
        """A sentence that says what was tried and why it failed, for whoever is about to try it again; or nothing.

        What the tool said is quoted on one line, as data.
        """
        failed = self.failed
        if failed is None:
            return ""
        times = sum(unit.outcome is Outcome.FAILURE for unit in self.units)
        said = " ".join(failed.observation.split())
        shown = said if len(said) <= MOST_SHOWN else f"{said[: MOST_SHOWN - 1]}…"
        often = "" if times == 1 else f", {times} times"
        return f"{failed.action} was tried before{often}, last on {failed.event_time:%Y-%m-%d}, and failed: {shown}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing `doctor` looked at.

    Attributes:
        check: what was checked.
        ok: whether it is as it should be.
        detail: what was found, and what to do when it is not ok.
    """

    check: str
    ok: bool
    detail: str


def two_digits(value: float) -> str:
    """A value that is compared with a bound, in two digits: cut rather than rounded, so that none below seems at it."""
    return f"{math.floor(value * 100) / 100:.2f}"


def _describe(candidate: Candidate) -> str:
    place = f"returned at place {candidate.rank + 1}" if candidate.rank is not None else "not returned"
    front = "below the floor" if candidate.front is None else f"front {candidate.front}"
    signals = sorted(candidate.signals.items(), key=lambda item: -abs(item[1]))[:6]
    return "\n".join(
        [
            f"{candidate.unit_id}: {place}, {front}, score {candidate.score:.3f}, "
            f"chance {candidate.chance:.0%}, answerability {two_digits(candidate.answerability)}, "
            f"{candidate.tokens} tokens",
            "  objectives: " + ", ".join(f"{name} {value:.2f}" for name, value in candidate.objectives.items()),
            "  signals:    " + ", ".join(f"{name} {value:.2f}" for name, value in signals if value),
            f"  found by:   {', '.join(candidate.channels)}",
            f"  reason:     {candidate.reason}",
        ]
    )


_DEEPEST_SHOWN = 8
"""Levels of indentation; steps farther away stand as far to the right as these."""


def _chain_line(step: ChainStep) -> str:
    indent = "  " * min(step.depth, _DEEPEST_SHOWN)
    text = " ".join(step.unit.text.split())
    shown = text if len(text) <= 140 else text[:137] + "..."
    via = f"  [{step.link.relation}: {step.link.reason}]" if step.link else ""
    suspicion = f"  suspicion {two_digits(step.suspicion)}" if step.suspicion else ""
    return f"{indent}{step.unit.event_time:%Y-%m-%d %H:%M} {shown}{via}{suspicion}"
