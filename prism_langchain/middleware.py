"""The memory of an agent made with LangChain's `create_agent`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.tools.tool_node import ToolCallRequest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from prism_core import PrismMemory
from prism_langchain.injection import with_memory, with_system_memory
from prism_langchain.messages import Keyed, made_in, turn_start
from prism_langchain.places import NameSource, Place, Places, ScopeSource, is_delegated, thread_id
from prism_langchain.problems import MemoryProblem, Watch
from prism_langchain.recalling import TurnRecall
from prism_langchain.recording import BeforeWrite, MessageRecorder
from prism_langchain.tools import ToolName, prism_tools
from prism_langchain.warning import PrecedentWarner

Position = Literal["user", "system"]
ToolResult = ToolMessage | Command[Any]


@dataclass(eq=False, repr=False)
class PrismMemoryMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Gives an agent a memory: recalls before the model, records what was said and done.

        agent = create_agent(
            model,
            tools,
            middleware=[PrismMemoryMiddleware(memory, scope=scope_from_context("user_id"))],
            context_schema=Context,
            checkpointer=checkpointer,
        )
        agent.invoke({"messages": [...]}, {"configurable": {"thread_id": "t1"}}, context=Context(user_id="alice"))

    **Recall.** Before the model is called, the memories that matter for the user's last words are put at the end of
    that message as one fenced block, in the request only: neither the thread nor a checkpoint ever holds it. It is made
    once per turn and again after results of tools, whose units are then the active ones; as long as that brings no
    memory the block lacks, the block stays the same byte for byte. What the model sees anyway in its messages is not
    recalled; what was summarised or trimmed away is.

    **Prompt caching.** The messages before the user's last one are sent as the thread holds them, without the blocks
    of earlier turns. So what is sent in a turn begins with what was sent in the turn before up to the end of the
    user's words there; from the old block on it differs, and the block is the only thing that was paid for once.

    **Record.** The user's words are stored before the model is called, and so kept when it fails. Every call of a tool
    is stored with its result as it ends, a call that raises as a failure with the error, which is raised on. The
    answer is stored at the end of the turn. Keys made of thread and message ids keep the ledger from holding anything
    twice, in whatever process the thread goes on. Stored is only what a run adds: messages handed in as history are
    taken to be known. Blocks of memories, summaries of LangChain's `SummarizationMiddleware` and calls of the memory's
    own tools are never stored.

    **Order.** Put it last: `middleware=[PIIMiddleware(...), SummarizationMiddleware(...), ContextEditingMiddleware(),
    PrismMemoryMiddleware(...)]`. Hooks before the model then run before it, so that it stores what was redacted, and it
    adds the block to what is left after trimming. Results of tools are stored as the tool returned them; redact them,
    or leave them out, with `before_write`.

    **Agents in tools.** An agent called in a tool of another one has the runtime context of the outer one, and so its
    scope, unless it is given another. What it is told in the user's role comes from an agent and is stored as such.

    A memory that fails does not end the turn: it goes on without, the problem is logged by `prism_langchain` and told
    to `on_error`. A missing scope raises `ScopeError`. One instance serves any number of threads and users, sync and
    async; it never closes the memory.

    Attributes:
        memory: an open memory.
        scope: whose memory; fixed, or read from the runtime, such as `scope_from_context("user_id")`. Required.
        budget: tokens of the block, wrapper included.
        position: "user" is the end of the user's last message. "system" is the end of the system message; there the
            block leaves out what tools and external sources said.
        trusted_only: whether the block leaves that out; None for as the position has it.
        session_id: the session of what is stored; the thread's id by default.
        task_id: the task of what is stored, if any.
        recall: whether to recall.
        record: whether to record.
        warn: whether a call that failed before is held back, once a turn: the tool is not run, and the model is told
            when and why it failed. The same call made again is made. Nothing of this is stored.
        own_tools: names of the memory's tools to give the agent, see `prism_tools`; none by default.
        unrecorded_tools: names of tools whose calls are not stored, such as a retriever over this memory: what it
            recalls would else be stored as new.
        before_write: may change an event before it is stored, or keep it out by answering None.
        on_error: is told what the memory could not do.
        name: names this instance in the graph; instances of one agent need different ones.

    Raises:
        ScopeError: if a fixed scope is malformed.
        BudgetError: if the budget is not a positive whole number.
    """

    memory: PrismMemory
    scope: ScopeSource = field(kw_only=True)
    budget: int = field(default=1000, kw_only=True)
    position: Position = field(default="user", kw_only=True)
    trusted_only: bool | None = field(default=None, kw_only=True)
    session_id: NameSource = field(default=thread_id, kw_only=True)
    task_id: NameSource = field(default=None, kw_only=True)
    recall: bool = field(default=True, kw_only=True)
    record: bool = field(default=True, kw_only=True)
    warn: bool = field(default=False, kw_only=True)
    own_tools: Sequence[ToolName] = field(default=(), kw_only=True)
    unrecorded_tools: Sequence[str] = field(default=(), kw_only=True)
    before_write: BeforeWrite | None = field(default=None, kw_only=True)
    on_error: Callable[[MemoryProblem], None] | None = field(default=None, kw_only=True)
    name: str = field(default="PrismMemoryMiddleware", kw_only=True)

    def __post_init__(self) -> None:
        if self.position not in ("user", "system"):
            raise ValueError(f"position={self.position!r} is no place for a block; choose 'user' or 'system'")
        watch = Watch(self.on_error)
        trusted_only = self.position == "system" if self.trusted_only is None else self.trusted_only
        self._places = Places(self.scope, self.session_id, self.task_id)
        self._recall = TurnRecall(self.memory, self.budget, watch, trusted_only=trusted_only)
        self._warner = PrecedentWarner(self.memory, watch)
        self._recorder = MessageRecorder(self.memory, watch, self.before_write, frozenset(self.unrecorded_tools))
        self.tools = prism_tools(
            self.memory,
            scope=self.scope,
            session_id=self.session_id,
            task_id=self.task_id,
            names=self.own_tools,
            on_error=self.on_error,
        )

    # -- before and after --------------------------------------------------------------------------------------------

    def before_model(self, state: AgentState[Any], runtime: Any) -> None:
        """Store what the user just said.

        Raises:
            ScopeError: if the run has no scope.
        """
        place, messages = self._places.of(runtime), state["messages"]
        # Results of tools say nothing new of the user; an answer comes last where earlier words were edited.
        if self.record and messages and not isinstance(messages[-1], ToolMessage):
            said = Keyed.of(messages, place).since(turn_start(messages)).said
            self._recorder.record_said(said, place, delegated=is_delegated(runtime))

    async def abefore_model(self, state: AgentState[Any], runtime: Any) -> None:
        """As `before_model`, in a worker thread."""
        await asyncio.to_thread(self.before_model, state, runtime)

    def after_agent(self, state: AgentState[Any], runtime: Any) -> None:
        """Store what is not stored yet of the turn: the answer, and calls that no tool ran.

        Raises:
            ScopeError: if the run has no scope.
        """
        place, messages = self._places.of(runtime), state["messages"]
        if self.record and messages:
            turn = Keyed.of(messages, place).since(turn_start(messages))
            self._recorder.record(turn, place, delegated=is_delegated(runtime))

    async def aafter_agent(self, state: AgentState[Any], runtime: Any) -> None:
        """As `after_agent`, in a worker thread."""
        await asyncio.to_thread(self.after_agent, state, runtime)

    # -- around the model --------------------------------------------------------------------------------------------

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with the block of memories in its request."""
        return handler(self._with_memory(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """As `wrap_model_call`; recalls in a worker thread."""
        return await handler(await asyncio.to_thread(self._with_memory, request))

    def _with_memory(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        place = self._places.of(request.runtime)
        block = self._recall.block(request.messages, place) if self.recall else ""
        if not block:
            return request
        if self.position == "system":
            return request.override(system_message=with_system_memory(request.system_message, block))
        return request.override(messages=with_memory(request.messages, block))

    # -- around tools ------------------------------------------------------------------------------------------------

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
        """Run the tool and store the call with its result, or with its error, which is raised on."""
        if (warning := self._warning(request)) is not None:
            return warning
        result = None
        try:
            result = handler(request)
            return result
        finally:
            error = sys.exception() if result is None else None
            if self._has_ended(error):
                self._record_call(request, result, error)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """As `wrap_tool_call`; asks and stores in a worker thread."""
        if self.warn and (warning := await asyncio.to_thread(self._warning, request)) is not None:
            return warning
        result = None
        try:
            result = await handler(request)
            return result
        finally:
            error = sys.exception() if result is None else None
            if self._has_ended(error):
                await asyncio.to_thread(self._record_call, request, result, error)

    def _warning(self, request: ToolCallRequest) -> ToolMessage | None:
        return self._warner.reply(request, self._places.of(request.runtime)) if self.warn else None

    def _has_ended(self, error: BaseException | None) -> bool:
        # An interrupt is a pause: the call is made again when the run goes on. A cancelled call has no result either.
        return self.record and (
            error is None or (isinstance(error, Exception) and not isinstance(error, GraphBubbleUp))
        )

    def _record_call(self, request: ToolCallRequest, result: ToolResult | None, error: BaseException | None) -> None:
        place, call = self._places.of(request.runtime), request.tool_call
        message, key = _caller(request, place)
        if error is None:
            reply = _reply(result, call["id"])
        else:
            reply = ToolMessage(f"{type(error).__name__}: {error}", tool_call_id=call["id"], status="error")
        self._recorder.record_call(message, key, call, reply, place)


def _caller(request: ToolCallRequest, place: Place) -> tuple[AIMessage, str | None]:
    """The message that asks for a call, and its key; a message of its own for a call that none asks for."""
    messages: Sequence[BaseMessage] = request.state.get("messages", ()) if isinstance(request.state, dict) else ()
    keyed = Keyed.of(messages, place)
    for message, key in zip(reversed(keyed.messages), reversed(keyed.keys), strict=True):
        if isinstance(message, AIMessage) and made_in(message, request.tool_call) is not None:
            return message, key
    return AIMessage("", tool_calls=[request.tool_call]), None


def _reply(result: ToolResult | None, call_id: str | None) -> ToolMessage | None:
    if isinstance(result, ToolMessage):
        return result
    update = result.update if isinstance(result, Command) else None
    messages = update.get("messages", ()) if isinstance(update, dict) else ()
    replies = [message for message in messages if isinstance(message, ToolMessage) and message.tool_call_id == call_id]
    return replies[0] if replies else None
