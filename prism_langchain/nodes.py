"""The memory as nodes of a LangGraph graph of your own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime

from prism_core import PrismMemory
from prism_langchain.messages import Keyed, is_user, turn_start
from prism_langchain.places import NameSource, Places, ScopeSource, is_delegated, thread_id
from prism_langchain.problems import MemoryProblem, Watch
from prism_langchain.recalling import TurnRecall
from prism_langchain.recording import BeforeWrite, MessageRecorder


class Node(Protocol):
    """A node of a graph, as LangGraph calls it: sync and async graphs both do."""

    def __call__(self, state: Any, *, runtime: Runtime[Any]) -> dict[str, Any]:
        """Answer what changes in the state."""
        ...


def prism_recall_node(
    memory: PrismMemory,
    *,
    scope: ScopeSource,
    budget: int = 1000,
    key: str = "memory",
    session_id: NameSource = thread_id,
    on_error: Callable[[MemoryProblem], None] | None = None,
) -> Node:
    """A node that recalls for the messages of the state and answers the block under a key of its own.

    Declare the key untracked, so that no checkpoint holds it, and give the block to the model with `with_memory`:

        class State(MessagesState):
            memory: Annotated[str, UntrackedValue]

        def call_model(state: State) -> dict:
            return {"messages": [model.invoke(with_memory(state["messages"], state["memory"]))]}

    Put the node in front of the model's, inside a loop of tools too: there the block changes only when results of
    tools bring up another memory.

    Args:
        memory: an open memory; the node never closes it.
        scope: whose memory; fixed, or read from the runtime, such as `scope_from_context("user_id")`.
        budget: tokens of the block, wrapper included.
        key: where in the state the block goes; empty text where nothing is worth its tokens.
        session_id: the session of the thread; the thread's id by default.
        on_error: is told what the memory could not do.

    Raises:
        ScopeError: if a fixed scope is malformed.
        BudgetError: if the budget is not a positive whole number.
    """
    places, recall = Places(scope, session_id), TurnRecall(memory, budget, Watch(on_error))

    def recall_memory(state: Any, *, runtime: Runtime[Any]) -> dict[str, Any]:
        return {key: recall.block(_messages(state), places.of(runtime))}

    return recall_memory


def prism_remember_node(
    memory: PrismMemory,
    *,
    scope: ScopeSource,
    session_id: NameSource = thread_id,
    task_id: NameSource = None,
    before_write: BeforeWrite | None = None,
    on_error: Callable[[MemoryProblem], None] | None = None,
) -> Node:
    """A node that stores the turn: the user's words, calls of tools with their results, the answer.

    It changes nothing in the state. Put it at the end, in front of the model to keep the user's words when the model
    fails, after the tools to keep each result, or at all of these: nothing is stored twice.

    Args:
        memory: an open memory; the node never closes it.
        scope: whose memory; fixed, or read from the runtime, such as `scope_from_context("user_id")`.
        session_id: the session of what is stored; the thread's id by default.
        task_id: the task of what is stored, if any.
        before_write: may change an event before it is stored, or keep it out by answering None.
        on_error: is told what the memory could not do.

    Raises:
        ScopeError: if a fixed scope is malformed.
    """
    places = Places(scope, session_id, task_id)
    recorder = MessageRecorder(memory, Watch(on_error), before_write)

    def remember(state: Any, *, runtime: Runtime[Any]) -> dict[str, Any]:
        place, messages = places.of(runtime), _messages(state)
        turn = Keyed.of(messages, place).since(turn_start(messages))
        store = recorder.record_said if messages and is_user(messages[-1]) else recorder.record
        store(turn, place, delegated=is_delegated(runtime))
        return {}

    return remember


def _messages(state: Any) -> Sequence[AnyMessage]:
    messages: Sequence[AnyMessage] = state["messages"] if isinstance(state, dict) else state.messages
    return messages
