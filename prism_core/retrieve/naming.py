"""Names of those who speak in a scope: they say who is meant, and little about what."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from prism_core.changes import FloatArray
from prism_core.protocols import ScopeView
from prism_core.text import analyze

NAME_WEIGHT = 0.7
"""What the name of a speaker counts beside other words.

Who is addressed by name is seldom who is asked about, and what the named one said bears the name as its speaker, which
is a signal of its own. How rare a name is besides depends on what else the scope holds: beside 100,000 units of other
prose it is as rare as a word can be. There .7 is worth .001 of R@10 to LoCoMo questions that name a speaker and .03 to
the others (.5: .005 and .012); in scopes of their own 1, .7, .5 and .3 are level (R@10 .823, .822, .823, .822; in 500
tokens .828, .826, .825, .823).
"""


def speaker_terms(view: ScopeView) -> frozenset[str]:
    """The index terms of the names of a scope's speakers."""
    return frozenset().union(*map(_terms, view.speakers))


def name_aware_lexical(view: ScopeView, terms: Sequence[str]) -> FloatArray:
    """BM25 of every row, with names of speakers weighed down where the question holds other words as well.

    Args:
        view: the scope.
        terms: index terms of the question.

    Returns:
        Shape (n,), at least 0.
    """
    speakers = speaker_terms(view)
    names = [term for term in terms if term in speakers]
    if not names or len(names) == len(terms):
        return view.lexical(terms)
    others = view.lexical([term for term in terms if term not in speakers])
    scores: FloatArray = others + np.float32(NAME_WEIGHT) * view.lexical(names)
    return scores


@lru_cache(maxsize=1 << 14)
def _terms(name: str) -> frozenset[str]:
    return frozenset(analyze(name))
