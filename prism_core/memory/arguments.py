"""What callers hand in, checked and named before anything is touched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from prism_core.errors import InvalidEventError, QueryError
from prism_core.types import Event, IntentQuery

LONGEST_QUESTION = 20_000
SHOWN = 80

EventLike = Event | Mapping[str, Any] | str
"""An event, its fields as a mapping, or the text of a user's message."""


def parsed_events(events: Iterable[EventLike]) -> list[Event]:
    """The events a caller handed in.

    Raises:
        InvalidEventError: if it is no list of events, or one of them cannot be stored as given.
    """
    if isinstance(events, str | bytes | Mapping | Event) or not isinstance(events, Iterable):
        raise InvalidEventError("events", _shown(events), "pass a list of events; for a single one use write()")
    return [Event.parse({"observation": event} if isinstance(event, str) else event) for event in events]


def parsed_query(query: object, active: object, task_id: object, session_id: object) -> IntentQuery:
    """The query a caller asked.

    Raises:
        QueryError: if a part has the wrong type, or the question is empty or of book length.
    """
    if not isinstance(query, str | IntentQuery):
        raise QueryError("query", _shown(query), "ask with a string or an IntentQuery")
    given = {"active": active, "task_id": task_id, "session_id": session_id}
    fields = {name: value for name, value in given.items() if value not in (None, (), [])}
    base = {"text": query} if isinstance(query, str) else query.model_dump()
    try:
        planned = IntentQuery.model_validate({**base, **fields})
    except ValueError as error:
        field, value = next(iter(fields.items()), ("query", query))
        raise QueryError(field, _shown(value), str(error).split("\n")[2].strip()) from None
    if len(planned.text) > LONGEST_QUESTION:
        shown = f"{planned.text[:40]}... ({len(planned.text)} characters)"
        raise QueryError("text", shown, f"ask in at most {LONGEST_QUESTION} characters")
    if not planned.text.strip() and not planned.active:
        raise QueryError("text", planned.text, "ask something, or pass the active units")
    return planned


def checked_unit_id(value: object) -> str:
    """The id of a unit.

    Raises:
        QueryError: if it is no string.
    """
    if not isinstance(value, str):
        raise QueryError("unit_id", _shown(value), "pass the id of a unit, a string")
    return value


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
