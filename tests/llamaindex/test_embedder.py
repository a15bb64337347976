from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Settings
from llama_index.core.embeddings import BaseEmbedding, MockEmbedding
from llama_index.embeddings.ollama import OllamaEmbedding
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from pydantic import Field

from prism_core import PrismMemory, ReceiptStatus
from prism_core.errors import EmbedderMismatchError, EmbeddingError, QueryError
from prism_core.testing import EmbedderContract, HashedEmbedder
from prism_core.testing.scripted import ALICE
from prism_llamaindex import LlamaIndexEmbedder
from tests.openai_stub import DIMENSION, OpenAIStub


class HashedModel(BaseEmbedding):
    """A LlamaIndex model of hashed words, three times as long as they should be, that can be switched off."""

    dimensions: int = 48
    down: bool = False
    asked: list[str] = Field(default_factory=list)

    def _get_text_embedding(self, text: str) -> list[float]:
        if self.down:
            raise OSError("no route to host")
        self.asked.append(text)
        return [3 * float(value) for value in HashedEmbedder(dimension=self.dimensions).embed_query(text)]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


class TestAModelOfLlamaIndex(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> LlamaIndexEmbedder:
        return LlamaIndexEmbedder(HashedModel(model_name="hashed"))


@pytest.fixture
def stub() -> Iterator[OpenAIStub]:
    with OpenAIStub() as started:
        yield started


def openai(stub: OpenAIStub, **more: Any) -> OpenAIEmbedding:
    return OpenAIEmbedding(api_base=stub.base_url, api_key="unused", max_retries=0, **more)


def openai_like(stub: OpenAIStub) -> OpenAILikeEmbedding:
    return OpenAILikeEmbedding(model_name="nomic", api_base=stub.base_url, api_key="unused", max_retries=0)


def ollama(stub: OpenAIStub) -> OllamaEmbedding:
    return OllamaEmbedding(model_name="nomic-embed-text", base_url=stub.url)


class TestOpenAI(EmbedderContract):
    @pytest.fixture
    def embedder(self, stub: OpenAIStub) -> LlamaIndexEmbedder:
        return LlamaIndexEmbedder(openai(stub))


class TestOpenAILike(EmbedderContract):
    @pytest.fixture
    def embedder(self, stub: OpenAIStub) -> LlamaIndexEmbedder:
        return LlamaIndexEmbedder(openai_like(stub))


class TestOllama(EmbedderContract):
    @pytest.fixture
    def embedder(self, stub: OpenAIStub) -> LlamaIndexEmbedder:
        return LlamaIndexEmbedder(ollama(stub))


def test_the_id_names_class_model_and_the_dimensions_asked_for(stub: OpenAIStub) -> None:
    assert LlamaIndexEmbedder(openai_like(stub)).id == "llama-index/OpenAILikeEmbedding/nomic"
    assert LlamaIndexEmbedder(ollama(stub)).id == "llama-index/OllamaEmbedding/nomic-embed-text"
    model = openai(stub, model="text-embedding-3-small", dimensions=32)
    embedder = LlamaIndexEmbedder(model)
    assert embedder.id == "llama-index/OpenAIEmbedding/text-embedding-3-small/32"
    assert embedder.dimension == 32
    assert LlamaIndexEmbedder(model, id="mine").id == "mine"


@pytest.mark.parametrize("make", [openai, openai_like, ollama])
def test_a_memory_is_searched_by_meaning_through_a_model_server(make: Any, stub: OpenAIStub, tmp_path: Path) -> None:
    embedder = LlamaIndexEmbedder(make(stub))
    with PrismMemory.open(tmp_path / "m", embedder=embedder) as memory:
        receipts = memory.write_many(["The cat sleeps in the barn.", "Invoices are due on Friday."], scope=ALICE)
        assert [receipt.status for receipt in receipts] == [ReceiptStatus.STORED] * 2
        found = memory.search("when are invoices due?", scope=ALICE, k=1)
        assert found.units[0].text == "Invoices are due on Friday."
        assert "dense" in found[0].candidate.channels
        assert not found.degraded
    assert embedder.dimension == DIMENSION
    assert any("Invoices" in str(request.body["input"]) for request in stub.requests)


def test_a_server_that_fails_loses_no_unit_and_says_so(tmp_path: Path) -> None:
    nobody = OpenAIEmbedding(api_base="http://127.0.0.1:9/v1", api_key="unused", max_retries=0)
    with PrismMemory.open(tmp_path / "m", embedder=LlamaIndexEmbedder(nobody, dimension=DIMENSION)) as memory:
        receipt = memory.write("Invoices are due on Friday.", scope=ALICE)
        assert receipt.status is ReceiptStatus.DEGRADED
        assert "APIConnectionError" in receipt.reason
        found = memory.search("invoices due", scope=ALICE, k=1)
        assert found.units[0].text == "Invoices are due on Friday."
        assert any("APIConnectionError" in note for note in found.degraded)


def test_what_a_model_raises_is_an_embedding_error_with_its_name() -> None:
    model = HashedModel(model_name="hashed")
    embedder = LlamaIndexEmbedder(model)
    model.down = True
    for ask in (lambda: embedder.dimension, lambda: embedder.embed_query("x"), lambda: embedder.embed_documents(["x"])):
        with pytest.raises(EmbeddingError, match=r"HashedModel/hashed.*OSError: no route to host") as caught:
            ask()
        assert isinstance(caught.value.__cause__, OSError)


def test_answers_of_another_shape_are_refused() -> None:
    class Short(HashedModel):
        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return [self._get_text_embedding(text) for text in texts[1:]]

    with pytest.raises(EmbeddingError, match="1 vectors to 2 texts"):
        LlamaIndexEmbedder(Short(model_name="m")).embed_documents(["a", "b"])
    with pytest.raises(EmbeddingError, match="shape"):
        LlamaIndexEmbedder(HashedModel(model_name="m"), dimension=3).embed_query("a")


def test_empty_texts_are_not_sent_and_batches_are_kept_to() -> None:
    model = HashedModel(model_name="m", embed_batch_size=2)
    rows = LlamaIndexEmbedder(model, dimension=48).embed_documents(["a", " ", "b", "c", ""])
    assert model.asked == ["a", "b", "c"]
    assert [bool(row.any()) for row in rows] == [True, False, True, True, False]


def test_c7_another_model_is_refused_by_name_and_re_embedded_on_request(tmp_path: Path) -> None:
    def texts(memory: PrismMemory) -> Sequence[str]:
        return [unit.text for unit in memory.search("which cat?", scope=ALICE, k=2).units]

    small, large = (LlamaIndexEmbedder(HashedModel(model_name="m", dimensions=size)) for size in (24, 96))
    with PrismMemory.open(tmp_path / "m", embedder=small) as memory:
        memory.write_many(["The cat sleeps.", "The dog barks."], scope=ALICE)
        before = texts(memory)
    with pytest.raises(EmbedderMismatchError, match=r"m/24.*m/96.*reembed"):
        PrismMemory.open(tmp_path / "m", embedder=large)
    with PrismMemory.open(tmp_path / "m", embedder=small) as memory:
        assert texts(memory) == before
    with PrismMemory.open(tmp_path / "m", embedder=large, on_embedder_change="reembed") as memory:
        assert texts(memory) == before
        assert not memory.search("cat", scope=ALICE).degraded


def test_a_model_without_a_name_has_to_be_named() -> None:
    with pytest.raises(QueryError, match="MockEmbedding does not name its model"):
        LlamaIndexEmbedder(MockEmbedding(embed_dim=8))


def test_settings_are_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Settings, "_embed_model", None)
    with PrismMemory.open(tmp_path / "m", embedder=LlamaIndexEmbedder(MockEmbedding(embed_dim=8), id="mock")) as memory:
        memory.write("The cat sleeps.", scope=ALICE)
        memory.search("cat", scope=ALICE)
    assert Settings._embed_model is None


def test_a_refusing_server_is_an_embedding_error(stub: OpenAIStub) -> None:
    embedder = LlamaIndexEmbedder(OllamaEmbedding(model_name="m", base_url=f"{stub.url}/nowhere"))
    with pytest.raises(EmbeddingError, match="OllamaEmbedding/m"):
        embedder.embed_query("x")
