"""The page's pictures, as SVG that is the same for the same figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.report.tables import OWN

_STYLE: dict[Any, Any] = {
    # Ids of shapes are made from this and not at random.
    "svg.hashsalt": "prism-memory",
    # Letters stay letters, in whatever font the reader has.
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "lines.linewidth": 1.3,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "legend.fontsize": 8,
}
_MARKS = ("o", "s", "^", "D", "v", "P", "X")
_OWN_COLOUR = "#c1272d"
# Tableau's ten without the red.
_COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf")
_LAST_FRONT = 6

Curves = Mapping[str, Sequence[float]]
"""Values at every budget, by system."""


def curves(panels: Mapping[str, Curves], budgets: Sequence[int], ylabel: str, out: Path) -> None:
    """One panel of lines over token budgets per title; names stand in the order of the last values."""
    with _drawn(len(panels), out) as axes:
        for axis, (title, lines) in zip(axes, panels.items(), strict=True):
            ranked = sorted(lines, key=lambda name: -lines[name][-1])
            for number, name in enumerate(lines):
                axis.plot(budgets, lines[name], label=name, **_line(name, number))
            handles = dict(zip(lines, axis.get_lines(), strict=True))
            axis.legend([handles[name] for name in ranked], ranked, loc="center left", bbox_to_anchor=(1.0, 0.5))
            axis.set_xscale("log", base=2)
            axis.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
            axis.minorticks_off()
            axis.set_ylim(0, 1)
            axis.set_title(title, loc="left")
            axis.set_xlabel("tokens of the context")
            axis.set_ylabel(ylabel)


def objectives(candidates: Sequence[Mapping[str, Any]], axes_of: tuple[str, str], out: Path) -> None:
    """Candidates of one question over two objectives: fronts in colours, what was returned ringed, evidence crossed."""
    across, up = axes_of
    with _drawn(1, out) as axes:
        axis = axes[0]
        # Late fronts first, so that the good ones lie on top.
        for name, members, style in _groups(candidates):
            points = [(each["objectives"][across], each["objectives"][up]) for each in members]
            axis.scatter(*zip(*points, strict=True), label=f"{name} ({len(members)})", **style)
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        axis.set_xlabel(across)
        axis.set_ylabel(up)


def _groups(candidates: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[Mapping[str, Any]], dict[str, Any]]]:
    fronts = sorted({min(each["front"], _LAST_FRONT) for each in candidates if each["front"] is not None})
    colours = mpl.colormaps["viridis"]
    groups: list[tuple[str, list[Mapping[str, Any]], dict[str, Any]]] = [
        ("below the floor", [each for each in candidates if each["front"] is None], {"s": 8, "color": "#cccccc"})
    ]
    for front in reversed(fronts):
        inside = [each for each in candidates if each["front"] is not None and min(each["front"], _LAST_FRONT) == front]
        name = f"front {front}" + (" and later" if front == _LAST_FRONT else "")
        groups.append((name, inside, {"s": 22, "color": colours(front / (_LAST_FRONT + 1))}))
    ring = {"s": 80, "facecolors": "none", "edgecolors": _OWN_COLOUR, "linewidths": 1.4}
    groups.append(("returned", [each for each in candidates if each["rank"] is not None], ring))
    groups.append(
        ("evidence", [each for each in candidates if each["evidence"]], {"s": 60, "marker": "x", "color": "k"})
    )
    yield from (group for group in groups if group[1])


def _line(name: str, number: int) -> dict[str, Any]:
    if name == OWN:
        return {"color": _OWN_COLOUR, "linewidth": 2.6, "marker": "o", "zorder": 5}
    if name == "oracle":
        return {"color": "k", "linestyle": "--", "marker": ""}
    colour, rounds = _COLOURS[number % len(_COLOURS)], number // len(_COLOURS)
    return {"color": colour, "marker": _MARKS[number % len(_MARKS)], "linestyle": ("-", ":", "-.")[rounds % 3]}


@contextmanager
def _drawn(panels: int, out: Path) -> Iterator[list[Axes]]:
    """Axes side by side, two in a row, written to a file in the end."""
    columns = min(panels, 2)
    rows = -(-panels // columns)
    with mpl.rc_context(_STYLE):
        picture = Figure(figsize=(6.4 * columns, 3.8 * rows), layout="constrained")
        made = picture.subplots(rows, columns, squeeze=False).flatten().tolist()
        for unused in made[panels:]:
            unused.remove()
        yield made[:panels]
        out.parent.mkdir(parents=True, exist_ok=True)
        picture.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
