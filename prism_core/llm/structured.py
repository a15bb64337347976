"""Questions to a language model whose answers are checked data."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel

from prism_core.errors import LLMError, LLMReplyError
from prism_core.llm.cache import MemoryReplyCache, ReplyCache
from prism_core.llm.meter import LLMBudget, LLMMeter, Usage
from prism_core.llm.replies import UnusableReplyError, parsed
from prism_core.prompts import PromptLanguage, Prompts
from prism_core.protocols import LLM, TokenCounter
from prism_core.text import O200kCounter

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class StructuredLLM:
    """Asks a model and reads its answers; one that cannot be used is asked to be mended, once.

    Attributes:
        llm: the model.
        prompts: what it is asked with.
        language: of the prompts.
        cache: usable answers that are known already, by model, prompt version and content.
        meter: counts what is used, by stage.
        budget: hard limit of calls and tokens; None for none.
        counter: counts tokens where the model does not say how many it used.
    """

    llm: LLM
    prompts: Prompts = field(default_factory=Prompts.bundled)
    language: PromptLanguage = "en"
    cache: ReplyCache = field(default_factory=MemoryReplyCache)
    meter: LLMMeter = field(default_factory=LLMMeter)
    budget: LLMBudget | None = None
    counter: TokenCounter = field(default_factory=O200kCounter)

    def ask(
        self,
        task: str,
        schema: type[T],
        data: Mapping[str, str],
        plain: Mapping[str, str] | None = None,
        *,
        stage: str | None = None,
    ) -> T:
        """Ask for something.

        Args:
            task: which prompt.
            schema: what the answer has to be.
            data: what others wrote, by variable of the prompt; quoted as data.
            plain: what the caller wrote, by variable.
            stage: what the cost is counted under; the task when None.

        Raises:
            LLMError: if the model does not answer.
            LLMReplyError: if its answer cannot be used, nor the one after it was asked to mend it.
            LLMBudgetError: if the budget is used up; nothing is called then.
            PromptError: if the prompt is unknown or lacks a variable.
        """
        counted = stage or task
        prompt = self.prompts.render(task, self.language, data, plain)
        key = _key(self.llm.id, prompt.version, prompt.text, schema.__name__)
        known = self.cache.get(key)
        if known is not None:
            try:
                answer = parsed(known, schema)
            except UnusableReplyError:
                known = None  # kept by a version that read replies otherwise
            else:
                self.meter.add(counted, Usage(cached=1))
                return answer
        try:
            reply, answer = self._asked(prompt.text, schema, counted)
        except LLMError:
            self.meter.add(counted, Usage(failures=1))
            raise
        self.cache.put(key, reply)
        return answer

    def _asked(self, prompt: str, schema: type[T], stage: str) -> tuple[str, T]:
        reply = self._complete(prompt, stage)
        try:
            return reply, parsed(reply, schema)
        except UnusableReplyError as error:
            problem = str(error)
        mend = self.prompts.render(
            "repair",
            self.language,
            {"reply": reply, "task": prompt},
            {"problem": problem, "schema": json.dumps(schema.model_json_schema(), ensure_ascii=False)},
        )
        mended = self._complete(mend.text, stage, repair=True)
        try:
            return mended, parsed(mended, schema)
        except UnusableReplyError as error:
            raise LLMReplyError(self.llm.id, f"its answer to {stage!r} cannot be used: {error}") from None

    def _complete(self, prompt: str, stage: str, *, repair: bool = False) -> str:
        if self.budget is not None:
            self.budget.begin(self.llm.id)
        begun = time.monotonic()
        usage = Usage(calls=1, repairs=int(repair))
        try:
            completion = self.llm.complete(prompt)
            if not isinstance(completion.text, str):
                raise LLMError(self.llm.id, f"it answered with {type(completion.text).__name__} instead of text")
        except Exception as error:
            # A client of the user's own may raise anything; a model that fails must not take the write with it.
            usage.seconds = time.monotonic() - begun
            usage.prompt_tokens = self.counter.count(prompt)
            self._spent(stage, usage)
            if isinstance(error, LLMError):
                raise
            raise LLMError(self.llm.id, f"{type(error).__name__}: {error}") from error
        usage.seconds = time.monotonic() - begun
        sent, received = completion.prompt_tokens, completion.completion_tokens
        usage.prompt_tokens = self.counter.count(prompt) if sent is None else sent
        usage.completion_tokens = self.counter.count(completion.text) if received is None else received
        self._spent(stage, usage)
        return completion.text

    def _spent(self, stage: str, usage: Usage) -> None:
        self.meter.add(stage, usage)
        if self.budget is not None:
            self.budget.spend(usage.tokens)


def _key(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
