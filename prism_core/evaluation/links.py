"""`eval links`: do REQUIRES links lead to the steps that an argument's values came from?

The truth is recomputed from the log, without the memory. A *value* is a leaf of a call's JSON arguments, a text or a
number, that has four characters or more or a figure, or a word with a figure in such a text of several words; and it
stands by itself and to the letter in an earlier user message or tool reply of the run. Its *true sources* are all
those steps. `recall` is the share of values with a link from a
true source to their call; `precision` the share of links that come from a true source of at least one value of the
call, where calls without such a value have no true links.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from prism_core.encode.options import EncodingOptions
from prism_core.errors import DatasetError
from prism_core.evaluation.bootstrap import intervals
from prism_core.evaluation.datasets import Step, TraceRun, load_traces
from prism_core.evaluation.needs import stands
from prism_core.evaluation.outcomes import Found, Outcome
from prism_core.evaluation.parallel import run_tasks
from prism_core.evaluation.report import Report, summarize
from prism_core.memory import PrismMemory
from prism_core.protocols import Linker
from prism_core.types import Kind, Relation, Source

SCOPE = "run"
_SHORTEST = 4
_WORD = re.compile(r"\w+")
_MARKS = re.compile(r"^\W+|\W+$")
_TABLES = {
    "values with a link from where they came from; links that come from there": {
        "recall": "recall",
        "precision": "precision",
        "values": "n_values",
        "links": "n_links",
    }
}
_NOTES = (
    "previous links every call to the step before it",
    "any-word links every call to all earlier steps that share a word with its arguments",
)
Sources = Mapping[int, frozenset[int]]
"""By position of a call: positions of the steps it is linked to."""


@dataclass(frozen=True, slots=True)
class Truth:
    """Where the values of one call came from.

    Attributes:
        step: 0-based position of the call.
        sources: by value, the positions of the steps that observed it.
    """

    step: int
    sources: Mapping[str, frozenset[int]]

    @property
    def all_sources(self) -> frozenset[int]:
        """The true sources of any value."""
        return frozenset[int]().union(*self.sources.values())


def run_links(path: str | Path, *, linker: Linker | None = None, limit: int | None = None) -> Report:
    """Compare the memory's REQUIRES links, and two baselines, with where values really came from.

    Args:
        path: a file of runs, one a line.
        linker: makes the links; the memory's own when None.
        limit: only the first runs of the file.

    Raises:
        DatasetError: if the file cannot be read, or no call takes a value from before.
    """
    systems: dict[str, Callable[[TraceRun], Sources]] = {
        "prism": lambda run: linked(run, linker),
        "previous": previous,
        "any-word": any_word,
    }
    runs = load_traces(path)[:limit]
    outcomes = run_tasks([partial(_outcomes, run, systems) for run in runs], jobs=1, title="linking")
    if not outcomes:
        raise DatasetError(str(path), 1, "has no call that takes a value from before")
    names = list(systems)
    return Report(str(path), summarize(outcomes, names), _TABLES, _NOTES, intervals(outcomes, names), outcomes=outcomes)


def truths(run: TraceRun) -> list[Truth]:
    """Every call of a run, with the true sources of its values."""
    found = []
    for position, step in enumerate(run.steps):
        if step.tool is None:
            continue
        earlier = {place: text for place, text in enumerate(map(_observed, run.steps[:position])) if text}
        holders = {
            value: frozenset(place for place, text in earlier.items() if stands(value, text))
            for value in argument_values(step.arguments)
        }
        found.append(Truth(position, {value: places for value, places in holders.items() if places}))
    return found


def argument_values(raw: str) -> set[str]:
    """What a call may have taken from before: leaves of four characters or with a figure, and words with a figure.

    Args:
        raw: the arguments as JSON; text that is not JSON has none.
    """
    try:
        parsed = json.loads(raw, parse_int=str, parse_float=str)
    except ValueError:
        return set()
    leaves = set(_leaves(parsed))
    words = {_MARKS.sub("", word) for leaf in leaves for word in leaf.split() if re.search("[0-9]", word)}
    return {value for value in leaves | words if len(value) >= _SHORTEST or re.search("[0-9]", value)}


def linked(run: TraceRun, linker: Linker | None = None) -> Sources:
    """The REQUIRES links of a memory that was told the run, event by event."""
    encoding = EncodingOptions() if linker is None else EncodingOptions(linker=linker)
    with PrismMemory.open(embedder=None, index="exact", encoding=encoding) as memory:
        positions: dict[str, int] = {}
        for position, step in enumerate(run.steps):
            for event in step.item.events:
                unit_id = memory.write(event, scope=SCOPE).unit_id
                positions.setdefault(str(unit_id), position)
        found: dict[int, set[int]] = {}
        for link in memory.links(scope=SCOPE):
            if link.relation is Relation.REQUIRES:
                found.setdefault(positions[link.target], set()).add(positions[link.source])
    return {target: frozenset(sources) for target, sources in found.items()}


def previous(run: TraceRun) -> Sources:
    """Every step linked to the one before it."""
    return {position: frozenset({position - 1}) for position in range(1, len(run.steps))}


def any_word(run: TraceRun) -> Sources:
    """Every call linked to all earlier steps that share a word with its arguments."""
    words = [_words(step.text) for step in run.steps]
    return {
        position: frozenset(place for place in range(position) if words[place] & _words(step.arguments))
        for position, step in enumerate(run.steps)
        if step.tool is not None
    }


def _outcomes(run: TraceRun, systems: Mapping[str, Callable[[TraceRun], Sources]]) -> list[Outcome]:
    calls = truths(run)
    return [outcome for name, link in systems.items() for outcome in _judged(run, name, calls, link(run))]


def _judged(run: TraceRun, system: str, calls: Sequence[Truth], links: Sources) -> Iterator[Outcome]:
    """One outcome for every value that came from before, and one for every link to a call."""
    group = run.id if run.task is None else str(run.task)
    for call in calls:
        sources = links.get(call.step, frozenset())
        where = f"{run.id}#{call.step}"
        for value, true in call.sources.items():
            found = Found([[str(place)] for place in sorted(sources)], (), [str(place) for place in sorted(true)])
            kind = "identifier" if re.search("[0-9]", value) and len(value) >= _SHORTEST else "word or short number"
            values = {"recall": float(bool(sources & true))}
            yield Outcome(system, f"{where} {value}", kind, values, {"n_values": 1}, 0.0, group, found)
        for place in sorted(sources):
            correct = {"precision": float(place in call.all_sources)}
            yield Outcome(system, f"{where} from {place}", "link", correct, {"n_links": 1}, 0.0, group)


def _observed(step: Step) -> str:
    """What a user said or a tool returned; what the assistant says of itself is no source."""
    whole = step.item.whole
    said = whole.kind is Kind.MESSAGE and whole.source is Source.USER
    return whole.observation if said or step.tool is not None else ""


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from _leaves(member)
    elif isinstance(value, list):
        for member in value:
            yield from _leaves(member)
