"""A pool of passages: their signals, and what ranks them.

A pool is no scope. There are no neighbours, sessions or links, but there is what the host thinks of each passage,
which is an objective of its own beside words, meaning and cost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Self

import numpy as np

from prism_core.changes import FloatArray
from prism_core.protocols import TokenCounter
from prism_core.retrieve import signals as of
from prism_core.retrieve.objectives import weigh, with_own
from prism_core.retrieve.options import RankingOptions
from prism_core.retrieve.order import order_by
from prism_core.retrieve.retriever import merits
from prism_core.retrieve.weights import Weights
from prism_core.storage.lexical import LexicalIndex
from prism_core.text import analyze, asks_time, date_terms, holds_time, normalize, relative_dates
from prism_core.types import Facet, IntentQuery, Kind, MemoryUnit, Source, utc

PRIOR = 0.5
"""Weight of the host's own score: about that of a good similarity, so that it decides where words and meaning tie."""
RECENCY = 0.1
"""As for memories: a little of it orders the versions of one thing."""
UNDATED = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Passage:
    """Something to rank.

    Attributes:
        text: what it says; ranked whole and never changed.
        score: what the host thinks of it, higher is better, on any scale. None, NaN and infinity say nothing. Whether
            a number is a distance cannot be told from it: negate distances before.
        time: when it was said or written; aware.
    """

    text: str
    score: float | None = None
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage in its place.

    Attributes:
        index: its place in what was handed in.
        score: what it was ordered by, higher is better, comparable within one call only; 0 for a repeat.
        front: 0-based non-dominated front; None for a passage that says the same as another one.
        objectives: every objective's value in [0, 1], higher is better; none for a repeat.
        reason: what it stands out by, or what it repeats.
    """

    index: int
    score: float
    front: int | None
    objectives: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""


def first_of_same(passages: Sequence[Passage]) -> dict[int, list[int]]:
    """Places of passages of distinct text, each with the others of its text, which it stands for.

    The one with the host's best score stands for them; the first one where none has a score or several have the same.
    """
    places: dict[str, list[int]] = {}
    for place, passage in enumerate(passages):
        places.setdefault(normalize(passage.text), []).append(place)
    groups = [sorted(same, key=lambda place: -_known(passages[place].score)) for same in places.values()]
    return {group[0]: group[1:] for group in sorted(groups, key=lambda group: group[0])}


def _known(score: float | None) -> float:
    return -math.inf if score is None or not math.isfinite(score) else float(score)


@dataclass(frozen=True, slots=True)
class Pool:
    """Passages of distinct text.

    Attributes:
        places: of each among what was handed in, ascending, n of them.
        texts: of each.
        times: of each; None where it has none.
        scores: of the host, shape (n,); NaN where there is none.
        tokens: of each text.
    """

    places: Sequence[int]
    texts: Sequence[str]
    times: Sequence[datetime | None]
    scores: FloatArray
    tokens: Sequence[int]

    @classmethod
    def of(cls, passages: Sequence[Passage], places: Sequence[int], counter: TokenCounter) -> Self:
        """The passages at these places.

        Raises:
            NaiveDatetimeError: if a time has no time zone.
        """
        chosen = [passages[place] for place in places]
        texts = [passage.text for passage in chosen]
        times = [None if passage.time is None else utc(passage.time, "time") for passage in chosen]
        scores = np.array([math.nan if passage.score is None else passage.score for passage in chosen])
        return cls(places, texts, times, scores, [counter.count(text) for text in texts])

    def ranked(
        self,
        query: IntentQuery,
        question: FloatArray | None,
        rows: FloatArray | None,
        options: RankingOptions,
        note: str = "",
    ) -> list[Ranked]:
        """The passages, best first.

        Args:
            query: what is wanted, with its facets.
            question: its embedding, shape (d,), or None.
            rows: the passages' embeddings, shape (n, d), or None.
            options: weights, order, and objectives of the user's own.
            note: put behind every reason.
        """
        values = self._signals(query.text, question, rows)
        weighed = weigh(_table(query, options), values)
        if options.objectives:
            weighed = with_own(weighed, query, self._units(), options.objectives)
        ordered = order_by(weighed.objectives, weighed.score, weighed.weight, options)
        usual = {name: float(of_all.mean()) for name, of_all in weighed.objectives.items()}
        found = []
        for row in ordered.places.tolist():
            objectives = {name: float(of_all[row]) for name, of_all in weighed.objectives.items()}
            reason = merits(objectives, usual) + note
            score, front = float(ordered.values[row]), int(ordered.fronts[row])
            found.append(Ranked(self.places[row], score, front, objectives, reason))
        return found

    def _signals(self, text: str, question: FloatArray | None, rows: FloatArray | None) -> dict[str, FloatArray]:
        terms, every = analyze(text), np.arange(len(self.texts))
        index = LexicalIndex()
        for row, said in enumerate(self.texts):
            index.put(row, analyze(said))
        lexical = of.scaled(index.scores(terms))
        dense = np.zeros(len(every), dtype=np.float32)
        if question is not None and rows is not None:
            lexical *= np.float32(of.worth_of_words(of.covered(terms, index, every, len(every))))
            similar = np.clip(rows @ question, -1.0, 1.0)
            # Nobody but the host chose these, so they are their own measure of what is ordinary.
            dense = of.scaled(of.above_ground(similar, similar))
        timed = np.array([holds_time(said) for said in self.texts], dtype=np.float32)
        return {
            "lexical": lexical,
            "date": self._dates(of.asked_dates(text)),
            "time": timed,
            "time asked for": timed * np.float32(asks_time(text)),
            "dense": dense,
            "dense lead": of.lead(dense),
            "length": of.lengthiness(np.array(self.tokens)),
            "prior": prior(self.scores),
            "recency": self._recency(),
        }

    def _dates(self, asked: Mapping[str, float]) -> FloatArray:
        """How well the dates of each passage match those asked for, as `signals.date_match` does for units."""
        match = np.zeros(len(self.texts), dtype=np.float32)
        for row, (text, time) in enumerate(zip(self.texts, self.times, strict=True) if asked else ()):
            named = set(analyze(text))
            said_on = set() if time is None else set(date_terms(time))
            if time is not None:
                named |= {term for value in relative_dates(text, time) for term in value.terms}
            worth = [
                grade * (1.0 if term in named else of.SAID_ON)
                for term, grade in asked.items()
                if term in named or term in said_on
            ]
            match[row] = max(worth, default=0.0)
        return match

    def _recency(self) -> FloatArray:
        dated = [row for row, time in enumerate(self.times) if time is not None]
        recent = np.zeros(len(self.times), dtype=np.float32)
        recent[dated] = of.recency(np.array([time.timestamp() for time in self.times if time is not None]))
        return recent

    def _units(self) -> list[MemoryUnit]:
        """The passages as objectives of a user's own see them."""
        return [
            MemoryUnit(
                id=str(place),
                scope=("passages",),
                kind=Kind.DOCUMENT,
                source=Source.EXTERNAL,
                observation=text,
                event_time=time or UNDATED,
                recorded_at=time or UNDATED,
                importance=0.5,
            )
            for place, text, time in zip(self.places, self.texts, self.times, strict=True)
        ]


_OF_PASSAGES = frozenset({"lexical", "date", "time", "time asked for", "dense", "dense lead", "length"})
"""Signals of memories that passages have as well."""


def _table(query: IntentQuery, options: RankingOptions) -> Weights:
    """The weights of conversations, as far as passages have the signals, and those of the host's score and recency."""
    table: dict[str, Mapping[str, float]] = {
        name: {signal: weight for signal, weight in weights.items() if signal in _OF_PASSAGES}
        for name, weights in options.conversation.items()
    }
    table = {name: weights for name, weights in table.items() if weights}
    table["prior"] = {"prior": PRIOR}
    if query.facets & {Facet.CURRENT_VALUE, Facet.TEMPORAL}:
        table["recency"] = {"recency": RECENCY}
    return table


def prior(scores: FloatArray) -> FloatArray:
    """The host's scores from worst to best as 0 to 1; all 0 where they tell nothing apart.

    Args:
        scores: higher is better, shape (n,); those that are no finite numbers count as the mean of the others.

    Returns:
        Shape (n,), in [0, 1].
    """
    known = np.isfinite(scores)
    if not known.any():
        return np.zeros(len(scores), dtype=np.float32)
    # Halved, so that the difference of the largest numbers there are is a number.
    values = np.asarray(scores, dtype=np.float64) / 2
    low, high = values[known].min(), values[known].max()
    if low == high:
        return np.zeros(len(scores), dtype=np.float32)
    values = np.clip((values - low) / (high - low), 0.0, 1.0)
    return np.asarray(np.where(known, values, values[known].mean()), dtype=np.float32)
