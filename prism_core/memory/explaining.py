"""Questions about what happened: how it came about, what it led to, whether it was tried before."""

from __future__ import annotations

from abc import ABC, abstractmethod

from prism_core.memory import chains, precedents
from prism_core.memory.arguments import checked_action, checked_name, checked_unit_id
from prism_core.memory.reader import Reader
from prism_core.progress import TaskGoals
from prism_core.results import Chain, LogEntry, Precedents
from prism_core.storage.ledger import SqlLedger
from prism_core.types import Scope

FAILURE_DEPTH = 200
"""Mistakes may be made long before they show: of a failure the whole run is looked at."""


class ExplainVerbs(ABC):
    """What `PrismMemory` answers about single units and actions."""

    _ledger: SqlLedger
    _reader: Reader

    @abstractmethod
    def _enter(self, operation: str, scope: object) -> Scope:
        """The scope checked, once the memory is known to be open."""

    def why(self, unit_id: str, *, scope: object, depth: int = 4, limit: int = 50) -> Chain:
        """How a unit came about: what it required, what caused it, what it superseded.

        Args:
            unit_id: which unit.
            scope: whose memory.
            depth: links to walk at most.
            limit: units to return at most.

        Raises:
            UnknownUnitError: if the scope has none of this id.
        """
        checked, wanted = self._enter("why", scope), checked_unit_id(unit_id)
        return self._reader.locked(
            checked, lambda state: chains.why(state, self._ledger, wanted, depth=depth, limit=limit)
        )

    def impact(self, unit_id: str, *, scope: object, depth: int = 4, limit: int = 50) -> Chain:
        """What a unit led to; arguments and errors are those of `why`."""
        checked, wanted = self._enter("impact", scope), checked_unit_id(unit_id)
        return self._reader.locked(
            checked, lambda state: chains.impact(state, self._ledger, wanted, depth=depth, limit=limit)
        )

    def failure_path(
        self,
        unit_id: str | None = None,
        *,
        scope: object,
        task_id: str | None = None,
        depth: int = FAILURE_DEPTH,
        limit: int = 50,
    ) -> Chain:
        """What a failure rests on: the steps, sources and decisions that led to it, each with its suspicion.

        `Chain.suspects` has them in the order in which one would look for the mistake. How good that order is:
        `prism eval failures`.

        Args:
            unit_id: the failed unit; the latest failed step when None.
            scope: whose memory.
            task_id: look for the latest failed step in this task only.
            depth: links to walk at most.
            limit: units to return at most, the most suspicious ones.

        Raises:
            UnknownUnitError: if the scope has no unit of this id.
            QueryError: if no unit is given and nothing failed.
        """
        checked = self._enter("failure_path", scope)
        if unit_id is not None:
            checked_unit_id(unit_id)
        checked_name("task_id", task_id)
        return self._reader.locked(
            checked, lambda state: chains.failure_path(state, self._ledger, unit_id, task_id, depth=depth, limit=limit)
        )

    def goals(self, *, scope: object, task_id: str | None = None, session_id: str | None = None) -> list[TaskGoals]:
        """Where every task has got to: its goal, the sub-goal, the latest step, and how the goal evolved.

        Goals are read off what users and the agent say ("our goal is", "next, let us", a request) and off thoughts that
        come with actions. Units without a task count by their session.

        Args:
            scope: whose memory.
            task_id: this task alone.
            session_id: this session alone.
        """
        checked = self._enter("goals", scope)
        task, session = checked_name("task_id", task_id), checked_name("session_id", session_id)
        return self._reader.locked(checked, lambda state: state.goal_index.tasks(task, session))

    def history(self, unit_id: str, *, scope: object) -> list[LogEntry]:
        """Every recorded change of a unit, oldest first.

        Raises:
            UnknownUnitError: if the scope has none of this id.
        """
        checked = self._enter("history", scope)
        self._ledger.units(checked, [checked_unit_id(unit_id)])
        return self._ledger.log(checked, unit_id=unit_id)

    def before(self, action: str, *, scope: object, task_id: str | None = None) -> Precedents:
        """Whether an action was taken before, and how it ended; ask before it is taken again.

        Args:
            action: as it would be stored, such as `book_hotel({"offer": "HS-4471"})`. Of a call the order of the
                arguments and white space do not matter.
            scope: whose memory.
            task_id: look in this task only.

        Returns:
            The earlier units of the very same action; `failed` is the failure to be told of, `render()` tells it.

        Raises:
            ScopeError: if the scope is missing or malformed.
            QueryError: if there is no action.
        """
        checked, wanted = self._enter("before", scope), checked_action(action)
        within = checked_name("task_id", task_id)
        return self._reader.locked(checked, lambda state: precedents.of(state, wanted, within))
