"""How much speaks for it that a memory can answer a question at all."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from prism_core.changes import FloatArray
from prism_core.encode.taxonomy import IntentTaxonomy
from prism_core.evaluation.datasets import Item
from prism_core.protocols import Embedder
from prism_core.text import analyze, date_terms

DOUBT = 1.5
"""Terms no unit holds that every question is taken to have besides its own: one rare word in common proves little."""
SIMILARITY_WEIGHT = 0.75
RISE = 0.12
"""What one standard deviation above unrelated texts is worth; eight and a third are worth all there is."""
_LEAST_SPREAD = 0.001
"""An embedder that finds all texts equal says nothing about any."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The cosine similarities an embedder gives to questions and texts that have nothing to do with each other.

    Embedders differ in both: all-MiniLM-L6-v2 has a mean of .15 and a deviation of .10, multilingual-e5-small of .82
    and .02.

    Attributes:
        mean: in [-1, 1].
        spread: standard deviation, >= 0.
    """

    mean: float
    spread: float

    @classmethod
    def of(cls, questions: FloatArray, texts: FloatArray) -> Self:
        """The ground of an embedder, from the same n unrelated sentences.

        Args:
            questions: embedded as questions, shape (n, d), n >= 2, L2-normalised.
            texts: embedded as documents, shape (n, d).
        """
        unrelated = (questions @ texts.T)[~np.eye(len(texts), dtype=np.bool_)]
        return cls(float(unrelated.mean()), float(unrelated.std()))


def answerability(
    covered: FloatArray,
    wanted: float,
    unseen: float,
    similarity: FloatArray | None = None,
    ground: Ground | None = None,
) -> FloatArray:
    """How much each candidate looks like an answer, comparable between questions, scopes and embedders.

    The share of the question that a candidate holds, shrunk towards 0 for questions of few or common terms; and how
    far its similarity rises above that of unrelated texts. Chosen among thirty statistics on LoCoMo; coverage alone,
    similarity alone, and deviations from a bank of generic questions all tell less.

    Args:
        covered: idf of the question's terms that a candidate holds, the speakers' names left out; shape (p,), >= 0.
        wanted: idf of all of the question's terms, the names left out; >= 0.
        unseen: idf of a term that no unit holds; > 0.
        similarity: cosine similarity of question and candidate, shape (p,); None without an embedder.
        ground: of the embedder; None without one.

    Returns:
        Shape (p,), in [0, 1].
    """
    share = covered / np.float32(wanted + DOUBT * unseen)
    if similarity is None or ground is None:
        return np.asarray(share, dtype=np.float32)
    rise = np.clip(RISE * (similarity - ground.mean) / max(ground.spread, _LEAST_SPREAD), 0.0, 1.0)
    return np.asarray((share + SIMILARITY_WEIGHT * rise) / (1 + SIMILARITY_WEIGHT), dtype=np.float32)


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
        self._ground: Ground | None = None
        if embedder is not None:
            embedded = embedder.embed_documents([item.whole.text for item in items])
            self._vectors = dict(zip(self._terms, embedded, strict=True))
            sentences = [label.description for label in IntentTaxonomy.default().labels]
            questions = np.stack([embedder.embed_query(sentence) for sentence in sentences])
            self._ground = Ground.of(questions, embedder.embed_documents(sentences))

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
