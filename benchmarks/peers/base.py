"""What all adapters have in common."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from prism_core.changes import FloatArray
from prism_core.evaluation.baselines import POOL, Shelf
from prism_core.evaluation.datasets import Item
from prism_core.evaluation.systems import Ask, Ranking
from prism_core.protocols import Embedder
from prism_core.types import MemoryUnit


@dataclass(frozen=True, slots=True)
class Symmetric:
    """An embedder for tools that do not tell questions from documents; both share one cache.

    Right for a model that embeds both alike, as MiniLM does.

    Attributes:
        inner: remembers the documents it embedded.
    """

    inner: Embedder

    @property
    def id(self) -> str:
        """The inner embedder's id."""
        return self.inner.id

    @property
    def dimension(self) -> int:
        """The inner embedder's dimension."""
        return self.inner.dimension

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of texts, shape (n, d)."""
        return self.inner.embed_documents(texts)

    def embed_query(self, text: str) -> FloatArray:
        """The vector of a question, shape (d,)."""
        vector: FloatArray = self.inner.embed_documents([text])[0]
        return vector


class Peer(ABC):
    """Another tool as a system: it is given every unit's text and returns unit ids.

    Attributes:
        embedder: embeds for the tool.
        shelf: what the tool was given, as units whose ids are the items' keys.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.shelf = Shelf()
        self._items: list[Item] = []
        self._units: dict[str, MemoryUnit] = {}

    @abstractmethod
    def store(self, units: Sequence[MemoryUnit]) -> None:
        """Write units, at least one, into the tool."""

    @abstractmethod
    def rank(self, text: str, depth: int) -> Sequence[str]:
        """Ids of at most `depth` units, best first, as the tool returns them."""

    def add(self, items: Sequence[Item]) -> None:
        """Hand items to the tool."""
        if not items:
            return
        self._items += items
        self.shelf.add(items)
        new = self.shelf.units[-len(items) :]
        self._units |= {unit.id: unit for unit in new}
        self.store(new)

    def search(self, ask: Ask) -> Ranking:
        """What the tool returns, without units of other sessions where one is asked about."""
        if not self._units:
            return Ranking((), 0.0)
        self.embedder.embed_query(ask.text)
        depth = min(len(self._units), POOL) if ask.session_id is None else len(self._units)
        start = time.perf_counter()
        ids = self.rank(ask.text, depth)
        seconds = time.perf_counter() - start
        units = [self._units[unit_id] for unit_id in dict.fromkeys(ids)]
        return Ranking([unit for unit in units if ask.session_id in (None, unit.session_id)], seconds)

    def keys(self, unit_id: str) -> Sequence[str]:
        """A unit stands for the one item it was made from."""
        return (unit_id,)

    def fork(self) -> Self:
        """Another one that is given the same."""
        twin = self._empty()
        twin.add(self._items)
        return twin

    def close(self) -> None:  # noqa: B027 - several tools hold nothing
        """Let go of what the tool holds; here nothing."""

    def _empty(self) -> Self:
        return type(self)(self.embedder)
