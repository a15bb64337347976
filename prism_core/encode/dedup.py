"""Which events are the same event again.

Steps and messages keep their place in their chain: equal words at another place are another unit. Only documents and
facts are one with an equal text.
"""

from __future__ import annotations

import hashlib
import json

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


def duplicate_of(event: Event, key: str | None, view: WriteView) -> tuple[str, str] | None:
    """The unit that already holds an event, and why it is the same."""
    if key is not None and (known := view.find_key(key)) is not None:
        return known, "the same event was stored before"
    if event.kind in MERGED_KINDS and (known := view.find_text(event.kind, event.text)) is not None:
        return known, f"a {event.kind} with the same text was stored before"
    return None
