"""Cost of writing, of loading a scope and of searching it, for 1,000 and for 10,000 units, on this machine.

    python benchmarks/memory.py [--units 10000] [--calls 500] [--rounds 3]

A single write is one event in one durable transaction, a bulk write a thousand, both without embedding: process CPU
time, because the rest is the disk's. Loading is the first search after opening: it derives everything from the ledger.
A search is `PrismMemory.search(k=10)` with vectors but without embedding the question: wall time. Searches alternate
in one process with a bare Chroma query of the 50 nearest with their documents. Vectors are random directions around
random centres: what they mean does not matter for speed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import chromadb
import numpy as np

from prism_core import Event, PrismMemory
from prism_core.changes import FloatArray

Index = Literal["exact", "chroma"]

INDEXES: tuple[Index, ...] = ("exact", "chroma")
BATCH = 1000
DIMENSION = 384
WORDS = 5000
SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "ru")
START = datetime(2026, 1, 1, tzinfo=UTC)


class Synthetic:
    """An embedder that costs nothing: a fixed direction per text."""

    id = "synthetic"
    dimension = DIMENSION

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> FloatArray:
        centre = np.random.default_rng(len(text) % 97).standard_normal(DIMENSION)
        own = np.random.default_rng(sum(text.encode()) * 31 + len(text)).standard_normal(DIMENSION)
        vector = centre + 0.7 * own
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def texts(count: int, words: tuple[int, int], seed: int) -> list[str]:
    """Texts of made-up words drawn by Zipf's law; words of letters, since every code of figures is indexed apart."""
    random = np.random.default_rng(seed)
    sizes = random.integers(*words, size=count)
    return [" ".join(spelled(int(word) % WORDS) for word in random.zipf(1.3, size)) for size in sizes]


def spelled(number: int) -> str:
    """A number as a pronounceable word: every figure a syllable."""
    return "".join(SYLLABLES[int(figure)] for figure in str(number))


def events(count: int, seed: int) -> list[Event]:
    """A conversation in sessions of thirty turns."""
    return [
        Event(
            observation=text,
            speaker=("Ann", "Bob")[number % 2],
            session_id=str(number // 30),
            event_time=START + timedelta(minutes=number),
        )
        for number, text in enumerate(texts(count, (10, 60), seed))
    ]


def percentiles(seconds: Sequence[float]) -> str:
    """Median and 95th percentile in milliseconds."""
    p50, p95 = np.percentile(np.array(seconds) * 1000, [50, 95])
    return f"{p50:6.2f} {p95:6.2f}"


def timed(call: Callable[[], object], clock: Callable[[], float]) -> float:
    """Time one call."""
    start = clock()
    call()
    return clock() - start


def filled(folder: Path, units: int) -> float:
    """Write a store of `units` units, a thousand in a transaction; CPU seconds."""
    with PrismMemory.open(folder, embedder=Synthetic(), index="exact") as memory:
        stored = events(units, seed=1)
        start = time.process_time()
        for first in range(0, units, BATCH):
            memory.write_many(stored[first : first + BATCH], scope="bench")
        return time.process_time() - start


def bare_chroma(folder: Path, units: int) -> chromadb.Collection:
    """A Chroma collection of the same vectors and texts, with Chroma's own settings."""
    collection = chromadb.PersistentClient(str(folder)).create_collection(
        "bench", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
    )
    stored = [event.text for event in events(units, seed=1)]
    for first in range(0, units, BATCH):
        batch = stored[first : first + BATCH]
        ids = [str(first + number) for number in range(len(batch))]
        collection.add(ids, embeddings=Synthetic().embed_documents(batch), documents=batch)
    return collection


def searches(folder: Path, index: Index, bare: chromadb.Collection, calls: int, rounds: int) -> tuple[float, str, str]:
    """CPU seconds of loading the scope; wall time of searches and of bare queries, the best round by median."""
    questions = texts(calls, (5, 12), seed=2)
    if index == "chroma":
        with PrismMemory.open(folder, embedder=Synthetic(), index=index) as memory:
            memory.search(questions[0], scope="bench")  # hands every vector to the index
    with PrismMemory.open(folder, embedder=Synthetic(), index=index) as memory:
        assert memory.embedder is not None
        loading = timed(lambda: memory.search(questions[0], scope="bench"), time.process_time)
        vectors = {question: memory.embedder.embed_query(question) for question in questions}
        ours: list[list[float]] = []
        theirs: list[list[float]] = []
        for _ in range(rounds):
            ours.append([])
            theirs.append([])
            for question in questions:
                ours[-1].append(timed(lambda q=question: memory.search(q, scope="bench", k=10), time.perf_counter))
                vector = vectors[question]
                theirs[-1].append(timed(lambda v=vector: bare.query(v, n_results=50), time.perf_counter))
    return loading, percentiles(min(ours, key=np.median)), percentiles(min(theirs, key=np.median))


def writes(folder: Path, units: int, calls: int) -> str:
    """CPU of single writes into the store, without embedding."""
    with PrismMemory.open(folder, embedder=None) as memory:
        memory.search(spelled(1), scope="bench")
        return percentiles(
            [
                timed(lambda event=event: memory.write(event, scope="bench"), time.process_time)
                for event in events(units + calls, seed=1)[units:]
            ]
        )


def measure(folder: Path, units: int, calls: int, rounds: int) -> None:
    """Print all figures of one size."""
    store = folder / f"store-{units}"
    print(f"{units:>7} units  {'write, bulk (CPU)':<24} {1000 * filled(store, units) / units:6.2f} a unit")
    bare = bare_chroma(folder / f"bare-{units}", units)
    for index in INDEXES:
        loading, ours, theirs = searches(store, index, bare, calls, rounds)
        print(f"{units:>7} units  {f'load, {index} (CPU)':<24} {1000 * loading:6.0f}")
        print(f"{units:>7} units  {f'search, {index}':<24} {ours}   bare Chroma, k=50 {theirs}")
    print(f"{units:>7} units  {'write, single (CPU)':<24} {writes(store, units, calls)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print("milliseconds: p50, p95")
    with tempfile.TemporaryDirectory() as name:
        for units in sorted({min(1000, options.units), options.units}):
            measure(Path(name), units, options.calls, options.rounds)


if __name__ == "__main__":
    main()
