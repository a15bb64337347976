"""Recall: which units are worth ranking at all.

Several channels each propose a bounded number of rows; a row keeps the names of the channels that proposed it. The
work that follows depends on the size of the pool, not on the size of the scope.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import overload

import numpy as np
from numpy.typing import NDArray

from prism_core.changes import FloatArray, IntArray
from prism_core.errors import QueryError
from prism_core.protocols import ScopeView
from prism_core.types import IntentQuery


@dataclass(frozen=True, slots=True)
class Recall:
    """How many rows each channel may propose.

    Attributes:
        lexical: best by BM25.
        dense: nearest by cosine similarity.
        mentions: units that mention a target entity, newest first, per entity.
        intents: units that carry a target intent, newest first, per label.
        anchors: the best lexical and dense rows whose neighbours in the session are proposed as well.
        reach: neighbours on either side of an anchor.
        links: units linked with an anchor by a relation that explains, per anchor.
        chain: newest units of the chains the agent is working in.
        holders: newest units that share an identifier with the active set, per identifier.
        newest: newest units of the scope.
    """

    lexical: int = 120
    dense: int = 120
    mentions: int = 20
    intents: int = 10
    anchors: int = 40
    reach: int = 2
    links: int = 6
    chain: int = 150
    holders: int = 8
    newest: int = 10

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if type(value) is not int or value < 1:  # a bool is an int by type only
                raise QueryError(f"limits.{limit.name}", value, "pass a positive whole number")


class Channels(Sequence[tuple[str, ...]]):
    """Names of the channels that proposed each place of a pool, spelled out when they are looked at."""

    def __init__(self, names: Sequence[str] = (), proposed: Sequence[int] = ()) -> None:
        """Take over the names, and of every place the bits of those that proposed it, the first name's the lowest."""
        self._names = names
        self._proposed = proposed

    def __len__(self) -> int:
        return len(self._proposed)

    @overload
    def __getitem__(self, place: int) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[tuple[str, ...]]: ...
    def __getitem__(self, place: int | slice) -> tuple[str, ...] | Sequence[tuple[str, ...]]:
        if isinstance(place, slice):
            return Channels(self._names, self._proposed[place])
        return tuple(name for bit, name in enumerate(self._names) if int(self._proposed[place]) >> bit & 1)


@dataclass(frozen=True, slots=True)
class Pool:
    """The rows under consideration and who proposed them.

    Attributes:
        rows: distinct rows, ascending: ties are broken by place, which must not depend on who proposed them.
        channels: names of the proposing channels, by place.
    """

    rows: IntArray
    channels: Channels


def recall(
    query: IntentQuery,
    view: ScopeView,
    lexical: FloatArray,
    vector: FloatArray | None,
    limits: Recall,
    *,
    at_least: int = 0,
    eligible: NDArray[np.bool_] | None = None,
) -> Pool:
    """Collect the candidates of a query.

    Args:
        query: what is wanted.
        view: the scope.
        lexical: BM25 of every row, shape (n,).
        vector: the question's embedding, shape (d,), or None without an embedder.
        limits: how many rows each channel may propose.
        at_least: fill up with the newest admitted rows to this many.
        eligible: rows that may be proposed at all, shape (n,); None for every row.
    """
    allowed = admitted(query, view)
    if eligible is not None:
        allowed = eligible if allowed is None else allowed & eligible
    names: list[str] = []
    proposed = np.zeros(len(view.ids), dtype=np.int32)
    for name, rows in _channels(query, view, lexical, vector, limits, allowed):
        if name not in names:
            names.append(name)
        proposed[rows] |= 1 << names.index(name)
    if allowed is not None:
        proposed[~allowed] = 0
    missing = at_least - np.count_nonzero(proposed)
    if missing > 0:
        others = np.flatnonzero((proposed == 0) if allowed is None else (proposed == 0) & allowed)
        proposed[others[-missing:]] = 1 << len(names)
        names.append("filler")
    pool = np.flatnonzero(proposed)
    return Pool(pool, Channels(names, proposed[pool].tolist()))


def _channels(
    query: IntentQuery,
    view: ScopeView,
    lexical: FloatArray,
    vector: FloatArray | None,
    limits: Recall,
    allowed: NDArray[np.bool_] | None,
) -> Iterator[tuple[str, IntArray]]:
    scores = lexical if allowed is None else np.where(allowed, lexical, 0)
    by_words = top_rows(scores, limits.lexical)
    by_meaning = _nearest(view, vector, limits.dense, allowed)
    yield "lexical", by_words
    yield "dense", by_meaning
    anchors = np.union1d(by_words[: limits.anchors], by_meaning[: limits.anchors])
    yield "neighbour", _neighbours(view, anchors, limits.reach)
    yield "linked", _linked(view, anchors, limits.links)
    for entity in query.target_entities:
        yield "entity", _newest(view.mentioning(entity), limits.mentions)
    for label in query.target_intents:
        yield "intent", _newest(view.labelled(label), limits.intents)
    active = view.rows(query.active)
    yield "active chain", _active_chains(view, active, limits.chain)
    for row in active.tolist():
        for identifier in view.identifiers(row):
            yield "identifier", _newest(view.identifier_spread(identifier)[1], limits.holders)
    if allowed is None:
        size = len(view.ids)
        yield "newest", np.arange(size - 1, max(size - 1 - limits.newest, -1), -1)
    elif int(allowed.sum()) <= limits.chain:
        yield "scope of the question", np.flatnonzero(allowed)


def top_rows(scores: FloatArray, k: int) -> IntArray:
    """Rows of the k highest positive scores, best first, ties in the order of rows."""
    positive = np.flatnonzero(scores > 0)
    if len(positive) > k:
        # Everything that ties with the k-th is kept until the stable sort decides.
        threshold = np.partition(scores[positive], len(positive) - k)[len(positive) - k]
        positive = positive[scores[positive] >= threshold]
    return positive[np.argsort(-scores[positive], kind="stable")][:k]


def admitted(query: IntentQuery, view: ScopeView) -> NDArray[np.bool_] | None:
    """Rows that the query's limits admit, shape (n,); None when there is no limit."""
    allowed: NDArray[np.bool_] | None = None
    if query.task_id is not None or query.session_id is not None:
        chain = view.chain(task_id=query.task_id, session_id=query.session_id)
        stop = None if query.last_step is None else query.last_step + 1
        allowed = np.zeros(len(view.ids), dtype=np.bool_)
        allowed[chain[query.first_step : stop]] = True
    if query.since is not None or query.until is not None:
        times = view.columns.times
        since = -np.inf if query.since is None else query.since.timestamp()
        until = np.inf if query.until is None else query.until.timestamp()
        within = (times >= since) & (times < until)
        allowed = within if allowed is None else allowed & within
    return allowed


def _nearest(view: ScopeView, vector: FloatArray | None, k: int, allowed: NDArray[np.bool_] | None) -> IntArray:
    if vector is None:
        return np.empty(0, dtype=np.intp)
    if allowed is None:
        return view.nearest(vector, k)
    # The index knows nothing of limits, so what they admit is scored exactly.
    rows = np.flatnonzero(allowed)
    scores = view.similarities(vector, rows)
    return rows[np.argsort(-scores, kind="stable")][:k]


def _neighbours(view: ScopeView, anchors: IntArray, reach: int) -> IntArray:
    columns = view.columns
    found = []
    before, after = anchors, anchors
    for _ in range(reach):
        before = columns.previous[before]
        before = before[before >= 0]
        after = columns.following[after]
        after = after[after >= 0]
        found += [before, after]
    return np.concatenate(found) if found else anchors


def _linked(view: ScopeView, anchors: IntArray, limit: int) -> IntArray:
    linked = view.explaining(anchors).values()
    return np.array([row for rows in linked for row in rows[:limit]], dtype=np.intp)


def _active_chains(view: ScopeView, active: IntArray, limit: int) -> IntArray:
    columns = view.columns
    chains = []
    for task in np.unique(columns.task[active]).tolist():
        if task >= 0:
            chains.append(view.numbered_chain(task=task)[-limit:])
    for session in np.unique(columns.session[active[columns.task[active] < 0]]).tolist():
        if session >= 0:
            chains.append(view.numbered_chain(session=session)[-limit:])
    return np.concatenate([active, *chains])


def _newest(rows: IntArray, limit: int) -> IntArray:
    return rows[::-1][:limit]
