"""The memory as runnables, for chains without a graph."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import RunnableConfig, RunnableLambda

from prism_core import PrismMemory
from prism_langchain.injection import with_memory
from prism_langchain.messages import Keyed, turn_start
from prism_langchain.places import NameSource, Places, ScopeSource, configured_thread_id
from prism_langchain.problems import MemoryProblem, Watch
from prism_langchain.recalling import TurnRecall
from prism_langchain.recording import BeforeWrite, MessageRecorder

Conversation = str | PromptValue | Sequence[Any]


def prism_recall_runnable(
    memory: PrismMemory,
    *,
    scope: ScopeSource,
    budget: int = 1000,
    session_id: NameSource = configured_thread_id,
    on_error: Callable[[MemoryProblem], None] | None = None,
) -> RunnableLambda[Conversation, list[BaseMessage]]:
    """A runnable from messages to messages with the block of memories at the end of the user's last one.

        chain = prompt | prism_recall_runnable(memory, scope=("acme", "alice")) | model

    Args:
        memory: an open memory; the runnable never closes it.
        scope: whose memory; fixed, or read from the config, such as `scope_from_config("user_id")`.
        budget: tokens of the block, wrapper included.
        session_id: the session of the messages; `config["configurable"]["thread_id"]` by default.
        on_error: is told what the memory could not do.

    Returns:
        Takes text, a prompt or messages; sync and async.

    Raises:
        ScopeError: if a fixed scope is malformed.
        BudgetError: if the budget is not a positive whole number.
    """
    places, recall = Places(scope, session_id), TurnRecall(memory, budget, Watch(on_error))

    def add(conversation: Conversation, config: RunnableConfig) -> list[BaseMessage]:
        messages = _messages(conversation)
        return with_memory(messages, recall.block(messages, places.of(config)))

    return _runnable(add, "prism_recall")


def prism_remember_runnable(
    memory: PrismMemory,
    *,
    scope: ScopeSource,
    session_id: NameSource = configured_thread_id,
    task_id: NameSource = None,
    before_write: BeforeWrite | None = None,
    on_error: Callable[[MemoryProblem], None] | None = None,
) -> RunnableLambda[Conversation, list[BaseMessage]]:
    """A runnable that stores the last turn of the messages it is given, and hands them on.

        remember.invoke([*messages, reply], {"configurable": {"thread_id": "t1"}})

    Within a session nothing is stored twice: messages without ids are known by their words, and how often these came
    before in what is handed in. Without a session, messages without ids are stored each time.

    Args:
        memory: an open memory; the runnable never closes it.
        scope: whose memory; fixed, or read from the config, such as `scope_from_config("user_id")`.
        session_id: the session of what is stored; `config["configurable"]["thread_id"]` by default.
        task_id: the task of what is stored, if any.
        before_write: may change an event before it is stored, or keep it out by answering None.
        on_error: is told what the memory could not do.

    Raises:
        ScopeError: if a fixed scope is malformed.
    """
    places = Places(scope, session_id, task_id)
    recorder = MessageRecorder(memory, Watch(on_error), before_write)

    def store(conversation: Conversation, config: RunnableConfig) -> list[BaseMessage]:
        messages, place = _messages(conversation), places.of(config)
        recorder.record_said(Keyed.of(messages, place).since(turn_start(messages)), place)
        return messages

    return _runnable(store, "prism_remember")


def _runnable(
    function: Callable[[Conversation, RunnableConfig], list[BaseMessage]], name: str
) -> RunnableLambda[Conversation, list[BaseMessage]]:
    async def in_thread(conversation: Conversation, config: RunnableConfig) -> list[BaseMessage]:
        return await asyncio.to_thread(function, conversation, config)

    return RunnableLambda(function, in_thread, name=name)


def _messages(conversation: Conversation) -> list[BaseMessage]:
    if isinstance(conversation, str):
        return [HumanMessage(conversation)]
    return conversation.to_messages() if isinstance(conversation, PromptValue) else convert_to_messages(conversation)
