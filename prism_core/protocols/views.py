"""Read-only views of one scope: what ranking, planning and encoding may look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from prism_core.changes import FloatArray, IntArray
from prism_core.progress import Goal
from prism_core.results import Position
from prism_core.types import IntentQuery, Link, MemoryUnit, Relation


class Columns(Protocol):
    """Per-unit values of one scope, as arrays over its n rows. A row is a unit's place in the order of recording.

    Attributes:
        times: event times, POSIX seconds.
        tokens: tokens of the text.
        terms: index terms of the text.
        importance: in [0, 1].
        session: number of the unit's session, -1 without one.
        task: number of the unit's task, -1 without one.
        speaker: number of the unit's speaker, -1 without one.
        previous: row before it in its session by event time, -1 at the start.
        following: row after it in its session by event time, -1 at the end.
        question: whether it asks something.
        current: whether it still holds.
        timed: whether it says when something happens or how long it takes.
        step: whether it is an action.
        failed: whether it is an action that failed.
        distilled: whether it is a fact that other units state.
    """

    times: NDArray[np.float64]
    tokens: IntArray
    terms: IntArray
    importance: FloatArray
    session: IntArray
    task: IntArray
    speaker: IntArray
    previous: IntArray
    following: IntArray
    question: NDArray[np.bool_]
    current: NDArray[np.bool_]
    timed: NDArray[np.bool_]
    step: NDArray[np.bool_]
    failed: NDArray[np.bool_]
    distilled: NDArray[np.bool_]

    @property
    def dialogue(self) -> NDArray[np.bool_]:
        """Whether more than one speaker takes part, by session number."""
        ...


class ScopeView(Protocol):
    """One scope at one position: all that planning and ranking may look at."""

    @property
    def position(self) -> Position:
        """The state this is a view of."""
        ...

    @property
    def columns(self) -> Columns:
        """Per-unit values."""
        ...

    @property
    def ids(self) -> Sequence[str]:
        """Unit id of every row."""
        ...

    @property
    def speakers(self) -> Sequence[str]:
        """Name of every speaker number."""
        ...

    @property
    def action_types(self) -> Sequence[str]:
        """Every action type that occurs."""
        ...

    def units(self, rows: IntArray) -> list[MemoryUnit]:
        """The units of these rows, read from the ledger."""
        ...

    def rows(self, unit_ids: Sequence[str]) -> IntArray:
        """Rows of these units; unknown ids are left out."""
        ...

    def chain(self, *, task_id: str | None = None, session_id: str | None = None) -> IntArray:
        """Rows of a task, of a session, or of a task within a session, in the order of time."""
        ...

    def numbered_chain(self, *, task: int | None = None, session: int | None = None) -> IntArray:
        """Rows of the task or session of a number, in the order of time."""
        ...

    def lexical(self, terms: Sequence[str]) -> FloatArray:
        """BM25 of every row, shape (n,), >= 0."""
        ...

    def session_lexical(self, terms: Sequence[str]) -> FloatArray:
        """BM25 of every session as one document, by session number, >= 0."""
        ...

    def held(self, terms: Sequence[str], rows: IntArray) -> NDArray[np.bool_]:
        """Which index terms each row holds, shape (terms, rows); a term may be unknown."""
        ...

    def document_frequency(self, term: str) -> int:
        """How many rows hold an index term."""
        ...

    def nearest(self, vector: FloatArray, k: int) -> IntArray:
        """The rows nearest to a vector, best first; an approximate index may miss some."""
        ...

    def similarities(self, vector: FloatArray, rows: IntArray) -> FloatArray:
        """Exact cosine similarity of rows to a vector, in [-1, 1]; 0 for rows without a vector."""
        ...

    def mentioning(self, entity: str) -> IntArray:
        """Rows that mention an entity by its normalised name, or hold an identifier."""
        ...

    def dated(self, date_term: str) -> IntArray:
        """Rows whose text names a date, explicitly or seen from when it was said, by its index term."""
        ...

    def labelled(self, label: str) -> IntArray:
        """Rows tagged with an intent label."""
        ...

    def labels(self, rows: IntArray) -> Sequence[tuple[str, ...]]:
        """Intent labels of each of these rows."""
        ...

    def acting(self, action_type: str) -> IntArray:
        """Rows whose action is of a type."""
        ...

    def goals(self, query: IntentQuery) -> Sequence[Goal]:
        """Goal, sub-goal and latest step of the task or session that a query or its active units are about."""
        ...

    def identifiers(self, row: int) -> Sequence[int]:
        """Numbers of the identifiers in a row."""
        ...

    def identifier_forms(self, identifier: int) -> tuple[str, str]:
        """Literal and rough form of an identifier, such as `credit_card_9+` and `a+_a+_9+`."""
        ...

    def arguments(self, row: int) -> Sequence[int]:
        """Numbers of the identifiers that a row's action took as arguments."""
        ...

    def expected_arguments(self, action_type: str) -> Mapping[str, float]:
        """Mean number of identifiers per call of an action, by form, as far as the scope's calls tell."""
        ...

    def identifier_kinds(self, rows: Sequence[int]) -> Mapping[int, Set[str]]:
        """The kinds of units among these rows that hold each of their identifiers.

        A kind is an action type, or who speaks; units whose action took the identifier are a kind of their own.
        """
        ...

    def argument_lifts(self, action_type: str) -> Mapping[tuple[str, str], float]:
        """How much more often than usual calls of an action take an identifier, by its form and the kind of its holder.

        1 is as often as others of its form; forms are those of `expected_arguments`, else rough ones. Pairs that no
        call was offered are left out.
        """
        ...

    def identifier_spread(self, identifier: int) -> tuple[int, IntArray]:
        """In how many chains an identifier occurs, and the rows that hold it."""
        ...

    @property
    def chain_count(self) -> int:
        """Number of chains (tasks, else sessions) in the scope."""
        ...

    def explaining(self, rows: IntArray) -> Mapping[int, Sequence[int]]:
        """For those of these rows that have any: the rows linked with it, either way, by a relation that explains."""
        ...

    def distances(self, row: int, costs: Mapping[Relation, float], *, max_rows: int) -> dict[int, float]:
        """Cheapest typed path from one row to the rows around it, in either direction of the links.

        Args:
            row: where to start.
            costs: cost of a link, by relation; relations left out are not walked.
            max_rows: stop after settling this many rows.

        Returns:
            Row to cost, for the rows reached; includes the start at 0.
        """
        ...


class WriteView(Protocol):
    """What encoding an event may look at: the scope as it is, and the events before it in the same write."""

    def unit(self, unit_id: str) -> MemoryUnit:
        """A unit of the scope.

        Raises:
            UnknownUnitError: if there is none of this id.
        """
        ...

    def known(self, unit_id: str) -> str | None:
        """The id itself where the scope has a unit of this id, else None."""
        ...

    def find_key(self, idempotency_key: str) -> str | None:
        """Id of the unit stored under an idempotency key."""
        ...

    def find_text(self, kind: str, text: str) -> str | None:
        """Id of the first unit of a kind that says the same: messages by `text.wording`, others by `text.normalize`."""
        ...

    def last_in_task(self, task_id: str) -> str | None:
        """Id of the latest unit of a task."""
        ...

    def last_in_session(self, session_id: str) -> str | None:
        """Id of the latest unit of a session."""
        ...

    def step(self, task_id: str | None, step_id: str) -> str | None:
        """Id of the latest unit of a task with this step id."""
        ...

    def open_calls(self, session_id: str | None, tool_call_id: str) -> Mapping[str, int]:
        """The turns of the calls of a session that have this tool call id and no reply yet, by unit id, oldest first.

        A turn is how many units that are no calls the session had before: calls made together are of one turn.
        """
        ...

    def turn(self, session_id: str | None) -> int:
        """How many units of a session are no calls."""
        ...

    def same_action(self, task_id: str | None, action: str) -> str | None:
        """Id of the latest unit of a task that took the same action, whatever the order of its arguments."""
        ...

    def last_taken(self, action_type: str, task_id: str | None, session_id: str | None) -> str | None:
        """Id of the latest recorded unit of a task (else session) whose action is of a type."""
        ...

    def last_failure(self, task_id: str | None, session_id: str | None) -> str | None:
        """Id of the latest recorded unit of a task (else session) that failed."""
        ...

    def holders(self, value: str, task_id: str | None, session_id: str | None) -> Sequence[str]:
        """Ids of the units of a task (else session, else scope) that may hold a value, in the order recorded.

        Exactly those that hold it for a value that is an identifier; for others those that hold all its words.
        """
        ...

    def spread(self, identifier: str) -> int:
        """How many units of the scope hold an identifier."""
        ...

    def recent(self, task_id: str | None, session_id: str | None, limit: int) -> Sequence[MemoryUnit]:
        """The units of a task (else session) recorded last, the latest first; none without either."""
        ...

    def facts_about(self, entity: str, attribute: str) -> Sequence[MemoryUnit]:
        """Every value of an attribute of an entity, current or not, in the order recorded; names are normalised."""
        ...

    def facts_valued(self, entity: str, value: str) -> Sequence[MemoryUnit]:
        """Every fact of an entity that has a value, whatever the attribute, in the order recorded."""
        ...

    def links_to(self, unit_id: str, relation: Relation) -> Sequence[Link]:
        """The links of a relation that lead to a unit: SUPERSEDES or CONTRADICTS."""
        ...


class Introspector(Protocol):
    """A planner that has to wait for somebody, such as a language model, and so plans ahead of the ranking."""

    def introspect(self, query: IntentQuery, view: ScopeView) -> tuple[IntentQuery, str]:
        """The query with what was found out, and why nothing was; empty where something was."""
        ...


class Planner(Protocol):
    """Turns a question into an `IntentQuery`."""

    def plan(self, query: IntentQuery, view: ScopeView) -> IntentQuery:
        """Fill what the caller left open: intents, entities, action type and facets."""
        ...
