"""Which pictures the page has; they need matplotlib, of the extra `bench`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from benchmarks.report.page import QA_NAMES, VARIANTS, lines
from benchmarks.report.results import Result
from benchmarks.report.tables import merged
from prism_core.evaluation import qa, traces


def draw(results: Mapping[str, Result], folder: Path) -> bool:
    """Draw what the results allow.

    Returns:
        False where matplotlib is not installed, and nothing is drawn.
    """
    if find_spec("matplotlib") is None:
        return False
    for name in QA_NAMES:
        _recall(name, results, folder)
    _coverage(results, folder)
    _objectives(results, folder)
    return True


def _recall(name: str, results: Mapping[str, Result], folder: Path) -> None:
    from benchmarks.report import figures  # noqa: PLC0415 - matplotlib is an extra

    own, other = results.get(f"qa-{name}"), results.get(f"peers-{name}")
    if own is None:
        return
    report = merged(own["report"], other["report"] if other is not None else None)
    found = lines(report, [f"recall@{budget}t" for budget in qa.BUDGETS])
    orders = {"prism", *qa.ABLATIONS, *(each for each in qa.SYSTEMS if each.startswith("prism-"))}
    panels = {
        "the memory, baselines and other tools": {
            each: found[each] for each in found if each == "prism" or each not in orders
        },
        "the memory in other orders and forms": {each: found[each] for each in found if each in orders},
    }
    figures.curves(panels, qa.BUDGETS, "evidence recall", folder / f"recall-{name}.svg")


def _coverage(results: Mapping[str, Result], folder: Path) -> None:
    from benchmarks.report import figures  # noqa: PLC0415 - matplotlib is an extra

    result = results.get("traces-airline")
    if result is None:
        return
    panels = {
        title: lines(result["report"], [f"arg_coverage{suffix}@{budget}t" for budget in traces.BUDGETS])
        for title, suffix in VARIANTS.items()
    }
    figures.curves(panels, traces.BUDGETS, "share of needed values present", folder / "coverage-airline.svg")


def _objectives(results: Mapping[str, Result], folder: Path) -> None:
    from benchmarks.report import figures  # noqa: PLC0415 - matplotlib is an extra

    result = results.get("example")
    if result is not None:
        figures.objectives(result["report"]["candidates"], ("lexical", "dense"), folder / "objectives.svg")
