"""`eval weights`: where the weight table comes from, and what each of its weights is worth.

Every question is asked once. Its pool is then put in order again from the signals of its candidates: with the shipped
table, with a table that was fitted to all rows but the question's own, and without each of the signals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from prism_core.changes import FloatArray
from prism_core.errors import DatasetError
from prism_core.evaluation.bootstrap import intervals
from prism_core.evaluation.datasets import QARow, Question, load_qa
from prism_core.evaluation.metrics import recall_at, share
from prism_core.evaluation.outcomes import ADVERSARIAL, Outcome
from prism_core.evaluation.parallel import run_tasks
from prism_core.evaluation.qa import MEAN_BUDGET, limited
from prism_core.evaluation.refit import PULL, Choice, refitted
from prism_core.evaluation.report import summarize
from prism_core.evaluation.systems import Ask, PrismSystem, after
from prism_core.evaluation.weight_report import REFITTED, SHIPPED, SignalWorth, WeightReport, without
from prism_core.evaluation.workbench import workbench
from prism_core.retrieve.objectives import weigh, weights_for
from prism_core.retrieve.options import RankingOptions
from prism_core.retrieve.order import order_by
from prism_core.retrieve.weights import Weights
from prism_core.types import MemoryUnit

CUTOFFS = (5, 10)
_OPTIONS = RankingOptions()


@dataclass(frozen=True, slots=True)
class Weighable:
    """A question, and all that can be put in order again.

    Attributes:
        question: as the file has it.
        file: stem of the file's name.
        row: file and row; what a fit leaves out.
        units: of the pool, p of them, in the memory's order.
        keys: the items each unit stands for.
        signals: every signal that was weighed, shape (p,).
        table: the shipped weights for this question.
    """

    question: Question
    file: str
    row: str
    units: Sequence[MemoryUnit]
    keys: Sequence[Sequence[str]]
    signals: Mapping[str, FloatArray]
    table: Weights

    def choice(self, names: Sequence[str]) -> Choice | None:
        """The pool as the fit takes it; None where no evidence is in it."""
        held = np.array([float(not self.question.evidence.isdisjoint(keys)) for keys in self.keys])
        if not held.any():
            return None
        absent = np.zeros(len(held))
        signals = np.stack([self.signals.get(name, absent) for name in names], axis=1).astype(np.float64)
        return Choice(signals, held / held.sum())


def run_weights(paths: Sequence[str | Path], *, pull: float = PULL, limit: int | None = None) -> WeightReport:
    """Cross-validate the weight table of questions on evidence-QA files.

    Args:
        paths: files whose rows are taken together, at least two rows.
        pull: how strongly a fit is drawn to the shipped weights, > 0.
        limit: ask only the first questions of every file.

    Raises:
        DatasetError: if a file cannot be read, or there are fewer than two rows, of which one is left out.
    """
    rows = [(path, row) for path in paths for row in limited(load_qa(path), limit)]
    if len(rows) < 2:
        raise DatasetError(str(paths[0]), len(rows), "another row is needed, to fit on one and look at the other")
    asked = run_tasks([partial(weighables, path, row) for path, row in rows], jobs=1, title="asking")
    shipped, fitted = shipped_weights(asked), fits(asked, pull)
    outcomes = run_tasks([partial(_weigh, each, fitted[each.row]) for each in asked], jobs=1, title="weighing")
    systems = [SHIPPED, REFITTED, *map(without, shipped)]
    return WeightReport(
        ", ".join(map(str, paths)),
        summarize(outcomes, systems),
        notes=(f"{len(asked)} questions, {len(fitted)} rows left out of the fit in turn, pull {pull:g}",),
        intervals=intervals(outcomes, systems),
        outcomes=outcomes,
        worth=tuple(_worth(name, *shipped[name], fitted) for name in shipped),
    )


def shipped_weights(asked: Sequence[Weighable]) -> dict[str, tuple[str, float]]:
    """Objective and weight by signal, of all signals that some question weighs."""
    return {
        signal: (objective, weight)
        for each in asked
        for objective, weights in each.table.items()
        for signal, weight in weights.items()
    }


def reweighted(table: Weights, weights: Mapping[str, float]) -> Weights:
    """A table with some of its weights replaced; what weighs 0 is left out, and objectives that are left empty."""
    replaced = {
        objective: {signal: value for signal, weight in group.items() if (value := weights.get(signal, weight)) != 0}
        for objective, group in table.items()
    }
    return {objective: group for objective, group in replaced.items() if group}


def weighables(path: str | Path, row: QARow) -> list[Weighable]:
    """Ask a row's questions, but adversarial ones; those that find nothing at all are left out."""
    found: list[Weighable] = []
    system = PrismSystem(workbench().opener(), after(row.items))
    system.add(row.items)
    for question in row.questions:
        ranking = system.search(Ask(question.text, session_id=question.session))
        if question.category == ADVERSARIAL or ranking.pool is None or not ranking.units:
            continue
        keys = [system.keys(unit.id) for unit in ranking.units]
        table = weights_for(ranking.pool.query, _OPTIONS, active=False)
        found.append(
            Weighable(question, Path(path).stem, f"{path}/{row.id}", ranking.units, keys, ranking.pool.signals, table)
        )
    system.close()
    return found


def fits(asked: Sequence[Weighable], pull: float = PULL) -> dict[str, dict[str, float]]:
    """By row: the weights, by signal, that are fitted to the questions of all other rows."""
    table = shipped_weights(asked)
    names, shipped = list(table), np.array([weight for _, weight in table.values()])
    choices = [(each.row, choice) for each in asked if (choice := each.choice(names)) is not None]
    found: dict[str, dict[str, float]] = {}
    for left_out in dict.fromkeys(each.row for each in asked):
        others = [choice for row, choice in choices if row != left_out]
        weights = refitted(others, shipped, pull) if others else shipped
        found[left_out] = dict(zip(names, weights.tolist(), strict=True))
    return found


def _worth(signal: str, objective: str, shipped: float, fitted: Mapping[str, Mapping[str, float]]) -> SignalWorth:
    found = [fit[signal] for fit in fitted.values()]
    return SignalWorth(signal, objective, shipped, float(np.mean(found)), float(np.std(found)))


def _weigh(asked: Weighable, fit: Mapping[str, float]) -> list[Outcome]:
    """One outcome per table."""
    signals = [signal for weights in asked.table.values() for signal in weights]
    tables = {SHIPPED: asked.table, REFITTED: reweighted(asked.table, fit)}
    tables |= {without(signal): reweighted(asked.table, {signal: 0.0}) for signal in signals}
    found = {name: _figures(asked, table) for name, table in tables.items()}
    # A signal that the question does not weigh makes no difference to it.
    found |= {without(signal): found[SHIPPED] for signal in fit if without(signal) not in found}
    return [
        Outcome(name, f"{asked.row}/{asked.question.id}", asked.file, figures, {"n": 1}, 0.0, asked.row)
        for name, figures in found.items()
    ]


def _figures(asked: Weighable, table: Weights) -> dict[str, float]:
    weighed = weigh(table, asked.signals)
    places = order_by(weighed.objectives, weighed.score, weighed.weight, _OPTIONS).places.tolist()
    keys, evidence = [asked.keys[place] for place in places], asked.question.evidence
    keys_of = {unit.id: unit_keys for unit, unit_keys in zip(asked.units, asked.keys, strict=True)}
    block = workbench().builder.pack([asked.units[place] for place in places], MEAN_BUDGET)
    held = share((key for unit in block.units for key in keys_of[unit.id]), evidence)
    return {**{f"R@{k}": recall_at(keys, evidence, k) for k in CUTOFFS}, f"recall@{MEAN_BUDGET}t": held}
