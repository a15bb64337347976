"""Where tasks have got to: goals, sub-goals and steps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class GoalLevel(StrEnum):
    """Where in the chain of intents something stands."""

    GOAL = "goal"
    SUBGOAL = "sub-goal"
    STEP = "step"

    @property
    def depth(self) -> int:
        """0 for the goal, 1 for the sub-goal, 2 for the step."""
        return list(GoalLevel).index(self)


@dataclass(frozen=True, slots=True)
class Goal:
    """What a task is about, or what comes next in it.

    Attributes:
        level: the goal, a sub-goal on the way there, or the latest step.
        text: what is to be done, or was done, in the words of the unit.
        unit_id: the unit that states it.
        since: when that was.
    """

    level: GoalLevel
    text: str
    unit_id: str
    since: datetime


@dataclass(frozen=True, slots=True)
class TaskGoals:
    """Where a task has got to.

    Attributes:
        task_id: the task; None for a session without one.
        session_id: the session; None for a task.
        stack: goal, sub-goal and latest step, as far as they are known.
        stated: every goal and sub-goal, in the order of time: how the goal evolved.
    """

    task_id: str | None
    session_id: str | None
    stack: tuple[Goal, ...]
    stated: tuple[Goal, ...]
