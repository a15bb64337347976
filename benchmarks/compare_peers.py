"""Prism and other tools on an evidence-QA file: the same units, embedder, questions, renderer and token budgets.

    python -m benchmarks.compare_peers                       which tools are installed, and how each is set up
    python -m benchmarks.compare_peers FILE [--systems prism,mem0] [--limit 100] [--one-scope] [--json OUT]

The tools come with `pip install -e '.[peers]'`; what is not installed is left out and said so. `docs/peers.md` tells
how each is set up.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from rich.console import Console

from benchmarks.peers import PEERS
from prism_core.errors import PrismError
from prism_core.evaluation.qa import BUDGETS, SYSTEMS, run_qa
from prism_core.evaluation.report import Report, SystemScores

OWN = "prism"
_LESS = ((250, 500), (500, 2000), (1000, 2000))
"""Our budget and theirs: with how few tokens the memory should hold what another tool holds in more."""


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for on the command line."""

    file: str | None
    systems: tuple[str, ...] | None
    limit: int | None
    one_scope: bool
    json: Path | None


def compare(options: Options, file: str) -> Report:
    """Ask the questions of a file; the report's notes say who is better, and what was not installed.

    Raises:
        PrismError: if the file cannot be read, or a system is unknown or not installed.
    """
    absent = {name: tool.missing() for name, tool in PEERS.items() if tool.missing()}
    known = {name: tool.open for name, tool in PEERS.items() if name not in absent}
    SYSTEMS.update(known)
    report = run_qa(file, systems=options.systems or (OWN, *known), one_scope=options.one_scope, limit=options.limit)
    skipped = [f"{name} left out, not installed: {', '.join(packages)}" for name, packages in absent.items()]
    verdict = [*leaders(report.systems), *less_tokens(report.systems)]
    used = [f"{name}: {PEERS[name].setting} ({_versions(name)})" for name in report.systems if name in PEERS]
    return replace(report, notes=(*report.notes, *verdict, *used, *skipped))


def leaders(systems: Mapping[str, SystemScores]) -> list[str]:
    """Who holds the most evidence at each budget, and who comes next: a line per budget."""
    lines = []
    for budget in BUDGETS:
        key = f"recall@{budget}t"
        order = sorted(systems, key=lambda name: -systems[name].overall[key])
        first, *rest = (f"{name} {systems[name].overall[key]:.3f}" for name in order)
        lines.append(f"{budget} tokens: {first} is best" + (f", then {rest[0]}" if rest else ""))
    return lines


def less_tokens(systems: Mapping[str, SystemScores]) -> list[str]:
    """Whether the memory holds in fewer tokens what each other tool holds in more: a line per tool."""
    if OWN not in systems:
        return []
    ours = systems[OWN].overall
    lines = []
    for name in (name for name in systems if name in PEERS):
        theirs = systems[name].overall
        parts = [
            f"{ours[f'recall@{few}t']:.3f} at {few} {_sign(ours, few, theirs, many)} "
            f"{theirs[f'recall@{many}t']:.3f} at {many}"
            for few, many in _LESS
        ]
        lines.append(f"{OWN} against {name}: {'; '.join(parts)}")
    return lines


def _sign(ours: Mapping[str, float], few: int, theirs: Mapping[str, float], many: int) -> str:
    return ">=" if ours[f"recall@{few}t"] >= theirs[f"recall@{many}t"] else "<"


def _versions(name: str) -> str:
    return ", ".join(f"{package} {number}" for package, number in PEERS[name].versions().items())


def _as_json(report: Report) -> str:
    peers = {
        name: {"versions": PEERS[name].versions(), "setting": PEERS[name].setting}
        for name in report.systems
        if name in PEERS
    }
    whole = {**report.as_dict(), "peers": peers, "prism": version("prism-memory"), "notes": report.notes}
    return json.dumps(whole, ensure_ascii=False, indent=2)


def _list(console: Console) -> None:
    for name, tool in PEERS.items():
        missing = tool.missing()
        state = f"not installed: {', '.join(missing)}" if missing else _versions(name)
        console.print(f"{name}: {tool.setting} ({state})", markup=False, highlight=False, soft_wrap=True)


def _options(arguments: Sequence[str]) -> Options:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", help="an evidence-QA file; without it the tools are listed")
    parser.add_argument("--systems", help="names separated by commas, of `prism eval qa` or of the listed tools")
    parser.add_argument("--limit", type=int, help="ask only the first questions of the file")
    parser.add_argument("--one-scope", action="store_true", help="put all rows into one store instead of one each")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    parsed = parser.parse_args(arguments)
    systems = tuple(parsed.systems.split(",")) if parsed.systems else None
    return Options(parsed.file, systems, parsed.limit, parsed.one_scope, parsed.json)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code."""
    options = _options(sys.argv[1:] if arguments is None else arguments)
    console = Console()
    if options.file is None:
        _list(console)
        return 0
    # What the tools say about themselves is not part of the table.
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    try:
        report = compare(options, options.file)
    except PrismError as error:
        Console(stderr=True).print(str(error), style="red", markup=False)
        return 2
    report.print(console)
    if options.json is not None:
        options.json.write_text(_as_json(report), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
