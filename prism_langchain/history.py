"""A chat history whose messages are memories as well."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, ToolMessage, message_to_dict, messages_from_dict

from prism_core import Event, Kind, MemoryUnit, Outcome, PrismMemory, Receipt, ReceiptStatus, Source, scope_of
from prism_core.errors import QueryError
from prism_langchain.convert import as_json, events_of, storable
from prism_langchain.messages import Keyed, message_key, renamed, reply_key

MESSAGE, REPLY = "langchain_message", "langchain_reply"
"""Where in a unit's metadata its message is kept, and the reply to its call. A reply joins the unit of its call."""

NO_WORDS = "[no output]"


class PrismChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session, kept in the memory.

    Messages come back as they were added, from every object of the same scope and session, and after a restart. What
    was said and done is also remembered like anything else: it is found by searches of the scope, from other sessions
    too. System prompts and messages without text come back, but are no memories: searches see a mark in their place.

    Saying the same thing twice makes two messages, and so does adding a message twice. A message whose id is known, as
    where `PrismMemoryMiddleware` has stored it in the same session, comes back as often as it was added, and is
    remembered once.

    Attributes:
        memory: an open memory; the history never closes it.
        scope: whose memory.
        session_id: which conversation; numbers and UUIDs become text.
        task_id: the unit of work its messages belong to.
    """

    def __init__(
        self, memory: PrismMemory, *, scope: str | Sequence[str], session_id: object, task_id: str | None = None
    ) -> None:
        """Attach to a session, which need not exist.

        Raises:
            ScopeError: if the scope is missing or malformed.
            QueryError: if no session is named.
        """
        if session_id is None or not str(session_id).strip():
            raise QueryError(
                "session_id", session_id, "name the conversation; without one all of the scope would be it"
            )
        super().__init__()
        self.memory = memory
        self.scope = scope_of(scope)
        self.session_id: str = storable(str(session_id))
        self.task_id = task_id

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # a property, as the base's documentation says
        """The messages of the session, oldest first. Changing the list changes nothing."""
        return messages_of(self.memory.units(scope=self.scope, session_id=self.session_id))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages in one transaction; in a second one what brings back those that were known by their ids.

        Raises:
            InvalidEventError: if one holds what cannot be stored; nothing is.
            LedgerError: if the database refused; nothing is stored.
        """
        events = message_units(messages, session_id=self.session_id, task_id=self.task_id)
        receipts = self.memory.write_many(events, scope=self.scope)
        known = [_once_more(*pair) for pair in zip(events, receipts, strict=True) if _is_known(*pair)]
        self.memory.write_many(known, scope=self.scope)

    def clear(self) -> None:
        """Erase the session: its messages, and what else the memory keeps of it."""
        self.memory.erase(scope=self.scope, session_id=self.session_id)


def message_units(messages: Sequence[BaseMessage], *, session_id: str, task_id: str | None = None) -> list[Event]:
    """What is stored of messages, in order: their events, the first of each with the message itself."""
    # A reply joins the unit of its call, so the order of units is not that of messages.
    now = time.time_ns()
    keys = [message_key(message, session_id) for message in messages]
    replied = Keyed(messages, keys).replied
    found: list[Event] = []
    for place, message in enumerate(messages):
        call = replied[place]
        key = keys[place] if call is None else reply_key(call)
        events = events_of(message, session_id=session_id, task_id=task_id, key=key)
        found += _with_verbatim(message, now + place, events) or [_mark(message, now + place, session_id, task_id)]
    return found


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
    if not events or (events[0].blank and not isinstance(message, ToolMessage)):
        return []
    first = _wordless(events[0]) if events[0].blank else events[0]
    first = first.model_copy(update={"metadata": {**first.metadata, **_verbatim(message, at)}})
    return [first, *events[1:]]


def _wordless(reply: Event) -> Event:
    """An answer without words is an answer, and has to be storable where its call is not known."""
    outcome = Outcome.SUCCESS if reply.outcome is Outcome.UNKNOWN else reply.outcome
    return reply.model_copy(update={"observation": NO_WORDS, "outcome": outcome})


def _mark(message: BaseMessage, at: int, session_id: str, task_id: str | None) -> Event:
    """What stands for a message that is not to be remembered, or has nothing that could be."""
    return _marked(message.type, session_id, task_id, _verbatim(message, at))


def _marked(kind: object, session_id: str | None, task_id: str | None, metadata: Mapping[str, Any]) -> Event:
    return Event(
        kind=Kind.MESSAGE,
        observation=f"[{kind} message]",
        source=Source.EXTERNAL,
        importance=0.0,
        session_id=session_id,
        task_id=task_id,
        metadata=dict(metadata),
    )


def _is_known(event: Event, receipt: Receipt) -> bool:
    """Whether a message was not stored because its key was used before."""
    unstored = receipt.status in (ReceiptStatus.DUPLICATE, ReceiptStatus.REJECTED)
    return unstored and not event.metadata.keys().isdisjoint((MESSAGE, REPLY))


def _once_more(event: Event, receipt: Receipt) -> Event:
    """What is stored of a message whose id is known: a mark that brings it back or, for other words, these."""
    if receipt.status is ReceiptStatus.REJECTED:
        return event.model_copy(update={"idempotency_key": renamed(event.idempotency_key or "", event.text)})
    kept = {key: event.metadata[key] for key in (MESSAGE, REPLY) if key in event.metadata}
    entry: Any = next(iter(kept.values()))
    return _marked(entry["message"]["type"], event.session_id, event.task_id, kept)


def _verbatim(message: BaseMessage, at: int) -> dict[str, Any]:
    key = REPLY if isinstance(message, ToolMessage) else MESSAGE
    return {key: {"at": at, "message": as_json(message_to_dict(message))}}
