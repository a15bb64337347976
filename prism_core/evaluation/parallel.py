"""Running the parts of an evaluation, in this process or in several, with progress on stderr."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from prism_core.changes import FloatArray
from prism_core.evaluation.outcomes import Outcome
from prism_core.evaluation.workbench import know_vectors

T = TypeVar("T")
Task = Callable[[], list[Outcome]]


def run_tasks(
    tasks: Sequence[Callable[[], list[T]]], *, jobs: int, title: str, vectors: Mapping[str, FloatArray] | None = None
) -> list[T]:
    """Run tasks and collect their outcomes, in the order of the tasks.

    Args:
        tasks: independent of each other; picklable when `jobs` is more than one.
        jobs: number of processes.
        title: what is shown beside the progress bar.
        vectors: of documents, by text, given to every process.
    """
    results: dict[int, list[T]] = {}
    with _progress() as progress:
        bar = progress.add_task(title, total=len(tasks))
        for position, outcomes in _results(tasks, jobs, vectors or {}):
            results[position] = outcomes
            progress.advance(bar)
    return [outcome for position in sorted(results) for outcome in results[position]]


def _results(
    tasks: Sequence[Callable[[], list[T]]], jobs: int, vectors: Mapping[str, FloatArray]
) -> Iterator[tuple[int, list[T]]]:
    if jobs <= 1 or len(tasks) <= 1:
        yield from ((position, task()) for position, task in enumerate(tasks))
        return
    # Forked copies of a process with running threads (the embedder's) may hang.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=know_vectors, initargs=(vectors,)) as pool:
        positions = {pool.submit(task): position for position, task in enumerate(tasks)}
        for future in as_completed(positions):
            yield positions[future], future.result()


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
