"""The page's last part: times, what was not measured, and what figures depend on."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.report import prose
from benchmarks.report.results import Result
from benchmarks.report.tables import table

Results = Mapping[str, Result]
"""By the suite's name."""


def limits(results: Results) -> str:
    """A warning where only a part of the questions was asked."""
    limited = [name for name, result in results.items() if "--limit" in result["command"]]
    return f"**Only a part of the questions was asked in: {', '.join(limited)}.**" if limited else ""


def times(results: Results) -> str:
    """How long searches took."""
    rows = [
        [f"{name}: `{system}`", *(f"{scores['latency_ms'][part]:.1f}" for part in ("p50", "p95")), _load(result)]
        for name, result in results.items()
        if result["kind"] in ("qa", "peers", "traces")
        for system, scores in result["report"]["systems"].items()
    ]
    return "\n".join([prose.TIMES, "", *table(["ms a search", "p50", "p95", "load"], rows)]) if rows else ""


def unmeasured(results: Results, missing: Mapping[str, str]) -> str:
    """What cannot be measured here, and what was not measured this time."""
    notes = [note for result in results.values() for note in result["report"].get("notes", ())]
    reasons = [f"- `{name}`: {why}" for name, why in missing.items()]
    reasons += dict.fromkeys(f"- {note}" for note in notes if "left out, not installed" in note)
    this_time = ["", "Of the suites of this page, these or parts of them were not measured:", "", *reasons]
    return "\n".join([prose.NOT_MEASURED, *(this_time if reasons else ())])


def provenance(results: Results) -> str:
    """Data files with their checksums, versions, machines, and when each suite was measured."""
    sums = {name: digest for result in results.values() for name, digest in result["data"].items()}
    body = [prose.PROVENANCE, "", *table(["file", "sha256"], [[f"`{name}`", f"`{sums[name]}`"] for name in sums])]
    groups: dict[str, list[str]] = {}
    for name, result in results.items():
        groups.setdefault(_environment(result), []).append(f"`{name}`")
    body += [f"- {', '.join(names)}: {text}" for text, names in groups.items()]
    rows = [[f"`{name}`", result["date"], _seconds(result), _load(result)] for name, result in results.items()]
    return "\n".join([*body, "", *table(["suite", "date", "seconds", "load before and after"], rows)])


def _environment(result: Result) -> str:
    found = result["environment"]
    packages = dict(found["packages"])
    for peer in result["report"].get("peers", {}).values():
        packages |= peer["versions"]
    named = ", ".join(f"{package} {number}" for package, number in packages.items())
    revision = f"revision {found['revision']}, " if found["revision"] else ""
    return f"{revision}Python {found['python']}, {found['machine']}; {named}"


def _load(result: Result) -> str:
    return " to ".join(map(str, result["load"])) if "load" in result else "-"


def _seconds(result: Result) -> str:
    return f"{result['seconds']:.0f}" if "seconds" in result else "-"
