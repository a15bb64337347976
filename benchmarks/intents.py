"""Do intents help? Vague questions within tasks whose goal evolves: without intents, with the task's own, and told.

    python -m benchmarks.intents [FILE]

Prints the share of the evidence among the first units, and what the goal stack was at the time.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from prism_core import Event, IntentQuery, Kind, PrismMemory, RankingOptions

FILE = Path(__file__).parent / "data" / "evolving-goals.jsonl"
DEPTHS = (1, 3, 5)
SCOPE = ("bench",)


def main(path: Path = FILE) -> None:
    """Ask, and print a table."""
    tasks = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    asked = sum(len(task["questions"]) for task in tasks)
    print(
        f"{asked} questions in {len(tasks)} tasks, each within its task; share of the evidence among the first units\n"
    )
    print(f"{'':32}" + "".join(f"{f'R@{depth}':>8}" for depth in DEPTHS))
    for name, told, weight in (
        ("without intents", False, 0.0),
        ("intents of the task's goals", False, None),
        ("intents told by the caller", True, None),
    ):
        recalls = [recall for task in tasks for recall in _recalls(task, told=told, weight=weight)]
        print(f"{name:32}" + "".join(f"{fmean(each[depth] for each in recalls):8.3f}" for depth in DEPTHS))


def _recalls(task: Mapping[str, Any], *, told: bool, weight: float | None) -> list[dict[int, float]]:
    ranking = RankingOptions() if weight is None else RankingOptions(told_intents=weight)
    found = []
    with PrismMemory.open(ranking=ranking) as memory:
        ids: dict[str, str] = {}
        for unit in task["units"]:
            kind = Kind.STEP if "action" in unit else Kind.MESSAGE
            event = Event(kind=kind, task_id=task["id"], **{key: unit[key] for key in unit if key != "id"})
            ids[unit["id"]] = str(memory.write(event, scope=SCOPE).unit_id)
        for question in task["questions"]:
            intents = tuple(question["intents"]) if told else ()
            query = IntentQuery(text=question["text"], task_id=task["id"], target_intents=intents)
            ranked = [hit.unit.id for hit in memory.search(query, scope=SCOPE, k=max(DEPTHS))]
            found.append(_shares(ranked, {ids[each] for each in question["evidence"]}))
    return found


def _shares(ranked: Sequence[str], evidence: set[str]) -> dict[int, float]:
    return {depth: len(evidence.intersection(ranked[:depth])) / len(evidence) for depth in DEPTHS}


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
