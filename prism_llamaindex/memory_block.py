"""The memory as a block of LlamaIndex's `Memory`."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock, RLock
from typing import Any

from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.utils import get_tokenizer
from pydantic import Field, PrivateAttr, field_validator

from prism_core import PrismMemory, Scope, scope_of
from prism_core.errors import ScopeError
from prism_llamaindex.failures import Failures, OnFailure
from prism_llamaindex.messages import copied, fingerprint, is_answer, text_of
from prism_llamaindex.recall import Recalled, Recaller, Tokenizer
from prism_llamaindex.transcript import Transcript

ScopeOf = Callable[[str], object]
"""Answers the scope of a session."""

MAX_SESSIONS = 4096
"""Sessions whose place in their conversation is kept in memory; others are read from the ledger again."""
MAX_BLOCKS = 256
"""Blocks handed out lately that can still be truncated memory by memory."""


class PrismMemoryBlock(BaseMemoryBlock[str]):
    """Long-term memory for LlamaIndex's `Memory`: stores every turn, recalls what matters for the one that begins.

    `Memory` hands its blocks only what it flushes, which in a short conversation is nothing. This block does not wait
    for that: whenever `Memory` asks it for content, it stores what it has not seen of the conversation, and what is
    flushed later is recognised. The reply that ends a conversation is seen when the next one begins; where nothing
    follows, hand it over yourself: `await block.aput(await memory.aget_all(), session_id=memory.session_id)`.

    `Memory` puts blocks into the system message unless told otherwise (`insert_method=InsertMethod.USER`). What tools
    and external sources said has no place there and is left out; with the user's message as the place, pass
    `include_untrusted=True`.

    `Memory` keeps its own copy of the conversation. What is erased here is not stored again from that copy, as long as
    something said later is left of it; whoever erases a whole session resets `Memory` as well.

    A memory that fails answers nothing, and the turn goes on; the error is logged, kept in `last_failure` and told to
    `on_failure`. Only a missing or malformed scope raises.

    Attributes:
        memory: an open memory; the block never closes it.
        scope: whose memory: a scope, or a callable that answers the scope of a `session_id`, for a block that serves
            many users; required, there is no shared default.
        budget: tokens of the block's content.
        include_untrusted: whether text of tools and external sources is recalled as well.
        tokenizer_fn: counts tokens; the one `Memory` counts with by default.
        on_failure: told what failed and why.
        name: the tag `Memory` puts around the content.
        priority: 1: where `Memory`'s limit is exceeded, the weakest memories are dropped; 0 would forbid that.
    """

    memory: PrismMemory = Field(exclude=True)
    scope: str | Sequence[str] | ScopeOf
    budget: int = Field(default=1000, ge=1)
    include_untrusted: bool = False
    tokenizer_fn: Tokenizer = Field(default_factory=get_tokenizer, exclude=True)
    on_failure: OnFailure | None = Field(default=None, exclude=True)
    name: str = "long_term_memory"
    priority: int = 1

    _failures: Failures = PrivateAttr(default_factory=Failures)
    _lock: Any = PrivateAttr(default_factory=Lock)
    _sessions: OrderedDict[tuple[Scope, str], _Session] = PrivateAttr(default_factory=OrderedDict)
    _blocks: OrderedDict[str, Recalled] = PrivateAttr(default_factory=OrderedDict)

    @field_validator("scope", mode="before")
    @classmethod
    def _checked_scope(cls, value: object) -> object:
        if not callable(value):
            scope_of(value)
        return value

    @property
    def last_failure(self) -> Exception | None:
        """Why the memory was left out last time; None while it works."""
        return self._failures.last

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The content without its weakest memories, at least so many tokens shorter; None when nothing is left."""
        return await asyncio.to_thread(self._truncated, content, tokens_to_truncate)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        return await asyncio.to_thread(self._turn, messages or [], block_kwargs.get("session_id"))

    async def _aput(self, messages: list[ChatMessage]) -> None:
        session_id = next((message.additional_kwargs.get("session_id") for message in messages), None)
        await asyncio.to_thread(self._flushed, messages, session_id)

    def _turn(self, messages: Sequence[ChatMessage], session_id: str | None) -> str:
        said = [*map(copied, _as_said(messages))]
        session = self._session(session_id)
        with session.lock:
            beside: set[str] = set()
            with self._failures.caught("store messages", self.on_failure):
                session.transcript.refresh()
                session.transcript.replace(said, copied=True)
            beside = {unit_id for entry in session.transcript.entries for unit_id in entry.unit_ids}
        question = next((text_of(each) for each in reversed(said) if each.role is MessageRole.USER), "")
        found = Recalled()
        with self._failures.caught("recall", self.on_failure):
            found = self._recaller().recall(
                self.memory,
                question,
                scope=session.scope,
                budget=self.budget,
                trusted=not self.include_untrusted,
                beside=beside,
            )
        if found.epoch not in (None, session.transcript.epoch):
            with session.lock, self._failures.caught("store messages", self.on_failure):
                session.transcript.reload()
        self._remember(found)
        return found.text

    def _flushed(self, messages: Sequence[ChatMessage], session_id: str | None) -> None:
        session = self._session(session_id)
        with session.lock, self._failures.caught("store messages", self.on_failure):
            session.transcript.refresh()
            session.transcript.leave([*map(copied, messages)])

    def _truncated(self, content: str, tokens: int) -> str | None:
        with self._lock:
            found = self._blocks.get(content) if content else None
        if found is None:
            # Whatever this is, it cannot be cut without breaking its fence.
            return None
        recaller = self._recaller()
        shorter = recaller.block(found.units, recaller.counter.count(content) - tokens, found.question)
        self._remember(shorter)
        return shorter.text or None

    def _recaller(self) -> Recaller:
        return Recaller(self.tokenizer_fn, ("memory", self.name))

    def _remember(self, found: Recalled) -> None:
        with self._lock:
            if found.text:
                self._blocks[found.text] = found
            while len(self._blocks) > MAX_BLOCKS:
                self._blocks.popitem(last=False)

    def _session(self, session_id: str | None) -> _Session:
        scope = self._scope_of(session_id)
        # A block that is used by itself, outside of `Memory`, is one sitting.
        key = (scope, session_id or self.name)
        with self._lock:
            session = self._sessions.pop(key, None) or _Session(*key, self.memory)
            self._sessions[key] = session
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
        return session

    def _scope_of(self, session_id: str | None) -> Scope:
        if not callable(self.scope):
            return scope_of(self.scope)
        if session_id is None:
            raise ScopeError(None, "cannot be told without a session_id")
        return scope_of(self.scope(session_id))


class _Session:
    """One conversation and its turn-taking."""

    def __init__(self, scope: Scope, session_id: str, memory: PrismMemory) -> None:
        self.scope = scope
        self.lock = RLock()
        self.transcript = Transcript(scope, session_id)
        self.transcript.attach(memory)


def _as_said(messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """The messages as they were said.

    `Memory` puts its `input` behind the conversation, and agents hand in as input what the user's last message says
    already. Said twice for real, it is stored with the turn that answers it.
    """
    if not messages or messages[-1].role is not MessageRole.USER:
        return messages
    before = next((n for n in range(len(messages) - 2, -1, -1) if messages[n].role is MessageRole.USER), None)
    if before is None or any(is_answer(message) for message in messages[before + 1 : -1]):
        return messages
    return messages[:-1] if fingerprint(messages[before]) == fingerprint(messages[-1]) else messages


PrismMemoryBlock.model_rebuild()
