"""MemPalace: a palace on disk, searched as its server does."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from mempalace.palace import get_collection  # type: ignore[attr-defined]
from mempalace.searcher import search_memories  # type: ignore[attr-defined]

from benchmarks.peers.base import Peer
from benchmarks.peers.endpoint import EmbeddingEndpoint
from prism_core.protocols import Embedder
from prism_core.types import MemoryUnit


class MemPalace(Peer):
    """One drawer per unit, in one wing, with sessions as rooms.

    Attributes:
        candidates: where the units that are re-ranked come from: `vector` (its default), or `union` with full text.
    """

    def __init__(self, embedder: Embedder, candidates: str) -> None:
        super().__init__(embedder)
        self.candidates = candidates
        self._folder = TemporaryDirectory(prefix="peer-mempalace-", ignore_cleanup_errors=True)
        self._endpoint = EmbeddingEndpoint(embedder)
        self._environment = {
            "HOME": self._folder.name,  # It keeps lock files there.
            "MEMPALACE_CONFIG_DIR": str(Path(self._folder.name) / "config"),
            "MEMPALACE_EMBEDDING_MODEL": "openai-compat",
            "MEMPALACE_EMBEDDING_API_URL": self._endpoint.url,
            "MEMPALACE_EMBEDDING_API_MODEL": embedder.id,
        }
        self._palace = str(Path(self._folder.name) / "palace")

    def store(self, units: Sequence[MemoryUnit]) -> None:
        """File units as drawers."""
        with _set(self._environment):
            get_collection(self._palace, create=True).upsert(
                ids=[unit.id for unit in units],
                documents=[unit.text for unit in units],
                metadatas=[_about(unit) for unit in units],
            )

    def rank(self, text: str, depth: int) -> Sequence[str]:
        """As it re-ranks: six parts cosine, four parts BM25 within the candidates."""
        with _set(self._environment):
            found = search_memories(text, self._palace, n_results=depth, candidate_strategy=self.candidates)
        if "error" in found:
            raise RuntimeError(f"MemPalace cannot search: {found}")
        return [result["drawer_id"] for result in found["results"]]

    def close(self) -> None:
        """Stop the endpoint and remove the palace."""
        self._endpoint.close()
        self._folder.cleanup()

    def _empty(self) -> Self:
        return type(self)(self.embedder, self.candidates)


def _about(unit: MemoryUnit) -> dict[str, str | int]:
    session = unit.session_id or "all"
    return {
        "wing": "conversation",
        "room": session,
        "source_file": session,
        "chunk_index": 0,
        "added_by": unit.speaker or "unknown",
        "filed_at": unit.event_time.isoformat(),
    }


@contextmanager
def _set(environment: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
