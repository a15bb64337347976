"""A stand-in for a chat model, so that the recipes run without a key, a network or a download."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

Script = Callable[[str, list[str]], "str | list[tuple[str, dict[str, Any]]]"]
"""Told the user's last words (with the memories in them) and the results of tools since: a reply, or calls of tools."""


class ScriptedChatModel(BaseChatModel):
    """Says what a function makes of the conversation; keeps what it was shown in `seen`."""

    script: Script
    seen: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **options: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **options)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **options: Any,
    ) -> ChatResult:
        self.seen.append(list(messages))
        asked = max((place for place, each in enumerate(messages) if isinstance(each, HumanMessage)), default=0)
        results = [each.text for each in messages[asked + 1 :] if isinstance(each, ToolMessage)]
        answer = self.script(messages[asked].text, results)
        if isinstance(answer, str):
            return _result(AIMessage(answer))
        calls = [
            {"name": name, "args": arguments, "id": f"{len(self.seen)}-{place}", "type": "tool_call"}
            for place, (name, arguments) in enumerate(answer)
        ]
        return _result(AIMessage("", tool_calls=calls))


def memories_in(messages: Sequence[BaseMessage]) -> str:
    """The block of memories that messages for a model hold; empty when there is none."""
    texts = [each.text for each in messages if "<past_experience>" in each.text]
    return texts[-1][texts[-1].index("<past_experience>") :] if texts else ""


def _result(message: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])
