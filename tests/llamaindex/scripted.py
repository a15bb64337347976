"""A language model that answers from its prompt by a script, for engines without a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from pydantic import Field


class ScriptedLLM(CustomLLM):
    """Answers with what `responder` makes of the prompt, and records every prompt.

    Attributes:
        responder: decides the reply.
        prompts: the prompts it was given, oldest first.
    """

    responder: Callable[[str], str]
    prompts: list[str] = Field(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="scripted")

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self.prompts.append(prompt)
        return CompletionResponse(text=self.responder(prompt))

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        reply = self.complete(prompt, formatted, **kwargs)
        yield CompletionResponse(text=reply.text, delta=reply.text)
