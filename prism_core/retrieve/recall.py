"""Recall: which units are worth ranking at all.

Several channels each propose a bounded number of rows; a row keeps the names of the channels that proposed it. The
work that follows depends on the size of the pool, not on the size of the scope.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from prism_core.changes import FloatArray, IntArray
from prism_core.protocols import ScopeView
from prism_core.types import EXPLAINING_RELATIONS, IntentQuery


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


@dataclass(slots=True)
class Pool:
    """The rows under consideration and who proposed them.

    Attributes:
        rows: distinct rows, ascending.
        channels: names of the proposing channels, by row.
    """

    rows: IntArray
    channels: dict[int, list[str]] = field(default_factory=dict)


def recall(
    query: IntentQuery,
    view: ScopeView,
    lexical: FloatArray,
    vector: FloatArray | None,
    limits: Recall,
    *,
    at_least: int = 0,
) -> Pool:
    """Collect the candidates of a query.

    Args:
        query: what is wanted.
        view: the scope.
        lexical: BM25 of every row, shape (n,).
        vector: the question's embedding, shape (d,), or None without an embedder.
        limits: how many rows each channel may propose.
        at_least: fill up with the newest admitted rows to this many.
    """
    allowed = _allowed(query, view)
    channels: dict[int, list[str]] = {}
    for name, rows in _channels(query, view, lexical, vector, limits, allowed):
        for row in (rows if allowed is None else rows[allowed[rows]]).tolist():
            names = channels.setdefault(row, [])
            if name not in names:
                names.append(name)
    if len(channels) < at_least:
        newest_first = range(len(view.ids) - 1, -1, -1)
        others = (row for row in newest_first if row not in channels and (allowed is None or allowed[row]))
        channels.update((row, ["filler"]) for row in islice(others, at_least - len(channels)))
    # Ties are broken by place, and the place must not depend on which channel came first.
    return Pool(np.array(sorted(channels), dtype=np.intp), channels)


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


def _allowed(query: IntentQuery, view: ScopeView) -> NDArray[np.bool_] | None:
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
    return np.unique(np.concatenate(found)) if found else anchors


def _linked(view: ScopeView, anchors: IntArray, limit: int) -> IntArray:
    rows = [row for anchor in anchors.tolist() for row in view.linked(anchor, EXPLAINING_RELATIONS)[:limit]]
    return np.array(rows, dtype=np.intp)


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
