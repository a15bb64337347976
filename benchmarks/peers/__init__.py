"""Other tools in the form the evaluation asks for, by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from importlib import import_module
from importlib.metadata import Distribution, version
from pathlib import Path
from tempfile import gettempdir

from benchmarks.peers.base import Peer, Symmetric
from prism_core.evaluation.workbench import Workbench


@dataclass(frozen=True, slots=True)
class PeerTool:
    """A tool to compare with.

    Attributes:
        module: the adapter's module in this package.
        adapter: the adapter's class in it.
        packages: distributions it needs.
        setting: how it is set up, in a line.
        options: handed to the adapter.
        environment: variables the tool reads when it is imported; those already set stay.
    """

    module: str
    adapter: str
    packages: tuple[str, ...]
    setting: str
    options: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    def missing(self) -> list[str]:
        """Distributions that are not installed."""
        return [package for package in self.packages if not list(Distribution.discover(name=package))]

    def versions(self) -> dict[str, str]:
        """Installed versions by distribution."""
        return {package: version(package) for package in self.packages}

    def open(self, bench: Workbench, start: datetime) -> Peer:
        """An empty one; `start` plays no part, as none of the tools reads a clock to rank."""
        for name, value in self.environment.items():
            os.environ.setdefault(name, value)
        adapter = getattr(import_module(f"{__name__}.{self.module}"), self.adapter)
        peer: Peer = adapter(Symmetric(bench.embedder), **self.options)
        return peer


PEERS: dict[str, PeerTool] = {
    "bm25s": PeerTool(
        "lexical",
        "Bm25s",
        ("bm25s",),
        "Lucene BM25, k1 1.5, b 0.75, English stop words and stemmer",
    ),
    "chroma": PeerTool(
        "chroma",
        "Chroma",
        ("chromadb",),
        "one collection, HNSW, cosine, search width 500",
    ),
    "langchain-ensemble": PeerTool(
        "ensemble",
        "LangChainEnsemble",
        ("langchain-classic", "langchain-community", "langchain-chroma", "rank-bm25"),
        "EnsembleRetriever of BM25Retriever and Chroma, equal weights, c 60; BM25 gets stems, not its default split()",
    ),
    "llamaindex-rrf": PeerTool(
        "llamaindex",
        "LlamaIndexFusion",
        ("llama-index-core", "bm25s"),
        "QueryFusionRetriever over VectorStoreIndex and BM25, reciprocal_rerank, one query, metadata embedded",
        {"mode": "reciprocal_rerank"},
    ),
    "llamaindex-relative": PeerTool(
        "llamaindex",
        "LlamaIndexFusion",
        ("llama-index-core", "bm25s"),
        "the same with relative_score",
        {"mode": "relative_score"},
    ),
    "llamaindex-memory": PeerTool(
        "memoryblock",
        "LlamaIndexMemory",
        ("llama-index-core", "llama-index-vector-stores-chroma"),
        "VectorMemoryBlock on Chroma, one message at a time with speaker and time, the question as the only context",
    ),
    "langgraph-store": PeerTool(
        "langgraph",
        "LangGraphStore",
        ("langgraph-checkpoint",),
        "InMemoryStore with its default index, on the whole item: text, speaker, session, time",
    ),
    "mem0": PeerTool(
        "mem0ai",
        "Mem0",
        ("mem0ai", "langchain", "qdrant-client", "fastembed", "llama-index-core"),
        "infer=False, local Qdrant, hybrid (dense + BM25), its own threshold of .1",
        environment={"MEM0_TELEMETRY": "False", "MEM0_DIR": str(Path(gettempdir()) / "peer-mem0-home")},
    ),
    "mempalace": PeerTool(
        "mempalace",
        "MemPalace",
        ("mempalace",),
        "one drawer per unit, search_memories with the default candidates (vector) and BM25 re-ranking",
        {"candidates": "vector"},
    ),
    "mempalace-union": PeerTool(
        "mempalace",
        "MemPalace",
        ("mempalace",),
        "the same with candidates from full text besides",
        {"candidates": "union"},
    ),
}
"""The tools, in the order they are shown in."""
