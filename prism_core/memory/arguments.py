"""What callers hand in, checked and named before anything is touched."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue, ValidationError

from prism_core.changes import FloatArray
from prism_core.errors import DimensionMismatchError, InvalidEventError, QueryError
from prism_core.types import Event, IntentQuery, MemoryUnit

T = TypeVar("T")
LONGEST_QUESTION = 20_000

EventLike = Event | Mapping[str, Any] | str
"""An event, its fields as a mapping, or the text of a user's message."""

Where = Mapping[str, JsonValue] | Callable[[MemoryUnit], bool]
"""Which units are meant: those whose metadata has every key with this value, or those a function says yes to."""

Vector = Sequence[float] | NDArray[np.floating[Any]]
"""An embedding, shape (d,)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What restricts a question, as the caller gave it; None where it does not."""

    task_id: str | None = None
    session_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    where: Where | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A checked question.

    Attributes:
        query: what is asked, within which task, session and time.
        where: which units may answer.
        vector: the caller's own embedding of the question, shape (d,), L2-normalised.
    """

    query: IntentQuery
    where: Where | None = None
    vector: FloatArray | None = None


def parsed_events(events: Iterable[EventLike]) -> list[Event]:
    """The events a caller handed in.

    Raises:
        InvalidEventError: if it is no list of events, or one of them cannot be stored as given.
    """
    if isinstance(events, str | bytes | Mapping | Event) or not isinstance(events, Iterable):
        raise InvalidEventError("events", events, "pass a list of events; for a single one use write()")
    return [Event.parse({"observation": event} if isinstance(event, str) else event) for event in events]


def parsed_question(query: object, active: object, vector: Vector | None, limits: Limits) -> Question:
    """The question a caller asked.

    Raises:
        QueryError: if a part has the wrong type, or the question is empty or of book length, or nothing can answer it.
    """
    given = {name: getattr(limits, name) for name in ("task_id", "session_id", "since", "until")}
    planned = parsed_query(query, {"active": active, **given})
    return Question(planned, checked_where(limits.where), None if vector is None else checked_vector(vector))


def parsed_query(query: object, given: Mapping[str, object]) -> IntentQuery:
    """The query a caller asked, its fields replaced by what was given beside it.

    Raises:
        QueryError: if a part has the wrong type, or the question is empty or of book length.
    """
    if not isinstance(query, str | IntentQuery):
        raise QueryError("query", query, "ask with a string or an IntentQuery")
    for name in ("task_id", "session_id"):
        checked_name(name, given.get(name))
    for name in ("since", "until"):
        if not isinstance(given.get(name), datetime | None):
            raise QueryError(name, given[name], "pass an aware datetime")
    fields = {name: value for name, value in given.items() if value is not None and (name != "active" or value)}
    base = {"text": query} if isinstance(query, str) else query.model_dump()
    try:
        planned = IntentQuery.model_validate({**base, **fields})
    except ValidationError as error:
        problem = error.errors()[0]
        field = str(problem["loc"][0]) if problem["loc"] else "query"
        raise QueryError(field, problem["input"], problem["msg"]) from None
    if len(planned.text) > LONGEST_QUESTION:
        shown = f"{planned.text[:40]}... ({len(planned.text)} characters)"
        raise QueryError("text", shown, f"ask in at most {LONGEST_QUESTION} characters")
    if not planned.text.strip() and not planned.active:
        raise QueryError("text", planned.text, "ask something, or pass the active units")
    if planned.since is not None and planned.until is not None and planned.since >= planned.until:
        raise QueryError(
            "since", planned.since.isoformat(), f"pass an instant before until={planned.until.isoformat()}"
        )
    return planned


def checked_where(where: object) -> Where | None:
    """A condition on units.

    Raises:
        QueryError: if it is neither a mapping of metadata keys to JSON values nor a plain function.
    """
    if where is None:
        return None
    if isinstance(where, Mapping):
        for key, value in where.items():
            if not isinstance(key, str):
                raise QueryError("where", key, "keys of metadata are strings")
            _check_json(key, value)
        return where
    if not callable(where) or inspect.iscoroutinefunction(where):
        raise QueryError("where", where, "pass metadata as a mapping, or a function of a unit that answers a bool")
    return where


def _check_json(key: str, value: object) -> None:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise QueryError(f"where[{key!r}]", value, f"values of metadata are JSON ({error})") from None


def checked_vector(vector: object, dimension: int | None = None) -> FloatArray:
    """An embedding of the caller's own, normalised; shape (d,), float32.

    Args:
        vector: numbers.
        dimension: how many there should be; None where that is not known.

    Raises:
        QueryError: if it is not one row of finite numbers, or has no direction.
        DimensionMismatchError: if it is of another length.
    """
    try:
        row = np.asarray(vector, dtype=np.float64)
    except (TypeError, ValueError):
        raise QueryError("vector", vector, "pass one row of numbers") from None
    if row.ndim != 1 or not np.isfinite(row).all():
        raise QueryError("vector", vector, "pass one row of finite numbers")
    if dimension is not None and len(row) != dimension:
        raise DimensionMismatchError(dimension, len(row))
    largest = float(np.abs(row).max(initial=0.0))
    if not largest:
        raise QueryError("vector", vector, "all zeros point nowhere; leave it out to have the text embedded")
    row = row / largest  # squares of very large numbers overflow, and those of very small ones vanish
    unit: FloatArray = (row / np.linalg.norm(row)).astype(np.float32)
    return unit


def checked_last(last: object) -> int | None:
    """How many of the newest units are wanted.

    Raises:
        QueryError: if it is no positive whole number.
    """
    if last is None:
        return None
    if type(last) is not int or last < 1:
        raise QueryError("last", last, "pass a positive whole number, or None for all")
    return last


def checked_name(field: str, value: object) -> str | None:
    """The id of a task or session.

    Raises:
        QueryError: if it is no string.
    """
    if value is not None and not isinstance(value, str):
        raise QueryError(field, value, "pass a string")
    return value


def checked_action(value: object) -> str:
    """An action.

    Raises:
        QueryError: if it is no text, or an empty one.
    """
    if not isinstance(value, str) or not value.strip():
        raise QueryError("action", value, 'pass the action as it would be stored, such as book({"id": 7})')
    return value


def checked_type(field: str, value: object, kind: type[T], remedy: str) -> T:
    """An argument of a type.

    Raises:
        QueryError: if it is of another.
    """
    if not isinstance(value, kind):
        raise QueryError(field, value, remedy)
    return value


def checked_items(field: str, values: object, kind: type[T], remedy: str) -> list[T]:
    """An argument that holds any number of a type.

    Raises:
        QueryError: if it does not.
    """
    if not isinstance(values, Iterable):
        raise QueryError(field, values, remedy)
    return [checked_type(field, value, kind, remedy) for value in values]


def checked_unit_id(value: object) -> str:
    """The id of a unit.

    Raises:
        QueryError: if it is no string.
    """
    return checked_type("unit_id", value, str, "pass the id of a unit, a string")
