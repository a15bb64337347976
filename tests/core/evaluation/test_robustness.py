import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism_core.evaluation.datasets import load_qa
from prism_core.evaluation.robustness import FACTOR, ORDERS, reweighed, run_robustness, wrong
from prism_core.evaluation.systems import START, Ask, PrismSystem
from prism_core.evaluation.workbench import workbench
from prism_core.retrieve.options import Order, RankingOptions

SAYINGS = [
    "I adopted a cat called Tom yesterday.",
    "Where did you find him?",
    "In the shelter near the harbour, he was the smallest.",
    "My boat needs new sails before summer.",
    "The cat hates the boat.",
    "We had tea in the old town.",
    "Tom sleeps all day long.",
    "We all painted the boat on 3 May 2023.",
]


def unit(place: int, text: str) -> dict[str, Any]:
    speaker = "Ann" if place % 2 else "Bob"
    time = f"2023-04-0{place // 4 + 1}T13:{place:02d}:00Z"
    return {"id": f"u{place}", "text": text, "speaker": speaker, "session": f"s{place // 4}", "time": time}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    questions = [
        {"id": "q0", "text": "What is the cat called?", "evidence": ["u0"]},
        {"id": "q1", "text": "When was the boat painted?", "evidence": ["u7"]},
    ]
    units = [unit(place, text) for place, text in enumerate(SAYINGS)]
    path.write_text(json.dumps({"id": "row", "units": units, "questions": questions}))
    return path


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    path = tmp_path / "runs.jsonl"
    function = {"name": "cancel", "arguments": '{"reservation": "ZFA04Y"}'}
    said = ["Cancel ZFA04Y.", "Sure?", "Yes.", "Really?", "I said so."]
    messages: list[dict[str, Any]] = [
        {"role": "assistant" if place % 2 else "user", "content": text} for place, text in enumerate(said)
    ]
    messages.append({"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": function}]})
    path.write_text("\n".join(json.dumps({"id": f"r{task}", "task": task, "messages": messages}) for task in (1, 2)))
    return path


@pytest.mark.parametrize("order", ORDERS)
def test_the_shipped_weights_give_the_order_of_the_memory(rows: Path, order: Order) -> None:
    system = PrismSystem(workbench().opener(ranking=RankingOptions(order=order)), START)
    (row,) = load_qa(rows)
    system.add(row.items)
    for question in ("What is the cat called?", "When was the boat painted?", "And the boat now?"):
        ranking = system.search(Ask(question, active=("u3",)))
        assert ranking.pool is not None
        places = reweighed(ranking, ranking.pool, options=RankingOptions(), order=order)
        assert places.tolist() == list(range(len(SAYINGS)))
    system.close()


def test_wrong_weights_keep_their_sign_and_stay_within_the_factor() -> None:
    right = RankingOptions()
    drawn = wrong(right, np.random.default_rng(1))
    factors = [
        drawn.conversation[name][signal] / weight
        for name, weights in right.conversation.items()
        for signal, weight in weights.items()
    ]
    assert min(factors) >= 1 / FACTOR
    assert max(factors) <= FACTOR
    assert len({round(factor, 6) for factor in factors}) == len(factors)
    assert drawn.mid_task.keys() == right.mid_task.keys()


def test_questions_are_asked_in_every_order_under_every_draw(rows: Path) -> None:
    report = run_robustness(rows, draws=3)
    assert list(report.systems) == list(ORDERS)
    assert len(report.outcomes) == len(ORDERS) * 4 * 2
    for scores in report.systems.values():
        assert scores.overall["R@10 worst"] <= scores.overall["R@10 mean"] <= 1.0
    assert run_robustness(rows, draws=3).systems["soft"].overall == report.systems["soft"].overall


def test_runs_are_asked_too(runs: Path) -> None:
    report = run_robustness(runs, draws=2, limit=1)
    overall = report.systems["soft"].overall
    assert overall["arg_coverage@1200t"] == overall["arg_coverage@1200t worst"] == 1.0
    assert {outcome.question for outcome in report.outcomes} == {"r1#5"}
