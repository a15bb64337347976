"""Signals: small functions from a pool of candidates to arrays.

Every signal is bounded, scaled within the pool so that its best value is 1 (for words less, where `weight_of_words`
says so), and 0 for all where what it needs is absent (no embedder, no sessions, one speaker, no active set).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from math import log1p
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from prism_core.changes import FloatArray, IntArray
from prism_core.protocols import Columns, ScopeView
from prism_core.text import date_terms, dates, normalize, word_terms

LONG_TOKENS = 100
"""From this size on a unit's own words say enough; its neighbours count less and its length costs."""
MOST_LENGTH = 2.5
FEW_TERMS = 10
SAME_MONTH = 0.7
SAME_YEAR = 0.4
SAID_ON = 0.8
NEIGHBOUR_SECONDS = 3600.0
"""Units of a session further apart than this do not speak of the same thing for being neighbours."""
ENOUGH_WORDS = 0.5
"""Share of a question's terms, weighted by rarity, that a unit must hold for words to count in full beside vectors."""
BELOW_MEAN = 1.5
"""Standard deviations below the mean of ordinary units at which a cosine similarity is worth nothing."""
ORDINARY_UNITS = 256
"""How many units, evenly over the scope, stand for ordinary ones. Not the pool: an approximate index brings now one,
now another candidate at the margin, and that should not change the order of the others."""
ENOUGH_UNITS = 10
"""Fewer units with a vector than this are no measure of what is ordinary: the only one would be its own ground."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a query found, before it is weighed.

    Attributes:
        view: the scope.
        rows: the pool, ascending, shape (p,).
        lexical: BM25 of every row of the scope, shape (n,).
        terms: index terms of the question.
        vector: its embedding, shape (d,), or None.
    """

    view: ScopeView
    rows: IntArray
    lexical: FloatArray
    terms: list[str]
    vector: FloatArray | None

    @property
    def columns(self) -> Columns:
        """Per-unit values of the scope."""
        return self.view.columns


def scaled(values: FloatArray) -> FloatArray:
    """Divide by the largest, so that the best is 1; all 0 where none is positive."""
    top = np.float32(values.max(initial=0.0))
    positive = np.maximum(values, 0.0, dtype=np.float32)
    return np.asarray(positive / top if top > 0 else np.zeros_like(positive), dtype=np.float32)


def gathered(values: FloatArray | NDArray[np.bool_], rows: IntArray) -> FloatArray:
    """Values at rows, 0 where the row is -1."""
    found = np.zeros(len(rows), dtype=np.float32)
    valid = rows >= 0
    found[valid] = values[rows[valid]]
    return found


def stepped(links: IntArray, rows: IntArray, times: NDArray[np.float64]) -> IntArray:
    """Follow `previous` or `following` once; -1 at the end of a session, and where the next one is far in time."""
    reached = np.where(rows >= 0, links[rows], -1)
    near = np.abs(times[reached] - times[rows]) <= NEIGHBOUR_SECONDS
    return np.where(near, reached, -1)


def in_dialogue(columns: Columns, rows: IntArray) -> IntArray:
    """Rows that are part of a dialogue, the others replaced by -1: notes side by side do not answer each other."""
    sessions = columns.session[rows]
    talks = np.append(columns.dialogue, False)
    return np.where(talks[sessions], rows, -1)


def around(evidence: Evidence) -> dict[str, IntArray]:
    """The rows next to each candidate in its session; -1 where there is none."""
    columns = evidence.columns
    rows = in_dialogue(columns, evidence.rows)
    before = stepped(columns.previous, rows, columns.times)
    after = stepped(columns.following, rows, columns.times)
    return {
        "before": before,
        "after": after,
        "before 2": stepped(columns.previous, before, columns.times),
        "after 2": stepped(columns.following, after, columns.times),
    }


def dense_scores(evidence: Evidence, rows: IntArray) -> FloatArray:
    """Cosine similarity above the ground, of all rows of the scope, filled in for the given ones and scaled.

    Returns:
        Shape (n,), >= 0.
    """
    size = len(evidence.view.ids)
    scores = np.zeros(size, dtype=np.float32)
    if evidence.vector is not None:
        asked = np.zeros(size, dtype=np.bool_)
        asked[rows[rows >= 0]] = True
        wanted = np.flatnonzero(asked)
        sample = np.unique(np.linspace(0, size - 1, ORDINARY_UNITS).astype(np.intp))
        ordinary = evidence.view.similarities(evidence.vector, sample)
        scores[wanted] = scaled(above_ground(evidence.view.similarities(evidence.vector, wanted), ordinary))
    return scores


def above_ground(similarities: FloatArray, ordinary: FloatArray) -> FloatArray:
    """How far cosine similarities rise above what the embedder gives to anything.

    Embedders differ in where the cosines of unrelated texts lie: around .15 for all-MiniLM-L6-v2, around .82 for
    multilingual-e5-small, whose best rarely exceeds .92. Divided by the best alone, those would all be worth the same.
    The ground is the mean of ordinary units less `BELOW_MEAN` standard deviations, but 0 at least, and 0 where there
    are fewer than `ENOUGH_UNITS`.

    Args:
        similarities: of candidates to the question, in [-1, 1], shape (p,).
        ordinary: of units that nobody chose to the same question, shape (m,); 0 for a unit without a vector, which
            says nothing about the ground.

    Returns:
        Shape (p,), >= 0.
    """
    embedded = ordinary[ordinary != 0]
    ground = float(embedded.mean() - BELOW_MEAN * embedded.std()) if len(embedded) >= ENOUGH_UNITS else 0.0
    return np.asarray(np.clip(similarities - max(ground, 0.0), 0.0, None), dtype=np.float32)


def weight_of_words(evidence: Evidence) -> float:
    """How much words count beside vectors, in [0, 1]; 1 where there are no vectors to count instead.

    The best match of a question is scaled to 1 however bad it is. Where no unit holds more than a few of the question's
    words, as in small talk that is to remind of something, the best by words is best by chance.
    """
    return 1.0 if evidence.vector is None else worth_of_words(coverage(evidence))


def worth_of_words(coverage: FloatArray) -> float:
    """How much words count beside vectors where candidates hold these shares of the question's, in [0, 1]."""
    return min(float(coverage.max(initial=0.0)) / ENOUGH_WORDS, 1.0)


def coverage(evidence: Evidence) -> FloatArray:
    """Share of the question's words that each candidate holds, weighted by rarity; shape (p,), in [0, 1]."""
    return covered(evidence.terms, evidence.view, evidence.rows, len(evidence.view.ids))


class TermIndex(Protocol):
    """What knows which texts hold which terms."""

    def held(self, terms: Sequence[str], rows: IntArray) -> NDArray[np.bool_]:
        """Which index terms each row holds, shape (terms, rows); a term may be unknown."""
        ...

    def document_frequency(self, term: str) -> int:
        """How many rows hold an index term."""
        ...


def covered(terms: Sequence[str], index: TermIndex, rows: IntArray, count: int) -> FloatArray:
    """Share of terms that rows of an index of `count` rows hold, weighted by rarity; shape (p,), in [0, 1]."""
    wanted = list(dict.fromkeys(word_terms(terms)))
    weights = np.array([idf(index.document_frequency(term), count) for term in wanted])
    if not len(weights):
        return np.zeros(len(rows), dtype=np.float32)
    return np.asarray(weights @ index.held(wanted, rows) / weights.sum(), dtype=np.float32)


def idf(df: int, n: int) -> float:
    """Inverse document frequency as in BM25: ln(1 + (n - df + .5) / (df + .5)) for df of n units."""
    return log1p((n - df + 0.5) / (df + 0.5))


def lead(values: FloatArray) -> FloatArray:
    """How far values rise above the mean of the pool, scaled; similar for embedders of wide and narrow spread."""
    return scaled(values - values.mean()) if len(values) else values


def sparing(tokens: IntArray) -> FloatArray:
    """How far a unit leans on its neighbours and its session: 1 up to `LONG_TOKENS`, then falling with its length."""
    return np.asarray(LONG_TOKENS / np.maximum(tokens, LONG_TOKENS), dtype=np.float32)


def lengthiness(tokens: IntArray) -> FloatArray:
    """The cost of a long unit: the logarithm of its size over `LONG_TOKENS`, 0 up to there.

    Capped at `MOST_LENGTH`, about 1,200 tokens: a unit that long is quoted in excerpts anyway.
    """
    cost = np.log(np.maximum(tokens, LONG_TOKENS) / LONG_TOKENS)
    return np.asarray(np.minimum(cost, MOST_LENGTH), dtype=np.float32)


def substance(terms: IntArray) -> FloatArray:
    """How much a unit can say at all: 1 from `FEW_TERMS` index terms on (about 20 English words), less below."""
    return np.asarray(np.minimum(terms / FEW_TERMS, 1.0), dtype=np.float32)


def session_support(evidence: Evidence, dense: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How well a candidate's session as a whole fits: BM25 of the session, and its best similarity in the pool."""
    sessions = evidence.columns.session[evidence.rows]
    lexical = scaled(gathered(evidence.view.session_lexical(evidence.terms), sessions))
    best = np.zeros(int(sessions.max(initial=-1)) + 1, dtype=np.float32)
    member = sessions >= 0
    np.maximum.at(best, sessions[member], dense[evidence.rows][member])
    return lexical, scaled(gathered(best, sessions))


def linked_support(evidence: Evidence, lexical: FloatArray) -> FloatArray:
    """The best lexical score among the units that a candidate is linked with by a relation that explains."""
    best = np.zeros(len(evidence.rows), dtype=np.float32)
    for row, linked in evidence.view.explaining(evidence.rows).items():
        best[np.searchsorted(evidence.rows, row)] = lexical[list(linked)].max()
    return best


def date_match(evidence: Evidence, text: str) -> FloatArray:
    """How well a candidate's dates match the dates of the question.

    1 for the same day, `SAME_MONTH` for the month, `SAME_YEAR` for the year; the best over the dates a candidate
    names, and over the date it was said on at `SAID_ON` of that.
    """
    match = np.zeros(len(evidence.rows), dtype=np.float32)
    asked = asked_dates(text)
    if not asked:
        return match
    said_on = [_date_terms(time) for time in evidence.columns.times[evidence.rows].tolist()]
    for term, grade in asked.items():
        named = np.isin(evidence.rows, evidence.view.dated(term))
        on_day = np.array([term in terms for terms in said_on], dtype=np.float32)
        match = np.maximum(match, np.maximum(grade * named, SAID_ON * grade * on_day)).astype(np.float32)
    return match


def asked_dates(text: str) -> dict[str, float]:
    """The index terms of the dates a question names, with what a match is worth: a day more than its month or year."""
    return {term: _grade(term) for value in dates(text) for term in value.terms}


def _grade(term: str) -> float:
    rest = term.partition("-")[2]
    if not rest:
        return SAME_YEAR
    return 1.0 if "-" in rest.removeprefix("-") else SAME_MONTH


@lru_cache(maxsize=1 << 14)
def _date_terms(time: float) -> frozenset[str]:
    return frozenset(date_terms(datetime.fromtimestamp(time, UTC)))


def spoken_by_named(evidence: Evidence, text: str) -> FloatArray:
    """1 where the speaker is the only one of several speakers that the question names."""
    names = evidence.view.speakers
    words = f" {' '.join(''.join(c if c.isalnum() else ' ' for c in normalize(text)).split())} "
    named = [number for number, name in enumerate(names) if f" {normalize(name)} " in words]
    if len(named) != 1 or len(names) < 2:
        return np.zeros(len(evidence.rows), dtype=np.float32)
    return np.asarray(evidence.columns.speaker[evidence.rows] == named[0], dtype=np.float32)


def membership(evidence: Evidence, groups: list[IntArray]) -> FloatArray:
    """Share of the groups of rows that a candidate is in, scaled."""
    counts = np.zeros(len(evidence.view.ids), dtype=np.float32)
    for rows in groups:
        counts[rows] += 1
    return scaled(counts[evidence.rows])


def recency(times: NDArray[np.float64]) -> FloatArray:
    """Exponential decay with age, exp(-ln 2 · age / half-life).

    The half-life is a quarter of the time the candidates span, so that it suits scopes of minutes and of years.
    """
    if not len(times):
        return np.zeros(0, dtype=np.float32)
    age = times.max() - times
    half_life = max(float(age.max()) / 4, 1.0)
    return np.asarray(np.exp(-np.log(2) * age / half_life), dtype=np.float32)
