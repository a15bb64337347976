"""From signals to objectives: which signals count, how much, and for which questions.

A candidate's score is the weighted sum of its signals. The weights are grouped into objectives, each scaled to [0, 1]
over the pool, which is what the non-dominated fronts are made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from prism_core.changes import FloatArray, IntArray
from prism_core.errors import QueryError
from prism_core.protocols import IntentTagger
from prism_core.retrieve import signals as of
from prism_core.retrieve.coherence import coherence, shared_identifiers
from prism_core.retrieve.options import Objective, RankingOptions
from prism_core.retrieve.signals import Evidence
from prism_core.retrieve.supply import SupplyWeights, supply
from prism_core.retrieve.weights import COHERENT_CHAT, Weights
from prism_core.text import asks_time
from prism_core.types import Facet, IntentQuery, MemoryUnit, ancestors_of

KINDRED = 0.5
"""How far a unit that carries the label above the wanted one fits."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """What a weight table makes of the signals of p candidates.

    Attributes:
        objectives: name of every objective to its values in [0, 1], shape (p,).
        score: weighted sum, shape (p,).
        weight: sum of the magnitudes of the weights whose signals tell candidates apart.
    """

    objectives: Mapping[str, FloatArray]
    score: FloatArray
    weight: float


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


def weights_for(query: IntentQuery, options: RankingOptions, *, active: bool) -> Weights:
    """The weight table that suits a query.

    Args:
        query: what is wanted.
        options: the tables.
        active: whether there is an active set.
    """
    told = {"intent": {"intent": options.told_intents}} if query.intents_told and query.target_intents else {}
    if active and query.action_type is not None:
        return options.mid_task
    table = {**options.conversation, **told}
    if active:
        table["coherence"] = {"coherence": COHERENT_CHAT}
    if Facet.CURRENT_VALUE in query.facets:
        # Always-on recency costs recall; with a question for the present state a little of it orders versions.
        table["recency"] = {"recency": 0.1}
    return table


def score(
    query: IntentQuery, evidence: Evidence, active: IntArray, tagger: IntentTagger, options: RankingOptions
) -> Scored:
    """Compute the signals a query's weights ask for, the objectives and the weighted sum.

    Raises:
        QueryError: if a weight names no signal, or an objective of the user's own answers anything but one value in
            [0, 1] per unit.
    """
    table = weights_for(query, options, active=bool(len(active)))
    values = _conversation_signals(query, evidence, tagger)
    if len(active):
        values |= _active_signals(query, evidence, active)
    weighed = weigh(table, values)
    if options.objectives:
        weighed = with_own(weighed, query, evidence.view.units(evidence.rows), options.objectives)
    used = {signal for weights in table.values() for signal in weights}
    signals = {name: values[name] for name in values if name in used}
    return Scored(signals, weighed.objectives, weighed.score, weighed.weight)


def with_own(weighed: Weighed, query: IntentQuery, units: Sequence[MemoryUnit], own: Sequence[Objective]) -> Weighed:
    """What is weighed, with objectives of the user's own beside it, each of weight 1.

    Raises:
        QueryError: if one answers anything but one value in [0, 1] per unit.
    """
    added = {objective.name: _own_values(objective, query, units) for objective in own}
    total = np.asarray(np.sum([weighed.score, *added.values()], axis=0), dtype=np.float32)
    return Weighed({**weighed.objectives, **added}, total, weighed.weight + len(added))


def weigh(table: Weights, signals: Mapping[str, FloatArray]) -> Weighed:
    """Weigh signals.

    Args:
        table: weight of every signal, grouped by objective.
        signals: name of every signal to its values, shape (p,); at least those of the table.

    Raises:
        QueryError: if a weight names no signal.
    """
    objectives: dict[str, FloatArray] = {}
    total = np.zeros(len(next(iter(signals.values()))), dtype=np.float32)
    magnitude = 0.0
    for name, weights in table.items():
        part = np.zeros_like(total)
        for signal, weight in weights.items():
            if signal not in signals:
                raise QueryError("weights", signal, f"weigh any of {', '.join(signals)}")
            part += np.float32(weight) * signals[signal]
            magnitude += abs(weight) if np.ptp(signals[signal]) > 0 else 0.0
        objectives[name] = _unit_range(part, weights)
        total += part
    return Weighed(objectives, total, magnitude)


def _own_values(objective: Objective, query: IntentQuery, units: Sequence[MemoryUnit]) -> FloatArray:
    try:
        answer = objective.values(query, tuple(units))
    except Exception as error:
        # A user's own code may raise anything; what matters is whose it is.
        raise QueryError("objectives", objective.name, f"it raised {type(error).__name__}: {error}") from error
    wrong = QueryError("objectives", objective.name, f"answer {len(units)} real values in [0, 1], one per unit")
    try:
        given = np.asarray(answer)
    except ValueError as error:  # rows of different lengths make no array
        raise wrong from error
    if given.dtype.kind not in "biuf" or given.shape != (len(units),) or not ((given >= 0) & (given <= 1)).all():
        raise wrong
    return given.astype(np.float32)


def _conversation_signals(query: IntentQuery, evidence: Evidence, tagger: IntentTagger) -> dict[str, FloatArray]:
    columns, rows = evidence.columns, evidence.rows
    near = of.around(evidence)
    dense = of.dense_scores(evidence, np.concatenate([rows, near["before"], near["after"]]))
    words = np.float32(of.weight_of_words(evidence))
    lexical = words * of.scaled(evidence.lexical)
    lean = of.sparing(columns.tokens[rows])
    asked = lean * of.gathered(columns.question, near["before"])
    session_lexical, session_dense = of.session_support(evidence, dense)
    session_lexical *= words
    timed = columns.timed[rows].astype(np.float32)
    nearby = (of.gathered(lexical, near["before 2"]) + of.gathered(lexical, near["after 2"])) / 2
    return {
        "lexical": lexical[rows],
        "dense": dense[rows],
        "dense lead": of.lead(dense[rows]),
        "entity": of.membership(evidence, [evidence.view.mentioning(name) for name in query.target_entities]),
        "intent": _intent_fit(query, evidence, tagger),
        "date": of.date_match(evidence, query.text),
        "time": timed,
        "time asked for": timed * np.float32(asks_time(query.text)),
        "lexical before": lean * of.gathered(lexical, near["before"]),
        "lexical after": lean * of.gathered(lexical, near["after"]),
        "dense after": lean * of.gathered(dense, near["after"]),
        "lexical around": lean * nearby,
        "answer lexical": asked * of.gathered(lexical, near["before"]),
        "answer dense": asked * of.gathered(dense, near["before"]),
        "session lexical": lean * session_lexical,
        "session dense": lean * session_dense,
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
    wanted = {above: KINDRED for label in query.target_intents for above in ancestors_of(label)}
    wanted |= dict.fromkeys(query.target_intents, 1.0)
    if evidence.vector is not None and not query.intents_told:
        wanted = {**tagger.similarities(evidence.vector), **wanted}
    carried = evidence.view.labels(evidence.rows)
    fit = {labels: max((wanted.get(label, 0.0) for label in labels), default=0.0) for labels in set(carried)}
    return of.scaled(np.array([fit[labels] for labels in carried], dtype=np.float32))


def _unit_range(values: FloatArray, weights: Mapping[str, float]) -> FloatArray:
    """From the range a group of weights allows to [0, 1]; all 0 where it allows none."""
    low = sum(weight for weight in weights.values() if weight < 0)
    high = sum(weight for weight in weights.values() if weight > 0)
    if low == high:
        return np.zeros(len(values), dtype=np.float32)
    return np.asarray(np.clip((values - low) / (high - low), 0.0, 1.0), dtype=np.float32)
