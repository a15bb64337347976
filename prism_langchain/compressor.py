"""The memory's ranking for documents that others retrieved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables import RunnableLambda
from pydantic import ConfigDict, Field

from prism_core import Passage, Ranked, Reranker

PREFIX = "prism_"


class PrismDocumentCompressor(BaseDocumentCompressor):
    """Re-ranks documents for a question, and keeps what fits; for `ContextualCompressionRetriever` and chains.

    Documents are handed on as they came: id, text, order of the repeats and every key of the metadata. Their metadata
    gains `prism_score`, `prism_front`, `prism_objectives` and `prism_reason`.

    Attributes:
        reranker: ranks; one with the bundled embedder by default.
        k: how many documents at most; all when None.
        budget: tokens their texts may take together.
        score_key: where in the metadata a retriever left its score, higher is better; nothing is read when None. That
            a score is a distance cannot be seen from it.
        time_key: where in the metadata the time is, a datetime or ISO 8601 text; without a zone it is taken for UTC.
    """

    reranker: Reranker = Field(default_factory=Reranker, repr=False)
    k: int | None = None
    budget: int | None = None
    score_key: str | None = "score"
    time_key: str | None = "event_time"

    model_config = ConfigDict(arbitrary_types_allowed=True)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The documents, best first.

        Raises:
            QueryError: if the question is empty or `k` is unusable.
            BudgetError: if the budget is not a positive whole number.
        """
        ranked = self.reranker.rank(query, [self._passage(each) for each in documents], k=self.k, budget=self.budget)
        return [_with(documents[each.index], each) for each in ranked]

    def as_runnable(self) -> RunnableLambda[Mapping[str, Any], list[Document]]:
        """The same as a step of a chain, from `{"documents": [...], "query": "..."}` to documents."""

        def compress(given: Mapping[str, Any]) -> list[Document]:
            return self.compress_documents(given["documents"], given["query"])

        async def acompress(given: Mapping[str, Any]) -> list[Document]:
            return list(await self.acompress_documents(given["documents"], given["query"]))

        return RunnableLambda(compress, acompress, name=type(self).__name__)

    def _passage(self, document: Document) -> Passage:
        metadata = document.metadata
        score = _score(metadata.get(self.score_key)) if self.score_key else None
        time = _time(metadata.get(self.time_key)) if self.time_key else None
        return Passage(document.page_content, score, time)


def _score(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _time(value: object) -> datetime | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)


def _with(document: Document, ranked: Ranked) -> Document:
    found = {
        "score": ranked.score,
        "front": ranked.front,
        "objectives": dict(ranked.objectives),
        "reason": ranked.reason,
    }
    metadata = {**document.metadata, **{PREFIX + name: value for name, value in found.items()}}
    return document.model_copy(update={"metadata": metadata})
