"""A chat history whose messages are memories as well."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, ToolMessage, message_to_dict, messages_from_dict

from prism_core import Event, Kind, MemoryUnit, Outcome, PrismMemory, Source, scope_of
from prism_langchain.convert import as_json, events_of

MESSAGE, REPLY = "langchain_message", "langchain_reply"
"""Where in a unit's metadata its message is kept, and the reply to its call. A reply joins the unit of its call."""

NO_WORDS = "[no output]"


class PrismChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session, kept in the memory.

    Messages come back as they were added, from every object of the same scope and session, and after a restart. What
    was said and done is also remembered like anything else: it is found by searches of the scope, from other sessions
    too. System prompts and messages without text come back, but are no memories: searches see a mark in their place.

    Saying the same thing twice makes two messages, and so does adding a message twice.

    Attributes:
        memory: an open memory; the history never closes it.
        scope: whose memory.
        session_id: which conversation.
        task_id: the unit of work its messages belong to.
    """

    def __init__(
        self, memory: PrismMemory, *, scope: str | Sequence[str], session_id: str, task_id: str | None = None
    ) -> None:
        """Attach to a session, which need not exist.

        Raises:
            ScopeError: if the scope is missing or malformed.
        """
        super().__init__()
        self.memory = memory
        self.scope = scope_of(scope)
        self.session_id = session_id
        self.task_id = task_id

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # a property, as the base's documentation says
        """The messages of the session, oldest first. Changing the list changes nothing."""
        return messages_of(self.memory.units(scope=self.scope, session_id=self.session_id))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages in one transaction.

        Raises:
            InvalidEventError: if one holds what cannot be stored; nothing is.
            LedgerError: if the database refused; nothing is stored.
        """
        events = message_units(messages, session_id=self.session_id, task_id=self.task_id)
        self.memory.write_many(events, scope=self.scope)

    def clear(self) -> None:
        """Erase the session: its messages, and what else the memory keeps of it."""
        self.memory.erase(scope=self.scope, session_id=self.session_id)


def message_units(messages: Sequence[BaseMessage], *, session_id: str, task_id: str | None = None) -> list[Event]:
    """What is stored of messages, in order: their events, the first of each with the message itself."""
    # A reply joins the unit of its call, so the order of units is not that of messages.
    now = time.time_ns()
    return [
        event
        for place, message in enumerate(messages)
        for event in _with_verbatim(message, now + place, events_of(message, session_id=session_id, task_id=task_id))
        or [_mark(message, now + place, session_id, task_id)]
    ]


def holds_message(unit: MemoryUnit) -> bool:
    """Whether a message was stored with a unit."""
    return MESSAGE in unit.metadata or REPLY in unit.metadata


def messages_of(units: Sequence[MemoryUnit]) -> list[BaseMessage]:
    """The messages that were stored with units, in the order in which they were added."""
    kept = sorted(_kept(units), key=lambda entry: int(entry["at"]))
    return messages_from_dict([entry["message"] for entry in kept])


def _kept(units: Sequence[MemoryUnit]) -> Iterator[Mapping[str, Any]]:
    for unit in units:
        for key in (MESSAGE, REPLY):
            entry = unit.metadata.get(key)
            if isinstance(entry, Mapping):
                yield entry


def _with_verbatim(message: BaseMessage, at: int, events: Sequence[Event]) -> list[Event]:
    if not events or not (events[0].text.strip() or isinstance(message, ToolMessage)):
        return []
    first = events[0] if events[0].text.strip() else _wordless(events[0])
    first = first.model_copy(update={"metadata": {**first.metadata, **_verbatim(message, at)}})
    return [first, *events[1:]]


def _wordless(reply: Event) -> Event:
    """An answer without words is an answer, and has to be storable where its call is not known."""
    outcome = Outcome.SUCCESS if reply.outcome is Outcome.UNKNOWN else reply.outcome
    return reply.model_copy(update={"observation": NO_WORDS, "outcome": outcome})


def _mark(message: BaseMessage, at: int, session_id: str, task_id: str | None) -> Event:
    """What stands for a message that is not to be remembered, or has nothing that could be."""
    return Event(
        kind=Kind.MESSAGE,
        observation=f"[{message.type} message]",
        source=Source.EXTERNAL,
        importance=0.0,
        session_id=session_id,
        task_id=task_id,
        metadata=_verbatim(message, at),
    )


def _verbatim(message: BaseMessage, at: int) -> dict[str, Any]:
    key = REPLY if isinstance(message, ToolMessage) else MESSAGE
    return {key: {"at": at, "message": as_json(message_to_dict(message))}}
