"""Measure every suite on a folder of data and make one page of it.

    python -m benchmarks.report DATA [--out docs/evaluation.md] [--results FOLDER] [--only qa-locomo,example]
    python -m benchmarks.report DATA --take peers-locomo=figures.json      what a command wrote with --json elsewhere
    python -m benchmarks.report --page-only                                the page again from what is there

Each suite's figures are kept as JSON in the results folder. What is there for the same command and the same data is
not measured again, so that an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.peers import PEERS
from benchmarks.report.page import page
from benchmarks.report.pictures import draw
from benchmarks.report.results import MeasureError, Measuring, Result, read
from benchmarks.report.suites import SUITES, Suite, chosen, locate

_UNMEASURED = "not measured yet"


def measure(
    suites: Sequence[Suite], measuring: Measuring, taken: Mapping[str, Path], console: Console
) -> dict[str, str]:
    """Measure what is not there yet; why the others could not be, by their names."""
    failed: dict[str, str] = {}
    for suite in suites:
        try:
            if suite.name in taken:
                measuring.take(suite, taken[suite.name])
                state = "taken"
            elif measuring.measured(suite) is not None:
                state = "there already"
            elif suite.kind == "peers" and all(tool.missing() for tool in PEERS.values()):
                raise MeasureError("no other tool is installed: pip install '.[peers]'")
            else:
                console.print(
                    f"{suite.name}: {measuring.command(suite)}", markup=False, highlight=False, soft_wrap=True
                )
                state = f"{measuring.measure(suite)['seconds']} s"
        except MeasureError as error:
            state = failed[suite.name] = str(error)
        console.print(f"{suite.name}: {state}", markup=False, highlight=False, soft_wrap=True)
    return failed


def make(out: Path, results: Path, failed: Mapping[str, str]) -> None:
    """Write the page and its pictures from the results that are there.

    Raises:
        MeasureError: if there are none.
    """
    found: dict[str, Result] = {}
    for suite in SUITES:
        if (result := read(results / f"{suite.name}.json")) is not None:
            found[suite.name] = result
    if not found:
        raise MeasureError(f"{results} holds no figures; the page stays as it is. Measure first: name a data folder")
    missing = {suite.name: failed.get(suite.name, _UNMEASURED) for suite in SUITES if suite.name not in found}
    out.parent.mkdir(parents=True, exist_ok=True)
    pictures = out.stem if draw(found, out.with_suffix("")) else None
    out.write_text(page(found, missing, pictures), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code."""
    options = _options(sys.argv[1:] if arguments is None else arguments)
    console = Console(stderr=True)
    failed: dict[str, str] = {}
    if options.data is not None and not options.page_only:
        measuring = Measuring(locate(options.data), options.results, options.limit, options.jobs, options.fresh)
        failed = measure(options.only, measuring, dict(options.take), console)
    try:
        make(options.out, options.results, failed)
    except MeasureError as error:
        console.print(str(error), markup=False, highlight=False, soft_wrap=True)
        return 1
    return 1 if failed else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.report", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", nargs="?", type=Path, help="folder of the data files")
    parser.add_argument("--out", type=Path, default=Path("docs/evaluation.md"), help="the page; pictures beside it")
    parser.add_argument("--results", type=Path, default=Path(".prism/evaluation"), help="folder of the JSON files")
    parser.add_argument("--only", type=_suites, default=chosen(None), metavar="SUITES", help="measure only these")
    parser.add_argument("--limit", type=int, help="ask only the first questions of a file, or in its first runs")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--take", type=_pair, action="append", default=[], metavar="SUITE=FILE", help="do not measure")
    parser.add_argument("--fresh", action="store_true", help="measure again what is there already")
    parser.add_argument("--page-only", action="store_true", help="measure nothing")
    options = parser.parse_args(arguments)
    if options.data is None and not options.page_only:
        parser.error("name the folder of the data files, or --page-only")
    if options.data is not None and not any(options.data.glob("*.jsonl")):
        parser.error(f"{options.data} is no folder with data files (*.jsonl)")
    return options


def _suites(listed: str) -> list[Suite]:
    try:
        return chosen(listed.split(","))
    except KeyError as error:
        raise argparse.ArgumentTypeError(error.args[0]) from None


def _pair(text: str) -> tuple[str, Path]:
    name, _, file = text.partition("=")
    return _suites(name)[0].name, Path(file)


if __name__ == "__main__":
    sys.exit(main())
