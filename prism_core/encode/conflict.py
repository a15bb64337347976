"""Which of several values of one attribute holds, decided by event time, by who said it and by how often.

The decision is a function of all statements, replayed in the order of event time. So facts that arrive late, or in
any other order, lead to the same end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from prism_core.text import normalize
from prism_core.types import Fact, MemoryUnit, Source, Statement, Status

_TRUST = {Source.USER: 2, Source.TOOL: 1, Source.EXTERNAL: 0, Source.ASSISTANT: 0, Source.DERIVED: 0}
_CERTAINTY = {Source.USER: 0.8, Source.TOOL: 0.7, Source.DERIVED: 0.5, Source.ASSISTANT: 0.5, Source.EXTERNAL: 0.4}


@dataclass(frozen=True, slots=True)
class ConflictRules:
    """When a new value takes the place of the one that holds.

    Attributes:
        margin: how much more certain the value that holds may be, in [0, 1]. Above it a new value that does not say
            that something changed is disputed instead of believed. With .12 one statement against three is disputed,
            one against two is not.
        trust: which sources outrank which; a source never takes the place of one that ranks above it.
    """

    margin: float = 0.12
    trust: Mapping[Source, int] = field(default_factory=lambda: dict(_TRUST))


@dataclass(frozen=True, slots=True)
class Period:
    """A time during which a value held.

    Attributes:
        unit_id: the fact.
        since: from this instant on; aware UTC.
        until: until this instant; None where it holds still.
    """

    unit_id: str
    since: datetime
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Resolution:
    """What holds of one attribute.

    Attributes:
        status: by unit id: current, superseded or disputed; at most one is current.
        confidence: by unit id, in [0, 1].
        periods: which value held when, in the order of time.
    """

    status: Mapping[str, Status]
    confidence: Mapping[str, float]
    periods: tuple[Period, ...]

    @property
    def current(self) -> str | None:
        """The fact that holds; None where none does any more."""
        return next((unit_id for unit_id, status in self.status.items() if status is Status.CURRENT), None)

    def at(self, instant: datetime) -> str | None:
        """The fact that held at an instant."""
        for period in self.periods:
            if period.since <= instant and (period.until is None or instant < period.until):
                return period.unit_id
        return None


def certainty(statements: Sequence[Statement]) -> float:
    """How certain a fact is: each independent statement of a user halves the doubt, other sources never add up.

    Returns:
        In [0, 1]: .8, .9, .95, … for one, two, three units in which a user says it.
    """
    said_by_user = {each.unit_id or each.event_time for each in statements if each.source is Source.USER}
    user = 1 - (1 - _CERTAINTY[Source.USER]) * 0.5 ** (len(said_by_user) - 1) if said_by_user else 0.0
    return max([user, *(_CERTAINTY[each.source] for each in statements)], default=0.0)


def resolve(facts: Sequence[MemoryUnit], rules: ConflictRules, *, as_of: datetime | None = None) -> Resolution:
    """Decide which value of an attribute holds.

    Args:
        facts: units of one entity and attribute, one per value.
        rules: when a new value is believed.
        as_of: leave out what was recorded after this instant; None for everything.
    """
    replay = _Replay(rules)
    for unit, statement in _in_order(facts, as_of):
        replay.take(unit.id, statement)
    return replay.resolution()


def _in_order(facts: Sequence[MemoryUnit], as_of: datetime | None) -> list[tuple[MemoryUnit, Statement]]:
    said = [
        (unit, statement)
        for unit in facts
        for statement in statements_of(unit)
        if as_of is None or statement.recorded_at <= as_of
    ]
    # At equal times the words decide, not the order of arrival.
    return sorted(said, key=lambda pair: _place(pair[1], normalize(_fact(pair[0]).value)))


def _place(statement: Statement, value: str) -> tuple[datetime, bool, str, str, bool]:
    return statement.event_time, statement.ends, value, statement.source.value, statement.correction


def statements_of(unit: MemoryUnit) -> Sequence[Statement]:
    """Every time a fact was said; at least once."""
    return _fact(unit).statements or (
        Statement(event_time=unit.event_time, recorded_at=unit.recorded_at, source=unit.source),
    )


def _fact(unit: MemoryUnit) -> Fact:
    assert unit.fact is not None
    return unit.fact


class _Replay:
    """The statements about one attribute, taken in one after the other."""

    def __init__(self, rules: ConflictRules) -> None:
        self._rules = rules
        self._said: dict[str, list[Statement]] = {}
        self._holder: str | None = None
        self._since: datetime | None = None
        self._disputed: set[str] = set()
        self._periods: list[Period] = []

    def take(self, unit_id: str, statement: Statement) -> None:
        said = self._said.setdefault(unit_id, [])
        if statement.ends:
            self._disputed.discard(unit_id)
            if self._holder == unit_id:
                self._hold(None, statement.event_time)
            return
        said.append(statement)
        if self._holder == unit_id:
            # What holds was said again, after all that disputed it.
            self._disputed.clear()
        elif self._holder is None or self._believed(unit_id, statement):
            self._disputed.clear()
            self._hold(unit_id, statement.event_time)
        else:
            self._disputed.add(unit_id)

    def _believed(self, unit_id: str, statement: Statement) -> bool:
        assert self._holder is not None
        standing = self._said[self._holder]
        trust = self._rules.trust
        if trust[statement.source] < max(trust[each.source] for each in standing):
            return False
        return statement.correction or certainty(self._said[unit_id]) + self._rules.margin >= certainty(standing)

    def _hold(self, unit_id: str | None, instant: datetime) -> None:
        if self._holder is not None and self._since is not None:
            self._periods.append(Period(self._holder, self._since, instant))
        self._holder, self._since = unit_id, instant

    def resolution(self) -> Resolution:
        periods = [each for each in self._periods if each.until is None or each.since < each.until]
        if self._holder is not None and self._since is not None:
            periods.append(Period(self._holder, self._since))
        status = {
            unit_id: Status.CURRENT
            if unit_id == self._holder
            else Status.DISPUTED
            if unit_id in self._disputed
            else Status.SUPERSEDED
            for unit_id in self._said
        }
        return Resolution(status, {each: certainty(said) for each, said in self._said.items()}, tuple(periods))
