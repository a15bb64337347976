from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_qdrant import QdrantVectorStore
from qdrant_client import QdrantClient, models

from prism_core import PrismMemory
from prism_core.errors import IndexFailedError, QueryError
from prism_core.testing import HashedEmbedder, VectorIndexContract, unit_vectors
from prism_core.testing.scripted import ALICE, BOB
from prism_langchain import LangChainVectorIndex, UnitVectors

Client = Any


@pytest.fixture
def chroma(tmp_path: Path) -> Iterator[Client]:
    settings = chromadb.config.Settings(anonymized_telemetry=False)
    client: Client = chromadb.PersistentClient(tmp_path / "chroma", settings=settings)
    yield client
    client.close()


def chroma_store(client: Client, space: str = "cosine") -> Callable[[str, Embeddings, int], VectorStore]:
    def make(name: str, embeddings: Embeddings, dimension: int) -> VectorStore:
        return Chroma(name, embeddings, client=client, collection_metadata={"hnsw:space": space})

    return make


def qdrant_store(
    client: QdrantClient, distance: models.Distance = models.Distance.COSINE
) -> Callable[[str, Embeddings, int], VectorStore]:
    def make(name: str, embeddings: Embeddings, dimension: int) -> VectorStore:
        if not client.collection_exists(name):
            client.create_collection(name, models.VectorParams(size=dimension, distance=distance))
        return QdrantVectorStore(client, name, embeddings, distance=distance)

    return make


def drop_qdrant(store: VectorStore) -> None:
    assert isinstance(store, QdrantVectorStore)
    store.client.delete_collection(store.collection_name)


def within(name: str) -> dict[str, models.Filter]:
    match = models.FieldCondition(key="metadata.scope", match=models.MatchValue(value=name))
    return {"filter": models.Filter(must=[match])}


@pytest.fixture
def qdrant() -> Iterator[QdrantClient]:
    client = QdrantClient(":memory:")
    yield client
    client.close()


class TestChroma(VectorIndexContract):
    """One collection per scope."""

    @pytest.fixture
    def index(self, chroma: Client) -> LangChainVectorIndex:
        return LangChainVectorIndex(chroma_store(chroma))


class TestQdrant(VectorIndexContract):
    """One collection per scope."""

    @pytest.fixture
    def index(self, qdrant: QdrantClient) -> LangChainVectorIndex:
        return LangChainVectorIndex(qdrant_store(qdrant), drop=drop_qdrant)


class TestInMemory(VectorIndexContract):
    """One store for all scopes, told apart by metadata."""

    @pytest.fixture
    def index(self) -> LangChainVectorIndex:
        def where(name: str) -> dict[str, Any]:
            return {"filter": lambda document: document.metadata["scope"] == name}

        return LangChainVectorIndex(InMemoryVectorStore(UnitVectors()), where=where)


def test_one_chroma_collection_may_hold_every_scope(chroma: Client) -> None:
    index = LangChainVectorIndex(Chroma("all", UnitVectors(), client=chroma))
    check_two_scopes(index)


def test_one_qdrant_collection_may_hold_every_scope(qdrant: QdrantClient) -> None:
    qdrant.create_collection("all", models.VectorParams(size=16, distance=models.Distance.COSINE))
    index = LangChainVectorIndex(QdrantVectorStore(qdrant, "all", UnitVectors(16)), where=within)
    check_two_scopes(index)


@pytest.mark.parametrize("space", ["cosine", "l2", "ip"])
def test_C19_distances_of_chroma_become_cosines(space: str, chroma: Client) -> None:
    check_cosines(LangChainVectorIndex(chroma_store(chroma, space)))


@pytest.mark.parametrize("distance", [models.Distance.COSINE, models.Distance.EUCLID, models.Distance.DOT])
def test_C19_distances_and_similarities_of_qdrant_become_cosines(
    distance: models.Distance, qdrant: QdrantClient
) -> None:
    check_cosines(LangChainVectorIndex(qdrant_store(qdrant, distance)))


def check_cosines(index: LangChainVectorIndex) -> None:
    axis = np.eye(4, dtype=np.float32)
    index.upsert(
        ALICE,
        ["same", "near", "across", "opposite"],
        np.stack([axis[0], np.array([0.6, 0.8, 0, 0], np.float32), axis[1], -axis[0]]),
    )
    found = index.search(ALICE, axis[0], 4)
    assert [unit_id for unit_id, _ in found] == ["same", "near", "across", "opposite"]
    assert [score for _, score in found] == pytest.approx([1.0, 0.6, 0.0, -1.0], abs=1e-6)


def check_two_scopes(index: LangChainVectorIndex) -> None:
    vectors = unit_vectors(40, 16)
    ids = [f"u{number}" for number in range(20)]
    index.upsert(ALICE, ids, vectors[:20])
    index.upsert(BOB, ids, vectors[20:])
    for scope, own in ((ALICE, vectors[:20]), (BOB, vectors[20:])):
        found = index.search(scope, vectors[3], 5)
        scores = own @ vectors[3]
        assert [unit_id for unit_id, _ in found] == [ids[row] for row in np.argsort(-scores)[:5]]
        assert [score for _, score in found] == pytest.approx(sorted(scores, reverse=True)[:5], abs=1e-5)
    index.drop(ALICE)
    assert index.search(ALICE, vectors[3], 5) == []
    assert len(index.search(BOB, vectors[3], 50)) == 20


def test_C21_more_than_chroma_takes_at_once_is_handed_over_in_parts(chroma: Client) -> None:
    index = LangChainVectorIndex(chroma_store(chroma))
    vectors = unit_vectors(5500, 8)
    index.upsert(ALICE, [f"u{number}" for number in range(5500)], vectors)
    assert index.count(ALICE) == 5500
    assert index.search(ALICE, vectors[5499], 1)[0][0] == "u5499"


def test_what_an_earlier_process_left_is_not_found(chroma: Client, qdrant: QdrantClient) -> None:
    vectors = unit_vectors(3)
    for open_store, drop in ((chroma_store(chroma), None), (qdrant_store(qdrant), None)):
        LangChainVectorIndex(open_store, drop=drop).upsert(ALICE, ["gone", "kept"], vectors[:2])
        index = LangChainVectorIndex(open_store, drop=drop)
        assert index.count(ALICE) == 0
        index.upsert(ALICE, ["kept"], vectors[1:2])
        assert [unit_id for unit_id, _ in index.search(ALICE, vectors[0], 9)] == ["kept"]


def test_no_text_reaches_the_store(chroma: Client, tmp_path: Path) -> None:
    index = LangChainVectorIndex(chroma_store(chroma))
    with PrismMemory.open(tmp_path / "memory", index=index) as memory:
        unit_id = memory.write("The safe opens with 4711.", scope=ALICE).unit_id
        memory.flush()
        [name] = [collection.name for collection in chroma.list_collections()]
        assert chroma.get_collection(name).get()["documents"] == [unit_id]


@pytest.mark.parametrize("kind", ["chroma", "qdrant"])
def test_a_memory_runs_on_it(kind: str, chroma: Client, qdrant: QdrantClient, tmp_path: Path) -> None:
    texts = [f"Note {number}: the parcel went to depot {number}." for number in range(80)]
    texts[17] = "The safe in the cellar opens with 4711."

    def index() -> LangChainVectorIndex:
        if kind == "chroma":
            return LangChainVectorIndex(chroma_store(chroma))
        return LangChainVectorIndex(qdrant_store(qdrant), drop=drop_qdrant)

    question = "How do I open the strongbox?"
    with PrismMemory.open(tmp_path / "memory", index="exact") as memory:
        memory.write_many(texts, scope=ALICE)
        expected = memory.search(question, scope=ALICE, k=5).units
    used = index()
    with PrismMemory.open(tmp_path / "memory", index=used) as memory:
        memory.search(question, scope=ALICE, k=1)
        memory.flush()
        assert used.count(ALICE) == 80
        found = memory.search(question, scope=ALICE, k=5)
        assert (found.units, found.degraded) == (expected, ())
        memory.write("Somebody carried the strongbox up to the attic.", scope=ALICE)
        memory.flush()
        assert used.count(ALICE) == 81
    again = index()
    with PrismMemory.open(tmp_path / "memory", index=again) as memory:
        memory.search(question, scope=ALICE)
        memory.flush()
        assert again.count(ALICE) == 81
        assert "attic" in memory.search("Where is the strongbox?", scope=ALICE, k=1).units[0].observation


class Refusing(InMemoryVectorStore):
    """A store whose service is down."""

    def add_texts(self, *args: Any, **kwargs: Any) -> list[str]:
        raise TimeoutError("no answer")


def test_a_store_that_fails_is_done_without(tmp_path: Path) -> None:
    index = LangChainVectorIndex(lambda name, embeddings, dimension: Refusing(embeddings))
    with pytest.raises(IndexFailedError, match="TimeoutError: no answer"):
        index.upsert(ALICE, ["u1"], unit_vectors(1))
    index = LangChainVectorIndex(lambda name, embeddings, dimension: Refusing(embeddings))
    with PrismMemory.open(tmp_path / "memory", index=index) as memory:
        memory.write("The safe opens with 4711.", scope=ALICE)
        memory.flush()
        found = memory.search("safe", scope=ALICE)
    assert len(found.units) == 1
    assert "no answer" in found.degraded[0]


def test_a_store_with_other_documents_is_left_alone(chroma: Client) -> None:
    own = Chroma("own", DeterministicFakeEmbedding(size=16), client=chroma)
    own.add_documents([Document("mine", id="1")])
    index = LangChainVectorIndex(lambda name, embeddings, dimension: Chroma("own", embeddings, client=chroma))
    with pytest.raises(IndexFailedError, match="not the memory's"):
        index.upsert(ALICE, ["u1"], unit_vectors(1, 16))
    assert own.get()["documents"] == ["mine"]


def test_a_single_store_needs_the_vectors_as_its_embeddings() -> None:
    with pytest.raises(QueryError, match="UnitVectors"):
        LangChainVectorIndex(InMemoryVectorStore(DeterministicFakeEmbedding(size=4)))


class Blind(InMemoryVectorStore):
    """A store whose scores say nothing."""

    def similarity_search_with_score(self, *args: Any, **kwargs: Any) -> list[tuple[Document, float]]:
        return [(document, 0.5) for document, _ in super().similarity_search_with_score(*args, **kwargs)]


def test_C19_scores_that_tell_no_cosine_are_refused() -> None:
    index = LangChainVectorIndex(lambda name, embeddings, dimension: Blind(embeddings))
    index.upsert(ALICE, ["u1"], unit_vectors(1))
    with pytest.raises(IndexFailedError, match="tell no cosine"):
        index.search(ALICE, unit_vectors(1)[0], 1)


@pytest.mark.parametrize("kind", ["chroma", "qdrant"])
def test_erasing_reaches_what_an_earlier_process_left(
    kind: str, chroma: Client, qdrant: QdrantClient, tmp_path: Path
) -> None:
    def index() -> LangChainVectorIndex:
        if kind == "chroma":
            return LangChainVectorIndex(chroma_store(chroma), dimension=64)
        return LangChainVectorIndex(qdrant_store(qdrant), drop=drop_qdrant, dimension=64)

    def left() -> int:
        return len(chroma.list_collections() if kind == "chroma" else qdrant.get_collections().collections)

    with PrismMemory.open(tmp_path / "memory", index=index(), embedder=HashedEmbedder(dimension=64)) as memory:
        memory.write("The safe opens with 4711.", scope=ALICE)
    assert left() == 1
    with PrismMemory.open(tmp_path / "memory", index=index(), embedder=HashedEmbedder(dimension=64)) as memory:
        memory.erase(scope=ALICE, whole_scope=True)
    assert left() == 0
