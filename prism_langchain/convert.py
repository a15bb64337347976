"""Between the memory's types and LangChain's."""

from __future__ import annotations

from langchain_core.documents import Document

from prism_core import Hit

UNIT_FIELDS = frozenset(
    {
        "kind",
        "source",
        "speaker",
        "session_id",
        "task_id",
        "step_id",
        "event_time",
        "outcome",
        "status",
        "intent_tags",
        "metadata",
    }
)
"""The fields of a unit that travel with its document."""


def to_document(hit: Hit) -> Document:
    """A returned memory as a document.

    Args:
        hit: one hit of a search.

    Returns:
        A document whose `id` is the unit's id and whose `page_content` is the unit's text. Its metadata is JSON: the
        unit's fields (`event_time` as ISO 8601 in UTC, the caller's own metadata under `metadata`) and how it was
        ranked (`score`, higher is better; `front`, 0-based or None; `confidence`; `reason`).
    """
    unit = hit.unit
    metadata = unit.model_dump(mode="json", include=set(UNIT_FIELDS))
    metadata |= {
        "unit_id": unit.id,
        "score": hit.score,
        "front": hit.candidate.front,
        "confidence": hit.confidence.value,
        "reason": hit.candidate.reason,
    }
    return Document(id=unit.id, page_content=unit.text, metadata=metadata)
