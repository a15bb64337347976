"""`eval robustness`: how much is lost when the weights are wrong, with fronts and without.

Every question is asked once. The pool is then put in order again under every draw of wrong weights, from the signals
that its candidates carry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean

import numpy as np

from prism_core.changes import IntArray
from prism_core.errors import DatasetError
from prism_core.evaluation import qa, traces
from prism_core.evaluation.ablations import reordered
from prism_core.evaluation.bootstrap import interval, resamples
from prism_core.evaluation.datasets import load_qa, load_traces
from prism_core.evaluation.needs import needs
from prism_core.evaluation.parallel import Task, run_tasks
from prism_core.evaluation.report import Report, SystemScores, summarize
from prism_core.evaluation.systems import Pool, Ranking
from prism_core.evaluation.workbench import Entries, Entry
from prism_core.ingest import read_records
from prism_core.retrieve.objectives import weigh, weights_for
from prism_core.retrieve.options import Order, RankingOptions
from prism_core.retrieve.order import order_by
from prism_core.retrieve.weights import Weights

DRAWS = 10
SEED = 0
FACTOR = 4.0
"""A wrong weight is between a quarter of the right one and four times as large, evenly on a logarithmic scale."""
ORDERS: tuple[Order, ...] = ("soft", "sum", "front_first")
_QA_KEYS = ("R@5", "R@10", "MRR", f"recall@{qa.MEAN_BUDGET}t")
_TRACE_KEYS = tuple(f"arg_coverage@{budget}t" for budget in traces.BUDGETS[1:])


def run_robustness(path: str | Path, *, draws: int = DRAWS, seed: int = SEED, limit: int | None = None) -> Report:
    """Ask the questions of a file with the weights multiplied by random factors, in every order of `ORDERS`.

    Args:
        path: evidence-QA rows or runs of agents.
        draws: how many wrong weight tables.
        seed: of the factors.
        limit: ask only the first questions of the file, or in its first runs.

    Returns:
        A report with one system per order, whose keys are those of the evaluation with the shipped weights, and each
        followed by ` mean` and ` worst` over the draws.

    Raises:
        DatasetError: if the file cannot be read.
    """
    rng = np.random.default_rng(seed)
    options = [RankingOptions(), *(wrong(RankingOptions(), rng) for _ in range(draws))]
    entries = {
        _name(order, number): Entry(traces.prism, reordered(partial(reweighed, options=each, order=order)))
        for order in ORDERS
        for number, each in enumerate(options)
    }
    holds_questions = "questions" in read_records(path)[0].value
    tasks = _questions(path, entries, limit) if holds_questions else _calls(path, entries, limit)
    if not tasks:
        raise DatasetError(str(path), 1, "asks nothing that could be answered from it")
    keys = _QA_KEYS if holds_questions else _TRACE_KEYS
    outcomes = run_tasks(tasks, jobs=1, title="asking")
    scores = summarize(outcomes, list(entries))
    tables = {f"{draws} draws of wrong weights": {column: column for key in keys for column in _columns(key)}}
    note = f"every weight times a factor between {1 / FACTOR:.2f} and {FACTOR:.0f}, log-uniform, seed {seed}"
    ahead = [_ahead(scores, key, draws) for key in keys]
    systems: dict[str, SystemScores] = {order: _over_draws(scores, order, draws, keys) for order in ORDERS}
    return Report(str(path), systems, tables, (note, *ahead), outcomes=outcomes)


def wrong(options: RankingOptions, rng: np.random.Generator) -> RankingOptions:
    """Options with every weight multiplied by a factor of its own."""
    return RankingOptions(
        conversation=_wrong_table(options.conversation, rng), mid_task=_wrong_table(options.mid_task, rng)
    )


def reweighed(ranking: Ranking, pool: Pool, *, options: RankingOptions, order: Order) -> IntArray:
    """The order of a pool that other weights would give it.

    Args:
        ranking: the answer.
        pool: its candidates, in the memory's order, which decides among equal scores.
        options: with the other weights.
        order: how fronts decide.
    """
    table = weights_for(pool.query, options, active=bool(pool.query.active))
    weighed = weigh(table, pool.signals)
    return order_by(weighed.objectives, weighed.score, weighed.weight, replace(options, order=order)).places


def _questions(path: str | Path, entries: Entries, limit: int | None) -> list[Task]:
    rows = qa.limited(load_qa(path), limit)
    budgets = (qa.MEAN_BUDGET,)
    return [partial(qa.evaluate_row, row, list(entries), entries, budgets) for row in rows if row.questions]


def _calls(path: str | Path, entries: Entries, limit: int | None) -> list[Task]:
    asking = [run for run in load_traces(path)[:limit] if needs(run)]
    return [
        partial(traces.evaluate_siblings, str(path), list(entries), [""], run_ids, entries)
        for run_ids in traces.by_task(asking).values()
    ]


def _wrong_table(table: Weights, rng: np.random.Generator) -> Weights:
    return {
        name: {signal: weight * FACTOR ** rng.uniform(-1, 1) for signal, weight in weights.items()}
        for name, weights in table.items()
    }


def _name(order: Order, draw: int) -> str:
    return f"{order} {draw}"


def _columns(key: str) -> tuple[str, str, str]:
    return key, f"{key} mean", f"{key} worst"


def _ahead(scores: Mapping[str, SystemScores], key: str, draws: int) -> str:
    """By how much the soft order is ahead of the plain sum under the same wrong weights; the draws are resampled."""
    soft, plain = (
        np.array([scores[_name(order, number)].overall[key] for number in range(1, draws + 1)])
        for order in ("soft", "sum")
    )
    ahead = soft - plain
    low, high = interval(resamples(draws) @ ahead / draws)
    better, worse = np.count_nonzero(ahead > 0), np.count_nonzero(ahead < 0)
    mean = f"soft - sum {ahead.mean():+.4f} [{low:+.4f}, {high:+.4f}] over the draws"
    return f"{key}: {mean}; better in {better}, worse in {worse} of {draws}"


def _over_draws(scores: Mapping[str, SystemScores], order: Order, draws: int, keys: Sequence[str]) -> SystemScores:
    """The figures of one order: with the shipped weights, and the mean and the worst of the wrong ones."""
    shipped, *drawn = (scores[_name(order, number)] for number in range(draws + 1))
    overall: dict[str, float] = {}
    for key in keys:
        found = [each.overall[key] for each in drawn]
        figures = (shipped.overall[key], round(fmean(found), 4), min(found))
        overall |= dict(zip(_columns(key), figures, strict=True))
    return SystemScores(overall, {}, shipped.latency_ms)
