"""A scope as it will be once the events encoded so far are committed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from prism_core.protocols import WriteView
from prism_core.storage.codec import compared_text
from prism_core.storage.facts import FactIndex
from prism_core.storage.state import chain_of, is_identifier, is_open, word_terms_of
from prism_core.text import analyze, identifiers, same_form
from prism_core.types import Link, MemoryUnit, Outcome, Relation, is_distilled

_BETWEEN_FACTS = (Relation.SUPERSEDES, Relation.CONTRADICTS)


class StagedView:
    """Lays the units of one write over what is stored. Implements `protocols.WriteView`; nothing is changed below."""

    def __init__(self, stored: WriteView) -> None:
        self._stored = stored
        self._units: dict[str, MemoryUnit] = {}
        self._read: dict[str, MemoryUnit] = {}
        self._keys: dict[str, str] = {}
        self._texts: dict[tuple[str, str], str] = {}
        self._last: dict[tuple[str, str], MemoryUnit] = {}
        self._steps: dict[tuple[str | None, str], str] = {}
        self._took: dict[tuple[str | None, str], str] = {}
        self._awaiting: dict[tuple[str | None, str], dict[str, int]] = defaultdict(dict)
        self._turns: Counter[str | None] = Counter()
        self._chains: dict[str, dict[str, int]] = defaultdict(dict)
        self._answered: set[str] = set()
        self._facts = FactIndex()
        self._links: dict[tuple[str, str, Relation], Link | None] = {}
        self._terms: dict[str, frozenset[str]] = {}
        self._holders: dict[str, dict[str, None]] = defaultdict(dict)

    def stage(self, unit: MemoryUnit, key: str | None) -> None:
        """Lay a new or changed unit over what is stored."""
        if key is not None:
            self._keys[key] = unit.id
        if unit.id not in self._units and self._stored.known(unit.id) is None:
            self._place(unit)
        self._units[unit.id] = unit
        self._facts.put(unit)
        self._terms.pop(unit.id, None)
        chain = self._chains[chain_of(unit.task_id, unit.session_id)]
        # What is stored already comes before all that is staged.
        chain.setdefault(unit.id, -1 if self._stored.known(unit.id) else len(chain))
        self._texts.setdefault((unit.kind, compared_text(unit.kind, unit.text)), unit.id)
        if not is_open(unit):
            self._answered.add(unit.id)
        for value in [] if is_distilled(unit) else identifiers(unit.text):
            self._holders[value][unit.id] = None

    def _place(self, unit: MemoryUnit) -> None:
        self._note_last("task", unit.task_id, unit)
        self._note_last("session", unit.session_id, unit)
        if unit.step_id is not None:
            self._steps[unit.task_id, unit.step_id] = unit.id
        if unit.action is not None:
            self._took[unit.task_id, same_form(unit.action)] = unit.id
            if unit.tool_call_id is not None:
                self._awaiting[unit.session_id, unit.tool_call_id][unit.id] = self.turn(unit.session_id)
        else:
            self._turns[unit.session_id] += 1

    def _note_last(self, kind: str, name: str | None, unit: MemoryUnit) -> None:
        if name is None:
            return
        last = self._last.get((kind, name))
        if last is None:
            stored = self._stored.last_in_task(name) if kind == "task" else self._stored.last_in_session(name)
            last = self.unit(stored) if stored is not None else None
        # As the stored order has it: by event time, and at equal times the later recorded one.
        self._last[kind, name] = last if last is not None and last.event_time > unit.event_time else unit

    def unit(self, unit_id: str) -> MemoryUnit:
        """A staged or stored unit.

        Raises:
            UnknownUnitError: if there is none of this id.
        """
        unit = self._units.get(unit_id) or self._read.get(unit_id)
        if unit is None:
            unit = self._read[unit_id] = self._stored.unit(unit_id)
        return unit

    def known(self, unit_id: str) -> str | None:
        """The id itself where a unit of this id is staged or stored."""
        return unit_id if unit_id in self._units else self._stored.known(unit_id)

    def find_key(self, idempotency_key: str) -> str | None:
        """Id of the unit staged or stored under an idempotency key."""
        return self._keys.get(idempotency_key) or self._stored.find_key(idempotency_key)

    def find_text(self, kind: str, text: str) -> str | None:
        """Id of the first unit of a kind that says the same: messages by `text.wording`, others by `text.normalize`."""
        return self._stored.find_text(kind, text) or self._texts.get((kind, compared_text(kind, text)))

    def last_in_task(self, task_id: str) -> str | None:
        """Id of the latest unit of a task by event time."""
        last = self._last.get(("task", task_id))
        return last.id if last is not None else self._stored.last_in_task(task_id)

    def last_in_session(self, session_id: str) -> str | None:
        """Id of the latest unit of a session by event time."""
        last = self._last.get(("session", session_id))
        return last.id if last is not None else self._stored.last_in_session(session_id)

    def step(self, task_id: str | None, step_id: str) -> str | None:
        """Id of the latest unit of a task with this step id."""
        return self._steps.get((task_id, step_id)) or self._stored.step(task_id, step_id)

    def open_calls(self, session_id: str | None, tool_call_id: str) -> Mapping[str, int]:
        """The turns of the calls with this tool call id and no reply yet, oldest first."""
        stored = self._stored.open_calls(session_id, tool_call_id)
        staged = self._awaiting.get((session_id, tool_call_id), {})
        return {call: turn for call, turn in (*stored.items(), *staged.items()) if call not in self._answered}

    def turn(self, session_id: str | None) -> int:
        """How many units of a session are no calls, stored or staged."""
        return self._stored.turn(session_id) + self._turns[session_id]

    def same_action(self, task_id: str | None, action: str) -> str | None:
        """Id of the latest unit of a task that took the same action."""
        return self._took.get((task_id, same_form(action))) or self._stored.same_action(task_id, action)

    def last_taken(self, action_type: str, task_id: str | None, session_id: str | None) -> str | None:
        """Id of the latest recorded unit of a chain whose action is of a type."""
        taken = self._chain(task_id, session_id)
        fresh = [unit.id for unit in taken if unit.action_type == action_type and not self._stored.known(unit.id)]
        return fresh[-1] if fresh else self._stored.last_taken(action_type, task_id, session_id)

    def last_failure(self, task_id: str | None, session_id: str | None) -> str | None:
        """Id of the latest recorded unit of a chain that failed."""
        failed = [unit.id for unit in self._chain(task_id, session_id) if unit.outcome is Outcome.FAILURE]
        return failed[-1] if failed else self._stored.last_failure(task_id, session_id)

    def holders(self, value: str, task_id: str | None, session_id: str | None) -> Sequence[str]:
        """Ids of the units of a chain that may hold a value, stored before staged ones."""
        stored = self._stored.holders(value, task_id, session_id)
        staged = self._holding(value, task_id, session_id)
        places = self._chains.get(chain_of(task_id, session_id), {})
        return list(dict.fromkeys([*stored, *sorted(staged, key=lambda unit_id: places[unit_id])]))

    def _holding(self, value: str, task_id: str | None, session_id: str | None) -> list[str]:
        if is_identifier(value):
            chain = self._chains.get(chain_of(task_id, session_id), {})
            return [unit_id for unit_id in self._holders.get(value, ()) if unit_id in chain]
        terms = word_terms_of(value)
        chained = self._chain(task_id, session_id) if terms else ()
        return [unit.id for unit in chained if self._terms_of(unit).issuperset(terms)]

    def _terms_of(self, unit: MemoryUnit) -> frozenset[str]:
        terms = self._terms.get(unit.id)
        if terms is None:
            terms = self._terms[unit.id] = frozenset(analyze(unit.text))
        return terms

    def _chain(self, task_id: str | None, session_id: str | None) -> Iterator[MemoryUnit]:
        if task_id is None and session_id is None:
            return iter(())
        return (self._units[unit_id] for unit_id in self._chains[chain_of(task_id, session_id)])

    def spread(self, identifier: str) -> int:
        """How many units hold an identifier, stored or staged."""
        return self._stored.spread(identifier) + len(self._holders.get(identifier, ()))

    def stage_link(self, link: Link, *, removed: bool = False) -> None:
        """Lay a link between facts, or that one was removed, over what is stored; other links are passed over."""
        if link.relation in _BETWEEN_FACTS:
            self._links[link.source, link.target, link.relation] = None if removed else link

    def recent(self, task_id: str | None, session_id: str | None, limit: int) -> Sequence[MemoryUnit]:
        """The units of a chain recorded last, staged ones first."""
        staged = [] if task_id is None and session_id is None else list(self._chain(task_id, session_id))[::-1]
        ids = {unit.id for unit in staged}
        stored = [unit for unit in self._stored.recent(task_id, session_id, limit) if unit.id not in ids]
        return [*staged, *stored][:limit]

    def facts_about(self, entity: str, attribute: str) -> Sequence[MemoryUnit]:
        """Every value of an attribute of an entity, as it will be."""
        return self._overlaid(self._stored.facts_about(entity, attribute), self._facts.about(entity, attribute))

    def facts_valued(self, entity: str, value: str) -> Sequence[MemoryUnit]:
        """Facts of an entity that have a value, as they will be."""
        return self._overlaid(self._stored.facts_valued(entity, value), self._facts.valued(entity, value))

    def links_to(self, unit_id: str, relation: Relation) -> Sequence[Link]:
        """The links of a relation that will lead to a unit: SUPERSEDES or CONTRADICTS."""
        stored = self._stored.links_to(unit_id, relation) if self._stored.known(unit_id) is not None else ()
        links: dict[str, Link | None] = {link.source: link for link in stored}
        links |= {
            source: link
            for (source, target, kind), link in self._links.items()
            if target == unit_id and kind is relation
        }
        return [link for link in links.values() if link is not None]

    def _overlaid(self, stored: Sequence[MemoryUnit], staged: Sequence[str]) -> list[MemoryUnit]:
        known = {unit.id for unit in stored}
        fresh = [self._units[each] for each in staged if each not in known]
        return [*(self._units.get(unit.id, unit) for unit in stored), *fresh]
