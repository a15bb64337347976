"""`eval failures`: how early does a failure path name the step that people blame?

Every run failed, and people marked the decisive mistake (`mistake_step`, an index into `messages`). The memory is told
the run, message by message, and asked for the failure path of the last one. The *rank* of a mistake is its place among
all steps of the path, the most suspicious first; one that is not in the path has the last place of the run, and is no
hit at any k. The random baseline draws among the steps that are no user's, with the rank to be expected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

from prism_core.evaluation.bootstrap import intervals
from prism_core.evaluation.outcomes import Found, Outcome
from prism_core.evaluation.parallel import run_tasks
from prism_core.evaluation.report import Report, summarize
from prism_core.ingest import IngestItem, IngestRun, Record, read_records, read_traces
from prism_core.memory import PrismMemory
from prism_core.types import Source

SCOPE = "run"
HITS = (1, 3, 5, 10)
LONG = 10
HALVES = ("odd", "even")
"""Runs by their place in the file, from 1: on the odd ones the weights of suspicion were fitted."""
_NOTES = (
    "longest looks at the steps that say most first",
    "nearest looks at the last step first, then at the one before it, and so on",
    "random looks at the steps that are no user's in random order; its figures are expectations",
    "the weights of suspicion were fitted on the odd runs: the even ones tell what they are worth",
)


@dataclass(frozen=True, slots=True)
class FailedRun:
    """A run with the mistake that people marked.

    Attributes:
        run: the run.
        place: 1-based place in the file.
        mistake: index of the message that holds the mistake.
    """

    run: IngestRun
    place: int
    mistake: int

    @property
    def steps(self) -> list[int]:
        """Indices of the messages that are stored."""
        return [item.index for item in self.run.items if item.events]

    @property
    def half(self) -> str:
        """Whether its place is odd or even."""
        return HALVES[(self.place + 1) % 2]


@dataclass(frozen=True, slots=True)
class Looked:
    """In which order a system looks at the steps of a run.

    Attributes:
        rank: place of the mistake, from 1; may be an expectation. None where it is never looked at.
        hits: by k, how likely the mistake is among the first k.
        order: the steps as they are looked at; empty for a random order.
    """

    rank: float | None
    hits: Sequence[float]
    order: Sequence[int] = ()


def run_failures(path: str | Path, *, limit: int | None = None) -> Report:
    """Rank the steps of failed runs by suspicion, and by two baselines.

    Args:
        path: runs with `mistake_step`, one a line.
        limit: only the first runs of the file.

    Raises:
        DatasetError: if the file cannot be read, or a run has no mistake among its messages.
    """
    runs = load_failures(path)[:limit]
    systems: dict[str, Callable[[FailedRun], Looked]] = {
        "prism": suspects,
        "longest": longest,
        "nearest": nearest,
        "random": at_random,
    }
    outcomes = run_tasks([partial(_outcomes, run, systems) for run in runs], jobs=1, title="tracing failures")
    names = list(systems)
    scores = {
        name: replace(each, overall={**each.overall, **_medians([o for o in outcomes if o.system == name])})
        for name, each in summarize(outcomes, names).items()
    }
    return Report(str(path), scores, _tables(), _NOTES, intervals(outcomes, names), outcomes=outcomes)


def load_failures(path: str | Path) -> list[FailedRun]:
    """Read failed runs.

    Raises:
        DatasetError: if the file cannot be read, or a run has no mistake among its messages.
    """
    pairs = zip(read_traces(path), read_records(path), strict=True)
    return [FailedRun(run, place, _mistake(run, record)) for place, (run, record) in enumerate(pairs, start=1)]


def suspects(failed: FailedRun) -> Looked:
    """The failure path of the last step, the most suspicious first."""
    with PrismMemory.open(embedder=None, index="exact") as memory:
        indices: dict[str, int] = {}
        for item in failed.run.items:
            for event in item.events:
                indices.setdefault(str(memory.write(event, scope=SCOPE).unit_id), item.index)
        last = list(indices)[-1]
        path = memory.failure_path(last, scope=SCOPE, limit=len(indices))
    return _looked(failed, [indices[step.unit.id] for step in path.suspects])


def nearest(failed: FailedRun) -> Looked:
    """The last step first."""
    return _looked(failed, failed.steps[::-1])


def longest(failed: FailedRun) -> Looked:
    """The step of an agent or a tool that says most first, users last; of equal ones the later."""

    def size(item: IngestItem) -> tuple[bool, int, int]:
        return item.events[0].source is not Source.USER, sum(len(event.text) for event in item.events), item.index

    stored = [item for item in failed.run.items if item.events]
    return _looked(failed, [item.index for item in sorted(stored, key=size, reverse=True)])


def at_random(failed: FailedRun) -> Looked:
    """The steps of agents and tools in random order."""
    agents = [item.index for item in failed.run.items if item.events and item.events[0].source is not Source.USER]
    if failed.mistake not in agents:
        return Looked(None, [0.0] * len(HITS))
    return Looked((len(agents) + 1) / 2, [min(1.0, k / len(agents)) for k in HITS])


def _looked(failed: FailedRun, order: Sequence[int]) -> Looked:
    order = list(dict.fromkeys(order))
    if failed.mistake not in order:
        return Looked(None, [0.0] * len(HITS), order)
    rank = order.index(failed.mistake) + 1
    return Looked(rank, [float(rank <= k) for k in HITS], order)


def _outcomes(failed: FailedRun, systems: dict[str, Callable[[FailedRun], Looked]]) -> list[Outcome]:
    return [_outcome(failed, name, look(failed)) for name, look in systems.items()]


def _outcome(failed: FailedRun, system: str, looked: Looked) -> Outcome:
    figures = {"rank": len(failed.steps) if looked.rank is None else looked.rank}
    figures |= {f"hit@{k}": hit for k, hit in zip(HITS, looked.hits, strict=True)}
    figures["in path"] = float(looked.rank is not None)
    values = {f"{key}{half}": value for key, value in figures.items() for half in ("", f" {failed.half}")}
    found = Found([[str(index)] for index in looked.order], (), [str(failed.mistake)])
    counts = {"runs": 1, f"runs {failed.half}": 1}
    length = f"{LONG} steps or fewer" if len(failed.steps) <= LONG else f"more than {LONG} steps"
    return Outcome(system, failed.run.id, length, values, counts, 0.0, failed.run.id, found)


def _medians(outcomes: Sequence[Outcome]) -> dict[str, float]:
    by_key = {key: [o.values[key] for o in outcomes if key in o.values] for key in _suffixed("rank")}
    return {key.replace("rank", "median"): float(median(ranks)) for key, ranks in by_key.items() if ranks}


def _suffixed(key: str) -> list[str]:
    return [key, *(f"{key} {half}" for half in HALVES)]


def _tables() -> dict[str, dict[str, str]]:
    columns = ["rank", "median", *(f"hit@{k}" for k in HITS), "in path", "runs"]
    titles = {
        "": "place of the mistake among the steps, all runs",
        " even": "runs at even places in the file",
        " odd": "runs at odd places in the file, on which the weights were fitted",
    }
    return {title: {column: f"{column}{half}" for column in columns} for half, title in titles.items()}


def _mistake(run: IngestRun, record: Record) -> int:
    mistake = record.value.get("mistake_step")
    stored = {item.index for item in run.items if item.events}
    if not isinstance(mistake, int) or mistake not in stored:
        record.fail(f"needs 'mistake_step' as the index of a message that is no system prompt, has {mistake!r}")
    return mistake
