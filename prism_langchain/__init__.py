"""prism-memory for LangChain and LangGraph.

Names are loaded on first use, so importing this package costs nothing and a missing extra is reported by the name
that needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from prism_core.errors import MissingExtraError

if TYPE_CHECKING:
    from prism_langchain.convert import to_document
    from prism_langchain.labels import from_label, to_label
    from prism_langchain.retriever import PrismRetriever
    from prism_langchain.store import PrismStore

__all__ = ["PrismRetriever", "PrismStore", "from_label", "to_document", "to_label"]

# Name: its module, and the extra that installs what the module imports.
_HOMES = {
    "PrismRetriever": ("prism_langchain.retriever", "langchain"),
    "PrismStore": ("prism_langchain.store", "langchain"),
    "from_label": ("prism_langchain.labels", "langchain"),
    "to_document": ("prism_langchain.convert", "langchain"),
    "to_label": ("prism_langchain.labels", "langchain"),
}
# Host packages by the module they are imported as. `langgraph` is shared by several; the store is of this one.
_HOSTS = {
    "langchain": "langchain",
    "langchain_classic": "langchain-classic",
    "langchain_core": "langchain-core",
    "langgraph": "langgraph",
    "langgraph.store": "langgraph-checkpoint",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home, extra = _HOMES[name]
    try:
        return getattr(import_module(home), name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        host = _HOSTS.get(".".join(missing.split(".")[:2])) or _HOSTS.get(missing.partition(".")[0])
        if host is None:
            raise
        raise MissingExtraError(extra, host) from error


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
