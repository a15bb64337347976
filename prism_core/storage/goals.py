"""What each task is about at present: its goal, the sub-goal on the way there, the latest step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from prism_core.progress import Goal, GoalLevel, TaskGoals
from prism_core.text import StatedGoal, analyze, stated_goal
from prism_core.types import Kind, MemoryUnit, Source

SAME_TOPIC = 0.2
"""Share of index terms that two goals have in common from which the later one belongs to the earlier."""
FEW_TERMS = 3
SHOWN = 160


@dataclass(slots=True)
class _Chain:
    """The goals of one task or session, in the order they were stated; `stack` is what holds at present."""

    stated: dict[str, Goal] = field(default_factory=dict)
    stack: dict[GoalLevel, Goal] = field(default_factory=dict)


class GoalIndex:
    """Goals by chain: a task where a unit has one, else its session."""

    def __init__(self) -> None:
        self._chains: dict[str, _Chain] = {}
        self._names: dict[str, tuple[str | None, str | None]] = {}

    @property
    def nbytes(self) -> int:
        """Estimated size in bytes."""
        return sum(600 + 400 * len(chain.stated) for chain in self._chains.values())

    def put(self, unit: MemoryUnit, chain: str) -> None:
        """Take in a new or changed unit; what is older than what holds changes nothing."""
        if unit.task_id is None and unit.session_id is None:
            return
        goals = self._chains.setdefault(chain, _Chain())
        self._names[chain] = (unit.task_id, None if unit.task_id is not None else unit.session_id)
        goal = self._goal(unit, goals)
        if goal is None:
            return
        latest = max((each.since for each in goals.stack.values()), default=goal.since)
        if goal.level is not GoalLevel.STEP:
            goals.stated[unit.id] = goal
        if goal.since >= latest:
            goals.stack = {level: each for level, each in goals.stack.items() if level.depth < goal.level.depth}
            goals.stack[goal.level] = goal

    def stack(self, chain: str) -> Sequence[Goal]:
        """What holds at present: the goal, then the sub-goal, then the latest step, as far as they are known."""
        found = self._chains.get(chain)
        return sorted(found.stack.values(), key=lambda goal: goal.level.depth) if found is not None else []

    def stated(self, chain: str) -> Sequence[Goal]:
        """Every goal and sub-goal that was stated, in the order of time."""
        found = self._chains.get(chain)
        return sorted(found.stated.values(), key=lambda goal: goal.since) if found is not None else []

    def tasks(self, task_id: str | None, session_id: str | None) -> list[TaskGoals]:
        """Where every task or session has got to, in the order they began; one of them where it is named."""
        return [
            TaskGoals(task, session, tuple(self.stack(chain)), tuple(self.stated(chain)))
            for chain, (task, session) in self._names.items()
            if (task_id is None or task == task_id) and (session_id is None or session == session_id)
        ]

    def _goal(self, unit: MemoryUnit, chain: _Chain) -> Goal | None:
        if unit.action is not None:
            said = stated_goal(unit.thought) if unit.thought else None
            if said is not None:
                return _of(unit, GoalLevel.SUBGOAL, said.text)
            return _of(unit, GoalLevel.STEP, unit.action)
        if unit.kind is not Kind.MESSAGE or unit.source not in (Source.USER, Source.ASSISTANT):
            return None
        said = stated_goal(unit.observation)
        present = chain.stack.get(GoalLevel.GOAL)
        if unit.source is Source.ASSISTANT:
            return _of(unit, GoalLevel.SUBGOAL, said.text) if said is not None and present is not None else None
        if present is None and said is None and len(analyze(unit.observation)) >= FEW_TERMS:
            said = StatedGoal(True, unit.observation)
        if said is None:
            return None
        serves = present is not None and (not said.overall or _alike(present.text, said.text))
        return _of(unit, GoalLevel.SUBGOAL if serves else GoalLevel.GOAL, said.text)


def _of(unit: MemoryUnit, level: GoalLevel, text: str) -> Goal:
    line = " ".join(text.split())
    return Goal(level, line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…", unit.id, unit.event_time)


def _alike(one: str, other: str) -> bool:
    terms, others = set(analyze(one)), set(analyze(other))
    return len(terms & others) >= SAME_TOPIC * max(1, len(terms | others))
