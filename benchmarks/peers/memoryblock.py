"""LlamaIndex's VectorMemoryBlock."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.memory import VectorMemoryBlock
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.vector_stores.chroma import ChromaVectorStore

from benchmarks.peers.base import Peer
from benchmarks.peers.chroma import HNSW, client, collection_name, said
from benchmarks.peers.llamaindex import LlamaIndexEmbedding
from prism_core.protocols import Embedder
from prism_core.types import MemoryUnit


class _Recorder(BaseNodePostprocessor):
    """Notes what was found: the block itself returns one text."""

    _texts: list[str] = PrivateAttr(default_factory=list)

    @property
    def texts(self) -> list[str]:
        """The texts of the last search, best first."""
        return self._texts

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        self._texts = [found.node.get_content() for found in nodes]
        return nodes


class LlamaIndexMemory(Peer):
    """One node per message; the block's own form of a message is what is embedded."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        self._client = client()
        self._collection = self._client.create_collection(
            collection_name(), configuration=HNSW, embedding_function=None
        )
        self._recorder = _Recorder()
        self._block = VectorMemoryBlock(
            vector_store=ChromaVectorStore(chroma_collection=self._collection),
            embed_model=LlamaIndexEmbedding(embedder),
            node_postprocessors=[self._recorder],
        )
        self._ids: dict[str, list[str]] = defaultdict(list)
        self._loop = asyncio.new_event_loop()

    def store(self, units: Sequence[MemoryUnit]) -> None:
        """Put messages, each with its session, speaker and time."""
        self.embedder.embed_documents([_quoted(unit) for unit in units])
        for unit in units:
            extra = {**_about(unit), **({"session_id": unit.session_id} if unit.session_id else {})}
            message = ChatMessage(role=MessageRole.USER, content=unit.text, additional_kwargs=extra)
            self._loop.run_until_complete(self._block.aput([message]))
            self._ids[_quoted(unit)].append(unit.id)

    def rank(self, text: str, depth: int) -> Sequence[str]:
        """By cosine; units with equal texts in the order they were put in."""
        self._block.similarity_top_k = depth
        question = ChatMessage(role=MessageRole.USER, content=text)
        self._loop.run_until_complete(self._block.aget([question]))
        return [unit_id for found in dict.fromkeys(self._recorder.texts) for unit_id in self._ids[found]]

    def close(self) -> None:
        """Remove the collection and end the event loop."""
        self._loop.close()
        self._client.delete_collection(self._collection.name)


def _about(unit: MemoryUnit) -> dict[str, str]:
    return {name: value for name, value in said(unit).items() if name != "session"}


def _quoted(unit: MemoryUnit) -> str:
    """A user's message as the block writes it."""
    return f"<message role='user'>{unit.text}\nAdditional Info: ({_about(unit)!s})</message>"
