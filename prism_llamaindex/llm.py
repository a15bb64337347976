"""Any LlamaIndex model as the memory's language model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.llms import LLM

from prism_core import Completion
from prism_core.errors import LLMError


class LlamaIndexLLM:
    """Asks a LlamaIndex model, such as `OpenAI`, `OpenAILike` or `Ollama`; an `LLM` of the memory.

    What the client raises becomes an `LLMError`, and rules do the work meanwhile. Time limits and repeated attempts are
    the client's own: `OpenAI(timeout=20, max_retries=2)`.

    Attributes:
        model: what answers.
        id: names class and model.
    """

    def __init__(
        self, model: LLM, *, id: str | None = None, failures: tuple[type[Exception], ...] = (Exception,)
    ) -> None:
        """Wrap a model.

        Args:
            model: what answers.
            id: names the model; class and model name when None.
            failures: what counts as the service not answering; clients raise errors of their own.
        """
        self.model = model
        self.id = id or f"llamaindex:{type(model).__name__}:{_name_of(model)}"
        self._failures = failures

    def complete(self, prompt: str) -> Completion:
        """Answer a prompt, sent as the user's message.

        Raises:
            LLMError: if the service does not answer.
        """
        try:
            reply = self.model.chat([ChatMessage(role=MessageRole.USER, content=prompt)])
        except self._failures as error:
            raise LLMError(self.id, f"{type(error).__name__}: {error}") from error
        return Completion(reply.message.content or "", *_tokens_of(reply))


def _name_of(model: LLM) -> str:
    # Asking for the metadata makes some clients ask their server.
    name = getattr(model, "model", None)
    return name if isinstance(name, str) else model.metadata.model_name


def _tokens_of(reply: ChatResponse) -> tuple[int | None, int | None]:
    """Tokens sent and received, as OpenAI's and Ollama's clients tell them."""
    usage = _field(reply.raw, "usage")
    sent, received = _field(usage, "prompt_tokens"), _field(usage, "completion_tokens")
    if sent is None and received is None:
        sent, received = _field(reply.raw, "prompt_eval_count"), _field(reply.raw, "eval_count")
    return (sent if isinstance(sent, int) else None), (received if isinstance(received, int) else None)


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
