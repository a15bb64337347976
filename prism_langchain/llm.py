"""Any LangChain chat model as the memory's language model."""

from __future__ import annotations

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from prism_core import Completion
from prism_core.errors import LLMError, QueryError

_MODEL_NAMES = ("model", "model_name", "model_id", "deployment_name", "repo_id")


class LangChainLLM:
    """Asks a LangChain chat model, such as `ChatOpenAI` or `ChatOllama`; an `LLM`.

    What the client raises becomes an `LLMError`, and rules do the work meanwhile. Time limits and repeated attempts are
    the client's own: `ChatOpenAI(timeout=20, max_retries=2)`.

    Attributes:
        model: what answers.
        id: names class and model.
    """

    def __init__(
        self, model: BaseChatModel, *, id: str | None = None, failures: tuple[type[Exception], ...] = (Exception,)
    ) -> None:
        """Wrap a chat model.

        Args:
            model: what answers.
            id: names the model; needed where it does not name itself.
            failures: what counts as the service not answering; clients raise errors of their own.

        Raises:
            QueryError: if neither the model nor the caller names it.
        """
        self.model = model
        self.id = id or _named(model)
        self._failures = failures

    def complete(self, prompt: str) -> Completion:
        """Answer a prompt, sent as the user's message.

        Raises:
            LLMError: if the service does not answer.
        """
        try:
            reply = self.model.invoke(prompt)
        except self._failures as error:
            raise LLMError(self.id, f"{type(error).__name__}: {error}") from error
        return Completion(_text_of(reply), *_tokens_of(reply))


def _text_of(reply: BaseMessage) -> str:
    return str(reply.text)


def _tokens_of(reply: BaseMessage) -> tuple[int | None, int | None]:
    usage = reply.usage_metadata if isinstance(reply, AIMessage) else None
    return (None, None) if usage is None else (usage["input_tokens"], usage["output_tokens"])


def _named(model: BaseChatModel) -> str:
    name = next((value for field in _MODEL_NAMES if isinstance(value := getattr(model, field, None), str)), "")
    if not name:
        kind = type(model).__name__
        raise QueryError("id", None, f"{kind} does not say which model it is; pass for example id='{kind}:v1'")
    return f"langchain:{type(model).__name__}:{name}"
