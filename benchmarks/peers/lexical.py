"""BM25 by bm25s."""

from __future__ import annotations

from collections.abc import Sequence

import bm25s
import Stemmer

from benchmarks.peers.base import Peer
from prism_core.protocols import Embedder
from prism_core.types import MemoryUnit

_STEMMER = Stemmer.Stemmer("english")


def terms(texts: Sequence[str]) -> list[list[str]]:
    """Stems of the words of two letters and more, in lower case, without English stop words."""
    found: list[list[str]] = bm25s.tokenize(
        list(texts), stopwords="en", stemmer=_STEMMER, return_ids=False, show_progress=False
    )
    return found


class LexicalIndex:
    """A BM25 index over texts.

    Attributes:
        size: number of texts.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.size = len(texts)
        found = terms(texts)
        # It cannot index texts without a single term among them.
        self._index = bm25s.BM25() if any(found) else None
        if self._index is not None:
            self._index.index(found, show_progress=False)

    def best(self, text: str, depth: int) -> list[tuple[int, float]]:
        """Positions and scores of the texts that share a term with `text`, best first."""
        asked = terms([text])
        if self._index is None or not asked[0]:
            return []
        rows, scores = self._index.retrieve(asked, k=min(depth, self.size), show_progress=False)
        return [(int(row), float(score)) for row, score in zip(rows[0], scores[0], strict=True) if score > 0]


class Bm25s(Peer):
    """bm25s by itself."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        self._index = LexicalIndex([])

    def store(self, units: Sequence[MemoryUnit]) -> None:
        """Index everything anew: the index takes no additions."""
        self._index = LexicalIndex([unit.text for unit in self.shelf.units])

    def rank(self, text: str, depth: int) -> Sequence[str]:
        """By BM25; without units that share no term with the question."""
        return [self.shelf.units[row].id for row, _ in self._index.best(text, depth)]
