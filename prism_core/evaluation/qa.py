"""`eval qa`: is the evidence of a question among what comes back?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from prism_core.evaluation import baselines
from prism_core.evaluation.baselines import Baseline, Shelf
from prism_core.evaluation.datasets import QARow, Question, load_qa
from prism_core.evaluation.metrics import all_at, recall_at, reciprocal_rank, share
from prism_core.evaluation.parallel import run_tasks
from prism_core.evaluation.report import Outcome, Report, summarize
from prism_core.evaluation.systems import Ask, PrismSystem, StoppingPrismSystem, System, after, contexts
from prism_core.evaluation.workbench import Factory, choose, workbench

BUDGETS = (250, 500, 1000, 2000, 4000)
"""Token budgets contexts are made for."""
MEAN_BUDGET = 500
"""The budget whose contexts `mean_tokens` measures."""
CUTOFFS = (5, 10, 20)
_COLUMNS = {
    **{f"R@{k}": f"R@{k}" for k in CUTOFFS},
    "all@10": "all@10",
    "MRR": "MRR",
    **{f"{budget}t": f"recall@{budget}t" for budget in BUDGETS},
    "tokens": "mean_tokens",
    "n": "n",
}

SYSTEMS: dict[str, Factory] = {
    "prism": lambda bench, start: PrismSystem(bench.opener(), start),
    "prism-stop": lambda bench, start: StoppingPrismSystem(bench.opener(), start),
    "prism-lexical": lambda bench, start: PrismSystem(bench.opener(lexical=True), start),
    "bm25": lambda bench, start: Baseline(Shelf(), baselines.bm25),
    "bm25-char": lambda bench, start: Baseline(Shelf(analyzer=baselines.character_terms), baselines.bm25),
    "dense": lambda bench, start: Baseline(Shelf(bench.embedder), baselines.dense),
    "rrf": lambda bench, start: Baseline(Shelf(bench.embedder), baselines.rrf),
    "score-sum": lambda bench, start: Baseline(Shelf(bench.embedder), baselines.score_sum),
    "recency": lambda bench, start: Baseline(Shelf(), baselines.recency),
}
"""Every system that can be asked, by name."""


def run_qa(
    path: str | Path,
    *,
    systems: Sequence[str] = tuple(SYSTEMS),
    one_scope: bool = False,
    jobs: int = 1,
    limit: int | None = None,
) -> Report:
    """Ask the questions of an evidence-QA file.

    Args:
        path: the file.
        systems: names from `SYSTEMS`.
        one_scope: put all rows into one store instead of one each.
        jobs: processes; each takes a row at a time.
        limit: ask only the first questions of the file.

    Raises:
        DatasetError: if the file cannot be read, or has no question that can be answered from its units.
        QueryError: if a system is unknown.
    """
    names = choose(systems, SYSTEMS)
    rows = _limited(load_qa(path, one_scope=one_scope), limit)
    tasks = [partial(evaluate_row, row, names) for row in rows]
    outcomes = run_tasks(tasks, jobs=jobs, title="asking")
    notes = [f"{len(rows)} stores, {sum(len(row.items) for row in rows)} units"]
    if unusable := sum(row.unusable for row in rows):
        notes.append(f"{unusable} questions left out: none of their evidence is in the file")
    return Report(
        str(path),
        summarize(outcomes, names),
        {"evidence recall, by number of units and by tokens": _COLUMNS},
        tuple(notes),
    )


def evaluate_row(row: QARow, names: Sequence[str]) -> list[Outcome]:
    """Fill every system with a row's units and ask it the row's questions."""
    bench, start = workbench(), after(row.items)
    outcomes: list[Outcome] = []
    for name in names:
        system = SYSTEMS[name](bench, start)
        system.add(row.items)
        outcomes += [_outcome(name, system, row, question) for question in row.questions]
        system.close()
    return outcomes


def _limited(rows: Sequence[QARow], limit: int | None) -> list[QARow]:
    if limit is None:
        return list(rows)
    limited: list[QARow] = []
    for row in rows:
        limited.append(replace(row, questions=row.questions[:limit]))
        limit -= len(limited[-1].questions)
    return [row for row in limited if row.questions]


def _outcome(name: str, system: System, row: QARow, question: Question) -> Outcome:
    ask = Ask(question.text, BUDGETS, session_id=question.session)
    ranking = system.search(ask)
    places = [system.keys(unit.id) for unit in ranking.units]
    packed = contexts(ranking, ask, workbench().builder)
    evidence = question.evidence
    values = {f"R@{k}": recall_at(places, evidence, k) for k in CUTOFFS}
    values["all@10"] = all_at(places, evidence, 10)
    values["MRR"] = reciprocal_rank(places, evidence)
    for budget, block in packed.items():
        values[f"recall@{budget}t"] = share((key for unit in block.units for key in system.keys(unit.id)), evidence)
    values["mean_tokens"] = packed[MEAN_BUDGET].tokens
    return Outcome(name, f"{row.id}/{question.id}", question.category, values, {"n": 1}, ranking.seconds)
