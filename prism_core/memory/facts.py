"""What is known: facts by entity and attribute, what held when, what is disputed, and what is asked of a new user."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path

from prism_core.encode.conflict import ConflictRules, Resolution, resolve, statements_of
from prism_core.errors import NaiveDatetimeError, QueryError, UnknownUnitError
from prism_core.memory.arguments import EventLike, checked_items, checked_unit_id
from prism_core.memory.onboarding import ONBOARDING, Onboarding, preloaded
from prism_core.memory.reader import Reader
from prism_core.protocols import Clock
from prism_core.results import Receipt, ReceiptStatus
from prism_core.storage.state import ScopeState
from prism_core.text import normalize
from prism_core.types import Event, Kind, MemoryUnit, Scope, Source, Statement, Status, utc


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A question to ask because two values of one attribute stand against each other.

    Attributes:
        current: the fact that is believed so far; None where nothing is.
        disputed: the fact that contradicts it.
        question: what to ask the user, in words.
    """

    current: MemoryUnit | None
    disputed: MemoryUnit
    question: str


@dataclass(frozen=True, slots=True)
class Belief:
    """A value of an attribute and the time during which it held.

    Attributes:
        unit: the fact, with the status it has now.
        since: when it was first said, or said again after another value; aware UTC.
        until: when another value took its place or it ended; None where it holds still.
    """

    unit: MemoryUnit
    since: datetime
    until: datetime | None


class FactVerbs(ABC):
    """What `PrismMemory` answers about facts."""

    _reader: Reader
    _conflicts: ConflictRules
    _clock: Clock

    @abstractmethod
    def _enter(self, operation: str, scope: object) -> Scope:
        """The scope checked, once the memory is known to be open."""

    @abstractmethod
    def write_many(self, events: Iterable[EventLike], *, scope: object) -> list[Receipt]:
        """Store events."""

    def facts(
        self,
        *,
        scope: object,
        entity: str | None = None,
        attribute: str | None = None,
        as_of: datetime | None = None,
        valid_at: datetime | None = None,
    ) -> list[MemoryUnit]:
        """The facts that hold, one per entity and attribute, in the order they were first recorded.

        Args:
            scope: whose memory.
            entity: only facts about this entity; case and white space do not matter. `user` is a user without a name.
            attribute: only facts about this attribute.
            as_of: what was believed at this instant: nothing that was recorded later is looked at; aware.
            valid_at: what held at this instant, as far as is known now: by the time of the event; aware.

        Returns:
            Units of kind `fact`; their status and confidence are as of the instant that was asked for.

        Raises:
            ScopeError: if the scope is missing or malformed.
            NaiveDatetimeError: if an instant has no time zone.
            QueryError: if a name is no text.
        """
        seen_from = None if as_of is None else _instant("as_of", as_of)
        instant = None if valid_at is None else _instant("valid_at", valid_at)
        found = []
        for units in self._slots("facts", scope, entity, attribute):
            resolution = resolve(units, self._conflicts, as_of=seen_from)
            holder = resolution.current if instant is None else resolution.at(instant)
            found += [_as_resolved(unit, resolution) for unit in units if unit.id == holder]
        return found

    def beliefs(self, entity: str, attribute: str, *, scope: object, as_of: datetime | None = None) -> list[Belief]:
        """Every value an attribute had and when, in the order of time; arguments and errors are those of `facts`."""
        seen_from = None if as_of is None else _instant("as_of", as_of)
        found: list[Belief] = []
        for units in self._slots("beliefs", scope, entity, attribute):
            resolution = resolve(units, self._conflicts, as_of=seen_from)
            by_id = {unit.id: _as_resolved(unit, resolution) for unit in units if unit.id in resolution.status}
            found += [Belief(by_id[each.unit_id], each.since, each.until) for each in resolution.periods]
        return found

    def needs_confirmation(self, *, scope: object) -> list[Confirmation]:
        """Questions to ask the user: what was said contradicts what is better known, and may be true nevertheless."""
        questions = []
        for units in self._slots("needs_confirmation", scope, None, None):
            holder = next((unit for unit in units if unit.status is Status.CURRENT), None)
            questions += [
                Confirmation(holder, unit, _question(holder, unit)) for unit in units if unit.status is Status.DISPUTED
            ]
        return questions

    def confirm(self, unit_id: str, *, scope: object) -> Receipt:
        """Say that a fact holds: the user was asked and answered so.

        Returns:
            The receipt of that statement, with the facts it took the place of.

        Raises:
            UnknownUnitError: if the scope has no fact of this id.
        """
        checked, wanted = self._enter("confirm", scope), checked_unit_id(unit_id)
        unit = self._reader.get(checked, wanted)
        if unit.fact is None:
            raise UnknownUnitError(wanted, checked)
        now = self._clock()
        said = Statement(event_time=now, recorded_at=now, source=Source.USER, correction=True)
        fact = unit.fact.model_copy(update={"statements": (said,)})
        return self.write_many([Event(kind=Kind.FACT, fact=fact, source=Source.USER)], scope=checked)[0]

    def preload(self, file: str | Path, *, scope: object) -> list[Receipt]:
        """Store what is known before the first conversation.

        Args:
            file: YAML or JSON, a mapping of entities to mappings of attributes to values, such as
                `user: {home: Lisbon, diet: vegan}`; or text, whose paragraphs are stored as documents. Loading a file
                again adds nothing.
            scope: whose memory.

        Raises:
            DatasetError: if the file cannot be read as what its name says.
        """
        if not isinstance(file, str | Path):
            raise QueryError("file", file, "pass the path of a file")
        checked = self._enter("preload", scope)
        held = {(*unit.fact.slot, normalize(unit.fact.value)): unit for unit in self.facts(scope=checked) if unit.fact}
        events = preloaded(Path(file))
        known = [held.get((*e.fact.slot, normalize(e.fact.value))) if e.fact is not None else None for e in events]
        fresh = iter(self.write_many([e for e, unit in zip(events, known, strict=True) if unit is None], scope=checked))
        return [
            next(fresh) if unit is None else Receipt("", ReceiptStatus.DUPLICATE, unit.id, "known already")
            for unit in known
        ]

    def onboarding_questions(
        self, *, scope: object, questions: Sequence[Onboarding] = ONBOARDING, entity: str = "user"
    ) -> list[str]:
        """What to ask a new user: the questions whose answer is not known yet.

        Args:
            scope: whose memory.
            questions: what is worth knowing, in the order it is asked.
            entity: who is asked.

        Raises:
            QueryError: if they are no questions.
        """
        asked = checked_items("questions", questions, Onboarding, "pass a sequence of Onboarding(question, attributes)")
        known = {unit.fact.slot[1] for unit in self.facts(scope=scope, entity=entity) if unit.fact is not None}
        return [each.question for each in asked if not known & {normalize(name) for name in each.attributes}]

    def _slots(
        self, operation: str, scope: object, entity: str | None, attribute: str | None
    ) -> Iterator[list[MemoryUnit]]:
        """Facts, those about one attribute of one entity together."""
        wanted = [
            None if name is None else normalize(_named(field, name))
            for field, name in (("entity", entity), ("attribute", attribute))
        ]

        def read(state: ScopeState) -> list[MemoryUnit]:
            return state.units(state.rows(state.facts.matching(*wanted)))

        units = self._reader.locked(self._enter(operation, scope), read)
        for _, group in groupby(units, key=lambda unit: unit.fact.slot if unit.fact is not None else None):
            yield list(group)


def _named(field: str, name: object) -> str:
    if not isinstance(name, str) or not name.strip():
        raise QueryError(field, name, "pass a name, or None for all")
    return name


def _instant(field: str, value: object) -> datetime:
    if not isinstance(value, datetime):
        raise QueryError(field, value, "pass an aware datetime")
    try:
        return utc(value, field)
    except NaiveDatetimeError:
        raise
    except ValueError as error:
        raise QueryError(field, value, str(error)) from None


def _as_resolved(unit: MemoryUnit, resolution: Resolution) -> MemoryUnit:
    return unit.model_copy(update={"status": resolution.status[unit.id], "confidence": resolution.confidence[unit.id]})


def _question(holder: MemoryUnit | None, disputed: MemoryUnit) -> str:
    assert disputed.fact is not None
    said = max(each.event_time for each in statements_of(disputed))
    newer = f"{_shown(disputed)} (said on {said:%Y-%m-%d})"
    if holder is None:
        return f"Is it so that {newer}?"
    before = statements_of(holder)
    often = "once" if len(before) == 1 else f"{len(before)} times"
    last = max(each.event_time for each in before)
    return f"{_shown(holder)} (said {often}, last on {last:%Y-%m-%d}), or {newer}: which holds?"


def _shown(unit: MemoryUnit) -> str:
    return unit.fact.text if unit.fact is not None else unit.text


def slots_of(units: Iterable[MemoryUnit]) -> Mapping[tuple[str, str], list[MemoryUnit]]:
    """Facts by entity and attribute."""
    slots: dict[tuple[str, str], list[MemoryUnit]] = {}
    for unit in units:
        if unit.fact is not None:
            slots.setdefault(unit.fact.slot, []).append(unit)
    return slots
