"""What most agents have instead of a memory: the last turns, and plain vector search."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self
from uuid import uuid4

from prism_core.protocols import Embedder
from prism_core.types import MemoryUnit, Source


def last_turns(units: Sequence[MemoryUnit], turns: int) -> list[MemoryUnit]:
    """The last turns of a history: a turn is something the user said and everything until the user speaks again.

    Args:
        units: in the order of time.
        turns: how many; positive.
    """
    starts = [place for place, unit in enumerate(units) if unit.source is Source.USER]
    first = starts[-turns] if len(starts) >= turns else 0
    return list(units[first:])


class VectorSearch:
    """Nearest neighbours of the question among the units' texts, in a Chroma collection in memory."""

    def __init__(self, units: Sequence[MemoryUnit], embedder: Embedder) -> None:
        import chromadb  # noqa: PLC0415 (a second to import, and the command line imports this module)
        from chromadb.config import Settings  # noqa: PLC0415

        self._embedder = embedder
        self._units = {unit.id: unit for unit in units}
        self._client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
        # Ephemeral clients of one process share their collections, so the name is one of a kind.
        self._collection = self._client.create_collection(
            f"demo-{uuid4().hex}", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )
        vectors = embedder.embed_documents([unit.text for unit in units])
        self._collection.add(ids=list(self._units), embeddings=vectors)

    def search(self, text: str, k: int) -> list[MemoryUnit]:
        """The `k` nearest units, nearest first."""
        answer = self._collection.query(
            query_embeddings=self._embedder.embed_query(text)[None, :], n_results=min(k, len(self._units)), include=[]
        )
        return [self._units[unit_id] for unit_id in answer["ids"][0]]

    def close(self) -> None:
        """Drop the collection."""
        self._client.delete_collection(self._collection.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
