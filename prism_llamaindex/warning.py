"""Saying that a call failed before, in place of making it again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llama_index.core.agent.workflow import ToolCallResult
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.core.tools import BaseTool, FunctionTool, ToolOutput
from llama_index.core.tools.types import adapt_to_async_tool

from prism_core import ContextBuilder, PrismMemory, Scope, scope_of
from prism_llamaindex.failures import Failures, OnFailure
from prism_llamaindex.messages import ADVICE, OWN_TOOLS, is_held, to_events

try:
    # Not an error: the run waits for a person or another event, and the tool is called again then.
    from workflows.runtime.types.results import WaitingForEvent

    PAUSES: tuple[type[Exception], ...] = (WaitingForEvent,)
except ImportError:  # workflows before 2.9 pause otherwise
    PAUSES = ()

CONTEXT = "prism_run_context"
"""The argument under which agents hand in the context of their run; the model does not see it."""


def warned_tools(
    tools: Sequence[BaseTool | Callable[..., Any]],
    memory: PrismMemory,
    scope: object,
    *,
    on_failure: OnFailure | None = None,
    failures: tuple[type[Exception], ...] = (Exception,),
) -> list[BaseTool]:
    """Tools that hold a call back, once a run, whose very same action failed before and has not succeeded since.

        agent = FunctionAgent(tools=warned_tools([book, search], memory, scope=("acme", "alice")), llm=llm)
        await agent.run("Book it.", memory=PrismChatMemory.from_defaults(memory, scope=("acme", "alice")))

    The tool is then not run; the model is told when and why it failed, quoted as data. The same call made again in the
    run is made. Used outside of an agent, where runs cannot be told apart, a call is held back once per failure.
    `PrismChatMemory` and `PrismMemoryBlock` store what tools did, and nothing of a call that was held back.

    What a tool raises is answered to the model as an agent would, with `Error:` in front, by which it is remembered as
    a failure.

    Args:
        tools: of LlamaIndex, or functions; tools of the memory itself are handed on as they are.
        memory: an open memory, never closed here.
        scope: whose memory.
        on_failure: is told what could not be looked up; the call is then made.
        failures: what counts as a tool that failed; anything else is raised on.

    Returns:
        One for each, with its name, description and arguments.

    Raises:
        ScopeError: if the scope is missing or malformed.
    """
    lookup = Precedence(memory, scope_of(scope), on_failure)
    made = [tool if isinstance(tool, BaseTool) else FunctionTool.from_defaults(tool) for tool in tools]
    return [tool if tool.metadata.name in OWN_TOOLS else WarnedTool(tool, lookup, failures) for tool in made]


class Precedence:
    """Finds out whether an action failed before.

    Args:
        memory: what is asked.
        scope: whose memory.
        on_failure: is told what could not be looked up.
    """

    def __init__(self, memory: PrismMemory, scope: Scope, on_failure: OnFailure | None = None) -> None:
        self._memory = memory
        self._scope = scope
        self._on_failure = on_failure
        self._failures = Failures()

    def of(self, action: str) -> tuple[str, str] | None:
        """The id of the latest failure and what the model is told of it; None where there is none to be told of."""
        with self._failures.caught("look up what failed before", self._on_failure):
            found = self._memory.before(action, scope=self._scope)
            if found.failed is not None:
                told, counter = found.render(), self._memory.counter
                # Twice its size and some holds it in its fence, however the marks around it are counted.
                block = ContextBuilder(counter).quote([told], 2 * counter.count(told) + 200)
                return found.failed.id, f"{block}\n{ADVICE}"
        return None


class WarnedTool(FunctionTool):
    """A tool that is asked about before it runs; see `warned_tools`.

    Args:
        tool: what runs.
        lookup: knows what failed before.
        failures: what counts as a tool that failed.
    """

    def __init__(self, tool: BaseTool, lookup: Precedence, failures: tuple[type[Exception], ...]) -> None:
        self.tool = adapt_to_async_tool(tool)
        super().__init__(fn=self.tool.call, async_fn=self.tool.acall, metadata=tool.metadata)
        # Agents hand the context of the run to tools that name an argument for it.
        self.requires_context, self.ctx_param_name = True, CONTEXT
        self._lookup = lookup
        self._failing = failures
        self._told: set[str] = set()

    def call(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """The tool's output, or the warning in its place."""
        context = kwargs.pop(CONTEXT, None)
        found = self._lookup.of(self._action(kwargs))
        if found is not None and self._is_news(found[0]):
            return self._warning(found[1], kwargs)
        try:
            return self._marked(self.tool.call(*args, **self._with(context, kwargs)), kwargs)
        except self._failing as error:
            return self._failed(error, kwargs)

    async def acall(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """As `call`; asks in a worker thread."""
        context = kwargs.pop(CONTEXT, None)
        found = await asyncio.to_thread(self._lookup.of, self._action(kwargs))
        if found is not None:
            known = await self._told_in(context, kwargs) if context is not None else not self._is_news(found[0])
            if not known:
                return self._warning(found[1], kwargs)
        try:
            return self._marked(await self.tool.acall(*args, **self._with(context, kwargs)), kwargs)
        except self._failing as error:
            return self._failed(error, kwargs)

    @property
    def _name(self) -> str:
        return self.metadata.get_name()

    def _action(self, arguments: Mapping[str, Any]) -> str:
        """The call as the memory stores it."""
        block = ToolCallBlock(tool_call_id="", tool_name=self._name, tool_kwargs=dict(arguments))
        return to_events(ChatMessage(role=MessageRole.ASSISTANT, blocks=[block]))[0].action or self._name

    def _is_news(self, failure: str) -> bool:
        news = failure not in self._told
        self._told.add(failure)
        return news

    async def _told_in(self, context: Any, arguments: Mapping[str, Any]) -> bool:
        """Whether the same call was held back before in this run."""
        made = await context.store.get("current_tool_calls", default=[])
        return any(
            isinstance(each, ToolCallResult)
            and (each.tool_name, each.tool_kwargs) == (self._name, arguments)
            and is_held(each.tool_output.content)
            for each in made
        )

    def _with(self, context: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments, with the context of the run where the tool wants it too."""
        wanted = self.tool.ctx_param_name if isinstance(self.tool, FunctionTool) else None
        return {**arguments, wanted: context} if wanted is not None and context is not None else dict(arguments)

    def _warning(self, text: str, arguments: Mapping[str, Any]) -> ToolOutput:
        return self._output(text, text, arguments)

    def _marked(self, output: ToolOutput, arguments: Mapping[str, Any]) -> ToolOutput:
        """The output; where the tool says that it failed, in words by which it is remembered as a failure."""
        if not output.is_error or output.content.lower().startswith("error"):
            return output
        return self._output(f"Error: {output.content}", output.raw_output, arguments, output.exception)

    def _failed(self, error: Exception, arguments: Mapping[str, Any]) -> ToolOutput:
        if isinstance(error, PAUSES):
            raise error
        return self._output(f"Error: {type(error).__name__}: {error}", str(error), arguments, error)

    def _output(
        self, text: str, raw: object, arguments: Mapping[str, Any], error: Exception | None = None
    ) -> ToolOutput:
        return ToolOutput(
            tool_name=self._name,
            content=text,
            raw_input=dict(arguments),
            raw_output=raw,
            is_error=True,
            exception=error,
        )
