"""Between the memory's types and LangChain's."""

from __future__ import annotations

from langchain_core.documents import Document

from prism_core import Hit


def to_document(hit: Hit) -> Document:
    """A returned memory as a document.

    Args:
        hit: one hit of a search.

    Returns:
        A document whose `id` is the unit's id and whose `page_content` is the unit's text or, where a budget did not
        hold it whole, an excerpt. Its metadata is JSON: the unit's fields (`event_time` as ISO 8601 in UTC, the
        caller's own metadata under `metadata`), how it was ranked (`score`, higher is better; `front`, 0-based or
        None; `confidence`; `reason`), and whether the text is an `excerpt`.
    """
    return Document(id=hit.unit.id, page_content=hit.text, metadata=hit.metadata())
