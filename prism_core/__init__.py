"""Long-term memory for LLM agents: a temporal-causal graph, hybrid retrieval and Pareto ranking."""

from prism_core.background import BackgroundWriter
from prism_core.changes import FloatArray
from prism_core.context import ContextBuilder, Packed, without_recalled
from prism_core.embed import CachedEmbedder, MiniLMEmbedder, MultilingualEmbedder
from prism_core.encode.conflict import ConflictRules
from prism_core.encode.distil import RuleDistiller
from prism_core.encode.entities import RuleExtractor
from prism_core.encode.options import EncodingOptions
from prism_core.encode.relate import RelationLinker
from prism_core.encode.route import MemoryRouter
from prism_core.encode.tag import CascadeTagger, LLMTagger, RuleTagger, Tagged
from prism_core.encode.taxonomy import IntentLabel, IntentTaxonomy
from prism_core.errors import PrismError
from prism_core.ingest import message_events
from prism_core.llm import FileReplyCache, LLMBudget, LLMMeter, MemoryReplyCache, ReplyCache, StructuredLLM
from prism_core.memory import Belief, Confirmation, Onboarding, Passage, PrismMemory, Ranked, Reranker
from prism_core.progress import Goal, GoalLevel, TaskGoals
from prism_core.prompts import Prompts
from prism_core.protocols import (
    LLM,
    Clock,
    Completion,
    Distiller,
    Embedder,
    EntityExtractor,
    IdFactory,
    Ledger,
    Linker,
    TokenCounter,
    VectorIndex,
    WriteView,
)
from prism_core.query import PlanningOptions
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
    Claim,
    Entity,
    EntityType,
    Event,
    Except,
    Facet,
    Fact,
    FactCategory,
    IntentQuery,
    Kind,
    Layer,
    Link,
    MemoryUnit,
    Outcome,
    Relation,
    Scope,
    Source,
    Statement,
    Status,
    scope_of,
)
from prism_core.vectors import normalised

__version__ = "0.1.0"

__all__ = [
    "LLM",
    "Attachment",
    "BackgroundWriter",
    "Belief",
    "CachedEmbedder",
    "Candidate",
    "CascadeTagger",
    "Chain",
    "ChainStep",
    "Claim",
    "Clock",
    "Completion",
    "Confidence",
    "Confirmation",
    "ConflictRules",
    "Context",
    "ContextBuilder",
    "Distiller",
    "Embedder",
    "EncodingOptions",
    "Entity",
    "EntityExtractor",
    "EntityType",
    "Erasure",
    "Event",
    "Except",
    "Facet",
    "Fact",
    "FactCategory",
    "FileReplyCache",
    "Finding",
    "FloatArray",
    "Floor",
    "FrontierPoint",
    "Goal",
    "GoalLevel",
    "Hit",
    "IdFactory",
    "IntentLabel",
    "IntentQuery",
    "IntentTaxonomy",
    "Kind",
    "LLMBudget",
    "LLMMeter",
    "LLMTagger",
    "Layer",
    "Ledger",
    "Link",
    "Linker",
    "LogEntry",
    "MemoryReplyCache",
    "MemoryRouter",
    "MemoryUnit",
    "MiniLMEmbedder",
    "MultilingualEmbedder",
    "O200kCounter",
    "Objective",
    "Onboarding",
    "Outcome",
    "Packed",
    "Passage",
    "PlanningOptions",
    "Precedents",
    "PrismError",
    "PrismMemory",
    "Prompts",
    "Ranked",
    "RankingOptions",
    "Recall",
    "Receipt",
    "ReceiptStatus",
    "Relation",
    "RelationLinker",
    "ReplyCache",
    "Reranker",
    "Retrieval",
    "RuleDistiller",
    "RuleExtractor",
    "RuleTagger",
    "Scope",
    "ScopeStats",
    "Source",
    "Statement",
    "Status",
    "StructuredLLM",
    "Tagged",
    "TaskGoals",
    "TokenCounter",
    "VectorIndex",
    "WriteView",
    "message_events",
    "normalised",
    "scope_of",
    "without_recalled",
]
