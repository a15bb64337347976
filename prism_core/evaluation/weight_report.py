"""What `eval weights` answers: every weight beside its fits and beside what is lost without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console

from prism_core.evaluation.report import Report, print_table, span

SHIPPED, REFITTED = "shipped", "refitted"
COLUMNS = {"R@5": "R@5", "R@10": "R@10", "500t": "recall@500t"}
"""Keys by column."""


def without(signal: str) -> str:
    """What the table without a signal is called."""
    return f"without {signal}"


@dataclass(frozen=True, slots=True)
class SignalWorth:
    """A weight and its fits.

    Attributes:
        signal: its name.
        objective: the group it belongs to.
        shipped: the weight in use.
        refitted: mean of the fits, on the scale of the shipped table.
        spread: standard deviation of the fits.
    """

    signal: str
    objective: str
    shipped: float
    refitted: float
    spread: float


@dataclass(frozen=True)
class WeightReport(Report):
    """Figures of the shipped table, of the tables fitted without the row that is asked, and without each signal.

    Attributes:
        worth: every weight and its fits. What is lost without it stands in `intervals.differences`.
    """

    worth: tuple[SignalWorth, ...] = ()

    def removed(self, signal: str) -> Mapping[str, tuple[float, float, float]]:
        """By key: what changes when a signal is left out, and the interval's ends; below 0 the signal helps."""
        found = self.intervals.differences[without(signal)] if self.intervals is not None else {}
        # Differences are those of the shipped table to another one, and this is the other way round.
        return {key: (0.0 - change, 0.0 - high, 0.0 - low) for key, (change, low, high) in found.items()}

    def as_dict(self) -> dict[str, object]:
        """The report as plain values, and `weights`: one object per signal, with `removed` by key."""
        weights = [
            {
                "signal": each.signal,
                "objective": each.objective,
                "shipped": each.shipped,
                "refitted": round(each.refitted, 4),
                "spread": round(each.spread, 4),
                "removed": {key: list(change) for key, change in self.removed(each.signal).items()},
            }
            for each in self.worth
        ]
        return {**Report.as_dict(self), "weights": weights}

    def print(self, console: Console) -> None:
        """Show the table against its fits, on all questions and by file, and then every signal."""
        console.print(self.file, style="bold", markup=False)
        print_table(console, "recall with the shipped table, and with fits that left the row out", *self._fits())
        print_table(
            console, "signals: weight, its fits, and what changes without it (95 % intervals)", *self._signals()
        )
        for note in self.notes:
            console.print(note, style="dim", markup=False)

    def _fits(self) -> tuple[Mapping[str, str], Mapping[str, Mapping[str, float | str]]]:
        rows: dict[str, Mapping[str, float | str]] = {}
        shipped = self.systems[SHIPPED]
        for file in shipped.by_category:
            for name in (SHIPPED, REFITTED):
                rows[f"{file}: {name}"] = dict(self.systems[name].by_category[file])
        for name in (SHIPPED, REFITTED):
            rows[f"all: {name}"] = dict(self.systems[name].overall)
        if self.intervals is not None:
            paired = self.intervals.differences[REFITTED]
            rows[f"{SHIPPED} - {REFITTED}"] = {key: span((low, high), "+") for key, (_, low, high) in paired.items()}
        return {**COLUMNS, "n": "n"}, rows

    def _signals(self) -> tuple[Mapping[str, str], Mapping[str, Mapping[str, float | str]]]:
        plain = ("objective", "shipped", "refitted", "spread")
        rows: dict[str, Mapping[str, float | str]] = {}
        for each in self.worth:
            removed = self.removed(each.signal)
            changes = {key: _change(removed[key]) for key in COLUMNS.values() if key in removed}
            rows[each.signal] = {name: getattr(each, name) for name in plain} | changes
        return {name: name for name in plain} | {f"{title} without": key for title, key in COLUMNS.items()}, rows


def _change(found: tuple[float, float, float]) -> str:
    change, low, high = found
    return f"{change:+.3f} {span((low, high), '+')}".replace("0.", ".", 1)
