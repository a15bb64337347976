"""Cost of one write and of one search, in a scope of 1,000 and of 10,000 units, on this machine.

    python benchmarks/memory.py [--units 10000] [--calls 500] [--rounds 3]

A write is one event in one durable transaction, without embedding: process CPU time, because the rest is the disk's.
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

import numpy as np

from prism_core import Event, PrismMemory
from prism_core.changes import FloatArray

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


def writes(folder: Path, units: int, calls: int) -> str:
    """CPU of single writes into a scope of `units` units."""
    with PrismMemory.open(folder / f"write-{units}", embedder=None) as memory:
        stored = events(units + calls, seed=1)
        memory.write_many(stored[:units], scope="bench")
        memory.search(spelled(1), scope="bench")
        return percentiles(
            [
                timed(lambda event=event: memory.write(event, scope="bench"), time.process_time)
                for event in stored[units:]
            ]
        )


def searches(folder: Path, units: int, calls: int, rounds: int, index: str) -> tuple[str, str]:
    """Wall time of searches and of bare Chroma queries, the best of the rounds by median."""
    import chromadb  # noqa: PLC0415 - slow to import, and only this part needs it

    questions = texts(calls, (5, 12), seed=2)
    with PrismMemory.open(folder / f"search-{units}-{index}", embedder=Synthetic(), index=index) as memory:  # type: ignore[arg-type]
        stored = events(units, seed=1)
        for start in range(0, units, 1000):
            memory.write_many(stored[start : start + 1000], scope="bench")
        memory.flush()
        assert memory.embedder is not None
        vectors = {question: memory.embedder.embed_query(question) for question in questions}
        collection = chromadb.PersistentClient(str(folder / f"bare-{units}-{index}")).create_collection(
            "bench", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )
        for start in range(0, units, 1000):
            batch = [event.text for event in stored[start : start + 1000]]
            ids = [str(start + number) for number in range(len(batch))]
            collection.add(ids, embeddings=Synthetic().embed_documents(batch), documents=batch)
        ours, bare = [], []
        for _ in range(rounds):
            for question in questions:
                ours.append(timed(lambda q=question: memory.search(q, scope="bench", k=10), time.perf_counter))
                vector = vectors[question]
                bare.append(timed(lambda v=vector: collection.query(v, n_results=50), time.perf_counter))
    per_round = [slice(number * calls, (number + 1) * calls) for number in range(rounds)]
    return tuple(
        percentiles(min((seconds[part] for part in per_round), key=lambda part: float(np.median(part))))
        for seconds in (ours, bare)
    )  # type: ignore[return-value]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print("milliseconds: p50, p95")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for units in sorted({min(1000, options.units), options.units}):
            print(f"{units:>7} units  write (CPU)              {writes(folder, units, options.calls)}")
            for index in ("exact", "chroma"):
                ours, bare = searches(folder, units, options.calls, options.rounds, index)
                print(f"{units:>7} units  search, {index:<7}          {ours}   bare Chroma, k=50 {bare}")


if __name__ == "__main__":
    main()
