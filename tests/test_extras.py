"""What a host package says when the host is not installed; `make matrix` runs this in every combination."""

from __future__ import annotations

import importlib
from importlib.util import find_spec

import pytest

from prism_core.errors import MissingExtraError

NEEDS = {
    "prism_langchain": {
        "PrismRetriever": ("langchain_core", "langchain"),
        "PrismDocumentCompressor": ("langchain_core", "langchain"),
        "PrismChatMessageHistory": ("langchain_core", "langchain"),
        "PrismStore": ("langgraph.store.base", "langchain"),
        "PrismMemoryMiddleware": ("langchain", "agent"),
        "PrismConversationMemory": ("langchain_classic", "classic"),
    },
    "prism_llamaindex": {
        "PrismRetriever": ("llama_index", "llamaindex"),
        "ParetoPostprocessor": ("llama_index", "llamaindex"),
        "PrismMemoryBlock": ("llama_index", "llamaindex"),
        "PrismChatMemory": ("llama_index", "llamaindex"),
    },
}


def installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize(
    ("package", "name", "needed", "extra"),
    [(package, name, *need) for package, names in NEEDS.items() for name, need in names.items()],
)
def test_a_name_is_there_or_says_which_extra_is_missing(package: str, name: str, needed: str, extra: str) -> None:
    module = importlib.import_module(package)
    assert name in module.__all__
    if installed(needed):
        assert getattr(module, name).__name__ == name
    else:
        with pytest.raises(MissingExtraError, match=rf"\[{extra}\]"):
            getattr(module, name)
