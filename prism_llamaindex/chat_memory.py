"""A drop-in memory for agents and chat engines: the recent conversation, and what matters of everything before."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from threading import RLock
from typing import Any, Literal, Self
from uuid import uuid4

from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import LLM, ChatMessage, MessageRole, TextBlock
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import BaseTool
from llama_index.core.utils import get_tokenizer
from pydantic import ConfigDict, Field, PrivateAttr, field_validator, model_validator

from prism_core import PrismMemory, Scope, scope_of
from prism_llamaindex.failures import DetachedError, Failures, OnFailure
from prism_llamaindex.messages import copied, is_answer, reply_to, text_of, tool_calls
from prism_llamaindex.recall import Recalled, Recaller, Tokenizer
from prism_llamaindex.transcript import Entry, Transcript
from prism_llamaindex.window import trimmed

DEFAULT_TOKEN_LIMIT = 30_000
DEFAULT_BUDGET = 1000
SHARE_OF_CONTEXT = 0.75
PER_MESSAGE = 4
"""Tokens that a model spends on the frame of a message."""
MEDIUM_TOKENS = 256
"""What an image, a recording or a document is counted as."""


class PrismChatMemory(BaseMemory):
    """The recent conversation of a session, and what its scope remembers that matters for the turn.

    Every message is stored the moment it is put: what was said, and every tool call with its arguments, result and
    outcome. `get` answers the latest whole turns that fit `token_limit`, and the block of recalled memories at the
    end of the user's last message. The block is made for one request: it is never stored, and never recalled as if it
    were new. Another object of the same session sees the same messages.

    A memory that fails does not fail the turn: the conversation goes on without it, messages that could not be stored
    are kept and stored as soon as it works again, and the error is logged, kept in `last_failure` and told to
    `on_failure`. Only a missing or malformed scope raises.

    In a serialised context there are settings only. A memory that was given by `path` is opened again on first use;
    one that was given as an open object is handed over again by `PrismSerializer(memory)`.

    Attributes:
        memory: an open memory, which is never closed from here; or None, with `path`.
        path: where to open one, a directory or a `sqlite:///file.db` URL.
        scope: whose memory; required, there is no shared default.
        session_id: which sitting.
        task_id: the task that what is put belongs to.
        token_limit: tokens of everything `get` answers.
        budget: tokens of the block of recalled memories, taken out of `token_limit`; when None 1,000, or a quarter of
            `token_limit` where that is less.
        reserved: tokens the host adds to the prompt itself, such as its system prompt and its tools.
        position: where the block stands: at the end of the user's last message, or in the system message.
        include_untrusted: whether text of tools and external sources may stand in the system message.
        tokenizer_fn: counts tokens.
        on_failure: told what failed and why.
        pending: messages that wait to be stored, as JSON.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, validate_assignment=False)

    memory: PrismMemory | None = Field(default=None, exclude=True)
    path: str | None = None
    scope: Scope
    session_id: str = Field(default_factory=lambda: uuid4().hex, min_length=1)
    task_id: str | None = None
    token_limit: int = Field(default=DEFAULT_TOKEN_LIMIT, ge=1)
    budget: int | None = Field(default=None, ge=1)
    reserved: int = Field(default=0, ge=0)
    position: Literal["user", "system"] = "user"
    include_untrusted: bool = False
    tokenizer_fn: Tokenizer = Field(default_factory=get_tokenizer, exclude=True)
    on_failure: OnFailure | None = Field(default=None, exclude=True)
    pending: list[str] = Field(default_factory=list)

    _lock: Any = PrivateAttr(default_factory=RLock)
    _failures: Failures = PrivateAttr(default_factory=Failures)
    _transcript: Transcript | None = PrivateAttr(default=None)
    _opened: PrismMemory | None = PrivateAttr(default=None)
    _turn: tuple[str, int, Recalled] | None = PrivateAttr(default=None)
    _cut: str = PrivateAttr(default="")

    @field_validator("scope", mode="before")
    @classmethod
    def _checked_scope(cls, value: object) -> Scope:
        return scope_of(value)

    @model_validator(mode="after")
    def _budget_fits(self) -> Self:
        if self._budget >= self.token_limit:
            raise ValueError(
                f"budget={self.budget} leaves nothing of token_limit={self.token_limit} for the conversation; "
                "pass a smaller budget or a larger token_limit"
            )
        return self

    @classmethod
    def class_name(cls) -> str:
        """Name in serialised form."""
        return "PrismChatMemory"

    @classmethod
    def from_defaults(
        cls,
        memory: PrismMemory | None = None,
        scope: object = None,
        *,
        chat_history: Sequence[ChatMessage] | None = None,
        llm: LLM | None = None,
        tools: Sequence[BaseTool] = (),
        system_prompt: str = "",
        **settings: Any,
    ) -> PrismChatMemory:
        """Make a memory for a session.

        Args:
            memory: an open memory; without one, `path` is needed.
            scope: whose memory.
            chat_history: what the conversation starts with.
            llm: gives `token_limit` by its context window.
            tools: what the host gives the model; counted into `reserved`.
            system_prompt: what the host puts first; counted into `reserved`.
            settings: attributes of the class by name.

        Raises:
            ScopeError: if the scope is missing or malformed.
            ValueError: if a setting is unusable.
        """
        given = {key: value for key, value in settings.items() if value is not None}
        if llm is not None and "token_limit" not in given:
            given["token_limit"] = int(llm.metadata.context_window * SHARE_OF_CONTEXT)
        made = cls(memory=memory, scope=scope, **given)  # type: ignore[arg-type]
        schemas = [str(tool.metadata.to_openai_tool(skip_length_check=True)) for tool in tools]
        made.reserved += sum(made._count(text) for text in [system_prompt, *schemas] if text)
        if chat_history:
            made.set([*chat_history])
        return made

    # -- what LlamaIndex calls ---------------------------------------------------------------------------------------

    def get(self, input: str | ChatMessage | None = None, **kwargs: Any) -> list[ChatMessage]:
        """The messages for the next request to the model.

        Args:
            input: what the user says now, where the host has not put it yet.
            kwargs: `initial_token_count`, tokens the host has used already; the rest is ignored.
        """
        asked = text_of(input) if isinstance(input, ChatMessage) else input
        spent = self.reserved + int(kwargs.get("initial_token_count") or 0)
        with self._lock:
            transcript = self._refreshed()
            shown = self._shown(transcript, spent)
            found, alone = self._recalled(shown, asked)
            if found.epoch not in (None, transcript.epoch):
                # Something was erased since the conversation was read; it may have been a part of it.
                with self._failures.caught("read the conversation", self.on_failure):
                    transcript.reload()
                shown = self._shown(transcript, spent)
        messages = [copied(entry.message) for entry in shown]
        return self._joined(messages, found.text, alone=alone) if found.text else messages

    def get_all(self) -> list[ChatMessage]:
        """The whole conversation, word for word, without anything recalled."""
        with self._lock:
            return [copied(message) for message in self._refreshed().messages]

    def put(self, message: ChatMessage) -> None:
        """Store a message."""
        self.put_messages([message])

    def put_messages(self, messages: Sequence[ChatMessage]) -> None:
        """Store messages in one transaction."""
        with self._lock:
            transcript = self._refreshed()
            with self._failures.caught("store messages", self.on_failure):
                transcript.append([*map(copied, messages)])
            self.pending = transcript.waiting()

    def set(self, messages: Sequence[ChatMessage]) -> None:
        """Make this the conversation; what of it was said before is not stored again.

        What is no longer part of it stays remembered; `reset` is what forgets.
        """
        with self._lock:
            transcript = self._refreshed()
            with self._failures.caught("store messages", self.on_failure):
                transcript.replace([*map(copied, messages)])
            self.pending = transcript.waiting()

    def reset(self) -> None:
        """Erase everything this session left in the memory, conversation and memories alike.

        Raises:
            PrismError: if it could not be erased; a failed erasure is never passed over.
        """
        with self._lock:
            transcript = self._refreshed()
            transcript.attach(self._handle())
            transcript.erase()
            self.pending, self._turn, self._cut = [], None, ""

    # -- what else there is ------------------------------------------------------------------------------------------

    @property
    def last_failure(self) -> Exception | None:
        """Why the memory was left out last time; None while it works."""
        return self._failures.last

    def close(self) -> None:
        """Close the memory if it was opened from here, by `path`."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    # -- inside ------------------------------------------------------------------------------------------------------

    @property
    def _budget(self) -> int:
        return min(DEFAULT_BUDGET, self.token_limit // 4) if self.budget is None else self.budget

    def _handle(self) -> PrismMemory:
        if self.memory is not None:
            return self.memory
        if self._opened is None:
            if self.path is None:
                raise DetachedError
            self._opened = PrismMemory.open(self.path)
            weakref.finalize(self, self._opened.close)
        return self._opened

    def _refreshed(self) -> Transcript:
        """The conversation as the ledger has it now, or as it was last known."""
        transcript = self._transcript or Transcript(self.scope, self.session_id, self.task_id)
        with self._failures.caught("read the conversation", self.on_failure):
            transcript.attach(self._handle())
            transcript.refresh()
        if self._transcript is None:
            transcript.restore(self.pending)
            self._transcript = transcript
        return transcript

    def _shown(self, transcript: Transcript, spent: int) -> list[Entry]:
        """The part of the conversation that fits."""
        entries = transcript.entries
        start = next((place for place, entry in enumerate(entries) if entry.id == self._cut), 0)
        sizes = [self._size(entry) for entry in entries]
        kept = trimmed(transcript.messages, sizes, self.token_limit - self._budget - spent, start)
        shown = [entries[place] for place in kept]
        self._cut = next((entry.id for entry in shown if entry.message.role is not MessageRole.SYSTEM), "")
        return shown

    def _recalled(self, shown: Sequence[Entry], asked: str | None) -> tuple[Recalled, bool]:
        """What matters for the turn, and whether its message is not among those shown."""
        places = [place for place, entry in enumerate(shown) if entry.message.role is MessageRole.USER]
        last = shown[places[-1]] if places else None
        since = shown[places[-1] + 1 :] if places else []
        answered = any(is_answer(entry.message) for entry in since)
        if asked is not None and (last is None or answered or text_of(last.message) != asked):
            return self._search(asked, shown, ()), True
        if last is None:
            return Recalled(), False
        steps = [entry for entry in since if tool_calls(entry.message) or reply_to(entry.message) is not None]
        if self._turn is not None and self._turn[0] == last.id and (answered or self._turn[1] == len(steps)):
            return self._turn[2], False
        active = [unit_id for entry in steps for unit_id in entry.unit_ids]
        found = self._search(text_of(last.message), shown, active)
        self._turn = (last.id, len(steps), found)
        return found, False

    def _search(self, question: str, shown: Sequence[Entry], active: Sequence[str]) -> Recalled:
        with self._failures.caught("recall", self.on_failure):
            return Recaller(self.tokenizer_fn).recall(
                self._handle(),
                question,
                scope=self.scope,
                budget=self._budget,
                trusted=self.position == "system" and not self.include_untrusted,
                beside={unit_id for entry in shown for unit_id in entry.unit_ids},
                active=active,
            )
        return Recalled()

    def _joined(self, messages: list[ChatMessage], block: str, *, alone: bool) -> list[ChatMessage]:
        """The messages with the block in its position."""
        role = MessageRole.SYSTEM if self.position == "system" else MessageRole.USER
        places = [place for place, message in enumerate(messages) if message.role is role]
        if role is MessageRole.SYSTEM and not places:
            return [ChatMessage(role=role, content=block), *messages]
        if role is MessageRole.USER and alone:
            return [*messages, ChatMessage(role=role, content=block)]
        place = places[0] if role is MessageRole.SYSTEM else places[-1]
        messages[place].blocks.append(TextBlock(text=f"\n\n{block}"))
        return messages

    def _size(self, entry: Entry) -> int:
        if entry.tokens is None:
            message = entry.message
            texts = [text_of(message), *(f"{name} {arguments}" for _, name, arguments in tool_calls(message))]
            media = sum(not isinstance(block, TextBlock | ToolCallBlock) for block in message.blocks)
            entry.tokens = PER_MESSAGE + media * MEDIUM_TOKENS + sum(self._count(text) for text in texts if text)
        return entry.tokens

    def _count(self, text: str) -> int:
        return len(self.tokenizer_fn(text))
