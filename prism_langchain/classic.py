"""The memory behind the `memory=` of LangChain's classic chains and agent executors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from langchain_classic.base_memory import BaseMemory
from langchain_core.agents import AgentAction
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, get_buffer_string
from pydantic import Field, field_validator

from prism_core import Event, Except, Kind, MemoryUnit, PrismMemory, ReceiptStatus, Scope, Source, scope_of
from prism_core.errors import QueryError
from prism_langchain.convert import as_json, storable
from prism_langchain.history import holds_message, message_units, messages_of
from prism_langchain.messages import LONGEST_QUESTION
from prism_langchain.problems import MemoryProblem, Watch

NOT_INPUTS = frozenset({"stop"})
NOT_OUTPUTS = frozenset({"intermediate_steps", "messages"})


class PrismConversationMemory(BaseMemory):
    """Remembers a conversation, and brings back what matters of this and earlier ones.

    Before a run, the chain gets the latest messages of the session and, behind them, a block of memories of the whole
    scope that bear on the input. After it, input and output are stored, with the steps an agent took in between where
    the executor returns them (`return_intermediate_steps=True`). A run that fails stores nothing, as the chain does not
    say so.

    `save_context` is told nothing of users, so one object serves one scope and one session; make one per user and
    conversation. They share the memory and cost nothing.

    A memory that fails does not end the chain: it goes on without, the problem is logged by `prism_langchain` and told
    to `on_error`. `clear` raises: an erasure that failed is never passed over.

    Attributes:
        memory: an open memory; this never closes it.
        scope: whose memory.
        session_id: which conversation.
        window: how many of the session's latest messages come back word for word; 0 for none.
        budget: tokens the block of memories may take; None to leave it out.
        memory_key: the variable of the prompt that gets the messages.
        memories_key: the variable that gets the block; None to put the block behind the messages.
        input_key: which input is the user's; needed where there is more than one.
        output_key: which output is the answer; `output`, or the only one, when None.
        return_messages: whether the variable is a list of messages, for a `MessagesPlaceholder`, or text.
        human_prefix: who the user is in text.
        ai_prefix: who the assistant is in text.
        on_error: is told what the memory could not do.
    """

    memory: PrismMemory = Field(repr=False, exclude=True)
    scope: str | tuple[str, ...]
    session_id: str = Field(min_length=1)
    window: int = Field(default=6, ge=0)
    budget: int | None = 600
    memory_key: str = "history"
    memories_key: str | None = None
    input_key: str | None = None
    output_key: str | None = None
    return_messages: bool = False
    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    on_error: Callable[[MemoryProblem], None] | None = Field(default=None, repr=False, exclude=True)

    @field_validator("scope", mode="before")
    @classmethod
    def _checked_scope(cls, value: object) -> Scope:
        return scope_of(value)

    @property
    def memory_variables(self) -> list[str]:
        """The variables this fills."""
        return [self.memory_key, *([self.memories_key] if self.memories_key is not None else [])]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """What the prompt is to hold of the past.

        Args:
            inputs: of the chain; without the user's input only the latest messages come back.

        Returns:
            The value of every variable.

        Raises:
            QueryError: if it is not clear which input is the user's.
        """
        question = self._question(inputs)
        recent = self._recent()
        messages = messages_of(recent)
        block = self._block(question, {unit.id for unit in recent})
        behind = block if self.memories_key is None else ""
        shown = self._as_messages(messages, behind) if self.return_messages else self._as_text(messages, behind)
        return {self.memory_key: shown} | ({} if self.memories_key is None else {self.memories_key: block})

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store what was said and, where the outputs have them, the steps in between.

        Raises:
            QueryError: if it is not clear which input is the user's, or which output is the answer.
        """
        said = _messages(inputs[self._input_of(inputs)], HumanMessage)
        answered = _messages(outputs[self._output_of(outputs)], AIMessage)
        steps = [_step(action, found, self.session_id) for action, found in outputs.get("intermediate_steps") or ()]
        watch = Watch(self.on_error)
        with watch.over("record", scope_of(self.scope)):
            before = message_units(said, session_id=self.session_id)
            after = message_units(answered, session_id=self.session_id)
            for receipt in self.memory.write_many([*before, *steps, *after], scope=self.scope):
                if receipt.status in (ReceiptStatus.DEGRADED, ReceiptStatus.REJECTED):
                    watch.report(MemoryProblem("record", scope_of(self.scope), receipt.reason))

    def clear(self) -> None:
        """Erase the session; memories of other sessions stay.

        Raises:
            PrismError: if it could not be erased.
        """
        self.memory.erase(scope=self.scope, session_id=self.session_id)

    def _recent(self) -> list[MemoryUnit]:
        if not self.window:
            return []
        with Watch(self.on_error).over("recall", scope_of(self.scope)):
            return self.memory.units(
                scope=self.scope, session_id=self.session_id, where=holds_message, last=self.window
            )
        return []

    def _question(self, inputs: Mapping[str, Any]) -> str:
        """What memories are looked up for; empty where the user says nothing."""
        if self.budget is None or not (set(inputs) - self._not_inputs):
            return ""
        said = _messages(inputs[self._input_of(inputs)], HumanMessage)
        return "\n".join(message.text for message in said)[-LONGEST_QUESTION:].strip()

    def _block(self, question: str, shown: Set[str]) -> str:
        if not question or self.budget is None:
            return ""
        with Watch(self.on_error).over("recall", scope_of(self.scope)):
            found = self.memory.context(
                question, scope=self.scope, budget=self.budget, where=Except(unit_ids=frozenset(shown))
            )
            return found.text
        return ""

    def _as_messages(self, messages: Sequence[BaseMessage], block: str) -> list[BaseMessage]:
        # Behind the messages, where it leaves what providers cache as it is, and never in the role of the system.
        return [*messages, *([HumanMessage(block)] if block else [])]

    def _as_text(self, messages: Sequence[BaseMessage], block: str) -> str:
        text = get_buffer_string(messages, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)
        return "\n".join(part for part in (text, block) if part)

    @property
    def _not_inputs(self) -> frozenset[str]:
        # A chain hands in what this filled along with what the user said.
        return NOT_INPUTS | set(self.memory_variables)

    def _input_of(self, inputs: Mapping[str, Any]) -> str:
        return _chosen("input", self.input_key, inputs, self._not_inputs)

    def _output_of(self, outputs: Mapping[str, Any]) -> str:
        preferred = "output" if self.output_key is None and "output" in outputs else self.output_key
        return _chosen("output", preferred, outputs, NOT_OUTPUTS)


def _chosen(side: str, key: str | None, values: Mapping[str, Any], others: Set[str]) -> str:
    if key is not None:
        if key in values:
            return key
        raise QueryError(f"{side}_key", key, f"it is none of the {side}s: {', '.join(sorted(values))}")
    possible = sorted(set(values) - others)
    if len(possible) != 1:
        raise QueryError(f"{side}_key", None, f"say which one to remember of {', '.join(possible) or 'none'}")
    return possible[0]


def _messages(value: object, role: type[HumanMessage] | type[AIMessage]) -> list[BaseMessage]:
    if isinstance(value, BaseMessage):
        return [value]
    if isinstance(value, list) and value and all(isinstance(item, BaseMessage) for item in value):
        return list(value)
    return [role(value if isinstance(value, str) else json.dumps(as_json(value), ensure_ascii=False))]


def _step(action: AgentAction, observation: object, session_id: str) -> Event:
    arguments = action.tool_input
    written = arguments if isinstance(arguments, str) else json.dumps(as_json(arguments), ensure_ascii=False)
    found = observation if isinstance(observation, str) else json.dumps(as_json(observation), ensure_ascii=False)
    said = {"action": f"{action.tool}({written})", "action_type": action.tool, "thought": _thought(action) or None}
    fields = {"kind": Kind.STEP, "source": Source.ASSISTANT, "session_id": session_id, "observation": found, **said}
    return Event.parse(storable(fields))


def _thought(action: AgentAction) -> str:
    """What the agent said before the action, as agents that write `Thought: ... Action: ...` do; others only log it."""
    said, marker, _ = action.log.partition("Action:")
    return said.strip().removeprefix("Thought:").strip() if marker else ""
