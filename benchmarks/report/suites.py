"""What is measured: one command per suite, whose figures one JSON file holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prism_core.evaluation import qa, traces

ROOT = Path(__file__).resolve().parents[2]
OWN_DATA = ROOT / "benchmarks" / "data"
"""Data sets that are part of this project."""
LIMITED = ("qa", "traces", "robustness", "weights", "peers")
"""Kinds of suites that can ask the first questions only."""
PARALLEL = ("qa", "traces", "abstention")
"""Kinds of suites that can use several processes."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A command of the project, run on data files.

    Attributes:
        name: of the suite and of its JSON file.
        kind: which part of the page shows it.
        data: names of files, in the data folder or in the project.
        options: of the command; a name of a data file stands for the file.
    """

    name: str
    kind: str
    data: tuple[str, ...]
    options: tuple[str, ...] = ()

    def arguments(self, limit: int | None = None, jobs: int = 1) -> list[str]:
        """Everything after the program's name but where the figures go; data files by their names."""
        extra = ["--limit", str(limit)] if limit is not None and self.kind in LIMITED else []
        extra += ["--jobs", str(jobs)] if jobs > 1 and self.kind in PARALLEL else []
        asked = [] if self.kind == "abstention" else self.data
        return [*asked, *self.options, *extra]


PROGRAMS: Mapping[str, tuple[str, ...]] = {
    **{kind: ("prism", "eval", kind) for kind in ("qa", "traces", "abstention", "robustness", "weights")},
    "peers": ("python", "-m", "benchmarks.compare_peers"),
    "example": ("python", "-m", "benchmarks.report.example"),
}
"""What runs a suite, by its kind."""

_QA = {
    "locomo": "locomo-dev.jsonl",
    "madial-en": "madial-en-dev.jsonl",
    "madial-zh": "madial-zh-dev.jsonl",
    "long-units": "long-units.jsonl",
}
_RUNS = "tau-airline-dev.jsonl"
_QA_SYSTEMS = ",".join((*qa.SYSTEMS, *qa.ABLATIONS))
_TRACE_SYSTEMS = ",".join((*traces.SYSTEMS, *traces.ABLATIONS))

SUITES: tuple[Suite, ...] = (
    *(Suite(f"qa-{name}", "qa", (file,), ("--systems", _QA_SYSTEMS)) for name, file in _QA.items()),
    *(Suite(f"peers-{name}", "peers", (file,)) for name, file in _QA.items()),
    Suite("traces-airline", "traces", (_RUNS,), ("--systems", _TRACE_SYSTEMS)),
    Suite("abstention-locomo", "abstention", (_QA["locomo"], _RUNS), (_QA["locomo"], "--offdomain", _RUNS)),
    Suite("robustness-locomo", "robustness", (_QA["locomo"],)),
    Suite("robustness-long-units", "robustness", (_QA["long-units"],)),
    Suite("robustness-airline", "robustness", (_RUNS,)),
    Suite("weights-locomo", "weights", (_QA["locomo"],)),
    Suite("weights-all", "weights", tuple(_QA.values())),
    Suite("example", "example", (_QA["locomo"],)),
)
"""All of them, in the order of the page."""


def chosen(names: Sequence[str] | None) -> list[Suite]:
    """The suites named, in the order of the page; all when None.

    Raises:
        KeyError: if a name is that of no suite.
    """
    known = {suite.name: suite for suite in SUITES}
    for name in names or ():
        if name not in known:
            raise KeyError(f"{name!r} is none of {', '.join(known)}")
    return [suite for suite in SUITES if names is None or suite.name in names]


def locate(folder: Path) -> Callable[[str], Path]:
    """Where a data file is: in the folder, or else in the project."""
    return lambda name: folder / name if (folder / name).exists() else OWN_DATA / name
