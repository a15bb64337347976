"""The block of memories for a turn: made once, and again only when something new matters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock

from langchain_core.messages import BaseMessage

from prism_core import Context, Except, Kind, MemoryUnit, PrismMemory, Source, without_recalled
from prism_core.errors import BudgetError
from prism_langchain.messages import LONGEST_QUESTION, Keyed, digest, last_user
from prism_langchain.places import Place
from prism_langchain.problems import MemoryProblem, Watch

KEPT_TURNS = 1024
"""Turns whose block is remembered; a forgotten one is recalled again."""
LOOKED_THROUGH = 64
"""Latest units of a session among which those of the turn's calls are looked for."""
UNTRUSTED = frozenset({Source.TOOL, Source.EXTERNAL})


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a turn was shown last: the block, its units, the calls answered by then, and the scope's epoch."""

    text: str
    unit_ids: frozenset[str]
    answered: frozenset[str]
    epoch: int


class TurnRecall:
    """Makes the block of memories for the model's next step.

    The question is what the user said last. It is asked once per turn, and again whenever calls of tools have been
    answered since, with their units as the active ones. A new answer that holds no memory the block lacks leaves the
    block as it is, byte for byte. What the model sees anyway in its messages is not recalled.

    Args:
        memory: where from.
        budget: tokens of the block, wrapper included.
        watch: is told what could not be recalled.
        trusted_only: whether to leave out what tools and external sources said, for a block in the system role.

    Raises:
        BudgetError: if the budget is not a positive whole number.
    """

    def __init__(self, memory: PrismMemory, budget: int, watch: Watch, *, trusted_only: bool = False) -> None:
        self._memory = memory
        self._budget = checked_budget(budget)
        self._watch = watch
        self._trusted_only = trusted_only
        self._turns: OrderedDict[tuple[object, ...], _Shown] = OrderedDict()
        self._lock = Lock()

    def block(self, messages: Sequence[BaseMessage], place: Place) -> str:
        """The block for these messages; empty where nothing is worth its tokens, or the memory fails."""
        asked = last_user(messages)
        question = "" if asked is None else without_recalled(messages[asked].text).strip()[-LONGEST_QUESTION:]
        if asked is None or not question:
            return ""
        keyed = Keyed.of(messages, place)
        turn = (place, messages[asked].id, digest(question))
        answered = keyed.since(asked).answered
        with self._lock:
            # Where the user spoke last, a turn begins, whatever was answered to the same words before.
            shown = None if asked == len(messages) - 1 else self._turns.get(turn)
        if shown is not None and shown.answered == answered:
            return shown.text
        with self._watch.over("recall", place.scope):
            shown = self._recalled(question, keyed, answered, place, shown)
            with self._lock:
                self._turns[turn] = shown
                self._turns.move_to_end(turn)
                while len(self._turns) > KEPT_TURNS:
                    self._turns.popitem(last=False)
            return shown.text
        return ""

    def _recalled(
        self, question: str, keyed: Keyed, answered: frozenset[str], place: Place, before: _Shown | None
    ) -> _Shown:
        context = self._memory.context(
            question,
            scope=place.scope,
            budget=self._budget,
            active=self._active(answered, place),
            where=unseen(keyed, trusted_only=self._trusted_only),
        )
        self._report(context, place)
        epoch = context.retrieval.position.epoch
        found = frozenset(unit.id for unit in context.retrieval.units)
        if before is not None and found <= before.unit_ids and epoch == before.epoch:
            return _Shown(before.text, before.unit_ids, answered, epoch)
        return _Shown(context.text, found, answered, epoch)

    def _active(self, answered: frozenset[str], place: Place) -> list[str]:
        if not answered:
            return []
        latest = self._memory.units(scope=place.scope, session_id=place.session_id, last=LOOKED_THROUGH)
        return [unit.id for unit in latest if _key(unit) in answered]

    def _report(self, context: Context, place: Place) -> None:
        for note in context.retrieval.degraded:
            self._watch.report(MemoryProblem("recall", place.scope, note))


def checked_budget(budget: int) -> int:
    """A budget of tokens.

    Raises:
        BudgetError: if it is not a positive whole number.
    """
    if type(budget) is not int or budget < 1:  # a bool is an int by type only
        raise BudgetError(budget)
    return budget


def unseen(keyed: Keyed, *, trusted_only: bool = False) -> Callable[[MemoryUnit], bool]:
    """Which units the model does not see already in its messages.

    Args:
        keyed: what it sees.
        trusted_only: whether to leave out what tools and external sources said; a step quotes its tool.
    """
    visible = keyed.visible
    if not trusted_only:
        return Except(visible)

    def wanted(unit: MemoryUnit) -> bool:
        trusted = unit.source not in UNTRUSTED and unit.kind is not Kind.STEP
        return trusted and unit.idempotency_key not in visible

    return wanted


def _key(unit: MemoryUnit) -> str:
    """The key of what a unit was made of; one that was made again is marked behind a tilde."""
    return (unit.idempotency_key or "").partition("~")[0]
