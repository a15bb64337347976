"""From claims to facts: which value is new, which was said before, which holds now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from prism_core.changes import AddLink, AddUnit, Change, PutVector, RemoveLink, UpdateUnit
from prism_core.encode.conflict import ConflictRules, Resolution, resolve, statements_of
from prism_core.protocols import IdFactory, TokenCounter, WriteView
from prism_core.text import normalize
from prism_core.types import (
    Claim,
    Fact,
    FactCategory,
    Kind,
    Layer,
    Link,
    MemoryUnit,
    Relation,
    Source,
    Statement,
    Status,
)

ASSIGNMENT = "assignment"
"""The attribute of "I was moved from Atlas to Borealis" where it is not known what Atlas was."""
LABELS: Mapping[str, str] = {
    FactCategory.GOAL: "plan",
    FactCategory.DECISION: "decide",
    FactCategory.COMMITMENT: "schedule",
    FactCategory.WORLD_STATE: "constraint",
}
_IMPORTANCE = {FactCategory.CONSTRAINT.value: 1.0, FactCategory.IDENTITY.value: 1.0, FactCategory.DECISION.value: 1.0}
_MINOR = 0.75
MOST_STATEMENTS, FIRST_STATEMENTS = 24, 4
"""Statements of a fact that are kept, and how many of them are the first ones."""
_WHY = {
    Status.CURRENT: "it is the latest that was said",
    Status.SUPERSEDED: "another value took its place",
    Status.DISPUTED: "it contradicts what is better known; ask which holds",
}


_OTHERWISE = "says otherwise of the same"


@dataclass(frozen=True, slots=True)
class Told:
    """When and by whom something was claimed.

    Attributes:
        unit_id: the unit that says it; empty where a fact is stored directly.
        event_time: when it was said.
        recorded_at: when that is recorded.
        source: who said it.
    """

    unit_id: str
    event_time: datetime
    recorded_at: datetime
    source: Source

    def statement(self, claim: Claim) -> Statement:
        """The statement a claim makes."""
        return Statement(
            unit_id=self.unit_id,
            event_time=self.event_time,
            recorded_at=self.recorded_at,
            source=self.source,
            correction=claim.correction,
            ends=claim.ends,
        )


@dataclass(slots=True)
class Settled:
    """What claims come to.

    Attributes:
        changes: to be committed, in order.
        units: facts that are new or change, as they are afterwards, with their token counts, by id.
        facts: ids of the facts that the claims are about.
        superseded: ids of the facts that hold no longer because of them.
    """

    changes: list[Change] = field(default_factory=list)
    units: dict[str, tuple[MemoryUnit, int]] = field(default_factory=dict)
    facts: list[str] = field(default_factory=list)
    superseded: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FactSettler:
    """Settles claims against what is known.

    Attributes:
        rules: when a new value takes the place of the one that holds.
        counter: counts tokens.
        new_id: makes ids of units.
        embedder_id: written with the vectors; empty without an embedder.
    """

    rules: ConflictRules
    counter: TokenCounter
    new_id: IdFactory
    embedder_id: str

    def settle(self, claims: Sequence[Claim], told: Told, like: MemoryUnit, view: WriteView) -> Settled:
        """What the claims of one unit change.

        Args:
            claims: in the order they are made; the last one about an attribute counts.
            told: when and by whom.
            like: a unit of the scope that new facts take their scope from.
            view: the scope before.
        """
        settled = Settled()
        last = {}
        for claim in claims:
            whole = _completed(claim, view)
            last[normalize(whole.entity), normalize(whole.attribute)] = whole
        for claim in last.values():
            self._settle(claim, told, like, view, settled)
        return settled

    def adopt(self, unit: MemoryUnit, claim: Claim, told: Told, view: WriteView) -> Settled:
        """Settle a unit that is a fact itself; it is merged into a stored one of the same value."""
        settled = Settled()
        self._settle(claim, told, unit, view, settled, itself=unit)
        return settled

    def without(self, facts: Sequence[MemoryUnit], erased: frozenset[str], view: WriteView) -> Settled:
        """What the facts of one attribute come to without what erased units said.

        Args:
            facts: all of the attribute; those that nobody else said are to be erased as well.
            erased: ids of the units that go.
            view: the scope before.
        """
        settled = Settled()
        kept: list[MemoryUnit] = []
        for unit in facts:
            left = tuple(each for each in statements_of(unit) if each.unit_id not in erased)
            if unit.id in erased or not left:
                self._update(unit, {"status": Status.SUPERSEDED}, "it is about to be erased", settled)
            else:
                assert unit.fact is not None
                fact = unit.fact.model_copy(update={"statements": left})
                kept.append(self._update(unit, {"fact": fact}, "what said it was erased", settled))
        self._decide(kept, view, settled)
        return settled

    def _settle(
        self,
        claim: Claim,
        told: Told,
        like: MemoryUnit,
        view: WriteView,
        settled: Settled,
        itself: MemoryUnit | None = None,
    ) -> None:
        known = {unit.id: unit for unit in view.facts_about(claim.entity, claim.attribute)}
        same = next((unit for unit in known.values() if _value(unit) == normalize(claim.value)), None)
        statement = told.statement(claim)
        # An ending is kept even of what was never said: that may be recorded later, and has ended all the same.
        if same is not None:
            fact = self._said_again(same, statement, settled)
        else:
            fact = self._fact(claim, statement, like, itself)
        known[fact.id] = fact
        settled.facts.append(fact.id)
        self._decide(list(known.values()), view, settled, new=fact if same is None else None)
        if told.unit_id:
            reason = "says that it holds no longer" if claim.ends else "says so"
            link = Link(source=told.unit_id, target=fact.id, relation=Relation.SUMMARIZES, reason=reason)
            settled.changes.append(AddLink(link))

    def _fact(self, claim: Claim, statement: Statement, like: MemoryUnit, itself: MemoryUnit | None) -> MemoryUnit:
        fact = Fact(
            entity=claim.entity,
            attribute=claim.attribute,
            value=claim.value,
            category=claim.category,
            statements=(statement,),
        )
        return itself.model_copy(update={"fact": fact}) if itself is not None else self._unit(fact, statement, like)

    def _unit(self, fact: Fact, statement: Statement, like: MemoryUnit) -> MemoryUnit:
        return MemoryUnit(
            id=self.new_id(),
            scope=like.scope,
            kind=Kind.FACT,
            observation=fact.text,
            event_time=statement.event_time,
            recorded_at=statement.recorded_at,
            source=statement.source,
            intent_tags=(LABELS.get(fact.category, fact.category),),
            entities=tuple(name for name in (fact.entity, fact.value) if name not in ("user", "world", "yes", "")),
            importance=_IMPORTANCE.get(fact.category, _MINOR),
            layer=Layer.SEMANTIC,
            fact=fact,
        )

    def _said_again(self, unit: MemoryUnit, statement: Statement, settled: Settled) -> MemoryUnit:
        assert unit.fact is not None
        before = statements_of(unit)
        if statement.unit_id and any(each.unit_id == statement.unit_id for each in before):
            return unit
        fact = unit.fact.model_copy(update={"statements": _kept((*before, statement))})
        return self._update(unit, {"fact": fact}, "it was said again" if not statement.ends else "it ended", settled)

    def _decide(
        self, facts: Sequence[MemoryUnit], view: WriteView, settled: Settled, new: MemoryUnit | None = None
    ) -> None:
        """Set status and confidence of every value, and the links between those that took each other's place."""
        resolution = resolve(facts, self.rules)
        # Whoever gives up the place goes first, so that no two are current at any time.
        for unit in sorted(facts, key=lambda unit: resolution.status.get(unit.id) is Status.CURRENT):
            status, confidence = resolution.status.get(unit.id, unit.status), resolution.confidence.get(unit.id, 0.0)
            wanted = {"status": status, "confidence": confidence}
            if new is not None and unit.id == new.id:
                self._add(unit.model_copy(update=wanted), settled)
            elif (unit.status, unit.confidence) != (status, confidence):
                self._update(unit, wanted, _WHY[status], settled)
                if status is Status.SUPERSEDED and unit.status is not Status.SUPERSEDED:
                    settled.superseded.append(unit.id)
        settled.changes += _links(facts, resolution, view)

    def _add(self, unit: MemoryUnit, settled: Settled) -> None:
        tokens = self.counter.count(unit.text)
        settled.changes += [AddUnit(unit, tokens), PutVector(unit.id, self.embedder_id, None)]
        settled.units[unit.id] = (unit, tokens)

    def _update(self, unit: MemoryUnit, values: Mapping[str, object], reason: str, settled: Settled) -> MemoryUnit:
        fresh = unit.model_copy(update=dict(values))
        tokens = settled.units[unit.id][1] if unit.id in settled.units else self.counter.count(fresh.text)
        before, after = (each.model_dump(mode="json", include=set(values)) for each in (unit, fresh))
        settled.changes.append(UpdateUnit(unit.id, before, after, tokens, reason))
        settled.units[unit.id] = (fresh, tokens)
        return fresh


def _kept(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """The first and the latest of many statements: what decides, without a list that grows with every repetition."""
    if len(statements) <= MOST_STATEMENTS:
        return tuple(statements)
    in_time = sorted(statements, key=lambda each: each.event_time)
    return (*in_time[:FIRST_STATEMENTS], *in_time[FIRST_STATEMENTS - MOST_STATEMENTS :])


def _completed(claim: Claim, view: WriteView) -> Claim:
    """The claim, with the attribute that the value it replaces has."""
    if claim.attribute:
        return claim
    known = [unit for unit in view.facts_valued(claim.entity, claim.was) if unit.status is Status.CURRENT]
    attribute = known[-1].fact.attribute if known and known[-1].fact is not None else ASSIGNMENT
    return Claim(claim.entity, attribute, claim.value, claim.category, claim.correction, claim.ends, claim.was)


def _value(unit: MemoryUnit) -> str:
    return normalize(unit.fact.value) if unit.fact is not None else ""


def _links(facts: Sequence[MemoryUnit], resolution: Resolution, view: WriteView) -> Iterator[Change]:
    """What has to change for the links between the values to be those that the resolution calls for."""
    turns = {
        (earlier.unit_id, later.unit_id): f"took its place on {later.since:%Y-%m-%d}"
        for earlier, later in pairwise(resolution.periods)
        if earlier.unit_id != later.unit_id
    }
    yield from _linked(facts, Relation.SUPERSEDES, turns, view)
    disputed = [unit_id for unit_id, status in resolution.status.items() if status is Status.DISPUTED]
    holder = resolution.current
    against = {} if holder is None else {(holder, unit_id): _OTHERWISE for unit_id in disputed}
    yield from _linked(facts, Relation.CONTRADICTS, against, view)


def _linked(
    facts: Sequence[MemoryUnit], relation: Relation, wanted: Mapping[tuple[str, str], str], view: WriteView
) -> Iterator[Change]:
    stored = {(link.source, link.target): link for unit in facts for link in view.links_to(unit.id, relation)}
    for pair, link in stored.items():
        # What a caller or a model says to contradict a value stays.
        if pair not in wanted and (relation is Relation.SUPERSEDES or link.reason == _OTHERWISE):
            yield RemoveLink(link, "another value came to stand between them")
    for (source, target), reason in wanted.items():
        if (source, target) not in stored:
            yield AddLink(Link(source=source, target=target, relation=relation, reason=reason))
