"""Pareto ranking of any nodes, whoever retrieved them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Self

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle

from prism_core import Embedder, Passage, Ranked, RankingOptions, Reranker, TokenCounter
from prism_llamaindex.embedder import LlamaIndexEmbedder

RANKING_KEYS = ("prism_front", "prism_objectives", "prism_reason")
"""What is noted in the metadata of a ranked node; kept out of prompts and embeddings."""


class ParetoPostprocessor(BaseNodePostprocessor):
    """Re-ranks nodes by words, meaning, the retriever's score, recency and cost, and cuts them to a number or a budget.

    Ranked is what the model would read of a node, and its tokens are those that count. Nodes without text come last,
    in their order. Nodes are copied, not changed; the copies carry `prism_front`, `prism_objectives` and `prism_reason`
    in their metadata, excluded from prompts and embeddings. Without a question there is nothing to rank for: the nodes
    come back as they are, cut to `top_n`.

    Attributes:
        top_n: how many nodes at most; all when None.
        budget: tokens the texts may take together; no limit when None. A node that does not fit is skipped and the
            next one tried, and of nodes of the same text only one is kept.
        time_key: the metadata key of a node's time, an aware datetime or ISO 8601 text; anything else says nothing.
    """

    top_n: int | None = Field(default=None, gt=0, description="How many nodes at most; all when None.")
    budget: int | None = Field(default=None, gt=0, description="Tokens the texts may take together.")
    time_key: str = Field(default="event_time", description="Metadata key of a node's time.")
    _reranker: Reranker = PrivateAttr()

    def __init__(
        self,
        *,
        embedder: Embedder | BaseEmbedding | Literal["default"] | None = "default",
        ranking: RankingOptions | None = None,
        counter: TokenCounter | None = None,
        **fields: Any,
    ) -> None:
        """Make one.

        Args:
            embedder: the bundled one, any of your own or of LlamaIndex, or None to rank by words; not serialised.
            ranking: weights, order, and objectives of your own; not serialised.
            counter: counts tokens; o200k by default; not serialised.
            **fields: `top_n`, `budget`, `time_key`, `callback_manager`.
        """
        super().__init__(**fields)
        kind = type(embedder).__name__
        used = LlamaIndexEmbedder(embedder, id=kind) if isinstance(embedder, BaseEmbedding) else embedder
        self._reranker = Reranker(used, ranking, counter)

    @classmethod
    def from_defaults(cls, **arguments: Any) -> Self:
        """The same as the constructor, for those who look for it here."""
        return cls(**arguments)

    @classmethod
    def class_name(cls) -> str:
        """Names the class in serialised pipelines."""
        return "ParetoPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None or not query_bundle.query_str.strip():
            return nodes[: self.top_n]
        texts = [scored.node.get_content(MetadataMode.LLM) for scored in nodes]
        spoken = [place for place, text in enumerate(texts) if text.strip()]
        passages = [Passage(texts[place], nodes[place].score, self._time(nodes[place].metadata)) for place in spoken]
        ranked = self._reranker.rank(query_bundle.query_str, passages, k=self.top_n, budget=self.budget)
        found = [_noted(nodes[spoken[each.index]].node, each) for each in ranked]
        silent = [scored for scored, text in zip(nodes, texts, strict=True) if not text.strip()]
        return [*found, *silent][: self.top_n]

    def _time(self, metadata: Mapping[str, Any]) -> datetime | None:
        value = metadata.get(self.time_key)
        try:
            time = datetime.fromisoformat(value) if isinstance(value, str) else value
        except ValueError:
            return None
        return time if isinstance(time, datetime) and time.utcoffset() is not None else None


def _noted(node: BaseNode, ranked: Ranked) -> NodeWithScore:
    values: Sequence[Any] = (ranked.front, dict(ranked.objectives), ranked.reason)
    copy = node.model_copy(
        update={
            "metadata": {**node.metadata, **dict(zip(RANKING_KEYS, values, strict=True))},
            "excluded_llm_metadata_keys": list(dict.fromkeys([*node.excluded_llm_metadata_keys, *RANKING_KEYS])),
            "excluded_embed_metadata_keys": list(dict.fromkeys([*node.excluded_embed_metadata_keys, *RANKING_KEYS])),
        }
    )
    return NodeWithScore(node=copy, score=ranked.score)
