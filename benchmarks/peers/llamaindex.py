"""LlamaIndex's QueryFusionRetriever over a vector index and BM25."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode

from benchmarks.peers.base import Peer
from benchmarks.peers.chroma import said
from benchmarks.peers.lexical import LexicalIndex
from prism_core.evaluation.baselines import POOL
from prism_core.protocols import Embedder
from prism_core.types import MemoryUnit


class LlamaIndexEmbedding(BaseEmbedding):
    """An embedder in LlamaIndex's form."""

    _inner: Embedder = PrivateAttr()

    def __init__(self, inner: Embedder, **values: Any) -> None:
        super().__init__(model_name=inner.id, **values)
        self._inner = inner

    def _get_query_embedding(self, query: str) -> list[float]:
        vector: list[float] = self._inner.embed_query(query).tolist()
        return vector

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._inner.embed_documents(texts).tolist()
        return vectors


class Bm25sRetriever(BaseRetriever):
    """BM25 with the settings of llama-index-retrievers-bm25, which needs an older PyStemmer than this project."""

    def __init__(self, nodes: Sequence[TextNode], depth: int) -> None:
        super().__init__()
        self._nodes = nodes
        self._depth = depth
        self._index = LexicalIndex([node.get_content(MetadataMode.EMBED) for node in nodes])

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        best = self._index.best(query_bundle.query_str, self._depth)
        return [NodeWithScore(node=self._nodes[row], score=score) for row, score in best]


class LlamaIndexFusion(Peer):
    """Both retrievers to the same depth; one query, so that no LLM is asked.

    Attributes:
        mode: how the lists are fused.
    """

    def __init__(self, embedder: Embedder, mode: str) -> None:
        super().__init__(embedder)
        self.mode = FUSION_MODES(mode)
        self._index = VectorStoreIndex([], embed_model=LlamaIndexEmbedding(embedder))
        self._nodes: list[TextNode] = []
        self._lexical: dict[int, Bm25sRetriever] = {}

    def store(self, units: Sequence[MemoryUnit]) -> None:
        """Insert nodes; BM25 is built anew for every depth it is asked at."""
        new = [_node(unit) for unit in units]
        self._index.insert_nodes(new)
        self._nodes += new
        self._lexical.clear()
        self._lexical_retriever(min(len(self._nodes), POOL))

    def rank(self, text: str, depth: int) -> Sequence[str]:
        """Fused."""
        retriever = QueryFusionRetriever(
            [self._index.as_retriever(similarity_top_k=depth), self._lexical_retriever(depth)],
            llm=MockLLM(),
            mode=self.mode,
            similarity_top_k=depth,
            num_queries=1,
            use_async=False,
        )
        return [found.node.node_id for found in retriever.retrieve(text)]

    def _lexical_retriever(self, depth: int) -> Bm25sRetriever:
        if depth not in self._lexical:
            self._lexical[depth] = Bm25sRetriever(self._nodes, depth)
        return self._lexical[depth]

    def _empty(self) -> Self:
        return type(self)(self.embedder, self.mode.value)


def _node(unit: MemoryUnit) -> TextNode:
    # The id tells equal texts apart when lists are fused; speaker, session and time are embedded, as is the default.
    return TextNode(
        id_=unit.id, text=unit.text, metadata={"unit": unit.id, **said(unit)}, excluded_embed_metadata_keys=["unit"]
    )
