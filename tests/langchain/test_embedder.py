from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_ollama import OllamaEmbeddings
from langchain_openai import OpenAIEmbeddings

from prism_core import PrismMemory, ReceiptStatus
from prism_core.errors import EmbedderMismatchError, EmbeddingError, QueryError
from prism_core.testing import EmbedderContract, HashedEmbedder
from prism_langchain import LangChainEmbedder
from tests.openai_stub import DIMENSION, OpenAIStub

ALICE = ("acme", "alice")


@pytest.fixture
def stub() -> Iterator[OpenAIStub]:
    with OpenAIStub() as running:
        yield running


def openai(stub: OpenAIStub, model: str = "text-embedding-3-small", dimensions: int | None = None) -> OpenAIEmbeddings:
    return OpenAIEmbeddings(
        model=model,
        dimensions=dimensions,
        base_url=stub.base_url,
        api_key="unused",  # type: ignore[arg-type]
        check_embedding_ctx_length=False,
        max_retries=0,
    )


def ollama(stub: OpenAIStub) -> OllamaEmbeddings:
    return OllamaEmbeddings(model="nomic-embed-text", base_url=stub.url)


class TestOpenAI(EmbedderContract):
    @pytest.fixture
    def embedder(self, stub: OpenAIStub) -> LangChainEmbedder:
        return LangChainEmbedder(openai(stub))


class TestOllama(EmbedderContract):
    @pytest.fixture
    def embedder(self, stub: OpenAIStub) -> LangChainEmbedder:
        return LangChainEmbedder(ollama(stub))


@pytest.mark.parametrize("make", [openai, ollama])
def test_a_memory_runs_on_it(make: Callable[[OpenAIStub], Embeddings], stub: OpenAIStub, tmp_path: Path) -> None:
    with PrismMemory.open(tmp_path, embedder=LangChainEmbedder(make(stub))) as memory:
        memory.write_many(["The client wants the blue variant.", "The meeting was moved to May."], scope=ALICE)
        best = memory.search("Which variant does the client want?", scope=ALICE, k=1).hits[0]
    assert best.unit.observation == "The client wants the blue variant."
    assert best.candidate.signals["dense"] == 1.0
    assert memory.embedder is not None
    assert memory.embedder.dimension == DIMENSION
    assert any("embed" in request.path for request in stub.requests)


def test_C7_another_model_is_noticed_and_nothing_is_lost(stub: OpenAIStub, tmp_path: Path) -> None:
    small, large = (LangChainEmbedder(openai(stub, dimensions=size)) for size in (DIMENSION, 2 * DIMENSION))
    assert small.id == "langchain:OpenAIEmbeddings:text-embedding-3-small:64" != large.id
    with PrismMemory.open(tmp_path, embedder=small) as memory:
        memory.write("The client wants the blue variant.", scope=ALICE)
    with pytest.raises(EmbedderMismatchError, match="reembed"):
        PrismMemory.open(tmp_path, embedder=large)
    with PrismMemory.open(tmp_path, embedder=small) as memory:
        assert memory.search("blue variant", scope=ALICE, k=1).hits[0].candidate.signals["dense"] == 1.0
    with PrismMemory.open(tmp_path, embedder=large, on_embedder_change="reembed") as memory:
        assert memory.search("blue variant", scope=ALICE, k=1).hits[0].candidate.signals["dense"] == 1.0
        assert memory.stats(ALICE).pending == 0


def test_a_service_that_is_down_degrades_writes_and_fails_none(stub: OpenAIStub, tmp_path: Path) -> None:
    gone = OllamaEmbeddings(model="m", base_url="http://127.0.0.1:9")
    with PrismMemory.open(tmp_path, embedder=LangChainEmbedder(gone)) as memory:
        receipt = memory.write("The client wants the blue variant.", scope=ALICE)
        assert receipt.status is ReceiptStatus.DEGRADED
        assert "langchain:OllamaEmbeddings:m" in receipt.reason
        found = memory.search("Which variant?", scope=ALICE)
        assert found.units[0].id == receipt.unit_id
        assert found.degraded


def test_an_openai_service_that_is_gone_is_an_embedding_error() -> None:
    with OpenAIStub() as stub:
        embedder = LangChainEmbedder(openai(stub))
    with pytest.raises(EmbeddingError, match="APIConnectionError"):
        embedder.embed_documents(["text"])
    with pytest.raises(EmbeddingError):
        embedder.embed_query("text")
    with pytest.raises(EmbeddingError):
        _ = embedder.dimension


class Broken(Embeddings):
    model = "broken"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 2.0]] * (len(texts) + 1)

    def embed_query(self, text: str) -> list[float]:
        raise KeyError("no such model")


def test_what_is_no_vector_is_an_embedding_error() -> None:
    with pytest.raises(EmbeddingError, match="shape"):
        LangChainEmbedder(Broken()).embed_documents(["a"])
    with pytest.raises(KeyError):
        LangChainEmbedder(Broken(), failures=(OSError,)).embed_query("a")


def test_a_model_without_a_name_needs_an_id() -> None:
    nameless = DeterministicFakeEmbedding(size=4)
    with pytest.raises(QueryError, match="id="):
        LangChainEmbedder(nameless)
    embedder = LangChainEmbedder(nameless, id="fake:v1", dimension=4)
    assert (embedder.id, embedder.dimension) == ("fake:v1", 4)
    assert np.linalg.norm(embedder.embed_query("a")) == pytest.approx(1.0)


class Counting(Embeddings):
    """Counts calls, and refuses empty texts, as OpenAI does."""

    model_name = "counting"

    def __init__(self) -> None:
        self.calls = 0
        self.inner = HashedEmbedder(dimension=8)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        assert texts
        assert all(text.strip() for text in texts)
        self.calls += 1
        rows: list[list[float]] = (3 * self.inner.embed_documents(texts)).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def test_texts_without_content_are_not_sent_and_the_dimension_costs_no_call() -> None:
    inner = Counting()
    embedder = LangChainEmbedder(inner)
    rows = embedder.embed_documents(["", "a word", " \n"])
    assert (embedder.dimension, inner.calls) == (8, 1)
    assert np.linalg.norm(rows, axis=1).tolist() == pytest.approx([0, 1, 0])
    assert not embedder.embed_query("").any()
    assert inner.calls == 1
