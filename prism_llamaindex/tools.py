"""The memory as tools an agent calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar

from llama_index.core.tools.tool_spec.base import SPEC_FUNCTION_TYPE, BaseToolSpec

from prism_core import (
    ChainStep,
    ContextBuilder,
    Event,
    Kind,
    PrismMemory,
    ReceiptStatus,
    Source,
    scope_of,
    without_recalled,
)
from prism_core.errors import BudgetError, UnknownUnitError
from prism_llamaindex.failures import Failures, OnFailure
from prism_llamaindex.recall import LONGEST_QUESTION
from prism_llamaindex.storable import storable

UNAVAILABLE = "The memory is not available at the moment. Go on without it."
LONGEST_ID = 80
"""Characters of an unknown id that are repeated to the model."""
NOTHING = "Nothing about that is remembered."


class PrismToolSpec(BaseToolSpec):
    """Tools to recall, save, explain and forget memories of one scope: `PrismToolSpec(memory, scope).to_tool_list()`.

    The model sees neither the scope nor a way to name another one. What tools answer is fenced, quotes memories with
    their ids, and stays within `budget`. A failing memory answers in words that say nothing of the cause, which is
    logged and told to `on_failure`. For an agent that must not erase, leave that tool out:
    `spec.to_tool_list(spec_functions=spec.spec_functions[:3])`.

    Args:
        memory: an open memory; the tools never close it.
        scope: whose memory, and nobody else's; required, there is no shared default.
        budget: tokens of an answer.
        session_id: the sitting that what is saved belongs to.
        task_id: the task that what is saved belongs to.
        on_failure: told what failed and why.

    Raises:
        ScopeError: if the scope is missing or malformed.
        BudgetError: if the budget is not a positive whole number.
    """

    spec_functions: ClassVar[list[SPEC_FUNCTION_TYPE]] = [  # type: ignore[misc]
        ("recall_memory", "arecall_memory"),
        ("save_memory", "asave_memory"),
        ("why_memory", "awhy_memory"),
        ("forget_memory", "aforget_memory"),
    ]

    def __init__(
        self,
        memory: PrismMemory,
        scope: object,
        *,
        budget: int = 1000,
        session_id: str | None = None,
        task_id: str | None = None,
        on_failure: OnFailure | None = None,
    ) -> None:
        if type(budget) is not int or budget < 1:  # a bool is an int by type only
            raise BudgetError(budget)
        self.memory = memory
        self.scope = scope_of(scope)
        self.budget = budget
        self.on_failure = on_failure
        self._failures = Failures()
        self.session_id = session_id
        self.task_id = task_id

    def recall_memory(self, query: str) -> str:
        """Search the long-term memory for what was said, done or learned before, in this or earlier conversations.

        Ask before an action that may have been tried already, and whenever something from the past would help.

        Args:
            query: a question in words, or the action about to be taken and what it is for.
        """
        return self._answer("recall", lambda: self._recalled(_words(query)))

    def save_memory(self, text: str) -> str:
        """Save something worth knowing in later conversations, such as a preference, a decision or a lesson learned.

        Args:
            text: what to remember, in full sentences that make sense without this conversation.
        """
        return self._answer("save a memory", lambda: self._saved(_words(text)))

    def why_memory(self, memory_id: str) -> str:
        """Explain a memory: what it rests on and what led to it.

        Args:
            memory_id: the id in square brackets at the beginning of a recalled memory.
        """
        return self._answer("explain a memory", lambda: self._explained(_words(memory_id)))

    def forget_memory(self, memory_id: str) -> str:
        """Erase a memory for good. Only when the user asks for it.

        Args:
            memory_id: the id in square brackets at the beginning of a recalled memory.
        """
        return self._answer("forget a memory", lambda: self._forgotten(_words(memory_id)))

    async def arecall_memory(self, query: str) -> str:
        """`recall_memory`, off the event loop."""
        return await asyncio.to_thread(self.recall_memory, query)

    async def asave_memory(self, text: str) -> str:
        """`save_memory`, off the event loop."""
        return await asyncio.to_thread(self.save_memory, text)

    async def awhy_memory(self, memory_id: str) -> str:
        """`why_memory`, off the event loop."""
        return await asyncio.to_thread(self.why_memory, memory_id)

    async def aforget_memory(self, memory_id: str) -> str:
        """`forget_memory`, off the event loop."""
        return await asyncio.to_thread(self.forget_memory, memory_id)

    def _answer(self, operation: str, verb: Callable[[], str]) -> str:
        with self._failures.caught(operation, self.on_failure):
            try:
                return verb()
            except UnknownUnitError as error:
                # The error itself names the scope, which the model is not to see.
                return f"There is no memory [{error.unit_id[:LONGEST_ID]}]."
        return UNAVAILABLE

    def _recalled(self, query: str) -> str:
        query = query.strip()[:LONGEST_QUESTION]
        if not query:
            return "Say in words what to look for."
        found = self.memory.search(query, scope=self.scope, budget=self.budget)
        return self._builder(ids=True).pack(found.units, self.budget, query).text or NOTHING

    def _saved(self, text: str) -> str:
        event = Event(
            # A document, so that the same text is kept once.
            kind=Kind.DOCUMENT,
            observation=without_recalled(text).strip(),
            source=Source.ASSISTANT,
            session_id=self.session_id,
            task_id=self.task_id,
        )
        receipt = self.memory.write(event, scope=self.scope)
        if receipt.status is ReceiptStatus.REJECTED:
            return f"Nothing was saved: {receipt.reason}."
        if receipt.status is ReceiptStatus.DUPLICATE:
            return f"This was saved before, as [{receipt.unit_id}]."
        return f"Saved as [{receipt.unit_id}]."

    def _explained(self, memory_id: str) -> str:
        chain = self.memory.why(self._id(memory_id), scope=self.scope)
        # The memory asked about comes first, so that the budget never leaves it out.
        steps = sorted(chain, key=lambda step: step.depth)
        return self._builder().quote(map(_told, steps), self.budget)

    def _forgotten(self, memory_id: str) -> str:
        unit_id = self._id(memory_id)
        self.memory.erase(scope=self.scope, unit_ids=[unit_id])
        return f"[{unit_id}] is forgotten."

    def _id(self, memory_id: str) -> str:
        """The unit that an id means, as a model may write it."""
        return self.memory.get(memory_id.strip("[]… \t\n"), scope=self.scope).id

    def _builder(self, *, ids: bool = False) -> ContextBuilder:
        return ContextBuilder(self.memory.counter, ids=ids)


def _words(value: object) -> str:
    """What the model handed in, as text: LlamaIndex does not check the arguments of tools."""
    return "" if value is None else str(storable(value if isinstance(value, str) else str(value)))


def _told(step: ChainStep) -> str:
    why = f" ({step.link.relation}: {step.link.reason})" if step.link else ""
    return f"[{step.unit.id}] {step.unit.text}{why}"
