"""`eval qa`: is the evidence of a question among what comes back?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from prism_core.changes import FloatArray
from prism_core.embed import DEFAULT_EMBEDDER
from prism_core.errors import DatasetError
from prism_core.evaluation import baselines
from prism_core.evaluation.ablations import NOTES, REORDERS, reordered
from prism_core.evaluation.baselines import Baseline, Shelf
from prism_core.evaluation.bootstrap import intervals
from prism_core.evaluation.datasets import QARow, Question, load_qa
from prism_core.evaluation.distractors import distractor_items, distractor_vectors
from prism_core.evaluation.metrics import all_at, answered, recall_at, reciprocal_rank, share
from prism_core.evaluation.outcomes import Outcome
from prism_core.evaluation.parallel import run_tasks
from prism_core.evaluation.report import Report, summarize
from prism_core.evaluation.systems import (
    Ask,
    PrismSystem,
    Ranking,
    StoppingPrismSystem,
    System,
    after,
    contexts,
    found,
)
from prism_core.evaluation.workbench import (
    Entries,
    Entry,
    Factory,
    Workbench,
    choose,
    families,
    know_vectors,
    workbench,
)
from prism_core.retrieve.options import Order, RankingOptions

BUDGETS = (250, 500, 1000, 2000, 4000)
"""Token budgets contexts are made for."""
_WHOLE, _PRESENT, _ANSWER = "recall", "excerpt_recall", "answer_recall"
MEAN_BUDGET = 500
"""The budget whose contexts `mean_tokens` measures."""
CUTOFFS = (5, 10, 20)
SPLIT_CUTOFFS = (5, 10)
"""Cutoffs at which questions that name one of their speakers are told from the others."""
_COLUMNS = {
    **{f"R@{k}": f"R@{k}" for k in CUTOFFS},
    "all@10": "all@10",
    "MRR": "MRR",
    **{f"{budget}t": f"recall@{budget}t" for budget in BUDGETS},
    "tokens": "mean_tokens",
    "n": "n",
}
_SPLIT = {
    **{f"R@{k} named": f"R@{k} named" for k in SPLIT_CUTOFFS},
    **{f"R@{k} other": f"R@{k} other" for k in SPLIT_CUTOFFS},
    "n named": "n named",
}
_WORDS_ONLY = frozenset({"prism-lexical", "bm25", "bm25-char", "recency"})


_EXCERPTS = {
    **{f"any {budget}t": f"{_PRESENT}@{budget}t" for budget in BUDGETS},
    **{f"answer {budget}t": f"{_ANSWER}@{budget}t" for budget in BUDGETS},
}


def _prism(bench: Workbench, start: datetime) -> System:
    return PrismSystem(bench.opener(), start)


def _ordered(order: Order) -> Factory:
    return lambda bench, start: PrismSystem(bench.opener(ranking=RankingOptions(order=order)), start)


SYSTEMS: dict[str, Factory] = {
    "prism": _prism,
    "prism-stop": lambda bench, start: StoppingPrismSystem(bench.opener(), start),
    "prism-lexical": lambda bench, start: PrismSystem(bench.opener(lexical=True), start),
    "bm25": lambda bench, start: Baseline(Shelf(), baselines.bm25),
    "bm25-char": lambda bench, start: Baseline(Shelf(analyzer=baselines.character_terms), baselines.bm25),
    "dense": lambda bench, start: Baseline(Shelf(bench.embedder), baselines.dense),
    "rrf": lambda bench, start: Baseline(Shelf(bench.embedder), baselines.rrf),
    "score-sum": lambda bench, start: Baseline(Shelf(bench.embedder), baselines.score_sum),
    "recency": lambda bench, start: Baseline(Shelf(), baselines.recency),
}
"""Systems that are asked by default, by name."""

ABLATIONS: dict[str, Entry] = {
    "prism-sum": Entry(_ordered("sum")),
    "prism-front-first": Entry(_ordered("front_first")),
    **{name: Entry(_prism, reordered(reorder)) for name, reorder in REORDERS.items()},
}
"""The memory in other orders, asked by name only."""


def known() -> dict[str, Entry]:
    """Every system that can be asked, by name."""
    return {name: Entry(make) for name, make in SYSTEMS.items()} | ABLATIONS


def run_qa(
    path: str | Path,
    *,
    systems: Sequence[str] = tuple(SYSTEMS),
    one_scope: bool = False,
    distractors: int = 0,
    jobs: int = 1,
    limit: int | None = None,
    embedder: str = DEFAULT_EMBEDDER,
) -> Report:
    """Ask the questions of an evidence-QA file.

    Args:
        path: the file.
        systems: names from `known`.
        one_scope: put all rows into one store instead of one each.
        distractors: units of unrelated prose to put into every store besides.
        jobs: processes; each takes a row at a time.
        limit: ask only the first questions of the file.
        embedder: name of the embedder of all systems that take one, from `embed.EMBEDDERS`.

    Raises:
        DatasetError: if the file cannot be read, or has no question that can be answered from its units.
        QueryError: if a system or the embedder is unknown.
        MissingExtraError: if the extra of the embedder is not installed.
    """
    names = choose(systems, known())
    workbench(embedder)  # a wrong name is better found before the file is read
    rows = limited(load_qa(path, one_scope=one_scope), limit)
    if not any(row.questions for row in rows):
        left_out = sum(row.unusable for row in rows)
        raise DatasetError(str(path), 1, f"has no question whose evidence is in the file ({left_out} left out)")
    vectors: Mapping[str, FloatArray] = {}
    if distractors:
        unrelated = distractor_items(distractors)
        rows = [replace(row, items=(*row.items, *unrelated)) for row in rows]
        if not _WORDS_ONLY.issuperset(names):
            vectors = distractor_vectors(distractors, workbench(embedder).embedder)
            know_vectors(vectors, embedder)
    tasks = [partial(evaluate_row, row, names, embedder=embedder) for row in rows]
    # Other processes are handed the vectors of the default embedder only.
    handed = vectors if embedder == DEFAULT_EMBEDDER else {}
    outcomes = run_tasks(tasks, jobs=jobs, title="asking", vectors=handed)
    notes = [f"{len(rows)} stores, {sum(len(row.items) for row in rows)} units; embedder {embedder}"]
    if unusable := sum(row.unusable for row in rows):
        notes.append(f"{unusable} questions left out: none of their evidence is in the file")
    return Report(
        str(path),
        summarize(outcomes, names),
        _tables(outcomes),
        tuple(notes) + tuple(NOTES[name] for name in names if name in NOTES),
        intervals(outcomes, names),
        outcomes,
    )


def _tables(outcomes: Sequence[Outcome]) -> dict[str, dict[str, str]]:
    """Recall, recall by whether a speaker is named, and excerpts where units are long enough for them."""
    tables = {
        "evidence recall, by number of units and by tokens": dict(_COLUMNS),
        "evidence recall of questions that name one of their speakers, and of the others": dict(_SPLIT),
    }
    known = {key for outcome in outcomes for key in outcome.values}
    if any(
        outcome.values[f"{_PRESENT}@{b}t"] > outcome.values[f"{_WHOLE}@{b}t"] for outcome in outcomes for b in BUDGETS
    ):
        columns = {header: key for header, key in _EXCERPTS.items() if key in known}
        tables["with excerpts: evidence present, whole or in part, and answers that stand in the context"] = columns
    return tables


def evaluate_row(
    row: QARow,
    names: Sequence[str],
    entries: Entries | None = None,
    budgets: tuple[int, ...] = BUDGETS,
    embedder: str = DEFAULT_EMBEDDER,
) -> list[Outcome]:
    """Fill every system with a row's units and ask it the row's questions.

    Args:
        row: one store.
        names: names from `entries`; those that share a store are asked once.
        entries: systems by name; those of `known` when None.
        budgets: token budgets contexts are made for, with `MEAN_BUDGET` among them.
        embedder: name of the embedder of all systems that take one.
    """
    bench = workbench(embedder)
    asked = known() if entries is None else entries
    outcomes: list[Outcome] = []
    for family in families(names, asked):
        system = asked[family[0]].make(bench, after(row.items))
        system.add(row.items)
        for question in row.questions:
            ask = Ask(question.text, budgets, session_id=question.session)
            ranking = system.search(ask)
            for name in family:
                outcomes.append(_outcome(name, system, asked[name].shown(ranking), ask, row, question))
        system.close()
    return outcomes


def limited(rows: Sequence[QARow], limit: int | None) -> list[QARow]:
    """Rows with the first questions of the file only; rows without one are left out."""
    if limit is None:
        return list(rows)
    kept: list[QARow] = []
    for row in rows:
        kept.append(replace(row, questions=row.questions[:limit]))
        limit -= len(kept[-1].questions)
    return [row for row in kept if row.questions]


def _outcome(name: str, system: System, ranking: Ranking, ask: Ask, row: QARow, question: Question) -> Outcome:
    places = [system.keys(unit.id) for unit in ranking.units]
    packed = contexts(ranking, ask, workbench().builder)
    mixed = contexts(ranking, ask, workbench().excerpts)
    evidence = question.evidence
    values = {f"R@{k}": recall_at(places, evidence, k) for k in CUTOFFS}
    kind = "named" if question.names_speaker else "other"
    values |= {f"R@{k} {kind}": values[f"R@{k}"] for k in SPLIT_CUTOFFS}
    values["all@10"] = all_at(places, evidence, 10)
    values["MRR"] = reciprocal_rank(places, evidence)
    for budget, block in packed.items():
        whole = (unit.id for unit in block.units if unit.id not in block.excerpts)
        values[f"{_WHOLE}@{budget}t"] = share((key for unit_id in whole for key in system.keys(unit_id)), evidence)
    for budget, block in mixed.items():
        present = (key for unit in block.units for key in system.keys(unit.id))
        values[f"{_PRESENT}@{budget}t"] = share(present, evidence)
        if question.spans:
            values[f"{_ANSWER}@{budget}t"] = share(answered(block.text, question.spans), question.spans)
    values["mean_tokens"] = packed[MEAN_BUDGET].tokens
    return Outcome(
        name,
        f"{row.id}/{question.id}",
        question.category,
        values,
        {"n": 1, "n named": int(question.names_speaker)},
        ranking.seconds,
        group=question.row,
        found=found(ranking, places, evidence),
    )
