"""Nearest neighbours by Chroma."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

import chromadb
import numpy as np
from chromadb.api import ClientAPI
from chromadb.api.collection_configuration import CreateCollectionConfiguration
from chromadb.config import Settings

from benchmarks.peers.base import Peer
from prism_core.protocols import Embedder
from prism_core.types import MemoryUnit

HNSW: CreateCollectionConfiguration = {"hnsw": {"space": "cosine", "ef_search": 500}}
"""Wider than any result list, so that what is compared is the ranking and not the approximation."""


def client() -> ClientAPI:
    """Chroma in memory; shared by all collections of the process."""
    return chromadb.EphemeralClient(Settings(anonymized_telemetry=False))


def collection_name() -> str:
    """A name no other collection has."""
    return f"peer-{uuid4().hex}"


def said(unit: MemoryUnit) -> dict[str, str]:
    """Who said something, when and in which session, as plain metadata."""
    about = {"speaker": unit.speaker, "session": unit.session_id, "time": unit.event_time.isoformat()}
    return {name: value for name, value in about.items() if value}


class Chroma(Peer):
    """A Chroma collection by itself."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        self._client = client()
        self._collection = self._client.create_collection(
            collection_name(), configuration=HNSW, embedding_function=None
        )

    def store(self, units: Sequence[MemoryUnit]) -> None:
        """Add units with their vectors, texts and metadata."""
        texts = [unit.text for unit in units]
        self._collection.add(
            [unit.id for unit in units],
            embeddings=self.embedder.embed_documents(texts),
            documents=texts,
            metadatas=[said(unit) for unit in units],
        )

    def rank(self, text: str, depth: int) -> Sequence[str]:
        """By cosine; with documents, as a caller who wants text asks."""
        vector = np.asarray(self.embedder.embed_query(text))
        return self._collection.query(vector, n_results=depth, include=["documents", "distances"])["ids"][0]

    def close(self) -> None:
        """Remove the collection."""
        self._client.delete_collection(self._collection.name)
