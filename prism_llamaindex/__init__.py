"""prism-memory for LlamaIndex.

Names are loaded on first use, so importing this package costs nothing and a missing extra is reported by the name
that needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from prism_core.errors import MissingExtraError

if TYPE_CHECKING:
    from prism_llamaindex.chat_memory import PrismChatMemory
    from prism_llamaindex.convert import to_node
    from prism_llamaindex.embedder import LlamaIndexEmbedder
    from prism_llamaindex.graph import GraphCounts, export_graph, import_graph
    from prism_llamaindex.ingestion import PrismIngestion, forget_nodes, remember_nodes
    from prism_llamaindex.llm import LlamaIndexLLM
    from prism_llamaindex.memory_block import PrismMemoryBlock
    from prism_llamaindex.postprocessor import ParetoPostprocessor
    from prism_llamaindex.retriever import PrismRetriever
    from prism_llamaindex.serializer import PrismSerializer
    from prism_llamaindex.tools import PrismToolSpec
    from prism_llamaindex.vector_index import LlamaIndexVectorIndex
    from prism_llamaindex.warning import warned_tools

__all__ = [
    "GraphCounts",
    "LlamaIndexEmbedder",
    "LlamaIndexLLM",
    "LlamaIndexVectorIndex",
    "ParetoPostprocessor",
    "PrismChatMemory",
    "PrismIngestion",
    "PrismMemoryBlock",
    "PrismRetriever",
    "PrismSerializer",
    "PrismToolSpec",
    "export_graph",
    "forget_nodes",
    "import_graph",
    "remember_nodes",
    "to_node",
    "warned_tools",
]

_HOMES = {
    "GraphCounts": "prism_llamaindex.graph",
    "LlamaIndexEmbedder": "prism_llamaindex.embedder",
    "LlamaIndexLLM": "prism_llamaindex.llm",
    "LlamaIndexVectorIndex": "prism_llamaindex.vector_index",
    "ParetoPostprocessor": "prism_llamaindex.postprocessor",
    "PrismChatMemory": "prism_llamaindex.chat_memory",
    "PrismIngestion": "prism_llamaindex.ingestion",
    "PrismMemoryBlock": "prism_llamaindex.memory_block",
    "PrismRetriever": "prism_llamaindex.retriever",
    "PrismSerializer": "prism_llamaindex.serializer",
    "PrismToolSpec": "prism_llamaindex.tools",
    "export_graph": "prism_llamaindex.graph",
    "forget_nodes": "prism_llamaindex.ingestion",
    "import_graph": "prism_llamaindex.graph",
    "remember_nodes": "prism_llamaindex.ingestion",
    "to_node": "prism_llamaindex.convert",
    "warned_tools": "prism_llamaindex.warning",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        home = import_module(_HOMES[name])
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "llama_index":
            raise
        raise MissingExtraError("llamaindex", "llama-index-core") from error
    return getattr(home, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
