"""prism-memory for LangChain and LangGraph.

Names are loaded on first use, so importing this package costs nothing and a missing extra is reported by the name
that needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from prism_core.errors import MissingExtraError

if TYPE_CHECKING:
    from prism_langchain.classic import PrismConversationMemory
    from prism_langchain.compressor import PrismDocumentCompressor
    from prism_langchain.convert import to_document
    from prism_langchain.embedder import LangChainEmbedder
    from prism_langchain.history import PrismChatMessageHistory
    from prism_langchain.index import LangChainVectorIndex, UnitVectors
    from prism_langchain.injection import with_memory
    from prism_langchain.labels import from_label, to_label
    from prism_langchain.llm import LangChainLLM
    from prism_langchain.middleware import PrismMemoryMiddleware
    from prism_langchain.nodes import prism_recall_node, prism_remember_node
    from prism_langchain.places import scope_from_config, scope_from_context
    from prism_langchain.problems import MemoryProblem
    from prism_langchain.retriever import PrismRetriever
    from prism_langchain.runnables import prism_recall_runnable, prism_remember_runnable
    from prism_langchain.store import PrismStore
    from prism_langchain.tools import prism_tools

__all__ = [
    "LangChainEmbedder",
    "LangChainLLM",
    "LangChainVectorIndex",
    "MemoryProblem",
    "PrismChatMessageHistory",
    "PrismConversationMemory",
    "PrismDocumentCompressor",
    "PrismMemoryMiddleware",
    "PrismRetriever",
    "PrismStore",
    "UnitVectors",
    "from_label",
    "prism_recall_node",
    "prism_recall_runnable",
    "prism_remember_node",
    "prism_remember_runnable",
    "prism_tools",
    "scope_from_config",
    "scope_from_context",
    "to_document",
    "to_label",
    "with_memory",
]

_HOMES = {
    "LangChainEmbedder": "prism_langchain.embedder",
    "LangChainLLM": "prism_langchain.llm",
    "LangChainVectorIndex": "prism_langchain.index",
    "MemoryProblem": "prism_langchain.problems",
    "PrismChatMessageHistory": "prism_langchain.history",
    "PrismConversationMemory": "prism_langchain.classic",
    "PrismDocumentCompressor": "prism_langchain.compressor",
    "PrismMemoryMiddleware": "prism_langchain.middleware",
    "PrismRetriever": "prism_langchain.retriever",
    "PrismStore": "prism_langchain.store",
    "UnitVectors": "prism_langchain.index",
    "from_label": "prism_langchain.labels",
    "prism_recall_node": "prism_langchain.nodes",
    "prism_recall_runnable": "prism_langchain.runnables",
    "prism_remember_node": "prism_langchain.nodes",
    "prism_remember_runnable": "prism_langchain.runnables",
    "prism_tools": "prism_langchain.tools",
    "scope_from_config": "prism_langchain.places",
    "scope_from_context": "prism_langchain.places",
    "to_document": "prism_langchain.convert",
    "to_label": "prism_langchain.labels",
    "with_memory": "prism_langchain.injection",
}
_EXTRAS = {
    "langchain_core": ("langchain", "langchain-core"),
    "langchain_classic": ("classic", "langchain-classic"),
    "langchain": ("agent", "langchain"),
    "langgraph": ("agent", "langgraph"),
}
"""The extra that brings each package, with the package's name on PyPI."""
_STORE_EXTRA = ("langchain", "langgraph-checkpoint")
"""LangGraph's stores come in a smaller package than its agents, under the same name."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        home = import_module(_HOMES[name])
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        missing = _STORE_EXTRA if name == "PrismStore" and package == "langgraph" else _EXTRAS.get(package)
        if missing is None:
            raise
        raise MissingExtraError(*missing) from error
    return getattr(home, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
