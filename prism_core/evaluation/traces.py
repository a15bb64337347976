"""`eval traces`: does the memory bring the values that an agent's next call needs from earlier in its run?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal

from prism_core.changes import FloatArray
from prism_core.context import Packed
from prism_core.errors import QueryError
from prism_core.evaluation import baselines
from prism_core.evaluation.baselines import Baseline, Shelf
from prism_core.evaluation.datasets import TraceRun, anonymous, load_traces
from prism_core.evaluation.metrics import share
from prism_core.evaluation.needs import OLD, Need, needs, stands
from prism_core.evaluation.parallel import Task, run_tasks
from prism_core.evaluation.references import IdentifierList, Oracle
from prism_core.evaluation.report import Outcome, Report, summarize
from prism_core.evaluation.systems import START, Ask, IdentifierPrismSystem, PrismSystem, System, contexts
from prism_core.evaluation.workbench import Factory, choose, workbench

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
_RUNS_PER_TASK = 5

SYSTEMS: dict[str, Factory] = {
    "prism": lambda bench, start: PrismSystem(bench.memory(start)),
    "prism-ids": lambda bench, start: IdentifierPrismSystem(bench.memory(start)),
    "all-ids": lambda bench, start: IdentifierList(Shelf(), bench.builder),
    "oracle": lambda bench, start: Oracle(Shelf(), bench.builder),
    "bm25": lambda bench, start: Baseline(Shelf(), baselines.bm25),
    "dense": lambda bench, start: Baseline(Shelf(bench.embedder), baselines.dense),
    "scoped-bm25": lambda bench, start: Baseline(Shelf(), baselines.run_bm25),
    "recency": lambda bench, start: Baseline(Shelf(), baselines.run_recency),
}
"""Every system that can be asked, by name; `all-ids`, `oracle`, `scoped-bm25` and `recency` are told which run asks."""

_NEEDS_VECTORS = frozenset({"prism", "prism-ids", "dense"})
_NOTES = (
    "all-ids, oracle, scoped-bm25 and recency are told which run asks; the oracle also knows what is needed",
    "all-ids returns no steps, so it has no source_recall",
)


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
        systems: names from `SYSTEMS`.
        tasks: ask only in runs whose task is an even or an odd number; the store holds all of them.
        variants: which of `VARIANTS`.
        jobs: processes.
        limit: ask only in the first runs of the file.

    Raises:
        DatasetError: if the file cannot be read.
        QueryError: if a system or a variant is unknown.
    """
    names = choose(systems, SYSTEMS)
    for variant in variants:
        if variant not in VARIANTS:
            raise QueryError("variants", variant, f"choose from {VARIANTS}")
    runs = _loaded(str(path))
    asking = [run.id for run in runs if tasks == "all" or tasks == _parity(run)][:limit]
    vectors = _vectors(runs) if jobs > 1 and _NEEDS_VECTORS.intersection(names) else None
    outcomes = run_tasks(_plan(str(path), names, variants, asking), jobs=jobs, title="asking", vectors=vectors)
    return Report(str(path), summarize(outcomes, names), _tables(variants), _NOTES)


def evaluate_runs(path: str, name: str, variants: Sequence[Variant], run_ids: Sequence[str]) -> list[Outcome]:
    """For each of these runs: a store with all other runs complete, and this run written step by step.

    Args:
        path: the file.
        name: the system.
        variants: plain and told, which ask the same store, or own.
        run_ids: the runs that ask.
    """
    runs, outcomes = _loaded(path), list[Outcome]()
    for run in runs:
        if run.id not in run_ids:
            continue
        system = SYSTEMS[name](workbench(), START)
        system.add([step.item for other in runs if _remembered(other, run, variants) for step in other.steps])
        calls = {need.step: need for need in needs(run)}
        for position, step in enumerate(run.steps[: max(calls, default=-1) + 1]):
            if position in calls:
                outcomes += [_outcome(name, system, run, calls[position], variant) for variant in variants]
            system.add([step.item])
        system.close()
    return outcomes


def evaluate_interleaved(path: str, name: str, run_ids: Sequence[str]) -> list[Outcome]:
    """One store for all runs: in every round each run writes its next step, in the order of the file.

    Args:
        path: the file.
        name: the system.
        run_ids: the runs that ask.
    """
    runs, outcomes = _loaded(path), list[Outcome]()
    calls = {(run.id, need.step): need for run in runs if run.id in run_ids for need in needs(run)}
    system = SYSTEMS[name](workbench(), START)
    for position in range(max(len(run.steps) for run in runs)):
        for run in runs:
            if position < len(run.steps):
                if (run.id, position) in calls:
                    outcomes.append(_outcome(name, system, run, calls[run.id, position], "blind"))
                system.add([anonymous(run.steps[position])])
    system.close()
    return outcomes


@lru_cache(maxsize=1)
def _loaded(path: str) -> list[TraceRun]:
    return load_traces(path)


def _vectors(runs: Sequence[TraceRun]) -> dict[str, FloatArray]:
    texts = list(dict.fromkeys(step.item.whole.text for run in runs for step in run.steps))
    return dict(zip(texts, workbench().embedder.embed_documents(texts), strict=True))


def _plan(path: str, names: Sequence[str], variants: Sequence[Variant], run_ids: Sequence[str]) -> list[Task]:
    same_store = [variant for variant in variants if variant in ("", "told")]
    chunks = [run_ids[start : start + _RUNS_PER_TASK] for start in range(0, len(run_ids), _RUNS_PER_TASK)]
    plan: list[Task] = []
    for name in names:
        if "blind" in variants and run_ids:
            plan.append(partial(evaluate_interleaved, path, name, run_ids))
        for asked in (same_store, [variant for variant in variants if variant == "own"]):
            plan += [partial(evaluate_runs, path, name, asked, chunk) for chunk in chunks if asked]
    return plan


def _parity(run: TraceRun) -> Tasks:
    if not isinstance(run.task, int):
        raise QueryError("tasks", run.task, "even and odd need runs whose 'task' is a whole number")
    return "odd" if run.task % 2 else "even"


def _remembered(other: TraceRun, run: TraceRun, variants: Sequence[Variant]) -> bool:
    sibling = other.task is not None and other.task == run.task
    return other is not run and not (sibling and "own" in variants)


def _outcome(name: str, system: System, run: TraceRun, need: Need, variant: Variant) -> Outcome:
    recent = run.steps[max(0, need.step - ACTIVE_STEPS) : need.step]
    ask = Ask(
        need.question,
        BUDGETS,
        task_id=run.id if variant == "told" else None,
        active=tuple(step.item.key for step in recent),
        run=run.id,
        needed=need.values,
    )
    ranking = system.search(ask)
    suffix = f"_{variant}" if variant else ""
    values: dict[str, float] = {}
    for budget, block in contexts(ranking, ask, workbench().builder).items():
        found = {"arg_coverage": {value for value in need.values if stands(value, block.text)}}
        # A context without units of its own, such as a list of identifiers, has no sources.
        if ranking.units or not ranking.contexts:
            found["source_recall"] = _sourced(block, system, run, need.values)
        for key, brought in found.items():
            values[f"{key}{suffix}@{budget}t"] = share(brought, need.values)
            if need.old:
                values[f"old_{key}{suffix}@{budget}t"] = share(brought, need.old)
    counts = {"n_calls": 1, "n_values": len(need.values), "n_old_calls": int(bool(need.old))}
    return Outcome(name, f"{run.id}#{need.step}", need.tool, values, counts, ranking.seconds)


def _sourced(block: Packed, system: System, run: TraceRun, wanted: Iterable[str]) -> set[str]:
    """The values for which a step of the run that holds them is in a context."""
    texts = {step.item.key: step.text for step in run.steps}
    returned = [texts[key] for unit in block.units for key in system.keys(unit.id) if key in texts]
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
