"""What an evaluation answers: figures per system and category, as JSON and as tables."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rich import box
from rich.console import Console
from rich.table import Table

from prism_core.evaluation.bootstrap import Intervals
from prism_core.evaluation.metrics import mean, percentile
from prism_core.evaluation.outcomes import ADVERSARIAL, Outcome

_WIDEST = 1000


@dataclass(frozen=True, slots=True)
class SystemScores:
    """The figures of one system.

    Attributes:
        overall: by key, over all questions but adversarial ones.
        by_category: the same, by category.
        latency_ms: `p50` and `p95` of a search in milliseconds, without the embedding of the query.
    """

    overall: Mapping[str, float]
    by_category: Mapping[str, Mapping[str, float]]
    latency_ms: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Report:
    """The figures of several systems on one file.

    Attributes:
        file: what was evaluated.
        systems: by name, in the order asked for.
        tables: what is shown side by side: keys by column header, by title.
        notes: what a reader of the figures should know.
        intervals: how far the overall figures may be trusted; None where that is unknown.
        outcomes: every question, for those who want to look at single ones.
        parts: the same figures on parts of the file, by the part's name.
    """

    file: str
    systems: Mapping[str, SystemScores]
    tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    intervals: Intervals | None = None
    outcomes: Sequence[Outcome] = ()
    parts: Mapping[str, Report] = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        """The report as plain values.

        `{"file": ..., "systems": {name: {"overall", "by_category", "latency_ms"}}}`, and where there are some
        `intervals`, `notes`, and `parts`, each in the same form.
        """
        systems = {
            name: {
                "overall": dict(scores.overall),
                "by_category": {category: dict(figures) for category, figures in scores.by_category.items()},
                "latency_ms": dict(scores.latency_ms),
            }
            for name, scores in self.systems.items()
        }
        trust = {"intervals": self.intervals.as_dict()} if self.intervals is not None else {}
        parts = {"parts": {name: part.as_dict() for name, part in self.parts.items()}} if self.parts else {}
        notes = {"notes": list(self.notes)} if self.notes else {}
        return {"file": self.file, "systems": systems, **trust, **notes, **parts}

    def to_json(self) -> str:
        """`as_dict` as JSON text."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=2)

    def to_lines(self) -> str:
        """The outcomes as JSON, one question of one system a line."""
        return "".join(json.dumps(outcome.as_dict(), ensure_ascii=False) + "\n" for outcome in self.outcomes)

    def print(self, console: Console) -> None:
        """Show the figures as tables: all systems side by side, intervals, the first one by category, search times."""
        console.print(self.file, style="bold", markup=False)
        overall = {name: scores.overall for name, scores in self.systems.items()}
        for title, columns in self.tables.items():
            print_table(console, title, columns, overall)
            if self.intervals is not None:
                _print_intervals(console, columns, self.intervals)
        for name, scores in list(self.systems.items())[:1]:
            for title, columns in list(self.tables.items())[:1]:
                _print_categories(console, f"{name}: {title}, by category", columns, scores.by_category)
        latency = {name: scores.latency_ms for name, scores in self.systems.items() if any(scores.latency_ms.values())}
        if latency:
            print_table(
                console, "search time in ms, without the query's embedding", {"p50": "p50", "p95": "p95"}, latency
            )
        for note in self.notes:
            console.print(note, style="dim", markup=False)


def summarize(outcomes: Sequence[Outcome], systems: Sequence[str]) -> dict[str, SystemScores]:
    """Outcomes as figures per system, in the order of `systems`."""
    return {name: _scores([outcome for outcome in outcomes if outcome.system == name]) for name in systems}


def _scores(outcomes: Sequence[Outcome]) -> SystemScores:
    categories = sorted({outcome.category for outcome in outcomes})
    times = [1000 * outcome.seconds for outcome in outcomes]
    return SystemScores(
        overall=_figures([outcome for outcome in outcomes if outcome.category != ADVERSARIAL]),
        by_category={
            category: _figures([outcome for outcome in outcomes if outcome.category == category])
            for category in categories
        },
        latency_ms={f"p{share}": round(percentile(times, share), 3) for share in (50, 95)} if times else {},
    )


def _figures(outcomes: Sequence[Outcome]) -> dict[str, float]:
    means = {
        key: round(mean([outcome.values[key] for outcome in outcomes if key in outcome.values]), 4)
        for key in _keys(outcome.values for outcome in outcomes)
    }
    counts = {outcome.question: outcome.counts for outcome in outcomes}
    sums = {key: sum(count.get(key, 0) for count in counts.values()) for key in _keys(counts.values())}
    return {**means, **sums}


def _keys(mappings: Iterable[Mapping[str, object]]) -> list[str]:
    return list(dict.fromkeys(key for mapping in mappings for key in mapping))


def _print_categories(
    console: Console, title: str, columns: Mapping[str, str], rows: Mapping[str, Mapping[str, float]]
) -> None:
    """Under the columns of the overall figures, or under their own where categories have other figures."""
    keys = _keys(rows.values())
    shared = {header: key for header, key in columns.items() if key in keys}
    if keys:
        print_table(console, title, shared if len(shared) > 1 else dict(zip(keys, keys, strict=True)), rows)


def _print_intervals(console: Console, columns: Mapping[str, str], found: Intervals) -> None:
    """Figures of systems, and what the reference is ahead of the others by."""
    rows = {name: {key: span(pair) for key, pair in keys.items()} for name, keys in found.systems.items()}
    for name, paired in found.differences.items():
        ahead = {key: span((low, high), "+") for key, (_, low, high) in paired.items()}
        rows[f"{found.reference} - {name}"] = ahead
    known = {title: key for title, key in columns.items() if any(key in row for row in rows.values())}
    drawn = "questions of one group" if found.of_questions else "groups"
    print_table(console, f"95 % intervals, paired bootstrap over {found.groups} {drawn}", known, rows)


def print_table(
    console: Console, title: str, columns: Mapping[str, str], rows: Mapping[str, Mapping[str, float | str]]
) -> None:
    """Show rows under columns.

    Args:
        console: where to.
        title: stands above.
        columns: keys of the rows' values, by header.
        rows: values by key, by label; a text is shown as it is, a missing value as a dash.
    """
    table = Table("", *columns, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in table.columns:
        column.no_wrap = True
    for column in table.columns[1:]:
        column.justify = "right"
    for label, figures in rows.items():
        table.add_row(label, *(_cell(figures.get(key)) for key in columns.values()))
    console.print(title, style="italic", markup=False)
    # Cut figures would be worse than lines that are longer than the console is wide.
    wide = Console(file=io.StringIO(), width=_WIDEST)
    with wide.capture() as captured:
        wide.print(table)
    console.print(captured.get(), soft_wrap=True, markup=False, highlight=False)


def span(pair: tuple[float, float], sign: str = "") -> str:
    """An interval as `[.719, .763]` or, signed, as `[-.002, +.010]`."""
    low, high = (f"{value:{sign}.3f}".replace("0.", ".", 1) if abs(value) < 1 else _cell(value) for value in pair)
    return f"[{low}, {high}]"


def _cell(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or "-"
    if isinstance(value, int):
        return str(value)
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"
