"""What a ranking is worth; every function is pure.

A ranking is a sequence of places, best first; each place holds the keys of what was returned there (several where
equal items were stored once, none for a unit that was derived and stands for no item of the file).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import fmean

import numpy as np

Places = Sequence[Collection[str]]


def share(found: Iterable[str], gold: Collection[str]) -> float:
    """The share of `gold` that is in `found`, in [0, 1]; `gold` is not empty.

    >>> share(["a", "x"], {"a", "b"})
    0.5
    """
    return len(set(gold).intersection(found)) / len(set(gold))


def recall_at(places: Places, gold: Collection[str], k: int) -> float:
    """Share of the gold keys in the first k places, in [0, 1]."""
    return share((key for place in places[:k] for key in place), gold)


def all_at(places: Places, gold: Collection[str], k: int) -> float:
    """1 if every gold key is in the first k places, else 0."""
    return float(recall_at(places, gold, k) == 1.0)


def reciprocal_rank(places: Places, gold: Collection[str], depth: int = 100) -> float:
    """One over the 1-based rank of the first place with a gold key, 0 if there is none in the first `depth` places."""
    wanted = set(gold)
    for rank, place in enumerate(places[:depth], start=1):
        if wanted.intersection(place):
            return 1 / rank
    return 0.0


def answered(text: str, spans: Mapping[str, str]) -> set[str]:
    """The evidence whose answer span stands in a text, white space aside.

    Args:
        text: a context.
        spans: by evidence key, the words that answer.
    """
    flat = " ".join(text.split())
    return {key for key, span in spans.items() if " ".join(span.split()) in flat}


def mean(values: Sequence[float]) -> float:
    """The mean, 0 for no values."""
    return fmean(values) if values else 0.0


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which `percent` of the values lie, interpolated; 0 for no values."""
    return float(np.percentile(values, percent)) if values else 0.0
