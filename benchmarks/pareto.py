"""Milliseconds per sort into fronts, beside moocore's C code in the same run: `python benchmarks/pareto.py`."""

from __future__ import annotations

import time
from collections.abc import Callable

import moocore
import numpy as np
from numpy.typing import NDArray

from prism_core.retrieve.pareto import dominance_fronts

Rows = NDArray[np.float64]

SIZES = (50, 200, 1000)
OBJECTIVES = (2, 3, 4)


def milliseconds(sort: Callable[[Rows], object], rows: Rows, repeats: int = 50) -> float:
    """The fastest of `repeats` runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        sort(rows)
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def moocore_fronts(rows: Rows) -> NDArray[np.integer]:
    return np.asarray(moocore.pareto_rank(rows, maximise=True))


def data(n: int, m: int) -> dict[str, Rows]:
    rng = np.random.default_rng(n * 10 + m)
    uniform = rng.random((n, m))
    common = rng.random((n, 1))
    return {
        "uniform": uniform,
        "correlated": 0.8 * common + 0.2 * uniform,
        "ties": np.round(uniform, 1),
    }


def main() -> None:
    print(f"{'n':>5} {'m':>2} {'data':<11} {'fronts':>6} {'prism ms':>9} {'moocore ms':>11}")
    for n in SIZES:
        for m in OBJECTIVES:
            for name, objectives in data(n, m).items():
                fronts = dominance_fronts(objectives)
                if not np.array_equal(fronts, moocore_fronts(objectives)):
                    raise SystemExit(f"fronts differ from moocore's: n={n} m={m} {name}")
                ours = milliseconds(dominance_fronts, objectives)
                theirs = milliseconds(moocore_fronts, objectives)
                print(f"{n:>5} {m:>2} {name:<11} {fronts.max() + 1:>6} {ours:>9.3f} {theirs:>11.3f}")


if __name__ == "__main__":
    main()
