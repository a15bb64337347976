"""Value flow: which earlier units brought up the values that a new one uses."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from prism_core.encode.values import holds, used_values
from prism_core.protocols import WriteView
from prism_core.types import Link, MemoryUnit, Outcome, Relation, Source, Status

CONFIDENCE = 0.9
CONFIDENCE_OF_MESSAGES = 0.7
"""A call takes its arguments from somewhere; what is said may name a value for its own sake."""
SHOWN = 4
_LAPSED = frozenset({Status.SUPERSEDED, Status.ARCHIVED})


class Grade(IntEnum):
    """How a unit comes to hold a value, the better premise higher."""

    ASSERTED = 0
    FAILED = 1
    ECHOED = 2
    OBSERVED = 3


_TRUST = {Grade.ASSERTED: 0.7, Grade.FAILED: 0.5, Grade.ECHOED: 0.9, Grade.OBSERVED: 1.0}
_HOW = {
    Grade.ASSERTED: " (said by the assistant)",
    Grade.FAILED: " (failed call)",
    Grade.ECHOED: " (echoed)",
    Grade.OBSERVED: "",
}


@dataclass(frozen=True, slots=True)
class FlowRules:
    """How value flow is traced.

    Attributes:
        max_sources: links to a new unit at most; sources of rarer values come first.
        max_values: values of a unit that are looked up at most.
        common: a value that more units of its chain hold says little: it makes no link, but is named by the links that
            others make.
        common_alone: the same for units without task and session, where those of the whole scope count.
        nearest: take the latest unit that observed a value, instead of the first. Without task and session it is always
            the latest: runs may be mixed, and the first may belong to another one.
        max_read: units that are read at most for one value.
    """

    max_sources: int
    max_values: int
    common: int
    common_alone: int
    nearest: bool
    max_read: int


@dataclass(frozen=True, slots=True)
class _Taken:
    value: str
    source: str
    grade: Grade
    spread: int


@dataclass(frozen=True, slots=True)
class ValueFlow:
    """Traces the values of one new unit.

    Attributes:
        unit: the new unit.
        view: what was stored before it.
        rules: how.
    """

    unit: MemoryUnit
    view: WriteView
    rules: FlowRules

    def links(self) -> Iterator[Link]:
        """A link from every unit that the new one takes values from, the one of the rarest values first."""
        if self.unit.source is not Source.ASSISTANT:
            return
        by_source: dict[str, list[_Taken]] = defaultdict(list)
        common: list[str] = []
        for value in used_values(self.unit)[: self.rules.max_values]:
            holders = self.view.holders(value, self.unit.task_id, self.unit.session_id)
            spread = self._spread(value, holders)
            if spread > (self.rules.common if self._chained else self.rules.common_alone):
                common.append(value)
            elif (taken := self._taken(value, holders, spread)) is not None:
                by_source[taken.source].append(taken)
        richest = sorted(by_source, key=lambda source: -sum(1 / taken.spread for taken in by_source[source]))
        for source in richest[: self.rules.max_sources]:
            yield self._link(source, by_source[source], common)

    def _spread(self, value: str, holders: Sequence[str]) -> int:
        return len(holders) if self._chained else self.view.spread(value)

    @property
    def _chained(self) -> bool:
        return self.unit.task_id is not None or self.unit.session_id is not None

    def _taken(self, value: str, holders: Sequence[str], spread: int) -> _Taken | None:
        """The best holder of a value: of those graded alike the first, or the latest."""
        best: _Taken | None = None
        order = holders[::-1] if self.rules.nearest or not self._chained else holders
        for unit_id in order[: self.rules.max_read]:
            grade = self._grade(unit_id, value)
            if grade is not None and (best is None or grade > best.grade):
                best = _Taken(value, unit_id, grade, spread)
                if grade is Grade.OBSERVED:
                    break
        return self._again(best) if best is not None else None

    def _again(self, taken: _Taken) -> _Taken:
        """Where the source's action was taken again and brought the value again, the latest time counts."""
        source = self.view.unit(taken.source)
        if source.action is None:
            return taken
        again = self.view.same_action(source.task_id, source.action)
        if again in (None, source.id, self.unit.id):
            return taken
        grade = self._grade(str(again), taken.value)
        if grade is None or grade < taken.grade:
            return taken
        return _Taken(taken.value, str(again), grade, taken.spread)

    def _grade(self, unit_id: str, value: str) -> Grade | None:
        """How a unit brought up a value; None where it did not, or only passed it on as an argument."""
        unit = self.view.unit(unit_id)
        if not holds(unit.observation, value):
            return Grade.ASSERTED if unit.thought and holds(unit.thought, value) else None
        if unit.outcome is Outcome.FAILURE or unit.status in _LAPSED:
            return Grade.FAILED
        if unit.action is None:
            return Grade.ASSERTED if unit.source is Source.ASSISTANT else Grade.OBSERVED
        return Grade.ECHOED if holds(unit.action, value) else Grade.OBSERVED

    def _link(self, source: str, taken: Sequence[_Taken], common: Sequence[str]) -> Link:
        rarest = min(each.spread for each in taken)
        grade = max(each.grade for each in taken)
        base = CONFIDENCE if self.unit.action is not None else CONFIDENCE_OF_MESSAGES
        also = [value for value in common if holds(self.view.unit(source).observation, value)]
        values = _whole([*(each.value for each in taken), *also])
        shown = ", ".join(values[:SHOWN]) + (f" and {len(values) - SHOWN} more" if len(values) > SHOWN else "")
        return Link(
            source=source,
            target=self.unit.id,
            relation=Relation.REQUIRES,
            confidence=round(base * _TRUST[grade] / (1 + 0.25 * math.log(rarest)), 3),
            reason=f"uses {shown}{_HOW[grade]}",
        )


def _whole(values: Sequence[str]) -> list[str]:
    """Without those that are only a part of another."""
    return [value for value in values if not any(value != other and value in other for other in values)]
