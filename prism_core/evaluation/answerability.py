"""How much speaks for it that a memory can answer a question at all."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from prism_core.changes import FloatArray
from prism_core.encode.taxonomy import IntentTaxonomy
from prism_core.evaluation.datasets import Item
from prism_core.protocols import Embedder
from prism_core.text import analyze, date_terms

DOUBT = 1.5
"""Terms no unit holds that every question is taken to have besides its own: one rare word in common proves little."""
SIMILARITY_WEIGHT = 0.75
_LEAST_ROOM = 0.01
"""An embedder that finds all texts equal says nothing about any."""


def answerability(
    covered: FloatArray, wanted: float, unseen: float, similarity: FloatArray | None = None, ground: float = 0.0
) -> FloatArray:
    """How much each candidate looks like an answer, comparable between questions, scopes and embedders.

    The share of the question that a candidate holds, shrunk towards 0 for questions of few or common terms; and the
    similarity by which it rises above texts that have nothing to do with each other. Chosen among thirty statistics on
    LoCoMo; coverage alone, similarity alone, and their deviations from a bank of generic questions all tell less.

    Args:
        covered: idf of the question's terms that a candidate holds, the speakers' names left out; shape (p,), >= 0.
        wanted: idf of all of the question's terms, the names left out; >= 0.
        unseen: idf of a term that no unit holds; > 0.
        similarity: cosine similarity of question and candidate, shape (p,); None without an embedder.
        ground: cosine similarity the embedder gives to unrelated texts, in [-1, 1].

    Returns:
        Shape (p,), in [0, 1].
    """
    share = covered / np.float32(wanted + DOUBT * unseen)
    if similarity is None:
        return np.asarray(share, dtype=np.float32)
    rise = np.clip((similarity - ground) / max(1 - ground, _LEAST_ROOM), 0.0, 1.0)
    return np.asarray((share + SIMILARITY_WEIGHT * rise) / (1 + SIMILARITY_WEIGHT), dtype=np.float32)


def ground_similarity(vectors: FloatArray) -> float:
    """The mean cosine similarity of texts that have nothing to do with each other.

    Args:
        vectors: of such texts, shape (n, d), n >= 2, L2-normalised.
    """
    return float(np.mean([vectors[one] @ vectors[other] for one, other in combinations(range(len(vectors)), 2)]))


class Gauge:
    """Computes the answerability of questions from the texts of a store.

    Args:
        items: all that is in the store.
        embedder: None for a memory without vectors.
    """

    def __init__(self, items: Sequence[Item], embedder: Embedder | None = None) -> None:
        self._terms = {item.key: _terms(item) for item in items}
        self._frequency = Counter(term for terms in self._terms.values() for term in terms)
        self._names = {term for item in items if item.whole.speaker for term in analyze(item.whole.speaker)}
        self._embedder = embedder
        self._vectors: dict[str, FloatArray] = {}
        self._ground = 0.0
        if embedder is not None:
            embedded = embedder.embed_documents([item.whole.text for item in items])
            self._vectors = dict(zip(self._terms, embedded, strict=True))
            labels = IntentTaxonomy.default().labels
            self._ground = ground_similarity(embedder.embed_documents([label.description for label in labels]))

    def confidence(self, question: str, found: Sequence[str]) -> float:
        """The answerability of the best of what was found for a question.

        Args:
            question: its text.
            found: keys of items.
        """
        if not found:
            return 0.0
        idf = {term: self._idf(self._frequency[term]) for term in analyze(question) if term not in self._names}
        covered = np.array(
            [sum(idf[term] for term in idf if term in self._terms[key]) for key in found], dtype=np.float32
        )
        similarity = None
        if self._embedder is not None:
            similarity = np.stack([self._vectors[key] for key in found]) @ self._embedder.embed_query(question)
        every = answerability(covered, sum(idf.values()), self._idf(0), similarity, self._ground)
        return float(every.max())

    def _idf(self, df: int) -> float:
        return math.log1p((len(self._terms) - df + 0.5) / (df + 0.5))


def _terms(item: Item) -> frozenset[str]:
    said = date_terms(item.whole.event_time) if item.whole.event_time is not None else []
    return frozenset([*analyze(item.whole.text), *said])
