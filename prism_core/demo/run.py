"""The demo: write a week of steps, close the store, open it again, and ask."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from prism_core.demo.baselines import VectorSearch
from prism_core.demo.compare import Comparison, Contestants
from prism_core.demo.show import show_chain, show_question, show_reasons, show_summary
from prism_core.demo.story import Story, load_story
from prism_core.embed import CachedEmbedder, MiniLMEmbedder
from prism_core.memory import PrismMemory
from prism_core.protocols import Embedder
from prism_core.results import Receipt

SCOPE = ("demo", "ines")
BUDGET = 600


def run_demo(path: Path | None, console: Console) -> tuple[Comparison, ...]:
    """Tell the story to a memory and show what it makes of it.

    Args:
        path: directory of the store; a store of an earlier run is used again. None for a directory that is removed
            afterwards.
        console: where the pages go.

    Returns:
        What the systems handed over, one comparison per question.
    """
    with ExitStack() as stack:
        folder = path or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="prism-demo-")))
        story = load_story()
        embedder = CachedEmbedder(MiniLMEmbedder(), documents=256)
        unit_ids = _write(folder, embedder, story, console)
        started = time.perf_counter()
        memory = stack.enter_context(PrismMemory.open(folder, embedder=embedder, index="chroma"))
        units = [memory.get(unit_id, scope=SCOPE) for unit_id in unit_ids]
        console.print(_opened(memory, time.perf_counter() - started))
        vectors = stack.enter_context(VectorSearch(units, embedder))
        return _ask(Contestants(memory, SCOPE, units, vectors, BUDGET), story, console)


def _write(folder: Path, embedder: Embedder, story: Story, console: Console) -> list[str]:
    """Write the story and close the store; answers the ids of its units in the order of time."""
    console.print(f"[bold]A research agent works for a week on two tasks at once:[/] {story.steps} steps, written to")
    console.print(f"{folder} (SQLite ledger, Chroma vectors, NetworkX graph; no network, no key)", soft_wrap=True)
    started = time.perf_counter()
    with PrismMemory.open(folder, embedder=embedder, index="chroma") as memory:
        receipts = memory.write_many(story.events, scope=SCOPE)
    console.print(f"{_counted(receipts)} in {time.perf_counter() - started:.1f} s; the store is closed.")
    return list(dict.fromkeys(receipt.unit_id for receipt in receipts if receipt.unit_id))


def _counted(receipts: list[Receipt]) -> str:
    counts = Counter(receipt.status.value for receipt in receipts)
    return f"{len(receipts)} events: " + ", ".join(f"{count} {status}" for status, count in counts.most_common())


def _opened(memory: PrismMemory, seconds: float) -> str:
    stats = memory.stats(SCOPE)
    links = ", ".join(f"{count} {relation}" for relation, count in sorted(stats.links.items()))
    return f"Opened again and all units read in {seconds:.1f} s: {stats.units} units, {stats.tokens} tokens, {links}."


def _ask(contestants: Contestants, story: Story, console: Console) -> tuple[Comparison, ...]:
    comparisons = tuple(contestants.ask(question) for question in story.questions)
    console.print(
        f"Four questions follow. Vector search and prism-memory may hand over {contestants.budget} tokens, the window "
        "has no limit. Needed facts found and tokens spent stand on top; entries marked + hold a needed fact."
    )
    for number, comparison in enumerate(comparisons, 1):
        show_question(console, number, comparison)
    show_summary(console, comparisons)
    decided = next(comparison for comparison in comparisons if comparison.question.chain_from)
    show_reasons(console, decided.question, decided.retrieval)
    _show_chain(contestants, decided, console)
    return comparisons


def _show_chain(contestants: Contestants, decided: Comparison, console: Console) -> None:
    step = decided.question.chain_from
    decision = next(unit for unit in contestants.units if unit.step_id == step)
    chain = contestants.memory.why(decision.id, scope=contestants.scope, depth=9, limit=12)
    show_chain(console, decided.question, chain)
