"""The parts a user may replace, as protocols.

`Embedder`, `VectorIndex` and `Ledger` have contract test classes in `prism_core.testing`.
"""

from prism_core.protocols.ledger import Apply, Delta, InboxItem, Ledger
from prism_core.protocols.linking import Linker
from prism_core.protocols.parts import (
    LLM,
    Clock,
    Completion,
    Distiller,
    Embedder,
    EntityExtractor,
    IdFactory,
    IntentTagger,
    SelectiveEmbedder,
    TokenCounter,
    VectorIndex,
    understands,
)
from prism_core.protocols.views import Columns, Introspector, Planner, ScopeView, WriteView

__all__ = [
    "LLM",
    "Apply",
    "Clock",
    "Columns",
    "Completion",
    "Delta",
    "Distiller",
    "Embedder",
    "EntityExtractor",
    "IdFactory",
    "InboxItem",
    "IntentTagger",
    "Introspector",
    "Ledger",
    "Linker",
    "Planner",
    "ScopeView",
    "SelectiveEmbedder",
    "TokenCounter",
    "VectorIndex",
    "WriteView",
    "understands",
]
