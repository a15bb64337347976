"""Running suites and keeping what they found, so that nothing is measured twice."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.report.suites import PROGRAMS, ROOT, Suite

PACKAGES = (
    "prism-memory",
    "numpy",
    "onnxruntime",
    "tokenizers",
    "bpe-openai",
    "PyStemmer",
    "SQLAlchemy",
    "networkx",
    "chromadb",
)
"""Packages that figures depend on."""
# The console script may be another installation's; this is the code beside this file.
_RUN = {"prism": ["-c", "from prism_core.cli import app; app()"], "python": []}

Result = dict[str, Any]
"""A suite's JSON file: `suite`, `kind`, `command`, `data`, `date`, `seconds`, `load`, `environment`, `report`."""


class MeasureError(RuntimeError):
    """A suite cannot be measured; the message says why."""


@dataclass(frozen=True, slots=True)
class Measuring:
    """How suites are measured.

    Attributes:
        find: where a data file is, by its name.
        results: folder of the JSON files.
        limit: ask only the first questions; None for all.
        jobs: processes.
        fresh: measure again what is there already.
    """

    find: Callable[[str], Path]
    results: Path
    limit: int | None = None
    jobs: int = 1
    fresh: bool = False

    def measured(self, suite: Suite) -> Result | None:
        """What an earlier run found with the same command on the same data."""
        kept = read(self.results / f"{suite.name}.json")
        same = kept is not None and kept["command"] == self.command(suite) and kept["data"] == self.checksums(suite)
        return kept if same and not self.fresh else None

    def measure(self, suite: Suite) -> Result:
        """Run a suite and keep what it found.

        Raises:
            MeasureError: if a data file is missing, or the command fails.
        """
        data = self.checksums(suite)
        self.results.mkdir(parents=True, exist_ok=True)
        out = self.results / f"{suite.name}.tmp"
        program, *rest = PROGRAMS[suite.kind]
        places = {name: str(self.find(name).resolve()) for name in suite.data}
        arguments = [places.get(each, each) for each in suite.arguments(self.limit, self.jobs)]
        begun, load = time.monotonic(), [round(os.getloadavg()[0], 1)]
        command = [sys.executable, *_RUN[program], *rest, *arguments, "--json", str(out.resolve())]
        ran = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if ran.returncode:
            raise MeasureError(ran.stderr.strip().rpartition("\n")[2] or f"exit code {ran.returncode}")
        seconds = round(time.monotonic() - begun, 1)
        run = {"seconds": seconds, "load": [*load, round(os.getloadavg()[0], 1)]}
        report = json.loads(out.read_text(encoding="utf-8"))
        out.unlink()
        return self._keep(suite, report, data, run)

    def take(self, suite: Suite, file: Path) -> Result:
        """Keep what the suite's command found elsewhere: its `--json` file.

        Raises:
            MeasureError: if the file or a data file is missing.
        """
        if not file.is_file():
            raise MeasureError(f"{file} is no file")
        return self._keep(suite, json.loads(file.read_text(encoding="utf-8")), self.checksums(suite), {})

    def command(self, suite: Suite) -> str:
        """The suite's command as it stands on the page."""
        return " ".join([*PROGRAMS[suite.kind], *suite.arguments(self.limit, self.jobs)])

    def checksums(self, suite: Suite) -> dict[str, str]:
        """The sha256 of every data file, by its name.

        Raises:
            MeasureError: if one is missing.
        """
        if missing := [name for name in suite.data if not self.find(name).is_file()]:
            raise MeasureError(f"no file {missing[0]}")
        return {name: sha256(self.find(name).read_bytes()).hexdigest() for name in suite.data}

    def _keep(self, suite: Suite, report: Result, data: Mapping[str, str], run: Mapping[str, Any]) -> Result:
        # A path says where, and on whose machine; the page says which file.
        named = {**report, "file": ", ".join(suite.data[:1] if suite.kind == "abstention" else suite.data)}
        result = {
            "suite": suite.name,
            "kind": suite.kind,
            "command": self.command(suite),
            "data": dict(data),
            "date": datetime.now(UTC).date().isoformat(),
            **run,
            "environment": environment(),
            "report": named,
        }
        self.results.mkdir(parents=True, exist_ok=True)
        text = json.dumps(result, ensure_ascii=False, indent=1) + "\n"
        (self.results / f"{suite.name}.json").write_text(text, encoding="utf-8")
        return result


def read(file: Path) -> Result | None:
    """A suite's JSON file; None where there is none."""
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def environment() -> dict[str, Any]:
    """What figures depend on besides data: code, interpreter, packages, and for times the machine."""
    return {
        "revision": _revision(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "packages": {name: found for name in PACKAGES if (found := _version(name)) is not None},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _revision() -> str:
    """The commit of the code, with a plus where files differ from it; empty outside a checkout."""
    git = ["git", "-c", f"safe.directory={ROOT}"]
    try:
        head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
        dirty = subprocess.run([*git, "status", "--porcelain", "-uno"], cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return head.stdout.strip() + ("+" if dirty.stdout.strip() else "") if head.returncode == 0 else ""
