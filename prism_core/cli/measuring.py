"""`prism eval` and `prism demo`: measuring a memory, and seeing it at work."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console

from prism_core.cli.options import Embedder, Tasks
from prism_core.demo import run_demo
from prism_core.demo.run import SCOPE
from prism_core.evaluation import (
    Report,
    run_abstention,
    run_failures,
    run_links,
    run_qa,
    run_robustness,
    run_traces,
    run_weights,
)
from prism_core.evaluation import abstention as abstention_evaluation
from prism_core.evaluation import qa as qa_evaluation
from prism_core.evaluation import traces as traces_evaluation
from prism_core.evaluation.refit import PULL
from prism_core.evaluation.traces import Variant
from prism_core.memory import PrismMemory

VARIANTS: dict[str, Variant] = {variant or "plain": variant for variant in traces_evaluation.VARIANTS}
"""Variants by name; the plain one has no suffix in the figures' keys."""
_WIDTH_IN_A_PIPE = 100
_STORE_FILES = ("ledger.db", "ledger.db-wal", "ledger.db-shm")


@dataclass(frozen=True, slots=True)
class Output:
    """Where figures go besides the terminal.

    Attributes:
        json: the figures.
        raw: every question.
    """

    json: Path | None = None
    raw: Path | None = None


@dataclass(frozen=True, slots=True)
class Size:
    """How much is stored and asked.

    Attributes:
        one_scope: all rows in one store.
        distractors: units of unrelated prose in every store.
        limit: ask only the first questions.
    """

    one_scope: bool = False
    distractors: int = 0
    limit: int | None = None


def eval_qa(file: Path, *, systems: str | None, size: Size, embedder: Embedder, jobs: int, output: Output) -> None:
    """Measure evidence recall and print the tables."""
    names = _names(systems) or tuple(qa_evaluation.SYSTEMS)
    _report(
        lambda: run_qa(
            file,
            systems=names,
            one_scope=size.one_scope,
            distractors=size.distractors,
            limit=size.limit,
            jobs=jobs,
            embedder=embedder.value,
        ),
        output,
    )


def eval_traces(
    file: Path,
    *,
    systems: str | None,
    tasks: Tasks,
    variants: str | None,
    jobs: int,
    limit: int | None,
    output: Output,
) -> None:
    """Measure how many of the values that tool calls need come back, and print the tables."""
    names = _names(systems) or tuple(traces_evaluation.SYSTEMS)
    asked = _variants(variants)
    _report(lambda: run_traces(file, systems=names, tasks=tasks.value, variants=asked, jobs=jobs, limit=limit), output)


def eval_abstention(
    file: Path,
    offdomain: Path,
    *,
    systems: str | None,
    per_row: int | None,
    embedder: Embedder,
    jobs: int,
    output: Output,
) -> None:
    """Measure how well answerability tells questions with an answer from others, and print the tables."""
    names = _names(systems) or tuple(abstention_evaluation.SYSTEMS)
    _report(
        lambda: run_abstention(file, offdomain, systems=names, per_row=per_row, jobs=jobs, embedder=embedder.value),
        output,
    )


def eval_robustness(file: Path, *, draws: int, seed: int, limit: int | None, output: Output) -> None:
    """Measure what wrong weights cost, with fronts and without, and print the table."""
    _report(lambda: run_robustness(file, draws=draws, seed=seed, limit=limit), output)


def eval_links(file: Path, *, limit: int | None, output: Output) -> None:
    """Compare REQUIRES links with where values came from, and print the table."""
    _report(lambda: run_links(file, limit=limit), output)


def eval_failures(file: Path, *, limit: int | None, output: Output) -> None:
    """Rank the steps of failed runs by suspicion, and print the tables."""
    _report(lambda: run_failures(file, limit=limit), output)


def eval_weights(files: Sequence[Path], *, pull: float | None, limit: int | None, output: Output) -> None:
    """Cross-validate the weight table and print what each weight is worth."""
    _report(lambda: run_weights(files, pull=PULL if pull is None else pull, limit=limit), output)


def demo(store: Path, *, fresh: bool) -> None:
    """Tell the story; with `fresh`, to an empty store."""
    if fresh:
        _forget(store)
    run_demo(store, _console())


def _report(measure: Callable[[], Report], output: Output) -> None:
    # Minutes of measuring should not end in a mistyped folder.
    for option, out in (("--json", output.json), ("--raw", output.raw)):
        if out is not None and (out.is_dir() or not out.absolute().parent.is_dir()):
            raise typer.BadParameter(f"{str(out)!r} cannot be written", param_hint=option)
    report = measure()
    report.print(_console())
    if output.json is not None:
        output.json.write_text(report.to_json() + "\n", encoding="utf-8")
    if output.raw is not None:
        output.raw.write_text(report.to_lines(), encoding="utf-8")


def _console() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_WIDTH_IN_A_PIPE)


def _names(listed: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (listed or "").split(",") if name.strip())


def _variants(listed: str | None) -> tuple[Variant, ...]:
    names = _names(listed) or tuple(VARIANTS)
    if unknown := [name for name in names if name not in VARIANTS]:
        raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(VARIANTS)}", param_hint="--variants")
    return tuple(VARIANTS[name] for name in names)


def _forget(store: Path) -> None:
    """Remove a store that holds the demo and nothing else."""
    if not (store / _STORE_FILES[0]).exists():
        return
    with PrismMemory.open(store, embedder=None, index="exact", create=False) as memory:
        strangers = [scope for scope in memory.scopes() if scope != SCOPE]
    if strangers:
        raise typer.BadParameter(f"{str(store)!r} holds more than the demo and is kept", param_hint="--fresh")
    for name in _STORE_FILES:
        (store / name).unlink(missing_ok=True)
    shutil.rmtree(store / "chroma", ignore_errors=True)
