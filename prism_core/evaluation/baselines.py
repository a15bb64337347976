"""What the memory is compared with: the usual ways to rank."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from copy import copy
from datetime import timedelta
from functools import lru_cache
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from prism_core.changes import FloatArray
from prism_core.evaluation.datasets import Item
from prism_core.evaluation.systems import SCOPE, START, Ask, Ranking
from prism_core.protocols import Embedder
from prism_core.storage.lexical import LexicalIndex
from prism_core.text import analyze
from prism_core.types import MemoryUnit

POOL = 200
"""Units a baseline ranks at most; the memory's own pool is about as large."""
_RRF_K = 60

Scores = NDArray[np.float64]
Analyzer = Callable[[str], Sequence[str]]
Score = Callable[["Shelf", Ask], Scores]
"""Scores of all units, shape (n,), higher is better; -inf for what is not returned."""


class Shelf:
    """Everything one baseline was given, in the order it was given in.

    Attributes:
        units: the items as units; their ids are the items' keys.
        embedder: None where nothing is embedded.
    """

    def __init__(self, embedder: Embedder | None = None, analyzer: Analyzer = analyze) -> None:
        self.units: list[MemoryUnit] = []
        self.embedder = embedder
        self._items: list[Item] = []
        self._vectors: list[FloatArray] = []
        self._index = LexicalIndex(k1=0.9, b=0.4)
        self._analyzer = analyzer

    def add(self, items: Sequence[Item]) -> None:
        """Put items on the shelf."""
        self._items += items
        for item in items:
            row = len(self.units)
            self.units.append(_unit(item, row))
            self._index.put(row, _terms(self._analyzer, self.units[-1].text))
        if self.embedder is not None and items:
            self._vectors.append(self.embedder.embed_documents([unit.text for unit in self.units[-len(items) :]]))

    def fork(self) -> Shelf:
        """A shelf with the same items on it."""
        twin = Shelf(self.embedder, self._analyzer)
        twin.add(self._items)
        return twin

    def bm25(self, text: str) -> Scores:
        """BM25 with k1 = 0.9, b = 0.4; shape (n,), 0 for units without a query term."""
        return self._index.scores(_terms(self._analyzer, text)).astype(np.float64)

    def cosine(self, text: str) -> Scores:
        """Cosine similarity to the embedded text, shape (n,)."""
        if self.embedder is None or not self._vectors:
            return np.zeros(len(self.units))
        if len(self._vectors) > 1:
            self._vectors = [np.concatenate(self._vectors)]
        return (self._vectors[0] @ self.embedder.embed_query(text)).astype(np.float64)


class Baseline:
    """A system that orders a shelf by one score.

    Attributes:
        shelf: where everything is.
        score: what decides the order; earlier units first where it is equal.
    """

    def __init__(self, shelf: Shelf, score: Score) -> None:
        self.shelf = shelf
        self.score = score

    def add(self, items: Sequence[Item]) -> None:
        """Put items on the shelf."""
        self.shelf.add(items)

    def search(self, ask: Ask) -> Ranking:
        """The best units by score."""
        if self.shelf.embedder is not None:
            self.shelf.embedder.embed_query(ask.text)
        start = time.perf_counter()
        scores = self.score(self.shelf, ask)
        order = [row for row in np.argsort(-scores, kind="stable")[:POOL] if scores[row] > -np.inf]
        units = [self.shelf.units[row] for row in order]
        return Ranking(units, time.perf_counter() - start)

    def keys(self, unit_id: str) -> Sequence[str]:
        """A unit stands for the one item it was made from."""
        return (unit_id,)

    def fork(self) -> Self:
        """A copy with a shelf of its own."""
        twin = copy(self)
        twin.shelf = self.shelf.fork()
        return twin

    def close(self) -> None:
        """Nothing is held."""


def bm25(shelf: Shelf, ask: Ask) -> Scores:
    """BM25 over the units' text; units without a query term are not returned."""
    scores = shelf.bm25(ask.text)
    return _within(shelf, ask, np.where(scores > 0, scores, -np.inf))


def dense(shelf: Shelf, ask: Ask) -> Scores:
    """Cosine similarity of the embedded texts."""
    return _within(shelf, ask, shelf.cosine(ask.text))


def rrf(shelf: Shelf, ask: Ask) -> Scores:
    """Reciprocal rank fusion of BM25 and cosine with k = 60 (Cormack, Clarke and Buettcher 2009)."""
    return (
        _reciprocal(bm25(shelf, ask)) + _reciprocal(dense(shelf, ask)) + _within(shelf, ask, np.zeros(len(shelf.units)))
    )


def score_sum(shelf: Shelf, ask: Ask) -> Scores:
    """BM25 and cosine, each divided by its largest value, added up."""
    return _within(shelf, ask, _scaled(shelf.bm25(ask.text)) + _scaled(np.maximum(shelf.cosine(ask.text), 0)))


def recency(shelf: Shelf, ask: Ask) -> Scores:
    """The newest first."""
    times = np.array([unit.event_time.timestamp() for unit in shelf.units])
    # Among equal times the later written is the newer; a microsecond is finer than any time in the files.
    return _within(shelf, ask, times + 1e-6 * np.arange(len(times)))


def run_recency(shelf: Shelf, ask: Ask) -> Scores:
    """The newest of the run that asks first."""
    return _of_run(shelf, ask, np.arange(len(shelf.units), dtype=np.float64))


def run_bm25(shelf: Shelf, ask: Ask) -> Scores:
    """BM25 over the steps of the run that asks."""
    return _of_run(shelf, ask, bm25(shelf, ask))


def character_terms(text: str) -> list[str]:
    """Characters and pairs of neighbouring characters, without white space, in lower case."""
    characters = "".join(text.lower().split())
    return [*characters, *(first + second for first, second in pairwise(characters))]


def _unit(item: Item, row: int) -> MemoryUnit:
    event = item.whole
    time_of = event.event_time or START + timedelta(seconds=row)
    values = {name: getattr(event, name) for name in type(event).model_fields}
    known = {"id": item.key, "scope": SCOPE, "event_time": time_of, "recorded_at": time_of, "importance": 0.5}
    return MemoryUnit.model_construct(**{**values, **known})


@lru_cache(maxsize=1 << 15)
def _terms(analyzer: Analyzer, text: str) -> Sequence[str]:
    return analyzer(text)


def _within(shelf: Shelf, ask: Ask, scores: Scores) -> Scores:
    """Leave out what is not of the session asked in."""
    if ask.session_id is None:
        return scores
    return np.where([unit.session_id == ask.session_id for unit in shelf.units], scores, -np.inf)


def _of_run(shelf: Shelf, ask: Ask, scores: Scores) -> Scores:
    return np.where([unit.id.rpartition("#")[0] == ask.run for unit in shelf.units], scores, -np.inf)


def _reciprocal(scores: Scores) -> Scores:
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return np.where(scores > -np.inf, 1 / (_RRF_K + ranks), 0.0)


def _scaled(scores: Scores) -> Scores:
    largest = scores.max(initial=0.0)
    return scores / largest if largest > 0 else scores
