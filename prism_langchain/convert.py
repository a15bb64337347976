"""Between the memory's types and LangChain's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from datetime import date
from enum import Enum
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, BaseMessageChunk, message_chunk_to_message

from prism_core import Event, Hit, Kind, Source, message_events, without_recalled
from prism_core.errors import InvalidEventError

DOCUMENT_KEY = "document:"
"""Put in front of a document's id to make the key it is stored under."""
VERBATIM_KEYS = frozenset(
    {"langchain_message", "langchain_reply", "llamaindex_message", "llamaindex_reply", "llamaindex_part_of"}
)
"""Where hosts keep their messages in the metadata of units; of no interest to who reads a memory."""
MOST_BITS = 63
DEEPEST = 100
"""Levels of nesting that are looked into; the memory keeps fewer."""


def to_document(hit: Hit) -> Document:
    """A returned memory as a document.

    Args:
        hit: one hit of a search.

    Returns:
        A document whose `id` is the unit's id and whose `page_content` is the unit's text or, where a budget did not
        hold it whole, an excerpt. Its metadata is JSON: the unit's fields (`event_time` as ISO 8601 in UTC, the
        caller's own metadata under `metadata`, for a document that was added with an id that id as `document_id`), how
        it was ranked (`score`, higher is better; `objectives` in [0, 1]; `front`, 0-based or None; `confidence`;
        `reason`), and whether the text is an `excerpt`.
    """
    metadata: dict[str, Any] = {**hit.metadata(), "objectives": dict(hit.candidate.objectives)}
    own = metadata.get("metadata")
    if isinstance(own, Mapping):
        metadata["metadata"] = {key: value for key, value in own.items() if key not in VERBATIM_KEYS}
    key = hit.unit.idempotency_key or ""
    if hit.unit.kind is Kind.DOCUMENT and key.startswith(DOCUMENT_KEY):
        metadata["document_id"] = key.removeprefix(DOCUMENT_KEY)
    return Document(id=hit.unit.id, page_content=hit.text, metadata=metadata)


def document_event(document: Document, document_id: str | None = None, **fields: Any) -> Event:
    """A document as an event.

    Args:
        document: its id makes the key it is stored under, so that adding it again stores nothing new; its metadata is
            kept as JSON.
        document_id: in place of the document's own id.
        fields: of the event, such as `session_id`.

    Raises:
        InvalidEventError: if it holds what cannot be stored.
    """
    named = document.id if document_id is None else document_id
    return Event.parse(
        {
            "kind": Kind.DOCUMENT,
            "source": Source.EXTERNAL,
            "observation": storable(document.page_content),
            "idempotency_key": None if named is None else f"{DOCUMENT_KEY}{storable(str(named))}",
            "metadata": as_json(document.metadata),
            **fields,
        }
    )


def as_json(value: Any, depth: int = 0) -> Any:
    """A value as JSON that can be stored: dates as ISO 8601, sets and tuples as lists, what else there is as text.

    Args:
        value: anything.
        depth: how deep it stands in another one.

    Raises:
        InvalidEventError: if it is nested too deeply, or in itself.
    """
    if depth > DEEPEST:
        raise InvalidEventError("metadata", type(value).__name__, "it is nested too deeply, or in itself; flatten it")
    if isinstance(value, Enum):
        return as_json(value.value, depth)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return storable(str(value))
    if isinstance(value, int):
        return int(value) if value.bit_length() <= MOST_BITS else str(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {storable(str(key)): as_json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, Sequence | Set) and not isinstance(value, bytes | bytearray):
        return [as_json(item, depth + 1) for item in value]
    return storable(str(value))


def storable(value: Any) -> Any:
    """Text, or JSON of it, with half a surrogate pair, which has no UTF-8 form, replaced by a question mark."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {storable(key): storable(each) for key, each in value.items()}
    return [*map(storable, value)] if isinstance(value, list | tuple) else value


def events_of(
    message: BaseMessage, *, session_id: str, task_id: str | None = None, key: str | None = None
) -> list[Event]:
    """The events of a message: those that `prism ingest` makes of it, without what was recalled.

    Args:
        message: any message.
        session_id: the session it was said in.
        task_id: the unit of work it belongs to.
        key: idempotency key of its first event.

    Returns:
        One event; one per call for calls of tools; none for a system prompt.
    """
    whole = message_chunk_to_message(message) if isinstance(message, BaseMessageChunk) else message
    events = message_events(storable(whole.model_dump()), key=key, session_id=session_id, task_id=task_id)
    return [_without_recalled(event) for event in events]


def _without_recalled(event: Event) -> Event:
    thought = without_recalled(event.thought) if event.thought else event.thought
    return event.model_copy(update={"observation": without_recalled(event.observation), "thought": thought})
