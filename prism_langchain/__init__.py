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
    from prism_langchain.labels import from_label, to_label
    from prism_langchain.retriever import PrismRetriever
    from prism_langchain.store import PrismStore

__all__ = [
    "LangChainEmbedder",
    "LangChainVectorIndex",
    "PrismChatMessageHistory",
    "PrismConversationMemory",
    "PrismDocumentCompressor",
    "PrismRetriever",
    "PrismStore",
    "UnitVectors",
    "from_label",
    "to_document",
    "to_label",
]

_HOMES = {
    "LangChainEmbedder": "prism_langchain.embedder",
    "LangChainVectorIndex": "prism_langchain.index",
    "PrismChatMessageHistory": "prism_langchain.history",
    "PrismConversationMemory": "prism_langchain.classic",
    "PrismDocumentCompressor": "prism_langchain.compressor",
    "PrismRetriever": "prism_langchain.retriever",
    "PrismStore": "prism_langchain.store",
    "UnitVectors": "prism_langchain.index",
    "from_label": "prism_langchain.labels",
    "to_document": "prism_langchain.convert",
    "to_label": "prism_langchain.labels",
}
_EXTRAS = {
    "langchain": ("agent", "langchain"),
    "langchain_core": ("langchain", "langchain-core"),
    "langchain_classic": ("classic", "langchain-classic"),
    "langgraph": ("langchain", "langgraph-checkpoint"),
}
"""The extra that brings each package, with the package's name on PyPI."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        home = import_module(_HOMES[name])
    except ModuleNotFoundError as error:
        missing = _EXTRAS.get((error.name or "").partition(".")[0])
        if missing is None:
            raise
        raise MissingExtraError(*missing) from error
    return getattr(home, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
