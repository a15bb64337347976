"""Long-term memory for LLM agents: a temporal-causal graph, hybrid retrieval and Pareto ranking."""

from prism_core.background import BackgroundWriter
from prism_core.changes import FloatArray
from prism_core.context import ContextBuilder, Packed, without_recalled
from prism_core.embed import CachedEmbedder, MiniLMEmbedder, MultilingualEmbedder
from prism_core.encode.relate import RelationLinker
from prism_core.errors import PrismError
from prism_core.ingest import message_events
from prism_core.memory import Passage, PrismMemory, Ranked, Reranker
from prism_core.protocols import Clock, Embedder, IdFactory, Ledger, Linker, TokenCounter, VectorIndex, WriteView
from prism_core.results import (
    Candidate,
    Chain,
    ChainStep,
    Confidence,
    Context,
    Erasure,
    Finding,
    FrontierPoint,
    Hit,
    LogEntry,
    Precedents,
    Receipt,
    ReceiptStatus,
    Retrieval,
    ScopeStats,
)
from prism_core.retrieve.options import Floor, Objective, RankingOptions
from prism_core.retrieve.recall import Recall
from prism_core.text import O200kCounter
from prism_core.types import (
    Attachment,
    Event,
    Except,
    Facet,
    Fact,
    IntentQuery,
    Kind,
    Layer,
    Link,
    MemoryUnit,
    Outcome,
    Relation,
    Scope,
    Source,
    Status,
    scope_of,
)
from prism_core.vectors import normalised

__version__ = "0.1.0"

__all__ = [
    "Attachment",
    "BackgroundWriter",
    "CachedEmbedder",
    "Candidate",
    "Chain",
    "ChainStep",
    "Clock",
    "Confidence",
    "Context",
    "ContextBuilder",
    "Embedder",
    "Erasure",
    "Event",
    "Except",
    "Facet",
    "Fact",
    "Finding",
    "FloatArray",
    "Floor",
    "FrontierPoint",
    "Hit",
    "IdFactory",
    "IntentQuery",
    "Kind",
    "Layer",
    "Ledger",
    "Link",
    "Linker",
    "LogEntry",
    "MemoryUnit",
    "MiniLMEmbedder",
    "MultilingualEmbedder",
    "O200kCounter",
    "Objective",
    "Outcome",
    "Packed",
    "Passage",
    "Precedents",
    "PrismError",
    "PrismMemory",
    "Ranked",
    "RankingOptions",
    "Recall",
    "Receipt",
    "ReceiptStatus",
    "Relation",
    "RelationLinker",
    "Reranker",
    "Retrieval",
    "Scope",
    "ScopeStats",
    "Source",
    "Status",
    "TokenCounter",
    "VectorIndex",
    "WriteView",
    "message_events",
    "normalised",
    "scope_of",
    "without_recalled",
]
