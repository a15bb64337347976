"""Ranking passages that others found: the memory's signals without a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from prism_core.changes import FloatArray
from prism_core.embed import CachedEmbedder, MiniLMEmbedder
from prism_core.errors import EmbeddingError
from prism_core.memory.arguments import parsed_query
from prism_core.memory.pool import Passage, Pool, Ranked, first_of_same
from prism_core.memory.selection import check_budget, check_k
from prism_core.protocols import Embedder, TokenCounter, understands
from prism_core.query import facets_of
from prism_core.retrieve.options import RankingOptions
from prism_core.text import O200kCounter

KEPT_VECTORS = 2048


class Reranker:
    """Ranks any passages for a question: by words, meaning, the host's own score, recency and cost.

    Words and meaning are the signals that rank memories, with the same weights. Recency counts only where the question
    asks for a present value or a time, and passages have times. Thread-safe, deterministic, and without a store.

    Attributes:
        embedder: makes vectors; None to rank by words and the host's score. One that fails is done without, and every
            reason says so.
        ranking: weights of the signals a passage can have, the order, and objectives of your own. Those are shown
            units of kind `document` whose `id` is the place of the passage, and whose `event_time` is 1970 where the
            passage has none.
        counter: counts tokens.
    """

    def __init__(
        self,
        embedder: Embedder | Literal["default"] | None = "default",
        ranking: RankingOptions | None = None,
        counter: TokenCounter | None = None,
    ) -> None:
        given = MiniLMEmbedder() if embedder == "default" else embedder
        if given is not None and not isinstance(given, CachedEmbedder):
            # The same passages come up for one question after another.
            given = CachedEmbedder(given, documents=KEPT_VECTORS)
        self.embedder: Embedder | None = given
        self.ranking = ranking or RankingOptions()
        self.counter = counter or O200kCounter()

    def rank(
        self, query: str, passages: Sequence[Passage], *, k: int | None = None, budget: int | None = None
    ) -> list[Ranked]:
        """Rank passages, best first.

        Passages of the same text up to case and white space stand behind one of them, the best by the host's score,
        and come last; under a budget they are left out.

        Args:
            query: the question.
            passages: in the host's order, which decides between equals.
            k: how many at most; all when None.
            budget: tokens the texts may take together; a passage that does not fit is skipped and the next one tried.

        Raises:
            QueryError: if the question is empty or `k` is unusable.
            BudgetError: if the budget is not a positive whole number.
            NaiveDatetimeError: if a time has no time zone.
        """
        if k is not None:
            check_k(k)
        if budget is not None:
            check_budget(budget)
        planned = parsed_query(query, {})
        planned = planned.model_copy(update={"facets": facets_of(planned.text)})
        if not passages:
            return []
        groups = first_of_same(passages)
        pool = Pool.of(passages, list(groups), self.counter)
        question, rows, note = self._vectors(planned.text, pool.texts)
        ranked = pool.ranked(planned, question, rows, self.ranking, note)
        if budget is None:
            ranked += [_repeat(index, first) for first, others in groups.items() for index in others]
        else:
            ranked = list(_fitting(ranked, dict(zip(pool.places, pool.tokens, strict=True)), budget))
        return ranked[:k]

    def _vectors(self, question: str, texts: Sequence[str]) -> tuple[FloatArray | None, FloatArray | None, str]:
        """The question's vector, those of the passages, and why there are none."""
        embedder = self.embedder
        if embedder is None or not understands(embedder, question):
            return None, None, ""
        try:
            return embedder.embed_query(question), embedder.embed_documents(texts), ""
        except EmbeddingError as error:
            return None, None, f"; without vectors: {error.cause}"


def _repeat(index: int, first: int) -> Ranked:
    return Ranked(index, 0.0, None, {}, f"says the same as passage {first}")


def _fitting(ranked: Sequence[Ranked], tokens: dict[int, int], budget: int) -> Iterator[Ranked]:
    for each in ranked:
        if tokens[each.index] <= budget:
            budget -= tokens[each.index]
            yield each
