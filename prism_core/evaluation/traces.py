"""`eval traces`: does the memory bring the values that an agent's next call needs from earlier in its run?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal

from prism_core.changes import FloatArray
from prism_core.context import Packed
from prism_core.errors import QueryError
from prism_core.evaluation import ablations, baselines
from prism_core.evaluation.ablations import REORDERS, reordered
from prism_core.evaluation.baselines import Baseline, Shelf
from prism_core.evaluation.bootstrap import intervals
from prism_core.evaluation.datasets import TraceRun, anonymous, load_traces
from prism_core.evaluation.metrics import share
from prism_core.evaluation.needs import OLD, Need, needs, stands
from prism_core.evaluation.outcomes import Outcome
from prism_core.evaluation.parallel import Task, run_tasks
from prism_core.evaluation.references import IdentifierList, Oracle
from prism_core.evaluation.report import Report, summarize
from prism_core.evaluation.systems import START, Ask, PrismSystem, Ranking, System, contexts, found
from prism_core.evaluation.workbench import Entries, Entry, Factory, Workbench, choose, families, workbench
from prism_core.retrieve.options import Order, RankingOptions

Outcomes = list[Outcome]
BUDGETS = (150, 300, 600, 1200)
"""Token budgets contexts are made for."""
ACTIVE_STEPS = 3
"""Steps before a call that the agent is working on."""
Variant = Literal["", "told", "own", "blind"]
_TITLES: dict[Variant, str] = {
    "": "task not told",
    "told": "task named in the query",
    "own": "sibling trials left out of the store",
    "blind": "task, session, parent and call ids withheld",
}
VARIANTS: tuple[Variant, ...] = tuple(_TITLES)
"""Plain; the task is named in the query; sibling trials left out; nothing says which run a step belongs to."""
Tasks = Literal["all", "even", "odd"]


def prism(bench: Workbench, start: datetime) -> System:
    """The memory, with exact vector search: stores are copied, and too small for an index to pay."""
    return PrismSystem(bench.opener(index="exact"), start)


def _ordered(order: Order) -> Factory:
    return lambda bench, start: PrismSystem(bench.opener(index="exact", ranking=RankingOptions(order=order)), start)


def compactly(ranking: Ranking) -> Ranking:
    """Shows an answer as the memory does by default: steps by their identifiers where not everything fits whole."""
    return replace(ranking, compact=True)


SYSTEMS: dict[str, Entry] = {
    "prism": Entry(prism),
    "prism-compact": Entry(prism, compactly),
    "all-ids": Entry(lambda bench, start: IdentifierList(Shelf(), bench.builder)),
    "oracle": Entry(lambda bench, start: Oracle(Shelf(), bench.builder)),
    "bm25": Entry(lambda bench, start: Baseline(Shelf(), baselines.bm25)),
    "dense": Entry(lambda bench, start: Baseline(Shelf(bench.embedder), baselines.dense)),
    "scoped-bm25": Entry(lambda bench, start: Baseline(Shelf(), baselines.run_bm25)),
    "recency": Entry(lambda bench, start: Baseline(Shelf(), baselines.run_recency)),
}
"""Systems that are asked by default, by name; `all-ids`, `oracle`, `scoped-bm25`, `recency` are told which run asks."""

ABLATIONS: dict[str, Entry] = {
    "prism-sum": Entry(_ordered("sum")),
    "prism-front-first": Entry(_ordered("front_first")),
    **{name: Entry(prism, reordered(reorder)) for name, reorder in REORDERS.items()},
}
"""The memory in other orders, asked by name only."""
KNOWN: Entries = {**SYSTEMS, **ABLATIONS}

_NEEDS_VECTORS = frozenset({"prism", "prism-compact", "dense", *ABLATIONS})
_NOTES = {
    **ablations.NOTES,
    "prism-compact": "prism-compact quotes steps by their identifiers where not everything fits whole",
    "all-ids": "all-ids is told which run asks; it returns no steps, so it has no source_recall",
    "oracle": "oracle is told which run asks and what is needed; it is greedy and no upper bound",
    "scoped-bm25": "scoped-bm25 is told which run asks",
    "recency": "recency is told which run asks",
}


def run_traces(
    path: str | Path,
    *,
    systems: Sequence[str] = tuple(SYSTEMS),
    tasks: Tasks = "all",
    variants: Sequence[Variant] = VARIANTS,
    jobs: int = 1,
    limit: int | None = None,
) -> Report:
    """Ask before every tool call that needs a value from earlier in its run.

    Args:
        path: a file of runs, one a line.
        systems: names from `KNOWN`.
        tasks: ask only in runs whose task is an even or an odd number; the store holds all of them.
        variants: which of `VARIANTS`.
        jobs: processes.
        limit: ask only in the first runs of the file.

    Raises:
        DatasetError: if the file cannot be read.
        QueryError: if a system or a variant is unknown.
    """
    names = choose(systems, KNOWN)
    for variant in variants:
        if variant not in VARIANTS:
            raise QueryError("variants", variant, f"choose from {VARIANTS}")
    runs = _loaded(str(path))
    asking = [run for run in runs if tasks == "all" or tasks == _parity(run)][:limit]
    asking = [run for run in asking if needs(run)]
    vectors = _vectors(runs) if jobs > 1 and _NEEDS_VECTORS.intersection(names) else None
    notes = tuple(_NOTES[name] for name in names if name in _NOTES)
    outcomes = run_tasks(_plan(str(path), names, variants, asking), jobs=jobs, title="asking", vectors=vectors)
    found = intervals(outcomes, names)
    parts = _halves(str(path), asking, outcomes, names) if tasks == "all" else {}
    return Report(str(path), summarize(outcomes, names), _tables(variants), notes, found, outcomes, parts)


def evaluate_siblings(
    path: str, names: Sequence[str], variants: Sequence[Variant], run_ids: Sequence[str], entries: Entries = KNOWN
) -> Outcomes:
    """For each of these runs: a store with all other runs complete, and this run written step by step.

    Args:
        path: the file.
        names: systems that share a store.
        variants: any but blind.
        run_ids: runs with an equal task; those of the file that are not named do not ask.
        entries: systems by name.
    """
    runs = _loaded(path)
    asking = [run for run in runs if run.id in run_ids]
    siblings = [run for run in runs if run in asking or (run.task is not None and run.task == asking[0].task)]
    base = entries[names[0]].make(workbench(), START)
    base.add([step.item for run in runs if run not in siblings for step in run.steps])
    asked = {name: entries[name] for name in names}
    same_store: list[Variant] = [variant for variant in variants if variant in ("", "told")]
    outcomes: Outcomes = []
    for run in asking:
        if "own" in variants:
            outcomes += _step_by_step(base.fork(), asked, ["own"], run)
        if same_store:
            store = base.fork()
            store.add([step.item for other in siblings if other is not run for step in other.steps])
            outcomes += _step_by_step(store, asked, same_store, run)
    base.close()
    return outcomes


def _step_by_step(store: System, entries: Entries, variants: Sequence[Variant], run: TraceRun) -> Outcomes:
    calls = {need.step: need for need in needs(run)}
    outcomes: Outcomes = []
    for position in range(max(calls) + 1):
        if position in calls:
            for variant in variants:
                outcomes += _outcomes(store, entries, run, calls[position], variant)
        store.add([run.steps[position].item])
    store.close()
    return outcomes


def evaluate_interleaved(path: str, names: Sequence[str], run_ids: Sequence[str]) -> Outcomes:
    """One store for all runs: in every round each run writes its next step, in the order of the file.

    Args:
        path: the file.
        names: systems that share a store.
        run_ids: the runs that ask.
    """
    runs = _loaded(path)
    calls = {(run.id, need.step): need for run in runs if run.id in run_ids for need in needs(run)}
    asked = {name: KNOWN[name] for name in names}
    store = KNOWN[names[0]].make(workbench(), START)
    outcomes: Outcomes = []
    for position in range(max(len(run.steps) for run in runs)):
        for run in runs:
            if (run.id, position) in calls:
                outcomes += _outcomes(store, asked, run, calls[run.id, position], "blind")
            if position < len(run.steps):
                store.add([anonymous(run.steps[position])])
    store.close()
    return outcomes


@lru_cache(maxsize=1)
def _loaded(path: str) -> list[TraceRun]:
    return load_traces(path)


def _vectors(runs: Sequence[TraceRun]) -> dict[str, FloatArray]:
    texts = list(dict.fromkeys(step.item.whole.text for run in runs for step in run.steps))
    return dict(zip(texts, workbench().embedder.embed_documents(texts), strict=True))


def _plan(path: str, names: Sequence[str], variants: Sequence[Variant], asking: Sequence[TraceRun]) -> list[Task]:
    siblings = by_task(asking)
    apart = [variant for variant in variants if variant != "blind"]
    plan: list[Task] = []
    for family in families(names, KNOWN):
        if "blind" in variants and asking:
            plan.append(partial(evaluate_interleaved, path, family, [run.id for run in asking]))
        if apart:
            plan += [partial(evaluate_siblings, path, family, apart, run_ids) for run_ids in siblings.values()]
    return plan


def by_task(runs: Sequence[TraceRun]) -> dict[str, list[str]]:
    """Ids of runs by what they were an attempt at."""
    siblings: dict[str, list[str]] = {}
    for run in runs:
        siblings.setdefault(_task(run), []).append(run.id)
    return siblings


def _task(run: TraceRun) -> str:
    return run.id if run.task is None else f"task {run.task}"


def _parity(run: TraceRun) -> Tasks:
    if not isinstance(run.task, int):
        raise QueryError("tasks", run.task, "even and odd need runs whose 'task' is a whole number")
    return "odd" if run.task % 2 else "even"


def _halves(path: str, asking: Sequence[TraceRun], outcomes: Outcomes, names: Sequence[str]) -> dict[str, Report]:
    """The figures of even and of odd tasks, where all tasks are numbers."""
    if not all(isinstance(run.task, int) for run in asking):
        return {}
    half_of = {_task(run): _parity(run) for run in asking}
    halves: dict[str, Report] = {}
    for half in dict.fromkeys(half_of.values()):
        inside = [outcome for outcome in outcomes if half_of[outcome.group] == half]
        halves[half] = Report(path, summarize(inside, names), intervals=intervals(inside, names))
    return halves


def _outcomes(store: System, entries: Entries, run: TraceRun, need: Need, variant: Variant) -> Outcomes:
    """Ask once, and show the answer as every one of the systems does."""
    recent = run.steps[max(0, need.step - ACTIVE_STEPS) : need.step]
    ask = Ask(
        need.question,
        BUDGETS,
        task_id=run.id if variant == "told" else None,
        active=tuple(step.item.key for step in recent),
        run=run.id,
        needed=need.values,
    )
    ranking = store.search(ask)
    counts = {"n_calls": 1, "n_values": len(need.values), "n_old_calls": int(bool(need.old))}
    outcomes: Outcomes = []
    for name, entry in entries.items():
        shown = entry.shown(ranking)
        values = _shares(shown, ask, store, run, need, f"_{variant}" if variant else "")
        places = [store.keys(unit.id) for unit in shown.units]
        outcome = Outcome(name, f"{run.id}#{need.step}", need.tool, values, counts, shown.seconds, _task(run))
        outcomes.append(replace(outcome, found=found(shown, places, need.values)))
    return outcomes


def _shares(ranking: Ranking, ask: Ask, store: System, run: TraceRun, need: Need, suffix: str) -> dict[str, float]:
    values: dict[str, float] = {}
    builder = workbench().excerpts if ranking.compact else workbench().builder
    for budget, block in contexts(ranking, ask, builder).items():
        found = {"arg_coverage": {value for value in need.values if stands(value, block.text)}}
        # A context without units of its own, such as a list of identifiers, has no sources.
        if ranking.units or not ranking.contexts:
            found["source_recall"] = _sourced(block, store, run, need.values)
        for key, brought in found.items():
            values[f"{key}{suffix}@{budget}t"] = share(brought, need.values)
            if need.old:
                values[f"old_{key}{suffix}@{budget}t"] = share(brought, need.old)
    return values


def _sourced(block: Packed, system: System, run: TraceRun, wanted: Iterable[str]) -> set[str]:
    """The values for which a step of the run that holds them is in a context; an excerpt by what it holds."""
    texts = {step.item.key: step.text for step in run.steps}
    returned = [
        block.excerpts.get(unit.id, texts[key]) for unit in block.units for key in system.keys(unit.id) if key in texts
    ]
    return {value for value in wanted if any(stands(value, text) for text in returned)}


def _tables(variants: Sequence[Variant]) -> dict[str, dict[str, str]]:
    """Keys by column and title: a table of all calls and one of those that need old values, per variant."""
    tables: dict[str, dict[str, str]] = {}
    for variant in variants:
        suffix = f"_{variant}" if variant else ""
        for old, values in (("", "needed values"), ("old_", f"values older than {OLD} steps")):
            columns = {
                f"{short} {budget}t": f"{old}{name}{suffix}@{budget}t"
                for short, name in (("cov", "arg_coverage"), ("src", "source_recall"))
                for budget in BUDGETS
            }
            tables[f"{values} present, source step returned; {_TITLES[variant]}"] = {
                **columns,
                "calls": f"n_{old}calls",
            }
    return tables
