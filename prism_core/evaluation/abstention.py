"""`eval abstention`: does the memory know when it has nothing to say to a question?

Three kinds of questions are asked of every store. Answerable ones are its own. Off-domain ones are what users said to
an agent about something else. Near misses are the questions of another store with the speakers' names replaced, so
that nothing but the content tells them apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prism_core.embed import DEFAULT_EMBEDDER
from prism_core.errors import DatasetError
from prism_core.evaluation.bootstrap import Intervals, interval, resamples
from prism_core.evaluation.datasets import QARow, load_qa, load_traces
from prism_core.evaluation.metrics import percentile
from prism_core.evaluation.outcomes import ADVERSARIAL, Outcome
from prism_core.evaluation.parallel import run_tasks
from prism_core.evaluation.report import Report, SystemScores
from prism_core.evaluation.systems import Ask, PrismSystem, after
from prism_core.evaluation.workbench import choose, workbench
from prism_core.types import Source

ANSWERABLE, OFF_DOMAIN, NEAR_MISS = "answerable", "off-domain", "near miss"
FALSE_INJECTION = 0.05
"""Share of the questions without an answer that may pass."""
SEED = 0
SYSTEMS = {"prism": False, "prism-lexical": True}
"""Memories that can be asked; whether they go without vectors."""
ANSWERABILITY = "answerability"
"""What an outcome says: that of the whole retrieval, in [0, 1]."""
_KINDS = {"offdomain": OFF_DOMAIN, "nearmiss": NEAR_MISS}
_TITLE = "answerable questions against off-domain ones and near misses"
_COLUMNS = {key: key for name in _KINDS for key in (f"auroc_{name}", f"kept_{name}@5")} | {"n": "n"}

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Probe:
    """A question and whether the store can answer it.

    Attributes:
        kind: `ANSWERABLE`, `OFF_DOMAIN`, `NEAR_MISS` or `ADVERSARIAL`.
        id: unique among those of its kind in one store.
        text: the question.
    """

    kind: str
    id: str
    text: str


def run_abstention(
    path: str | Path,
    offdomain: str | Path,
    *,
    systems: Sequence[str] = tuple(SYSTEMS),
    per_row: int | None = None,
    jobs: int = 1,
    embedder: str = DEFAULT_EMBEDDER,
) -> Report:
    """Ask every store questions it can answer and questions it cannot, and compare the answerability of both.

    Args:
        path: evidence-QA rows, at least two.
        offdomain: runs of agents; what their users said is asked of every store.
        systems: names from `SYSTEMS`.
        per_row: off-domain questions per store, drawn with a fixed seed; all when None.
        jobs: processes; each takes a store at a time.
        embedder: name of the embedder, from `embed.EMBEDDERS`.

    Raises:
        DatasetError: if a file cannot be read, or holds too little to ask.
        QueryError: if a system or the embedder is unknown.
        MissingExtraError: if the extra of the embedder is not installed.
    """
    names = choose(systems, SYSTEMS)
    workbench(embedder)  # a wrong name is better found before the files are read
    rows = load_qa(path)
    if len(rows) < 2:
        raise DatasetError(str(path), len(rows), "another row is needed, for questions that this one cannot answer")
    messages = user_messages(offdomain)
    if not messages:
        raise DatasetError(str(offdomain), 1, "no user says anything")
    rng = np.random.default_rng(SEED)
    tasks = [
        partial(evaluate_store, row, probes(row, rows[number - 1], _drawn(messages, per_row, rng)), names, embedder)
        for number, row in enumerate(rows)
    ]
    outcomes = run_tasks(tasks, jobs=jobs, title="asking")
    share = "all" if per_row is None else f"{min(per_row, len(messages))} (seed {SEED}) of"
    note = f"{len(rows)} stores; {share} {len(messages)} off-domain messages asked of each"
    scores = {name: _scores([outcome for outcome in outcomes if outcome.system == name]) for name in names}
    return Report(str(path), scores, {_TITLE: _COLUMNS}, (note,), _intervals(outcomes, names), outcomes)


def user_messages(path: str | Path) -> list[str]:
    """All that users say in a file of runs, in its order.

    Raises:
        DatasetError: if the file cannot be read.
    """
    events = [step.item.whole for run in load_traces(path) for step in run.steps]
    return [event.observation for event in events if event.source == Source.USER and event.observation.strip()]


def probes(row: QARow, previous: QARow, messages: Sequence[str]) -> list[Probe]:
    """What a store is asked.

    Args:
        row: the store; its own questions are answerable.
        previous: its questions become near misses.
        messages: the off-domain ones.
    """
    own, others = speakers(row), speakers(previous)
    found = [
        Probe(ADVERSARIAL if question.category == ADVERSARIAL else ANSWERABLE, question.id, question.text)
        for question in row.questions
    ]
    found += [
        Probe(NEAR_MISS, question.id, renamed(question.text, others, own))
        for question in previous.questions
        if question.category != ADVERSARIAL
    ]
    return found + [Probe(OFF_DOMAIN, str(number), text) for number, text in enumerate(messages)]


def speakers(row: QARow) -> list[str]:
    """The two who speak first."""
    return list(dict.fromkeys(item.whole.speaker for item in row.items if item.whole.speaker))[:2]


def renamed(text: str, names: Sequence[str], others: Sequence[str]) -> str:
    """A text with each of some names replaced by its counterpart, all at once; names are whole words of any case.

    >>> renamed("Did Ann meet bob's sister?", ["Ann", "Bob"], ["Bob", "Cleo"])
    "Did Bob meet Cleo's sister?"
    """
    counterpart = {name.lower(): other for name, other in zip(names, others, strict=False)}
    if not counterpart:
        return text
    pattern = rf"\b(?:{'|'.join(map(re.escape, counterpart))})\b"
    return re.sub(pattern, lambda match: counterpart[match.group().lower()], text, flags=re.IGNORECASE)


def evaluate_store(
    row: QARow, asked: Sequence[Probe], names: Sequence[str], embedder: str = DEFAULT_EMBEDDER
) -> list[Outcome]:
    """Ask a store everything; the value of every outcome is the answerability of its retrieval."""
    outcomes: list[Outcome] = []
    for name in names:
        system = PrismSystem(workbench(embedder).opener(lexical=SYSTEMS[name]), after(row.items))
        system.add(row.items)
        for probe in asked:
            found, seconds = system.retrieve(Ask(probe.text))
            values = {ANSWERABILITY: found.answerability}
            question = f"{row.id}/{probe.kind}/{probe.id}"
            outcomes.append(Outcome(name, question, probe.kind, values, {"n": 1}, seconds, row.id))
        system.close()
    return outcomes


def auroc(answerable: Scores, others: Scores, weights: Scores | None = None, against: Scores | None = None) -> Scores:
    """The chance that a question with an answer scores above one without; ties count half.

    Args:
        answerable: scores of questions with an answer, shape (n,).
        others: scores of questions without, shape (m,).
        weights: how often each of the answerable counts, shape (b, n); once when None.
        against: how often each of the others counts, shape (b, m).

    Returns:
        Shape (b,), in [0, 1]; shape (1,) without weights.
    """
    weights = np.ones((1, len(answerable))) if weights is None else weights
    against = np.ones((1, len(others))) if against is None else against
    order = np.argsort(others, kind="stable")
    below = np.concatenate([np.zeros((len(against), 1)), np.cumsum(against[:, order], axis=1)], axis=1)
    low = np.searchsorted(others[order], answerable, side="left")
    high = np.searchsorted(others[order], answerable, side="right")
    wins = (weights * (below[:, low] + below[:, high]) / 2).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(wins / (weights.sum(axis=1) * below[:, -1]))


def kept_at(answerable: Scores, others: Scores, false_injection: float = FALSE_INJECTION) -> float:
    """Share of the answerable questions that pass where at most that share of the others does, in [0, 1]."""
    threshold = np.quantile(others, 1 - false_injection, method="higher")
    return float(np.mean(answerable > threshold))


def _drawn(messages: Sequence[str], count: int | None, rng: np.random.Generator) -> list[str]:
    if count is None or count >= len(messages):
        return list(messages)
    return [messages[place] for place in sorted(rng.choice(len(messages), count, replace=False))]


def _of(outcomes: Sequence[Outcome], kind: str) -> Scores:
    return np.array([outcome.values[ANSWERABILITY] for outcome in outcomes if outcome.category == kind])


def _scores(outcomes: Sequence[Outcome]) -> SystemScores:
    answerable = _of(outcomes, ANSWERABLE)
    overall: dict[str, float] = {}
    for name, kind in _KINDS.items():
        others = _of(outcomes, kind)
        overall[f"auroc_{name}"] = round(float(auroc(answerable, others)[0]), 4)
        overall[f"kept_{name}@5"] = round(kept_at(answerable, others), 4)
    overall["n"] = len(answerable)
    times = [1000 * outcome.seconds for outcome in outcomes]
    by_kind = {kind: _spread(_of(outcomes, kind)) for kind in dict.fromkeys(outcome.category for outcome in outcomes)}
    return SystemScores(overall, by_kind, {f"p{part}": round(percentile(times, part), 3) for part in (50, 95)})


def _spread(values: Scores) -> dict[str, float]:
    """Where the answerability of one kind of questions lies."""
    quantiles = {f"p{part}": round(float(np.percentile(values, part)), 4) for part in (5, 50, 95)}
    return {**quantiles, "n": len(values)}


def _intervals(outcomes: Sequence[Outcome], names: Sequence[str]) -> Intervals:
    """Of the AUROC figures, over stores."""
    stores = list(dict.fromkeys(outcome.group for outcome in outcomes))
    draws = resamples(len(stores))
    drawn: dict[str, dict[str, Scores]] = {}
    for name in names:
        own = [outcome for outcome in outcomes if outcome.system == name]
        rows = {
            kind: [stores.index(o.group) for o in own if o.category == kind] for kind in (ANSWERABLE, *_KINDS.values())
        }
        answerable = _of(own, ANSWERABLE)
        drawn[name] = {
            f"auroc_{short}": auroc(answerable, _of(own, kind), draws[:, rows[ANSWERABLE]], draws[:, rows[kind]])
            for short, kind in _KINDS.items()
        }
    found = {name: {key: interval(values) for key, values in keys.items()} for name, keys in drawn.items()}
    return Intervals(len(stores), names[0], found)
