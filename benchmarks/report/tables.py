"""Figures as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

OWN = "prism"
Figures = Mapping[str, float]
Columns = Mapping[str, str]
"""Keys by column header."""


def figure(value: float | None) -> str:
    """A figure as the tables show it: `.746`, `1.000`, `812`, `-` for none."""
    if value is None:
        return "-"
    if isinstance(value, int):
        return str(value)
    return _bare(f"{value:.3f}") if abs(value) < 10 else f"{value:.1f}"


def signed(found: Sequence[float] | None) -> str:
    """A difference with its interval, `+.012 [-.003, +.020]`."""
    if found is None:
        return "-"
    change, low, high = (_bare(f"{value + 0.0:+.3f}") for value in found)
    return f"{change} [{low}, {high}]"


def table(headers: Iterable[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table whose first column is text and whose others are figures."""
    titles = list(headers)
    lines = [f"| {' | '.join(titles)} |", f"|---|{'---:|' * (len(titles) - 1)}"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows), ""]


def systems(report: Mapping[str, Any], columns: Columns, names: Sequence[str] | None = None) -> list[str]:
    """A row of overall figures per system."""
    found = report["systems"]
    rows = [
        [f"`{name}`", *(figure(found[name]["overall"].get(key)) for key in columns.values())]
        for name in (found if names is None else names)
    ]
    return table(["", *columns], rows)


def differences(report: Mapping[str, Any], columns: Columns) -> list[str]:
    """What the reference is ahead of every other system by, with intervals; nothing where they are unknown."""
    trust = report.get("intervals")
    if not trust or not trust["differences"]:
        return []
    reference = trust["reference"]
    ahead = [
        [f"`{reference}` - `{name}`", *(signed(keys.get(key)) for key in columns.values())]
        for name, keys in trust["differences"].items()
    ]
    own = trust["systems"].get(reference, {})
    first = [f"`{reference}`", *(span(own.get(key)) for key in columns.values())]
    return table([f"95 % intervals over {trust['groups']} groups", *columns], [first, *ahead])


def categories(report: Mapping[str, Any], columns: Columns, name: str) -> list[str]:
    """A row of figures per category, of one system."""
    found = report["systems"][name]["by_category"]
    rows = [[category, *(figure(keys.get(key)) for key in columns.values())] for category, keys in found.items()]
    return table([f"`{name}`, by category", *columns], rows)


def ahead_of_own(report: Mapping[str, Any], columns: Columns) -> str:
    """A sentence that names every system above our own, by column."""
    overall = {name: scores["overall"] for name, scores in report["systems"].items()}
    if OWN not in overall:
        return ""
    parts = []
    for title, key in columns.items():
        ours = overall[OWN].get(key)
        above = [
            f"`{name}` {figure(values[key])}"
            for name, values in sorted(overall.items(), key=lambda item: -item[1].get(key, 0.0))
            if ours is not None and values.get(key, 0.0) > ours
        ]
        parts += [f"{title} ({figure(ours)}): {', '.join(above)}"] if above else []
    return f"Above `{OWN}` here: {'; '.join(parts)}." if parts else f"Nothing is above `{OWN}` here."


def merged(own: Mapping[str, Any], other: Mapping[str, Any] | None) -> dict[str, Any]:
    """A report with the systems of another one on the same questions, of which the first has the last word."""
    if other is None:
        return dict(own)
    whole = {**own, "systems": {**other["systems"], **own["systems"]}}
    whole["systems"] = {name: whole["systems"][name] for name in dict.fromkeys([*own["systems"], *other["systems"]])}
    mine, theirs = own.get("intervals"), other.get("intervals")
    if mine and theirs and mine["reference"] == theirs["reference"]:
        both = {
            part: {**mine[part], **{name: keys for name, keys in theirs[part].items() if name not in mine[part]}}
            for part in ("systems", "differences")
        }
        whole["intervals"] = {**mine, **both}
    return whole


def span(found: Sequence[float] | None) -> str:
    """An interval, `[.719, .763]`."""
    return "-" if found is None else f"[{', '.join(_bare(f'{value:.3f}') for value in found)}]"


def _bare(text: str) -> str:
    """Without the zero before the point."""
    return text.replace("0.", ".", 1) if text.lstrip("+-").startswith("0.") else text
