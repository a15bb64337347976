"""Chat models that speak by a script and record what they were asked, and messages in short."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage, MessageRole, MockLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM

Script = Callable[[Sequence[ChatMessage]], str | ChatMessage]


def user(text: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.USER, content=text)


def assistant(text: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.ASSISTANT, content=text)


def system(text: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.SYSTEM, content=text)


def call(name: str, key: str, **arguments: Any) -> ChatMessage:
    return calls(ToolCallBlock(tool_call_id=key, tool_name=name, tool_kwargs=arguments))


def calls(*blocks: ToolCallBlock) -> ChatMessage:
    return ChatMessage(role=MessageRole.ASSISTANT, blocks=list(blocks))


def reply(key: str, text: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.TOOL, content=text, additional_kwargs={"tool_call_id": key})


class ScriptedChat:
    """A function-calling chat model that answers by `script`.

    Attributes:
        llm: the model to give to agents and engines.
        asked: the messages of every request, oldest first.
    """

    def __init__(self, script: Script) -> None:
        self.asked: list[list[ChatMessage]] = []
        self._script = script
        self.llm: MockLLM | MockFunctionCallingLLM = MockFunctionCallingLLM(
            response_generator=self._answer, is_chat_model=True
        )

    def _answer(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatMessage:
        self.asked.append(copy.deepcopy(list(messages)))
        said = self._script(messages)
        return assistant(said) if isinstance(said, str) else said


def text_of(messages: Sequence[ChatMessage]) -> str:
    return "\n".join(f"{message.role.value}: {message.content}" for message in messages)
