"""What the package offers, and what it says where a package is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import prism_langchain


def run_without(package: str, code: str) -> str:
    begin = (
        f"import sys\nsys.modules[{package!r}] = None\n"
        "import prism_langchain\nfrom prism_core.errors import MissingExtraError\n"
    )
    return subprocess.run([sys.executable, "-c", begin + code], capture_output=True, text=True, check=True).stdout


def test_every_name_is_there() -> None:
    for name in prism_langchain.__all__:
        assert getattr(prism_langchain, name).__module__.startswith("prism_langchain.")


def test_C1_without_the_classic_package_the_rest_works_and_the_extra_is_named() -> None:
    code = (
        "from prism_langchain import PrismChatMessageHistory, PrismDocumentCompressor, PrismRetriever\n"
        "try:\n"
        "    prism_langchain.PrismConversationMemory\n"
        "except MissingExtraError as error:\n"
        "    print(error)\n"
    )
    told = run_without("langchain_classic", code)
    assert told == "langchain-classic is not installed; pip install 'prism-memory[classic]'\n"


@pytest.mark.parametrize(
    "name",
    [
        "LangChainEmbedder",
        "LangChainVectorIndex",
        "PrismChatMessageHistory",
        "PrismDocumentCompressor",
        "PrismRetriever",
    ],
)
def test_without_langchain_the_extra_is_named(name: str) -> None:
    code = f"try:\n    prism_langchain.{name}\nexcept MissingExtraError as error:\n    print(error.extra)\n"
    assert run_without("langchain_core", code) == "langchain\n"
