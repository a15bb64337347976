"""Time of BM25 queries and appends in `LexicalIndex`, beside bm25s on the same synthetic corpus.

Run: python benchmarks/lexical.py [--sizes 1000 10000 100000]
Needs the dev dependency bm25s. Words are drawn from a Zipf-like distribution with a fixed seed.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable, Sequence

import bm25s
import numpy as np
from numpy.typing import NDArray

from prism_core.storage.lexical import LexicalIndex

SEED = 20260520
VOCABULARY = 50_000
QUERIES = 200
APPENDS = 500


def corpus(units: int, rng: np.random.Generator) -> list[list[str]]:
    """Units of 20 to 60 words; word r has weight 1 / (r + 10), as text without its stop words has."""
    weights = 1.0 / (np.arange(VOCABULARY) + 10.0)
    lengths = rng.integers(20, 61, units)
    words = rng.choice(VOCABULARY, int(lengths.sum()), p=weights / weights.sum())
    names = np.array([f"w{number}" for number in range(VOCABULARY)], dtype=object)[words]
    return [list(unit) for unit in np.split(names, np.cumsum(lengths)[:-1])]


def queries(units: Sequence[list[str]], rng: np.random.Generator) -> list[list[str]]:
    """Four to twelve words of one unit each."""
    chosen = rng.integers(0, len(units), QUERIES)
    return [list(rng.choice(np.array(units[i], dtype=object), rng.integers(4, 13))) for i in chosen]


def milliseconds(action: Callable[[list[str]], object], inputs: Sequence[list[str]]) -> tuple[float, float]:
    """p50 and p95 of single calls."""
    times = []
    for value in inputs:
        start = time.perf_counter()
        action(value)
        times.append((time.perf_counter() - start) * 1000)
    return float(np.percentile(times, 50)), float(np.percentile(times, 95))


def built(units: Sequence[list[str]]) -> LexicalIndex:
    """An index of the units, appended one by one."""
    index = LexicalIndex()
    for row, terms in enumerate(units):
        index.put(row, terms)
    return index


def reindexed(units: Sequence[list[str]]) -> bm25s.BM25:
    """What bm25s has to do after every append."""
    peer = bm25s.BM25(method="lucene", k1=0.9, b=0.4)
    peer.index(list(units), show_progress=False)
    return peer


def top_ten(scores: NDArray[np.float32]) -> NDArray[np.intp]:
    """The ten best rows. Zeros are left out first: selecting among 100,000 mostly equal values takes 14 ms."""
    rows = np.flatnonzero(scores)
    found = scores[rows]
    best = np.argpartition(found, -10)[-10:] if len(found) > 10 else np.arange(len(found))
    return rows[best[np.argsort(-found[best])]]


def measure(size: int) -> None:
    """Print one line of the table."""
    rng = np.random.default_rng(SEED)
    units = corpus(size + APPENDS, rng)
    asked = queries(units[:size], rng)
    start = time.perf_counter()
    index = built(units[:size])
    build = time.perf_counter() - start
    ours = milliseconds(index.scores, asked), milliseconds(lambda terms: top_ten(index.scores(terms)), asked)

    start = time.perf_counter()
    peer = reindexed(units[:size])
    reindex = time.perf_counter() - start
    theirs = (
        milliseconds(peer.get_scores, asked),
        milliseconds(lambda terms: peer.retrieve([terms], k=10, show_progress=False, n_threads=1), asked),
    )

    append = milliseconds(lambda terms: index.put(len(index), terms), units[size:])
    victims = iter(rng.integers(0, size, APPENDS).tolist())
    replace = milliseconds(lambda terms: index.put(next(victims), terms), units[size:])
    print(f"{size:>7} | prism | {cells(*ours)} | {cells(append, replace, digits=3)} | {build:9.2f}")
    print(f"{size:>7} | bm25s | {cells(*theirs)} | {reindex * 1000:9.1f} (re-index)     | {reindex:9.2f}")


def cells(*figures: tuple[float, float], digits: int = 2) -> str:
    """Pairs of p50 and p95 as columns."""
    return " | ".join(f"{p50:6.{digits}f} {p95:6.{digits}f}" for p50, p95 in figures)


def memory(size: int) -> None:
    """Print what a unit costs."""
    units = corpus(size, np.random.default_rng(SEED))
    tracemalloc.start()
    index = built(units)
    traced = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    print(f"memory at {size} units: {traced / size:.0f} bytes per unit traced, {index.nbytes / size:.0f} estimated")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    sizes = parser.parse_args().sizes
    print("milliseconds, p50 and p95")
    print("  units | index |  score all    |  and top 10   |  append       |  replace      | build, s")
    for size in sizes:
        measure(size)
    for size in sizes:
        memory(size)


if __name__ == "__main__":
    main()
