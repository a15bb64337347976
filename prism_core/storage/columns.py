"""Per-unit values of one scope as growing NumPy columns, and the order of units within sessions and tasks."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from prism_core.changes import FloatArray, IntArray
from prism_core.text import holds_time
from prism_core.types import Kind, MemoryUnit, Outcome, Status, is_distilled

QUESTION_MARKS = ("?", "？", "؟", "吗", "呢")
_NONE = -1
_TYPES: dict[str, type] = {
    "times": np.float64,
    "tokens": np.intp,
    "terms": np.intp,
    "importance": np.float32,
    "session": np.intp,
    "task": np.intp,
    "speaker": np.intp,
    "previous": np.intp,
    "following": np.intp,
    "question": np.bool_,
    "current": np.bool_,
    "timed": np.bool_,
    "step": np.bool_,
    "failed": np.bool_,
    "distilled": np.bool_,
}


ChainNumber = tuple[Literal["task", "session"], int]
"""A task or a session by its number; a session of number -1 is none."""


class Names:
    """Numbers names in the order they first appear; a missing name is -1."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.names: list[str] = []

    def number(self, name: str | None) -> int:
        """The number of a name, given out on first sight."""
        if name is None:
            return _NONE
        known = self._numbers.get(name)
        if known is None:
            known = self._numbers[name] = len(self.names)
            self.names.append(name)
        return known

    def find(self, name: str | None) -> int:
        """The number of a name, or -1 when it was never seen."""
        return _NONE if name is None else self._numbers.get(name, _NONE)


class Timeline:
    """Rows of one session or task in the order of event time, ties in the order of recording."""

    def __init__(self) -> None:
        self._keys: list[tuple[float, int]] = []

    def add(self, time: float, row: int) -> tuple[int, int]:
        """Insert a row; answers the rows before and after it, -1 where there is none."""
        key = (time, row)
        if not self._keys or self._keys[-1] < key:
            before = self._keys[-1][1] if self._keys else _NONE
            self._keys.append(key)
            return before, _NONE
        place = bisect_left(self._keys, key)
        self._keys.insert(place, key)
        before = self._keys[place - 1][1] if place else _NONE
        return before, self._keys[place + 1][1]

    def rows(self) -> IntArray:
        """The rows in order."""
        return np.fromiter((row for _, row in self._keys), dtype=np.intp, count=len(self._keys))

    @property
    def last(self) -> int:
        """The latest row, -1 when empty."""
        return self._keys[-1][1] if self._keys else _NONE


class UnitColumns:
    """The columns of a scope, after `protocols.Columns`. Arrays are views, valid until the next change."""

    times: NDArray[np.float64]
    tokens: IntArray
    terms: IntArray
    importance: FloatArray
    session: IntArray
    task: IntArray
    speaker: IntArray
    previous: IntArray
    following: IntArray
    question: NDArray[np.bool_]
    current: NDArray[np.bool_]
    timed: NDArray[np.bool_]
    step: NDArray[np.bool_]
    failed: NDArray[np.bool_]
    distilled: NDArray[np.bool_]

    def __init__(self) -> None:
        self.sessions = Names()
        self.tasks = Names()
        self.speakers = Names()
        self._size = 0
        self._buffers: dict[str, NDArray[Any]] = {name: np.zeros(16, dtype=kind) for name, kind in _TYPES.items()}
        self._session_order: list[Timeline] = []
        self._task_order: list[Timeline] = []
        self._session_speakers: list[set[int]] = []
        self._dialogue: NDArray[np.bool_] = np.zeros(16, dtype=np.bool_)
        self._expose()

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        """Size of the columns in bytes."""
        return sum(buffer.nbytes for buffer in self._buffers.values())

    @property
    def dialogue(self) -> NDArray[np.bool_]:
        """Whether more than one speaker takes part, by session number."""
        return self._dialogue[: len(self._session_speakers)]

    def append(self, unit: MemoryUnit, tokens: int, terms: int) -> int:
        """Add a unit as the next row; answers the row."""
        row = self._size
        if row == len(self._buffers["times"]):
            self._buffers = {name: np.concatenate([old, np.zeros_like(old)]) for name, old in self._buffers.items()}
        self._size += 1
        self._expose()
        time = unit.event_time.timestamp()
        self.times[row] = time
        self.session[row] = self.sessions.number(unit.session_id)
        self.task[row] = self.tasks.number(unit.task_id)
        self.speaker[row] = self.speakers.number(unit.speaker)
        self.update(row, unit, tokens, terms)
        self._order(row, time)
        return row

    def update(self, row: int, unit: MemoryUnit, tokens: int, terms: int) -> None:
        """Take over the values of a unit that may change after it was added."""
        self.tokens[row] = tokens
        self.terms[row] = terms
        self.importance[row] = unit.importance
        self.question[row] = unit.action is None and unit.observation.rstrip().endswith(QUESTION_MARKS)
        self.current[row] = unit.status in (Status.CURRENT, Status.DISPUTED)
        self.timed[row] = holds_time(unit.observation)
        self.step[row] = unit.kind is Kind.STEP
        self.failed[row] = unit.outcome is Outcome.FAILURE
        self.distilled[row] = is_distilled(unit)

    def session_rows(self, session_id: str) -> IntArray:
        """Rows of a session in the order of time."""
        return self.numbered_rows(session=self.sessions.find(session_id))

    def task_rows(self, task_id: str) -> IntArray:
        """Rows of a task in the order of time."""
        return self.numbered_rows(task=self.tasks.find(task_id))

    def numbered_rows(self, *, task: int | None = None, session: int | None = None) -> IntArray:
        """Rows of the task or session of a number in the order of time; none for -1."""
        order, number = (self._session_order, session) if task is None else (self._task_order, task)
        return order[number].rows() if number is not None and number >= 0 else np.empty(0, dtype=np.intp)

    def chain(self, row: int) -> ChainNumber:
        """The task a row is in, else its session, by number."""
        task = int(self.task[row])
        return ("task", task) if task >= 0 else ("session", int(self.session[row]))

    def chain_rows(self, chain: ChainNumber) -> IntArray:
        """Rows of a chain in the order of time; none for those without task and session."""
        kind, number = chain
        return self.numbered_rows(task=number) if kind == "task" else self.numbered_rows(session=number)

    def chains(self, row: int) -> list[ChainNumber]:
        """Every chain whose rows a row is among: its task's and its session's."""
        both: list[ChainNumber] = [("task", int(self.task[row])), ("session", int(self.session[row]))]
        return [chain for chain in both if chain[1] >= 0]

    def ends_chain(self, row: int, chain: ChainNumber) -> bool:
        """Whether a row is the latest of a chain."""
        kind, number = chain
        return (self._task_order if kind == "task" else self._session_order)[number].last == row

    def last_in_session(self, session_id: str) -> int:
        """The latest row of a session, -1 without one."""
        number = self.sessions.find(session_id)
        return self._session_order[number].last if number >= 0 else _NONE

    def last_in_task(self, task_id: str) -> int:
        """The latest row of a task, -1 without one."""
        number = self.tasks.find(task_id)
        return self._task_order[number].last if number >= 0 else _NONE

    def _order(self, row: int, time: float) -> None:
        task, session = int(self.task[row]), int(self.session[row])
        if task >= 0:
            _timeline(self._task_order, task).add(time, row)
        if session < 0:
            self.previous[row] = self.following[row] = _NONE
            return
        if session == len(self._session_speakers):
            self._session_speakers.append(set())
            if session == len(self._dialogue):
                self._dialogue = np.concatenate([self._dialogue, np.zeros_like(self._dialogue)])
        speakers = self._session_speakers[session]
        speakers.add(int(self.speaker[row]))
        self._dialogue[session] = len(speakers) > 1
        before, after = _timeline(self._session_order, session).add(time, row)
        self.previous[row], self.following[row] = before, after
        if before >= 0:
            self.following[before] = row
        if after >= 0:
            self.previous[after] = row

    def _expose(self) -> None:
        for name, buffer in self._buffers.items():
            setattr(self, name, buffer[: self._size])


def _timeline(order: list[Timeline], number: int) -> Timeline:
    while len(order) <= number:
        order.append(Timeline())
    return order[number]
