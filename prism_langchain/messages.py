"""A conversation as the memory sees it: whose turn it is, which message is which event, what the model sees anyway."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    BaseMessageChunk,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    message_chunk_to_message,
)

from prism_core import Event, Source, message_events, without_recalled
from prism_langchain.convert import storable
from prism_langchain.places import Place

OWN_TOOLS = frozenset({"recall_memory", "save_memory", "why_memory", "forget_memory"})
"""Tools of the memory itself: what they are asked and answer is never stored."""
LONGEST_QUESTION = 20_000
"""Characters that memories are looked up for: the last ones, as the memory takes no more."""

HELD = "prism_held_back"
"""Marks the reply to a call that was not made because it failed before; holds the action."""


def is_user(message: BaseMessage) -> bool:
    """Whether a message is somebody's words, and not a summary that stands in the user's role."""
    return isinstance(message, HumanMessage) and "lc_source" not in message.additional_kwargs


def last_user(messages: Sequence[BaseMessage]) -> int | None:
    """Place of the last message of the user, else of the last in the user's role; None without any."""
    for wanted in (is_user, lambda message: isinstance(message, HumanMessage)):
        for place in reversed(range(len(messages))):
            if wanted(messages[place]):
                return place
    return None


def turn_start(messages: Sequence[BaseMessage]) -> int:
    """Place of the first message of the present turn: the last words of the user, with those right before them."""
    start = max((place for place, message in enumerate(messages) if is_user(message)), default=None)
    if start is None:
        # A summary may have taken the user's words away in the middle of a turn.
        return max((n + 1 for n, message in enumerate(messages) if isinstance(message, HumanMessage)), default=0)
    while start and is_user(messages[start - 1]):
        start -= 1
    return start


@dataclass(frozen=True, slots=True)
class Keyed:
    """The messages of a thread with what each is stored under.

    Attributes:
        messages: in order.
        keys: the idempotency key of each; None for one that can be told from no other.
    """

    messages: Sequence[BaseMessage]
    keys: Sequence[str | None]

    @classmethod
    def of(cls, messages: Sequence[BaseMessage], place: Place) -> Keyed:
        """Key messages by their ids; without an id by their words, and how often these came before in the session."""
        seen: dict[str, count[int]] = {}
        keys: list[str | None] = []
        for message in messages:
            if (key := message_key(message, place.session_id)) is not None:
                keys.append(key)
            elif place.session_id is None:
                keys.append(None)
            else:
                words = digest(f"{message.type}\n{message.name}\n{message.content!r}")
                keys.append(f"langchain:{place.session_id}:{words}.{next(seen.setdefault(words, count()))}")
        return cls(_identified([_whole(message) for message in messages], keys), keys)

    def since(self, start: int) -> Keyed:
        """Those from a place on."""
        return Keyed(self.messages[start:], self.keys[start:])

    @property
    def said(self) -> Keyed:
        """The words of the user among them."""
        pairs = [pair for pair in zip(self.messages, self.keys, strict=True) if is_user(pair[0])]
        return Keyed([message for message, _ in pairs], [key for _, key in pairs])

    @property
    def calls(self) -> dict[str, ToolCall]:
        """The calls of tools, by key."""
        return {
            call_key(key, number): call
            for message, key in zip(self.messages, self.keys, strict=True)
            if isinstance(message, AIMessage) and key is not None
            for number, call in enumerate(message.tool_calls)
        }

    @property
    def replied(self) -> list[str | None]:
        """For each message the key of the call that it answers, None for any other.

        Ids of calls may repeat: in a later message, or for several calls of one, whose replies come in their order.
        """
        found: list[str | None] = []
        waiting: dict[str, list[str]] = {}
        for message, key in zip(self.messages, self.keys, strict=True):
            keys = waiting.get(message.tool_call_id, []) if isinstance(message, ToolMessage) else []
            found.append((keys.pop(0) if len(keys) > 1 else keys[0]) if keys else None)
            if isinstance(message, AIMessage) and key is not None:
                waiting |= {call["id"] or "": [] for call in message.tool_calls}
                for number, call in enumerate(message.tool_calls):
                    waiting[call["id"] or ""].append(call_key(key, number))
        return found

    @property
    def visible(self) -> frozenset[str]:
        """Keys of the units that say what these messages say."""
        calls, known = self.calls, {key for key in self.keys if key is not None}
        for message, key in zip(self.messages, self.replied, strict=True):
            if isinstance(message, ToolMessage) and key is not None:
                known.add(again_key(key, calls[key], message))
        return frozenset({*known, *calls})

    @property
    def answered(self) -> frozenset[str]:
        """Keys of the calls that have a reply among these messages."""
        return frozenset(key for key in self.replied if key is not None)

    def events(self, place: Place, *, delegated: bool = False) -> list[Event]:
        """The events of these messages; none for system prompts, summaries and the memory's own tools.

        Raises:
            DatasetError: if a message has a form that cannot be read.
            InvalidEventError: if one holds what cannot be stored.
        """
        held = held_back(self.messages)
        own = _own_calls(self.messages) | held.keys()
        found: list[Event] = []
        for message, key, call in zip(self.messages, self.keys, self.replied, strict=True):
            if isinstance(message, SystemMessage) or (isinstance(message, HumanMessage) and not is_user(message)):
                continue
            if isinstance(message, ToolMessage):
                if message.tool_call_id in own:
                    continue
                key = key if call is None else reply_key(call)
            events = events_of(message, key, place, delegated=delegated)
            found += [event for event in events if event.tool_call_id not in held]
        return found


def events_of(message: BaseMessage, key: str | None, place: Place, *, delegated: bool = False) -> list[Event]:
    """The events of one message, without what was recalled and without the memory's own tools.

    Args:
        message: any message.
        key: idempotency key of its first event.
        place: where it belongs.
        delegated: whether an agent speaks in the user's role.

    Raises:
        DatasetError: if the message has a form that cannot be read.
        InvalidEventError: if it holds what cannot be stored.
    """
    dumped = storable(message.model_dump())
    events = message_events(dumped, key=key, session_id=place.session_id, task_id=place.task_id)
    if delegated and isinstance(message, HumanMessage):
        events = tuple(event.model_copy(update={"source": Source.ASSISTANT}) for event in events)
    return [_new(event) for event in events if event.action_type not in OWN_TOOLS]


def call_events(
    message: AIMessage,
    key: str | None,
    call: ToolCall,
    reply: ToolMessage | None,
    place: Place,
    *,
    again: bool = False,
) -> list[Event]:
    """The events of one call as it was made, and of its reply; none for the memory's own tools.

    Args:
        message: the message that asks for the call.
        key: the message's key.
        call: the call as it was made, which a person or another middleware may have changed.
        reply: what came back; None where nothing did.
        place: where it belongs.
        again: whether the call was made before and ended otherwise then.

    Raises:
        DatasetError: if a message has a form that cannot be read.
        InvalidEventError: if one holds what cannot be stored.
    """
    if call["name"] in OWN_TOOLS:
        return []
    number = made_in(message, call)
    if number is not None and message.tool_calls[number]["id"] != call["id"]:
        call = {**call, "id": message.tool_calls[number]["id"]}
        reply = reply and reply.model_copy(update={"tool_call_id": call["id"]})
    number = number or 0
    # What was said beside several calls is kept with the first of them.
    content = message.content if number == 0 else ""
    made = message.model_copy(update={"tool_calls": [call], "content": content})
    named = None if key is None else call_key(key, number)
    if named is not None and again:
        named = again_key(named, call, reply)
    events = events_of(made, named, place)
    return events if reply is None else events + events_of(reply, named and reply_key(named), place)


def message_key(message: BaseMessage, session_id: str | None) -> str | None:
    """The key of a message that has an id."""
    return f"langchain:{session_id or ''}:{storable(message.id)}" if message.id else None


def made_in(message: AIMessage, call: ToolCall) -> int | None:
    """Which of a message's calls one is, 0-based; None where it is none of them.

    A person or another middleware may have changed it, and ids may repeat or be missing.
    """
    calls = message.tool_calls
    places = [n for n, other in enumerate(calls) if not call["id"] or other["id"] == call["id"]]
    same = [n for n in places if (calls[n]["name"], calls[n]["args"]) == (call["name"], call["args"])]
    return next(iter(same or (places if call["id"] else ())), None)


def call_key(key: str, number: int) -> str:
    """The key of one of a message's calls, as `message_events` gives it."""
    return f"{key}.{number}" if number else key


def reply_key(key: str) -> str:
    """The key of the reply to a call."""
    return f"{key}:reply"


def again_key(key: str, call: ToolCall, reply: ToolMessage | None) -> str:
    """The key of a call that was made before and ended otherwise then."""
    ended = "" if reply is None else reply.text
    return renamed(key, f"{call['args']}\n{ended}")


def renamed(key: str, told_by: str) -> str:
    """A key of its own for what came under a key that other words have: told by its words."""
    return f"{key}~{digest(told_by)}"


def digest(text: str) -> str:
    """A short name of a text."""
    return hashlib.blake2b(text.encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()


def _new(event: Event) -> Event:
    """The event without what was recalled."""
    said: Mapping[str, str | None] = {"observation": event.observation, "thought": event.thought}
    changed = {name: without_recalled(text) for name, text in said.items() if text}
    return event.model_copy(update=changed)


def held_back(messages: Sequence[BaseMessage]) -> dict[str, str]:
    """The actions that were held back with a warning, by tool call id; the tool did not run."""
    replies = (message for message in messages if isinstance(message, ToolMessage))
    return {reply.tool_call_id: reply.additional_kwargs[HELD] for reply in replies if HELD in reply.additional_kwargs}


def _own_calls(messages: Sequence[BaseMessage]) -> frozenset[str]:
    calls = (call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls)
    return frozenset(call["id"] or "" for call in calls if call["name"] in OWN_TOOLS)


def _identified(messages: Sequence[BaseMessage], keys: Sequence[str | None]) -> list[BaseMessage]:
    """The messages, calls without an id given one, and replies without an id that of the first open one of those."""
    found: list[BaseMessage] = []
    waiting: list[str] = []
    for message, key in zip(messages, keys, strict=True):
        changed: dict[str, Any] = {}
        if isinstance(message, AIMessage) and not all(call["id"] for call in message.tool_calls):
            calls = [{**call, "id": call["id"] or f"{key}#{n}"} for n, call in enumerate(message.tool_calls)]
            waiting = [str(call["id"]) for call, old in zip(calls, message.tool_calls, strict=True) if not old["id"]]
            changed = {"tool_calls": calls}
        elif isinstance(message, ToolMessage) and not message.tool_call_id and waiting:
            changed = {"tool_call_id": waiting.pop(0)}
        found.append(message.model_copy(update=changed) if changed else message)
    return found


def _whole(message: BaseMessage) -> BaseMessage:
    return message_chunk_to_message(message) if isinstance(message, BaseMessageChunk) else message
