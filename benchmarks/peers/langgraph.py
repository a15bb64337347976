"""LangGraph's InMemoryStore with semantic search."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.store.memory import InMemoryStore

from benchmarks.peers.base import Peer
from benchmarks.peers.chroma import said
from benchmarks.peers.embedding import LangChainEmbeddings
from prism_core.protocols import Embedder
from prism_core.types import MemoryUnit

_NAMESPACE = ("evaluation", "memories")


class LangGraphStore(Peer):
    """Items in one namespace, indexed as a whole, as is the default: text, speaker, session and time are embedded."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        self._store = InMemoryStore(index={"dims": embedder.dimension, "embed": LangChainEmbeddings(embedder)})

    def store(self, units: Sequence[MemoryUnit]) -> None:
        """Put items one by one: a batch must not hold the same text twice."""
        for unit in units:
            self._store.put(_NAMESPACE, unit.id, {"text": unit.text, **said(unit)})

    def rank(self, text: str, depth: int) -> Sequence[str]:
        """By cosine."""
        return [item.key for item in self._store.search(_NAMESPACE, query=text, limit=depth)]
