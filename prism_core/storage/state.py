"""Everything derived from the ledger for one scope, followed by one mechanism: take the delta, apply it.

`ScopeState` holds the graph, the lexical index, the vectors and the columns of a scope. It can be thrown away at any
time; a new one applies the delta from seq 0.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache
from threading import RLock

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from prism_core.changes import FloatArray, IntArray
from prism_core.progress import Goal
from prism_core.protocols import Delta, Ledger
from prism_core.results import Position
from prism_core.storage.arguments import ArgumentProfiles
from prism_core.storage.columns import UnitColumns
from prism_core.storage.dense import IndexChoice, VectorProjection
from prism_core.storage.facts import FactIndex
from prism_core.storage.goals import GoalIndex
from prism_core.storage.graph import ScopeGraph
from prism_core.storage.identifiers import IdentifierIndex
from prism_core.storage.keys import KeyIndex
from prism_core.storage.lexical import LexicalIndex
from prism_core.storage.metadata import MetadataIndex
from prism_core.storage.origins import MOST_CALLS, ArgumentOrigins, Offers, Origin, lifts
from prism_core.text import analyze, date_terms, identifiers, name_form, relative_dates, same_form
from prism_core.types import (
    EXPLAINING_RELATIONS,
    IntentQuery,
    Link,
    MemoryUnit,
    Outcome,
    Relation,
    Scope,
    ancestors_of,
    is_distilled,
)

BYTES_PER_UNIT = 600

LONGEST_CHAIN = 150
"""Units before a call that it can have taken its arguments from."""


class ScopeState:
    """The projections of one scope. Implements `protocols.ScopeView` and the stored part of `protocols.WriteView`.

    Attributes:
        lock: held while the state is read or caught up.
        position: the state of the ledger this follows.
    """

    def __init__(self, scope: Scope, ledger: Ledger, choice: IndexChoice) -> None:
        self.scope = scope
        self.lock = RLock()
        self._ledger = ledger
        self._choice = choice
        self.restart()

    def restart(self) -> None:
        """Discard everything; the next `catch_up` derives it from the ledger again, in the scope's present epoch."""
        self.position = Position(0, self._ledger.head(self.scope).epoch)
        self.columns = UnitColumns()
        self.graph = ScopeGraph()
        self._lexical = LexicalIndex()
        self._identifiers = IdentifierIndex()
        self._profiles = ArgumentProfiles()
        self._origins = ArgumentOrigins(self._identifiers)
        self._ids: list[str] = []
        self._row_of: dict[str, int] = {}
        self.vectors = VectorProjection(self.scope, self._ledger, self._choice, self._ids, self._row_of)
        self._explained: set[int] = set()
        self._entities = KeyIndex()
        self._labels = KeyIndex()
        self._dates = KeyIndex()
        self.facts = FactIndex()
        self._common: set[str] = set()
        self.goal_index = GoalIndex()
        self._actions: dict[str, list[int]] = defaultdict(list)
        self._awaiting: dict[tuple[str | None, str], dict[str, int]] = defaultdict(dict)
        self._turns: Counter[str | None] = Counter()
        self._steps: dict[tuple[str | None, str], str] = {}
        self._took: dict[tuple[str | None, str], str] = {}
        self._metadata: MetadataIndex | None = None

    # -- following the ledger ------------------------------------------------------------------------------------

    def catch_up(self) -> None:
        """Apply what was committed since, by whomever; start over where something was erased since."""
        while (head := self._ledger.head(self.scope)) != self.position:
            if head.epoch != self.position.epoch:
                self.restart()
                continue
            fresh = self.position.seq == 0
            vectors_after = self.vectors.followed.seq if fresh else self.position.seq
            delta = self._ledger.delta(self.scope, self.position.seq, vectors_after=vectors_after)
            if delta.position.epoch != self.position.epoch:
                continue
            self.apply(delta)
            if fresh and vectors_after:
                self._fill()
            return

    def _fill(self) -> None:
        """Read the vectors that the index holds already; what came in meanwhile is left to the next delta."""
        vectors = self._ledger.delta(self.scope, self.position.seq, vectors_after=0).vectors
        self.vectors.fill([(unit_id, vector) for unit_id, vector in vectors if unit_id in self._row_of])

    def apply(self, delta: Delta) -> None:
        """Take over changed units, links and vectors; applying the same delta again changes nothing."""
        for unit, tokens in delta.units:
            self._put(unit, tokens)
        for link in delta.unlinked:
            self.graph.remove_link(link)
        for link in delta.links:
            self.graph.add_link(link)
            if link.relation in EXPLAINING_RELATIONS:
                self._explained.update((self._row_of[link.source], self._row_of[link.target]))
        self.vectors.apply(delta.vectors, delta.position)
        self.position = delta.position

    def _put(self, unit: MemoryUnit, tokens: int) -> None:
        row = self._row_of.get(unit.id)
        chain = chain_of(unit.task_id, unit.session_id)
        terms = analyze(unit.text)
        # A fact that others state brings up no value of its own.
        values = [] if is_distilled(unit) else identifiers(unit.text)
        self._identifiers.put(len(self._ids) if row is None else row, values, chain)
        if row is None:
            row = self.columns.append(unit, tokens, len(terms))
            self._ids.append(unit.id)
            self._row_of[unit.id] = row
            self.graph.add_unit(unit.id)
            self._place(unit, row, chain)
        else:
            self.columns.update(row, unit, tokens, len(terms))
            for number in self.columns.chains(row):
                self._origins.forget(number)
        self._lexical.put(row, terms + date_terms(unit.event_time), group=int(self.columns.session[row]))
        self._entities.put(row, map(name_form, unit.entities))
        # Under the labels above as well: what refactors code, codes.
        self._labels.put(row, [name for tag in unit.intent_tags for name in (tag, *ancestors_of(tag))])
        said = [term for value in relative_dates(unit.text, unit.event_time) for term in value.terms]
        self._dates.put(row, [*(term for term in terms if term.startswith("@")), *said])
        if self._metadata is not None:
            self._metadata.put(row, unit.metadata)
        self.facts.put(unit)
        if is_distilled(unit):
            # A fact is what units of any task may have in common: a hub, through which paths connect everything.
            self._common.add(unit.id)
        self.goal_index.put(unit, chain)
        if unit.action is not None and unit.tool_call_id is not None and not is_open(unit):
            self._awaiting[unit.session_id, unit.tool_call_id].pop(unit.id, None)

    def _place(self, unit: MemoryUnit, row: int, chain: str) -> None:
        if unit.action_type:
            self._actions[unit.action_type].append(row)
        for number in self.columns.chains(row):
            if not self.columns.ends_chain(row, number):
                self._origins.forget(number)
        values = identifiers(unit.action) if unit.action is not None else []
        self._origins.put(row, unit.action_type or unit.source, self._identifiers.numbers(values))
        if unit.step_id is not None:
            self._steps[unit.task_id, unit.step_id] = unit.id
        if unit.action is not None:
            self._took[unit.task_id, same_form(unit.action)] = unit.id
            self._profiles.add(unit.action_type or "", values, chain)
            if unit.tool_call_id is not None:
                self._awaiting[unit.session_id, unit.tool_call_id][unit.id] = self.turn(unit.session_id)
        else:
            self._turns[unit.session_id] += 1

    @property
    def nbytes(self) -> int:
        """Estimated size in bytes."""
        parts = (
            self.columns,
            self.graph,
            self.vectors,
            self._lexical,
            self._identifiers,
            self._entities,
            self._labels,
            self._dates,
            self.facts,
            self.goal_index,
        )
        metadata = 0 if self._metadata is None else self._metadata.nbytes
        return sum(part.nbytes for part in parts) + metadata + BYTES_PER_UNIT * len(self._ids)

    # -- protocols.ScopeView ---------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def ids(self) -> Sequence[str]:
        """Unit id of every row."""
        return self._ids

    @property
    def speakers(self) -> Sequence[str]:
        """Name of every speaker number."""
        return self.columns.speakers.names

    @property
    def action_types(self) -> Sequence[str]:
        """Every action type that occurs."""
        return list(self._actions)

    @property
    def chain_count(self) -> int:
        """Number of chains in the scope."""
        return self._identifiers.chain_count

    def units(self, rows: IntArray) -> list[MemoryUnit]:
        """The units of these rows, read from the ledger."""
        return self._ledger.units(self.scope, [self._ids[row] for row in rows.tolist()])

    def rows(self, unit_ids: Sequence[str]) -> IntArray:
        """Rows of these units; unknown ids are left out."""
        return _array([self._row_of[unit_id] for unit_id in unit_ids if unit_id in self._row_of])

    def chain(self, *, task_id: str | None = None, session_id: str | None = None) -> IntArray:
        """Rows of a task, of a session, or of a task within a session, in the order of time."""
        if task_id is None:
            return self.columns.session_rows(session_id) if session_id is not None else _array([])
        rows = self.columns.task_rows(task_id)
        if session_id is None:
            return rows
        return np.compress(self.columns.session[rows] == self.columns.sessions.find(session_id), rows)

    def numbered_chain(self, *, task: int | None = None, session: int | None = None) -> IntArray:
        """Rows of the task or session of a number, in the order of time."""
        return self.columns.numbered_rows(task=task, session=session)

    def holding(self, metadata: Mapping[str, JsonValue]) -> IntArray:
        """Rows whose metadata has all of these keys with these values, ascending.

        The first such question of a scope reads every unit; from then on the answer is looked up.
        """
        if self._metadata is None:
            index = MetadataIndex()
            for row, unit in enumerate(self._ledger.units(self.scope, self._ids)):
                index.put(row, unit.metadata)
            self._metadata = index
        return self._metadata.rows(metadata, len(self._ids))

    def lexical(self, terms: Sequence[str]) -> FloatArray:
        """BM25 of every row."""
        return self._lexical.scores(terms)

    def session_lexical(self, terms: Sequence[str]) -> FloatArray:
        """BM25 of every session as one document."""
        return self._lexical.group_scores(terms)

    def held(self, terms: Sequence[str], rows: IntArray) -> NDArray[np.bool_]:
        """Which index terms each row holds, shape (terms, rows)."""
        return self._lexical.held(terms, rows)

    def document_frequency(self, term: str) -> int:
        """How many rows hold an index term."""
        return self._lexical.document_frequency(term)

    def nearest(self, vector: FloatArray, k: int) -> IntArray:
        """The rows nearest to a vector, best first."""
        return self.vectors.nearest(vector, k)

    def similarities(self, vector: FloatArray, rows: IntArray) -> FloatArray:
        """Exact cosine similarity of rows to a vector; 0 for rows without a vector."""
        return self.vectors.similarities(vector, rows)

    def mentioning(self, entity: str) -> IntArray:
        """Rows that mention an entity or hold an identifier."""
        return np.union1d(self._entities.rows(name_form(entity)), _array(self._identifiers.rows(entity)))

    def dated(self, date_term: str) -> IntArray:
        """Rows whose text names a date, by its index term."""
        return self._dates.rows(date_term)

    def labelled(self, label: str) -> IntArray:
        """Rows tagged with an intent label."""
        return self._labels.rows(label)

    def labels(self, rows: IntArray) -> Sequence[tuple[str, ...]]:
        """Intent labels of each of these rows."""
        return self._labels.keys(rows)

    def acting(self, action_type: str) -> IntArray:
        """Rows whose action is of a type."""
        return _array(self._actions.get(action_type, ()))

    def goals(self, query: IntentQuery) -> Sequence[Goal]:
        """Goal, sub-goal and latest step of the task or session a query is about."""
        if query.task_id is not None or query.session_id is not None:
            return self.goal_index.stack(chain_of(query.task_id, query.session_id))
        active = self.rows(query.active)
        if not len(active):
            return ()
        unit = self.unit(self._ids[int(active[-1])])
        return self.goal_index.stack(chain_of(unit.task_id, unit.session_id))

    def identifiers(self, row: int) -> Sequence[int]:
        """Numbers of the identifiers in a row."""
        return self._identifiers.of_row(row)

    def identifier_forms(self, identifier: int) -> tuple[str, str]:
        """Literal and rough form of an identifier."""
        return self._identifiers.forms(identifier)

    def arguments(self, row: int) -> Sequence[int]:
        """Numbers of the identifiers that a row's action took as arguments."""
        return self._origins.arguments(row)

    def identifier_kinds(self, rows: Sequence[int]) -> Mapping[int, Set[str]]:
        """The kinds of units among these rows that hold each of their identifiers."""
        return self._origins.kinds(rows)

    def expected_arguments(self, action_type: str) -> Mapping[str, float]:
        """Mean number of identifiers per call of an action, by form."""
        return self._profiles.expected(action_type)

    def argument_lifts(self, action_type: str) -> Mapping[Origin, float]:
        """How much more often than usual calls of an action take an identifier of a form from a kind of unit."""
        calls = self._actions.get(action_type, ())[-MOST_CALLS:]
        return lifts([self._offers(call) for call in calls], self.expected_arguments(action_type))

    def identifier_spread(self, identifier: int) -> tuple[int, IntArray]:
        """In how many chains an identifier occurs, and the rows that hold it."""
        return self._identifiers.spread(identifier)

    def explaining(self, rows: IntArray) -> Mapping[int, Sequence[int]]:
        """For those of these rows that have any: the rows linked with it by a relation that explains."""
        return {
            row: [self._row_of[unit_id] for unit_id in self.graph.neighbours(self._ids[row], EXPLAINING_RELATIONS)]
            for row in rows.tolist()
            if row in self._explained
        }

    def stating(self, row: int) -> IntArray:
        """Rows of the units that state a fact."""
        adjacency = self.graph.graph._pred[self._ids[row]]
        return self.rows([source for source, links in adjacency.items() if Relation.SUMMARIZES in links])

    def distances(self, row: int, costs: Mapping[Relation, float], *, max_rows: int) -> dict[int, float]:
        """Cheapest typed path from one row to the rows around it."""
        reached = self.graph.distances(self._ids[row], costs, max_nodes=max_rows, ends=self._common)
        return {self._row_of[unit_id]: cost for unit_id, cost in reached.items()}

    # -- protocols.WriteView -----------------------------------------------------------------------------------------

    def unit(self, unit_id: str) -> MemoryUnit:
        """A unit, read from the ledger.

        Raises:
            UnknownUnitError: if the scope has none of this id.
        """
        return self._ledger.units(self.scope, [unit_id])[0]

    def known(self, unit_id: str) -> str | None:
        """The id itself where the scope has a unit of this id."""
        return unit_id if unit_id in self._row_of else None

    def find_key(self, idempotency_key: str) -> str | None:
        """Id of the unit stored under an idempotency key."""
        return self._ledger.find_key(self.scope, idempotency_key)

    def find_text(self, kind: str, text: str) -> str | None:
        """Id of the first unit of a kind that says the same: messages by `text.wording`, others by `text.normalize`."""
        return self._ledger.find_text(self.scope, kind, text)

    def last_in_task(self, task_id: str) -> str | None:
        """Id of the latest unit of a task."""
        return self._id(self.columns.last_in_task(task_id))

    def last_in_session(self, session_id: str) -> str | None:
        """Id of the latest unit of a session."""
        return self._id(self.columns.last_in_session(session_id))

    def step(self, task_id: str | None, step_id: str) -> str | None:
        """Id of the latest unit of a task with this step id."""
        return self._steps.get((task_id, step_id))

    def open_calls(self, session_id: str | None, tool_call_id: str) -> Mapping[str, int]:
        """The turns of the calls with this tool call id and no reply yet, oldest first."""
        return self._awaiting.get((session_id, tool_call_id), {})

    def turn(self, session_id: str | None) -> int:
        """How many units of a session are no calls."""
        return self._turns[session_id]

    def same_action(self, task_id: str | None, action: str) -> str | None:
        """Id of the latest unit of a task that took the same action."""
        return self._took.get((task_id, same_form(action)))

    def last_taken(self, action_type: str, task_id: str | None, session_id: str | None) -> str | None:
        """Id of the latest recorded unit of a chain whose action is of a type."""
        rows = self._recorded(task_id, session_id)
        return self._id(int(np.max(np.intersect1d(rows, self.acting(action_type)), initial=-1)))

    def last_failure(self, task_id: str | None, session_id: str | None) -> str | None:
        """Id of the latest recorded unit of a chain that failed."""
        rows = self._recorded(task_id, session_id)
        return self._id(int(np.max(rows[self.columns.failed[rows]], initial=-1)))

    def holders(self, value: str, task_id: str | None, session_id: str | None) -> Sequence[str]:
        """Ids of the units of a chain that may hold a value, in the order recorded."""
        if is_identifier(value):
            return [self._ids[row] for row in self._identifiers.within(value, chain_of(task_id, session_id))]
        terms, rows = word_terms_of(value), self._recorded(task_id, session_id)
        if not terms:
            return []
        return [self._ids[row] for row in np.sort(rows[self.held(terms, rows).all(axis=0)]).tolist()]

    def _recorded(self, task_id: str | None, session_id: str | None) -> IntArray:
        return self.chain(task_id=task_id) if task_id is not None else self.chain(session_id=session_id)

    def spread(self, identifier: str) -> int:
        """How many units hold an identifier."""
        return len(self._identifiers.rows(identifier))

    def recent(self, task_id: str | None, session_id: str | None, limit: int) -> Sequence[MemoryUnit]:
        """The units of a chain recorded last, the latest first."""
        if task_id is None and session_id is None:
            return []
        return self.units(np.sort(self._recorded(task_id, session_id))[-limit:][::-1])

    def facts_about(self, entity: str, attribute: str) -> Sequence[MemoryUnit]:
        """Every value of an attribute of an entity."""
        return self._facts_of(self.facts.about(entity, attribute))

    def facts_valued(self, entity: str, value: str) -> Sequence[MemoryUnit]:
        """Facts of an entity that have a value."""
        return self._facts_of(self.facts.valued(entity, value))

    def links_to(self, unit_id: str, relation: Relation) -> Sequence[Link]:
        """The links of a relation that lead to a unit."""
        return [link for _, _, link in self.graph.graph.in_edges(unit_id, data="link") if link.relation is relation]

    def _facts_of(self, unit_ids: Sequence[str]) -> Sequence[MemoryUnit]:
        held = {unit_id: unit for unit_id in unit_ids if (unit := self.facts.held(unit_id)) is not None}
        missing = [unit_id for unit_id in unit_ids if unit_id not in held]
        if missing:
            held |= {unit.id: unit for unit in self._ledger.units(self.scope, missing)}
        return [held[unit_id] for unit_id in unit_ids]

    def _offers(self, call: int) -> Offers:
        chain = self.columns.chain(call)
        rows = self.columns.chain_rows(chain).tolist()
        place = rows.index(call) if rows else 0
        return self._origins.offers(call, chain, rows[max(0, place - LONGEST_CHAIN) : place])

    def _id(self, row: int) -> str | None:
        return self._ids[row] if row >= 0 else None


def chain_of(task_id: str | None, session_id: str | None) -> str:
    """The chain a unit belongs to: its task, else its session, else the scope as a whole."""
    return f"task {task_id}" if task_id is not None else f"session {session_id}"


@lru_cache(maxsize=1 << 12)
def is_identifier(value: str) -> bool:
    """Whether a value as a whole is one that the index of identifiers would hold."""
    return value in identifiers(value)


@lru_cache(maxsize=1 << 12)
def word_terms_of(value: str) -> tuple[str, ...]:
    """The index terms of a value, but for those of dates."""
    return tuple(term for term in analyze(value) if not term.startswith("@"))


def is_open(unit: MemoryUnit) -> bool:
    """Whether a call still waits for its reply."""
    return not unit.observation and unit.outcome is Outcome.UNKNOWN


def _array(rows: Sequence[int]) -> IntArray:
    return np.array(rows, dtype=np.intp)
