"""From signals to objectives: which signals count, how much, and for which questions.

A candidate's score is the weighted sum of its signals. The weights are grouped into objectives, each scaled to [0, 1]
over the pool, which is what the non-dominated fronts are made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from prism_core.changes import FloatArray, IntArray
from prism_core.protocols import IntentTagger
from prism_core.retrieve import signals as of
from prism_core.retrieve.coherence import coherence, shared_identifiers
from prism_core.retrieve.signals import Evidence
from prism_core.retrieve.supply import SupplyWeights, supply
from prism_core.text import asks_time
from prism_core.types import Facet, IntentQuery

Weights = Mapping[str, Mapping[str, float]]
"""Weight of every signal, grouped by objective."""

CONVERSATION: Weights = {
    "relevance": {
        "lexical": 1.0,
        "dense": 0.8,
        "entity": 0.1,
        "intent": 0.02,
        "date": 1.1,
        "time": 0.2,
        "time, asked for": 0.35,
    },
    "context": {
        "lexical before": 0.1,
        "lexical after": 0.1,
        "dense after": 0.2,
        "lexical nearby": 0.2,
        "question before, lexical": 0.4,
        "question before, dense": 0.2,
        "session, lexical": 0.35,
        "session, dense": 0.4,
        "linked": 0.3,
        "speaker": 0.4,
        "substance": 0.3,
        "asks": -0.3,
    },
    "cost": {"length": -0.5},
}
"""Weights of a question without an agent at work."""

MID_TASK: Weights = {
    "relevance": {"lexical": 0.02, "dense": 0.02},
    "coherence": {"coherence": 0.1, "shared identifiers": 0.02},
    "supply": {"supply": 2.0},
}
"""Weights while an agent is about to take an action."""

COHERENT_CHAT = 0.3
"""Weight of coherence where there is an active set but no action to be taken."""


@dataclass(frozen=True, slots=True)
class Scored:
    """Signals and objectives of a pool of p candidates.

    Attributes:
        signals: name of every signal to its values, shape (p,).
        objectives: name of every objective to its values in [0, 1], shape (p,).
        score: weighted sum, shape (p,).
        weight: sum of the magnitudes of the weights whose signals tell candidates apart.
    """

    signals: Mapping[str, FloatArray]
    objectives: Mapping[str, FloatArray]
    score: FloatArray
    weight: float


def weights_for(query: IntentQuery, *, active: bool) -> Weights:
    """The weight table that suits a query.

    Args:
        query: what is wanted.
        active: whether there is an active set.
    """
    if active and query.action_type is not None:
        return MID_TASK
    table = dict(CONVERSATION)
    if active:
        table["coherence"] = {"coherence": COHERENT_CHAT}
    if Facet.CURRENT_VALUE in query.facets:
        # Always-on recency costs recall; with a question for the present state a little of it orders versions.
        table["recency"] = {"recency": 0.1}
    return table


def score(query: IntentQuery, evidence: Evidence, active: IntArray, tagger: IntentTagger) -> Scored:
    """Compute the signals a query's weights ask for, the objectives and the weighted sum."""
    table = weights_for(query, active=bool(len(active)))
    values = _conversation_signals(query, evidence, tagger)
    if len(active):
        values |= _active_signals(query, evidence, active)
    objectives: dict[str, FloatArray] = {}
    total = np.zeros(len(evidence.rows), dtype=np.float32)
    for name, weights in table.items():
        part = np.zeros(len(evidence.rows), dtype=np.float32)
        for signal, weight in weights.items():
            part += np.float32(weight) * values[signal]
        objectives[name] = _unit_range(part, weights)
        total += part
    used = {signal for weights in table.values() for signal in weights}
    magnitude = sum(
        abs(weight) for weights in table.values() for name, weight in weights.items() if np.ptp(values[name]) > 0
    )
    return Scored({name: values[name] for name in values if name in used}, objectives, total, magnitude)


def _conversation_signals(query: IntentQuery, evidence: Evidence, tagger: IntentTagger) -> dict[str, FloatArray]:
    columns, rows = evidence.columns, evidence.rows
    near = of.around(evidence)
    dense = of.scaled(of.dense_scores(evidence, np.concatenate([rows, near["before"], near["after"]])))
    lexical = of.scaled(evidence.lexical)
    lean = of.sparing(columns.tokens[rows])
    asked = lean * of.gathered(columns.question.astype(np.float32), near["before"])
    session_lexical, session_dense = of.session_support(evidence, dense)
    timed = columns.timed[rows].astype(np.float32)
    nearby = of.gathered(lexical, near["before 2"]) + of.gathered(lexical, near["after 2"])
    return {
        "lexical": lexical[rows],
        "dense": dense[rows],
        "entity": of.membership(evidence, [evidence.view.mentioning(name) for name in query.target_entities]),
        "intent": _intent_fit(query, evidence, tagger),
        "date": of.date_match(evidence, query.text),
        "time": timed,
        "time, asked for": timed * np.float32(asks_time(query.text)),
        "lexical before": lean * of.gathered(lexical, near["before"]),
        "lexical after": lean * of.gathered(lexical, near["after"]),
        "dense after": lean * of.gathered(dense, near["after"]),
        "lexical nearby": lean * nearby,
        "question before, lexical": asked * of.gathered(lexical, near["before"]),
        "question before, dense": asked * of.gathered(dense, near["before"]),
        "session, lexical": session_lexical,
        "session, dense": session_dense,
        "linked": of.linked_support(evidence, lexical),
        "speaker": of.spoken_by_named(evidence, query.text),
        "substance": of.substance(columns.terms[rows]),
        "asks": columns.question[rows].astype(np.float32),
        "length": of.lengthiness(columns.tokens[rows]),
        "recency": of.recency(columns.times[rows]),
    }


def _active_signals(query: IntentQuery, evidence: Evidence, active: IntArray) -> dict[str, FloatArray]:
    view, rows = evidence.view, evidence.rows
    near = coherence(view, rows, active)
    found = {"coherence": near, "shared identifiers": shared_identifiers(view, rows, active)}
    if query.action_type is not None:
        found["supply"] = supply(view, rows, near, active, query.action_type, SupplyWeights())
    return found


def _intent_fit(query: IntentQuery, evidence: Evidence, tagger: IntentTagger) -> FloatArray:
    """The articles' S_rel: similarity between the question's intents and the unit's."""
    wanted = dict.fromkeys(query.target_intents, 1.0)
    if evidence.vector is not None:
        wanted = {**tagger.similarities(evidence.vector), **wanted}
    fit = [max((wanted.get(label, 0.0) for label in evidence.view.labels(row)), default=0.0) for row in evidence.rows]
    return of.scaled(np.array(fit, dtype=np.float32))


def _unit_range(values: FloatArray, weights: Mapping[str, float]) -> FloatArray:
    """From the range a group of weights allows to [0, 1]."""
    low = sum(weight for weight in weights.values() if weight < 0)
    high = sum(weight for weight in weights.values() if weight > 0)
    return np.asarray(np.clip((values - low) / (high - low), 0.0, 1.0), dtype=np.float32)
