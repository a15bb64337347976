"""Which events are the same event again.

Steps and messages keep their place in their chain: equal words at another place are another unit. Only documents and
facts are one with an equal text, and only where the caller gave them no keys of their own to tell them apart.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from prism_core.protocols import WriteView
from prism_core.types import Event, Kind

MERGED_KINDS = frozenset({Kind.DOCUMENT, Kind.FACT})


def idempotency_key(event: Event) -> str | None:
    """The key an event is stored under: the caller's, else one made of its place and content.

    Without a step id or a time of its own an event has no place, and so no key.
    """
    if event.idempotency_key is not None:
        return event.idempotency_key
    place = event.step_id or (event.event_time.isoformat() if event.event_time else None)
    if place is None:
        return None
    content = [event.session_id, event.task_id, place, event.kind, event.speaker, event.tool_call_id, event.text]
    return "content:" + hashlib.sha256(json.dumps(content).encode()).hexdigest()[:40]


@dataclass(frozen=True, slots=True)
class Known:
    """A unit that answers to an event's key or text.

    Attributes:
        unit_id: which unit.
        reason: why it is the same, or why it is not.
        same: whether it holds the event; otherwise the key was used for something else.
    """

    unit_id: str
    reason: str
    same: bool = True


def known_as(event: Event, key: str | None, view: WriteView) -> Known | None:
    """The unit that an event's key or text leads to."""
    if key is not None and (unit_id := view.find_key(key)) is not None:
        if _holds(view.unit(unit_id), event):
            return Known(unit_id, "the same event was stored before")
        reason = f"its key {key!r} was used before for other content; nothing of this event was stored"
        return Known(unit_id, reason, same=False)
    if (
        event.idempotency_key is None
        and event.kind in MERGED_KINDS
        and event.fact is None
        and (unit_id := view.find_text(event.kind, event.text)) is not None
    ):
        return Known(unit_id, f"a {event.kind} with the same text was stored before")
    return None


def _holds(unit: Event, event: Event) -> bool:
    """Whether a unit says what an event says; a call's unit may hold the reply as well."""
    if event.action is not None:
        return unit.action == event.action and unit.thought == event.thought
    return unit.observation == event.observation
