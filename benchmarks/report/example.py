"""One question and all that was considered for it, as JSON.

python -m benchmarks.report.example FILE [--question ID] --json OUT
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from prism_core import PrismMemory
from prism_core.evaluation.datasets import QARow, Question, load_qa

SCOPE = "example"
BUDGET = 500
"""Tokens."""


def example(file: str | Path, question_id: str | None = None) -> dict[str, object]:
    """What the memory considers for a question within a token budget.

    Args:
        file: evidence-QA rows.
        question_id: the question; the first that several units bear on when None.
    """
    row, question = _chosen(load_qa(file), question_id)
    with TemporaryDirectory() as folder, PrismMemory.open(folder) as memory:
        events = [(item.key, event) for item in row.items for event in item.events]
        receipts = memory.write_many([event for _, event in events], scope=SCOPE)
        keys = {receipt.unit_id: key for (key, _), receipt in zip(events, receipts, strict=True)}
        found = memory.search(question.text, scope=SCOPE, budget=BUDGET)
        candidates = [
            {
                "objectives": {name: round(value, 4) for name, value in candidate.objectives.items()},
                "front": candidate.front,
                "rank": candidate.rank,
                "tokens": candidate.tokens,
                "chance": round(candidate.chance, 4),
                "evidence": keys.get(candidate.unit_id) in question.evidence,
            }
            for candidate in found.candidates
        ]
    return {"question": question.id, "budget": BUDGET, "candidates": candidates}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="an evidence-QA file")
    parser.add_argument("--question", metavar="ID", help="the first that several units bear on when left out")
    parser.add_argument("--json", type=Path, required=True, help="where to write it")
    options = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    options.json.write_text(json.dumps(example(options.file, options.question), indent=1) + "\n", encoding="utf-8")
    return 0


def _chosen(rows: Sequence[QARow], question_id: str | None) -> tuple[QARow, Question]:
    pairs = [(row, question) for row in rows for question in row.questions]
    if question_id is not None:
        return next(pair for pair in pairs if pair[1].id == question_id)
    return next((pair for pair in pairs if len(pair[1].evidence) > 1), pairs[0])


if __name__ == "__main__":
    sys.exit(main())
