"""How much speaks for it that a memory can answer a question at all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Self

import numpy as np

from prism_core.changes import FloatArray
from prism_core.retrieve.naming import speaker_terms
from prism_core.retrieve.signals import Evidence, idf
from prism_core.text import word_terms

DOUBT = 1.5
"""Terms no unit holds that every question is taken to have besides its own: one rare word in common proves little."""
MOST = 4.0
"""As how many terms that no unit holds a question counts at most: nobody answers all of a long message at once."""
FEW_UNITS = 100
"""In a smaller scope a term that most units hold need not be a common one; terms are weighed as in one of this size."""
LEAST = 0.25
"""What a term counts at least, of one that no unit holds: in a scope about one thing its name stands in every unit."""
SIMILARITY_WEIGHT = 0.75
RISE = 0.12
"""What one standard deviation above unrelated texts is worth; eight and a third are worth all there is."""
_LEAST_SPREAD = 1e-4
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
    def of(cls, unrelated: FloatArray) -> Self | None:
        """The ground of an embedder.

        Args:
            unrelated: similarities of questions to texts that have nothing to do with them, of any shape.

        Returns:
            None where the embedder tells nothing: without similarities, or if they are all the same.
        """
        ground = cls(float(unrelated.mean()), float(unrelated.std())) if unrelated.size else None
        return ground if ground is not None and ground.spread > _LEAST_SPREAD else None


def smallness(units: int) -> float:
    """How much lower the best of so few unrelated units is expected to be than the best of `FEW_UNITS`, in [0, .13].

    The largest of n similarities grows with n, as that of n draws from a normal distribution does (its expectation by
    G. Blom, "Statistical Estimates and Transformed Beta-Variables", 1958); in a small scope less is as much a sign.

    Args:
        units: in the scope, at least 0.
    """
    if units >= FEW_UNITS:
        return 0.0
    return RISE * SIMILARITY_WEIGHT / (1 + SIMILARITY_WEIGHT) * (_largest(FEW_UNITS) - _largest(max(units, 1)))


@lru_cache(maxsize=FEW_UNITS)
def _largest(draws: int) -> float:
    return NormalDist().inv_cdf((draws - 0.375) / (draws + 0.25))


def answerability(share: FloatArray, similarity: FloatArray | None = None, ground: Ground | None = None) -> FloatArray:
    """How much each candidate looks like an answer, comparable between questions, scopes and embedders.

    The share of the question that a candidate holds, and how far its similarity rises above that of unrelated texts.
    Chosen among thirty statistics on LoCoMo; coverage alone, similarity alone, and deviations from a bank of generic
    questions all tell less.

    Args:
        share: idf of the question's terms that a candidate holds, over that of all (or of `MOST` terms that no unit
            holds) and of `DOUBT` terms that no unit holds; shape (p,), in [0, 1].
        similarity: cosine similarity of question and candidate, shape (p,); None without an embedder.
        ground: of the embedder; None without one, and where it tells nothing.

    Returns:
        Shape (p,), in [0, 1].
    """
    if similarity is None or ground is None:
        return share
    rise = np.clip(RISE * (similarity - ground.mean) / ground.spread, 0.0, 1.0)
    return np.asarray((share + SIMILARITY_WEIGHT * rise) / (1 + SIMILARITY_WEIGHT), dtype=np.float32)


def pool_answerability(evidence: Evidence, ground: Ground | None) -> FloatArray:
    """The answerability of every candidate of a pool, shape (p,), in [0, 1].

    Names of the scope's speakers prove nothing, as they stand in all they said, and are left out of the question,
    unless it consists of names only.
    """
    share = _share(evidence)
    if evidence.vector is None or ground is None:
        return answerability(share)
    return answerability(share, evidence.view.similarities(evidence.vector, evidence.rows), ground)


def _share(evidence: Evidence) -> FloatArray:
    """How much of the question each candidate holds, shape (p,), in [0, 1]."""
    terms = list(dict.fromkeys(evidence.terms))
    words = set(word_terms(terms))
    names = speaker_terms(evidence.view)
    frequency = {term: evidence.view.document_frequency(term) for term in terms}
    # A pair of characters that no unit holds mostly straddles two words, which says nothing against any unit.
    wanted = [term for term in terms if term not in names and (term in words or frequency[term])] or terms
    units = max(len(evidence.view.ids), FEW_UNITS)
    unseen = idf(0, units)
    weights = np.array([1.0 if term in names else max(idf(frequency[term], units) / unseen, LEAST) for term in wanted])
    # Characters are pieces of words that many units hold by chance: the longer the question, the more of them.
    asked = min(float(weights.sum()), MOST) if len(words) == len(terms) else float(weights.sum())
    share = weights @ evidence.view.held(wanted, evidence.rows) / (asked + DOUBT)
    return np.minimum(share, 1.0).astype(np.float32)
