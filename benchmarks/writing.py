"""What a write costs: process CPU per event into a large scope, and calls of a language model per 100 events.

    python -m benchmarks.writing [--units 10000] [--calls 400]

Writes are single events, each a durable transaction, without embedding and without a model: process CPU time, because
the rest is the disk's. Calls are counted on the tasks of `benchmarks/data/evolving-goals.jsonl`, with a model whose
answers are scripted, for every preset: rules alone, a model where rules are unsure, a model for every event.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.memory import events, spelled
from prism_core import EncodingOptions, Event, Kind, PrismMemory, Source, StructuredLLM
from prism_core.testing import ScriptedLLM

TASKS = Path(__file__).parent / "data" / "evolving-goals.jsonl"
SCOPE = ("bench",)
READING = '{"intents": ["plan"], "importance": 3}'


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=400)
    options = parser.parse_args()
    print(f"milliseconds of CPU per event, written one by one into a scope of {options.units:,} units: p50, p95")
    for name, sample in (
        ("conversation", events(options.units + options.calls, seed=1)[options.units :]),
        ("statements", list(_statements(options.calls))),
        ("tool calls and replies", list(_tools(options.calls))),
    ):
        with tempfile.TemporaryDirectory() as folder:
            print(f"  {name:<26}{_cost(Path(folder), options.units, sample)}")
    print("\ncalls of a language model per 100 events")
    for preset in ("rules", "unsure", "always"):
        print(f"  {preset:<26}{_calls(preset):6.0f}")


def _cost(folder: Path, units: int, sample: Sequence[Event]) -> str:
    with PrismMemory.open(folder, embedder=None, index="exact") as memory:
        stored = events(units, seed=1)
        for first in range(0, units, 1000):
            memory.write_many(stored[first : first + 1000], scope=SCOPE)
        memory.search(spelled(1), scope=SCOPE)
        seconds = []
        for event in sample:
            start = time.process_time()
            memory.write(event, scope=SCOPE)
            seconds.append(time.process_time() - start)
    p50, p95 = np.percentile(np.array(seconds) * 1000, [50, 95])
    return f"{p50:6.2f} {p95:6.2f}"


def _statements(count: int) -> Iterator[Event]:
    """What users say of themselves: every event states something, some of it changes."""
    forms = ("I live in {}", "My favourite colour is {}", "I love {}", "I'm allergic to {}", "The build port is {}")
    for number in range(count):
        word = f"{number}" if number % 5 == 4 else spelled(number).title()
        yield Event(observation=forms[number % 5].format(word), session_id=f"s{number // 20}")


def _tools(count: int) -> Iterator[Event]:
    """Calls whose arguments come from earlier replies."""
    for number in range(count // 2):
        place = {"session_id": f"t{number // 15}", "task_id": f"t{number // 15}", "tool_call_id": f"c{number}"}
        action = f'get_order({{"order_id": "R-{7000 + number - number % 15}"}})'
        yield Event(kind=Kind.STEP, action=action, source=Source.ASSISTANT, **place)
        reply = json.dumps({"order_id": f"R-{7001 + number}", "user": f"mia_{number}", "status": "open"})
        yield Event(kind=Kind.STEP, observation=reply, source=Source.TOOL, **place)


def _calls(preset: Literal["rules", "unsure", "always"]) -> float:
    llm = ScriptedLLM(lambda prompt: READING)
    encoding = EncodingOptions() if preset == "rules" else EncodingOptions(llm=StructuredLLM(llm), read=preset)
    written = 0
    with PrismMemory.open(embedder=None, encoding=encoding) as memory:
        for line in TASKS.read_text(encoding="utf-8").splitlines():
            task = json.loads(line)
            for unit in task["units"]:
                kind = Kind.STEP if "action" in unit else Kind.MESSAGE
                fields = {key: unit[key] for key in unit if key != "id"}
                memory.write(Event(kind=kind, task_id=task["id"], **fields), scope=SCOPE)
                written += 1
    return 100 * len(llm.prompts) / written


if __name__ == "__main__":
    main()
