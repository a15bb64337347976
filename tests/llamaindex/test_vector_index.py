from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from chromadb.config import Settings
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import BasePydanticVectorStore
from llama_index.vector_stores.chroma import ChromaVectorStore
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient

from prism_core import PrismMemory
from prism_core.errors import DimensionMismatchError, EmbedderMismatchError, IndexFailedError
from prism_core.testing import HashedEmbedder, VectorIndexContract, unit_vectors
from prism_core.testing.scripted import ALICE, BOB
from prism_llamaindex import LlamaIndexVectorIndex
from prism_llamaindex.errors import UnsupportedStoreError

OpenStore = Callable[[str], BasePydanticVectorStore]


def chroma(client: Any, name: str, space: str = "cosine") -> ChromaVectorStore:
    configuration = {"hnsw": {"space": space}}
    collection = client.get_or_create_collection(name, embedding_function=None, configuration=configuration)
    return ChromaVectorStore(chroma_collection=collection)


def qdrant(client: QdrantClient, name: str) -> QdrantVectorStore:
    return QdrantVectorStore(name, client=client, index_doc_id=False)  # a local one has no such index, and says so


@pytest.fixture
def chroma_client(tmp_path: Path) -> Iterator[Any]:
    client: Any = chromadb.PersistentClient(tmp_path / "chroma", settings=Settings(anonymized_telemetry=False))
    yield client
    client.close()


@pytest.fixture
def qdrant_client() -> Iterator[QdrantClient]:
    client = QdrantClient(":memory:")
    yield client
    client.close()


class TestInChroma(VectorIndexContract):
    @pytest.fixture
    def index(self, chroma_client: Any) -> LlamaIndexVectorIndex:
        return LlamaIndexVectorIndex(lambda name: chroma(chroma_client, name))


class TestInChromaOfAnotherMetric(VectorIndexContract):
    """Chroma's own default is the squared Euclidean distance."""

    @pytest.fixture
    def index(self, chroma_client: Any) -> LlamaIndexVectorIndex:
        return LlamaIndexVectorIndex(lambda name: chroma(chroma_client, name, space="l2"))


class TestInQdrant(VectorIndexContract):
    @pytest.fixture
    def index(self, qdrant_client: QdrantClient) -> LlamaIndexVectorIndex:
        return LlamaIndexVectorIndex(lambda name: qdrant(qdrant_client, name))


def open_one(kind: str, chroma_client: Any, qdrant_client: QdrantClient) -> BasePydanticVectorStore | OpenStore:
    stores: dict[str, BasePydanticVectorStore | OpenStore] = {
        "chroma": lambda name: chroma(chroma_client, name),
        "shared chroma": chroma(chroma_client, "shared"),
        "qdrant": lambda name: qdrant(qdrant_client, name),
        "shared qdrant": qdrant(qdrant_client, "shared"),
    }
    return stores[kind]


KINDS = ["chroma", "shared chroma", "qdrant", "shared qdrant"]
TEXTS = [
    f"note {number}: the {animal} sleeps in room {number % 7}" for number in range(40) for animal in ("cat", "dog")
]


@pytest.fixture
def store(request: pytest.FixtureRequest, chroma_client: Any, qdrant_client: QdrantClient) -> Any:
    return open_one(request.param, chroma_client, qdrant_client)


@pytest.mark.parametrize("store", KINDS, indirect=True)
def test_a_memory_answers_through_it_as_it_answers_exactly(store: Any, tmp_path: Path) -> None:
    index = LlamaIndexVectorIndex(store)
    with (
        PrismMemory.open(tmp_path / "a", embedder=HashedEmbedder(), index=index) as through,
        PrismMemory.open(tmp_path / "b", embedder=HashedEmbedder(), index="exact") as exactly,
    ):
        for memory in (through, exactly):
            memory.write_many(TEXTS, scope=ALICE)
            memory.write_many(TEXTS[:3], scope=BOB)
            memory.flush()
        assert (index.count(ALICE), index.count(BOB)) == (len(TEXTS), 3)
        question = "where does the dog of note 17 sleep?"
        found = through.search(question, scope=ALICE, k=5)
        assert not found.degraded
        assert [unit.text for unit in found.units] == [
            unit.text for unit in exactly.search(question, scope=ALICE, k=5).units
        ]
        assert len(through.search(question, scope=BOB, k=5)) == 3
        assert all(finding.ok for finding in through.doctor())


@pytest.mark.parametrize("store", KINDS, indirect=True)
def test_scopes_of_one_store_do_not_meet(store: Any) -> None:
    index, vectors = LlamaIndexVectorIndex(store), unit_vectors(3)
    index.upsert(ALICE, ["u1", "u2"], vectors[:2])
    index.upsert(BOB, ["u1"], vectors[2:])
    assert [unit_id for unit_id, _ in index.search(BOB, vectors[0], 9)] == ["u1"]
    index.drop(ALICE)
    assert [index.count(scope) for scope in (ALICE, BOB)] == [0, 1]
    assert dict(index.search(BOB, vectors[2], 9)) == pytest.approx({"u1": 1.0})


@pytest.mark.parametrize("store", KINDS, indirect=True)
def test_under_a_name_vectors_outlive_the_process_and_without_one_they_are_taken_out(store: Any) -> None:
    vectors = unit_vectors(3)
    named = LlamaIndexVectorIndex(store, name="notes")
    named.upsert(ALICE, ["u1", "u2"], vectors[:2])
    named.close()
    unnamed = LlamaIndexVectorIndex(store)
    assert unnamed.count(ALICE) == 0
    unnamed.upsert(ALICE, ["u3"], vectors[2:])
    unnamed.close()
    again = LlamaIndexVectorIndex(store, name="notes")
    assert again.id == named.id != unnamed.id
    assert again.count(ALICE) == 2
    assert dict(again.search(ALICE, vectors[0], 9)) == pytest.approx(
        {"u1": 1.0, "u2": float(vectors[0] @ vectors[1])}, abs=1e-5
    )
    again.upsert(ALICE, ["u2"], -vectors[:1])
    assert dict(again.search(ALICE, vectors[0], 9)) == pytest.approx({"u1": 1.0, "u2": -1.0}, abs=1e-5)
    with pytest.raises(DimensionMismatchError):
        again.upsert(ALICE, ["u4"], unit_vectors(1, 5))


def test_nothing_of_an_unnamed_index_is_left_behind(chroma_client: Any) -> None:
    shared = chroma(chroma_client, "shared")
    index = LlamaIndexVectorIndex(shared)
    index.upsert(ALICE, ["u1"], unit_vectors(1))
    assert shared.client.count() == 1
    index.close()
    assert shared.client.count() == 0


def test_the_store_sees_no_words_and_no_scope(chroma_client: Any, tmp_path: Path) -> None:
    shared = chroma(chroma_client, "shared")
    with PrismMemory.open(tmp_path / "m", embedder=HashedEmbedder(), index=LlamaIndexVectorIndex(shared)) as memory:
        memory.write("The password is swordfish.", scope=("acme", "alice@example.com"))
        memory.flush()
        stored = str(shared.client.get())
        assert shared.client.count() == 1
    assert "swordfish" not in stored
    assert "alice" not in stored


def test_c19_similarities_are_cosines_whatever_the_store_measures(chroma_client: Any) -> None:
    for space in ("cosine", "l2", "ip"):
        axis = np.eye(4, dtype=np.float32)
        index = LlamaIndexVectorIndex(lambda name, space=space: chroma(chroma_client, name, space))  # type: ignore[misc]
        index.upsert(ALICE, ["same", "across", "opposite"], np.stack([axis[0], axis[1], -axis[0]]))
        found = index.search(ALICE, axis[0], 3)
        assert [unit_id for unit_id, _ in found] == ["same", "across", "opposite"]
        assert [score for _, score in found] == pytest.approx([1.0, 0.0, -1.0], abs=1e-6)


def test_c21_any_number_of_vectors_goes_in(chroma_client: Any) -> None:
    index = LlamaIndexVectorIndex(chroma(chroma_client, "shared"))
    vectors = unit_vectors(5_600)
    ids = [f"u{row}" for row in range(len(vectors))]
    index.upsert(ALICE, ids, vectors)
    assert index.count(ALICE) == len(ids)
    assert index.search(ALICE, vectors[5_599], 1)[0][0] == "u5599"


def test_c7_another_embedder_is_refused_and_re_embedding_fills_the_index_anew(
    chroma_client: Any, tmp_path: Path
) -> None:
    def index() -> LlamaIndexVectorIndex:
        return LlamaIndexVectorIndex(lambda name: chroma(chroma_client, name))

    small, large = HashedEmbedder("small", 24), HashedEmbedder("large", 96)
    with PrismMemory.open(tmp_path / "m", embedder=small, index=index()) as memory:
        memory.write_many(TEXTS, scope=ALICE)
    with pytest.raises(EmbedderMismatchError, match="reembed"):
        PrismMemory.open(tmp_path / "m", embedder=large, index=index())
    filled = index()
    with PrismMemory.open(tmp_path / "m", embedder=large, index=filled, on_embedder_change="reembed") as memory:
        memory.flush()
        assert filled.count(ALICE) == len(TEXTS)
        found = memory.search(TEXTS[5], scope=ALICE, k=1)
        assert (found[0].text, found.degraded) == (TEXTS[5], ())


def test_a_store_that_fails_is_replaced_by_exact_search(chroma_client: Any, tmp_path: Path) -> None:
    shared = chroma(chroma_client, "shared")
    with PrismMemory.open(tmp_path / "m", embedder=HashedEmbedder(), index=LlamaIndexVectorIndex(shared)) as memory:
        memory.write_many(TEXTS, scope=ALICE)
        memory.flush()
        chroma_client.delete_collection("shared")
        found = memory.search(TEXTS[5], scope=ALICE, k=1)
        assert found[0].text == TEXTS[5]
        assert any("exact search answers" in note for note in memory.search(TEXTS[5], scope=ALICE, k=1).degraded)


@pytest.mark.parametrize("store", KINDS, indirect=True)
def test_what_is_erased_leaves_the_store(store: Any, tmp_path: Path) -> None:
    index = LlamaIndexVectorIndex(store, name="notes")
    with PrismMemory.open(tmp_path / "m", embedder=HashedEmbedder(), index=index) as memory:
        receipts = memory.write_many(TEXTS[:4], scope=ALICE)
        memory.flush()
        memory.erase(scope=ALICE, unit_ids=[str(receipts[2].unit_id)])
        memory.search(TEXTS[0], scope=ALICE)
        memory.flush()
        assert index.count(ALICE) == 3
        assert len(LlamaIndexVectorIndex(store, name="notes").search(ALICE, unit_vectors(1, 32)[0], 9)) == 3


def test_a_store_that_is_gone_does_not_keep_the_memory_from_closing(chroma_client: Any, tmp_path: Path) -> None:
    index = LlamaIndexVectorIndex(chroma(chroma_client, "shared"))
    with PrismMemory.open(tmp_path / "m", embedder=HashedEmbedder(), index=index) as memory:
        memory.write_many(TEXTS, scope=ALICE)
        memory.flush()
        chroma_client.delete_collection("shared")
    with PrismMemory.open(tmp_path / "m", embedder=HashedEmbedder()) as again:
        assert again.stats(ALICE).units == len(TEXTS)


def test_what_the_client_raises_becomes_the_index_error(chroma_client: Any) -> None:
    index = LlamaIndexVectorIndex(chroma(chroma_client, "shared"))
    index.upsert(ALICE, ["u1"], unit_vectors(1))
    chroma_client.delete_collection("shared")
    with pytest.raises(IndexFailedError, match="could not search: NotFoundError"):
        index.search(ALICE, unit_vectors(1)[0], 1)


def test_a_store_without_contents_is_refused() -> None:
    with pytest.raises(UnsupportedStoreError, match="SimpleVectorStore keeps no node contents"):
        LlamaIndexVectorIndex(SimpleVectorStore())
    index = LlamaIndexVectorIndex(lambda name: SimpleVectorStore())
    with pytest.raises(UnsupportedStoreError, match="index='exact'"):
        index.upsert(ALICE, ["u1"], unit_vectors(1))
