"""A session's messages, word for word, kept with the units they became.

What was said and done becomes units like anybody else's. The first unit of a message also carries, in its metadata,
what it takes to hand the message back unchanged and in its place, so erasing the unit erases the message. Messages
that say nothing to remember (a system prompt, an empty reply) travel with the next one that does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import Any

from llama_index.core.llms import ChatMessage
from pydantic import JsonValue

from prism_core import Event, MemoryUnit, PrismMemory, ReceiptStatus, Scope
from prism_core.errors import InvalidEventError
from prism_llamaindex.failures import DetachedError
from prism_llamaindex.messages import (
    OWN_TOOLS,
    dumped,
    fingerprint,
    from_unit,
    is_held,
    is_plain,
    loaded,
    reply_to,
    text_of,
    to_events,
    tool_calls,
)
from prism_llamaindex.pairing import call_behind, held_places, without_calls

_MESSAGE, _REPLY, _PART = "llamaindex_message", "llamaindex_reply", "llamaindex_part_of"


@dataclass(slots=True)
class Entry:
    """One message in its place.

    Attributes:
        id: made of what it says and of the message before it, so the same text said twice is two messages, and the
            same message handed in twice is one.
        message: as the host gave it.
        unit_ids: the units it became; none while it is not stored, or where it says nothing to remember.
        silent: whether it says nothing to remember.
        tokens: what it takes of a prompt; None until counted.
    """

    id: str
    message: ChatMessage
    unit_ids: list[str] = field(default_factory=list)
    silent: bool = False
    tokens: int | None = None


class Transcript:
    """The messages of one session.

    Not thread-safe; whoever holds one takes turns.

    Without a memory it keeps them all pending.

    Args:
        scope: whose.
        session_id: which sitting.
        task_id: the task its units belong to.

    Attributes:
        entries: the conversation as it stands, oldest first.
        pending: what is not in the ledger yet, oldest first.
        epoch: of the scope, when the entries were last read; it moves on when something is erased.
    """

    def __init__(self, scope: Scope, session_id: str, task_id: str | None = None) -> None:
        self._open: PrismMemory | None = None
        self._scope = scope
        self._session_id = session_id
        self._task_id = task_id
        self._clear()

    def _clear(self) -> None:
        self.entries: list[Entry] = []
        self.pending: list[Entry] = []
        self.epoch = 0
        self._known: dict[str, Entry] = {}
        self._gone: set[str] = set()
        self._units: set[str] = set()
        self._numbers = count()
        self._reordered = False
        self._read = False

    @property
    def messages(self) -> list[ChatMessage]:
        """The conversation as it stands, oldest first."""
        return [entry.message for entry in self.entries]

    def attach(self, memory: PrismMemory) -> None:
        """Use this memory from here on."""
        if memory is not self._open:
            self._open, self._read = memory, False

    def refresh(self) -> None:
        """Take in what others wrote since; cheap while nobody did."""
        newest = self._memory.units(scope=self._scope, session_id=self._session_id, last=1)
        if not self._read or any(not self._holds(unit) for unit in newest):
            self.reload()

    def reload(self) -> None:
        """Read the session from the ledger again; what is not stored yet is kept."""
        self.epoch = self._memory.stats(self._scope).position.epoch
        units = self._memory.units(scope=self._scope, session_id=self._session_id)
        unsaved, before, self._known, self._units = self.pending, self._known, {}, set()
        records = sorted(self._records(units), key=lambda record: record.number)
        order: list[str] = []
        for record in records:
            self._known |= {entry.id: entry for entry in record.entries}
            order = record.order or order
            order += [entry.id for entry in record.entries if entry.id not in order]
        self.entries = [self._known[key] for key in order if key in self._known]
        self._numbers = count(records[-1].number + 1 if records else 0)
        self._attach_parts(units)
        self._gone |= before.keys() - self._known.keys() - {entry.id for entry in unsaved}
        self._read = True
        self.pending = [entry for entry in unsaved if entry.id not in self._known]
        self.entries += self.pending
        self._known |= {entry.id: entry for entry in self.pending}

    def append(self, messages: Iterable[ChatMessage]) -> None:
        """Messages that were just said; each is a new one, whatever it says."""
        for message in messages:
            key = _chained(self.entries[-1].id if self.entries else "", message)
            while key in self._known:
                key = _hashed(key, "again")
            self._add(Entry(key, message))
        self.save()

    def replace(self, messages: Sequence[ChatMessage], *, copied: bool = False) -> None:
        """The conversation is now exactly this; what of it was said before is not said again.

        What is no longer in it stays remembered.

        Args:
            messages: oldest first.
            copied: whether they come from a copy that the host keeps of the whole conversation. What was erased here
                is still in such a copy, and is passed over.
        """
        before = [entry.id for entry in self.entries]
        matches = align([fingerprint(entry.message) for entry in self.entries], [*map(fingerprint, messages)])
        recognised = max((n for n, match in enumerate(matches) if match is not None), default=-1)
        entries, self.entries = self.entries, []
        key = ""
        for place, (message, match) in enumerate(zip(messages, matches, strict=True)):
            key = _chained(key, message) if match is None else entries[match].id
            if match is not None:
                self.entries.append(entries[match])
            elif copied and (key in self._gone or (self.epoch and place < recognised)):
                continue
            elif key in self._known:
                self.entries.append(self._known[key])
            else:
                self._add(Entry(key, message))
        if [entry.id for entry in self.entries[: len(before)]] != before:
            self._reordered = True
        self.save()

    def leave(self, messages: Sequence[ChatMessage]) -> None:
        """These messages leave the beginning of the host's copy; those never seen are stored before they go."""
        leaving = [*map(fingerprint, messages)]
        known = [fingerprint(entry.message) for entry in self.entries]
        stay = len(messages)
        if known[: len(leaving)] != leaving[: len(known)]:
            stay = max((match + 1 for match in align(known, leaving) if match is not None), default=0)
        staying = self.entries[stay:]
        self.replace([*messages, *(entry.message for entry in staying)], copied=True)
        self.entries = staying
        self._reordered = True

    def waiting(self) -> list[str]:
        """What is not stored yet, as JSON, for `restore`."""
        return [json.dumps([entry.id, dumped(entry.message)]) for entry in self.pending]

    def restore(self, waiting: Iterable[str]) -> None:
        """Take in what was `waiting` when this session was last put away, unless it has been stored since."""
        for key, text in map(json.loads, waiting):
            if key not in self._known:
                self._add(Entry(key, loaded(text)))

    def erase(self) -> None:
        """Erase everything of this session from the memory."""
        self._memory.erase(scope=self._scope, session_id=self._session_id)
        self._clear()

    def save(self) -> None:
        """Store what is pending, in one transaction.

        Raises:
            PrismError: if the memory refused; everything stays pending.
        """
        drafts: list[_Draft] = []
        carried: list[Entry] = []
        places = {entry.id: place for place, entry in enumerate(self.entries)}
        for entry in self.pending:
            events = [] if entry.silent else self._events(entry, places.get(entry.id, len(self.entries)))
            entry.silent = not events
            carried.append(entry)
            if events:
                drafts.append(_Draft(carried, events))
                carried = []
        self.pending = carried
        try:
            self._write(drafts)
        finally:
            self.pending = [*(entry for draft in drafts if not draft.stored for entry in draft.entries), *self.pending]

    # -- inside ------------------------------------------------------------------------------------------------------

    @property
    def _memory(self) -> PrismMemory:
        if self._open is None:
            raise DetachedError
        return self._open

    def _add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.pending.append(entry)
        self._known[entry.id] = entry

    def _holds(self, unit: MemoryUnit) -> bool:
        keys = {key for record in self._records([unit]) for key in (entry.id for entry in record.entries)}
        return unit.id in self._units and keys <= self._known.keys()

    def _events(self, entry: Entry, place: int) -> list[Event]:
        is_reply = reply_to(entry.message) is not None
        call = self._called(entry, place) if is_reply else None
        if is_reply and self._says_nothing(entry.message, call):
            return []
        events = to_events(
            without_calls(entry.message, held_places([entry.message, *self._replies(place + 1)])),
            key=f"llamaindex:{self._session_id}:{entry.id}",
            session_id=self._session_id,
            task_id=self._task_id,
        )
        if call is not None:
            events = [event.model_copy(update={"tool_call_id": call[0]}) for event in events]
        return events[:1] + [event.model_copy(update={"metadata": {_PART: entry.id}}) for event in events[1:]]

    def _replies(self, start: int) -> list[ChatMessage]:
        """The replies of tools from a place on."""
        rest = (self.entries[place].message for place in range(start, len(self.entries)))
        return [*takewhile(lambda message: reply_to(message) is not None, rest)]

    def _called(self, reply: Entry, place: int) -> tuple[str, str] | None:
        """Id and name of the tool whose call a reply answers."""
        start = place
        while start and reply_to(self.entries[start - 1].message) is not None:
            start -= 1
        messages = [each.message for each in self.entries[max(start - 1, 0) : place]]
        found = call_behind([*messages, reply.message])
        if found is not None:
            return found
        before = (self.entries[n].message for n in reversed(range(min(start, len(self.entries)))))
        calls = (call for message in before for call in tool_calls(message))
        return next((call[:2] for call in calls if call[0] == reply_to(reply.message)), None)

    @staticmethod
    def _says_nothing(reply: ChatMessage, call: tuple[str, str] | None) -> bool:
        """Whether a reply is known, as the memory's own tools' are, answers nothing with nothing, or is a warning."""
        if call is None:
            return not text_of(reply).strip()
        return call[1] in OWN_TOOLS or is_held(text_of(reply))

    def _write(self, drafts: Sequence[_Draft]) -> None:
        if not drafts:
            return
        for draft in drafts:
            self._describe(draft, last=draft is drafts[-1])
        try:
            receipts = iter(
                self._memory.write_many([event for draft in drafts for event in draft.events], scope=self._scope)
            )
        except InvalidEventError:
            if len(drafts) == 1:
                drafts[0].entries[-1].silent = True
                raise
            for draft in drafts:
                self._write([draft])
            return
        for draft in drafts:
            answers = [next(receipts) for _ in draft.events]
            ids = [receipt.unit_id for receipt in answers if receipt.unit_id is not None]
            draft.stored = answers[0].status is not ReceiptStatus.REJECTED
            draft.entries[-1].silent = not draft.stored
            draft.entries[-1].unit_ids += ids
            self._units.update(ids)
        stored = all(draft.stored for draft in drafts)
        self._reordered = (self._reordered and not drafts[-1].stored) or not stored

    def _describe(self, draft: _Draft, *, last: bool) -> None:
        """Put into a draft's first event what brings its messages back."""
        *carried, entry = draft.entries
        event = draft.events[0]
        whole = is_plain(entry.message) and entry.message.content == event.observation
        messages: list[JsonValue] = [[each.id, dumped(each.message)] for each in carried]
        messages.append([entry.id, None if whole else dumped(entry.message)])
        record: dict[str, JsonValue] = {"number": next(self._numbers), "messages": messages}
        if last and self._reordered:
            record["order"] = [each.id for each in self.entries]
        key = _MESSAGE if reply_to(entry.message) is None else _REPLY
        draft.events[0] = event.model_copy(update={"metadata": {**event.metadata, key: record}})

    def _records(self, units: Iterable[MemoryUnit]) -> Iterator[_Record]:
        for unit in units:
            for key in (_MESSAGE, _REPLY):
                found = unit.metadata.get(key)
                if isinstance(found, dict):
                    yield _record(found, unit)

    def _attach_parts(self, units: Iterable[MemoryUnit]) -> None:
        for unit in units:
            self._units.add(unit.id)
            entry = self._known.get(str(unit.metadata.get(_PART, "")))
            if entry is not None and unit.id not in entry.unit_ids:
                entry.unit_ids.append(unit.id)


@dataclass(slots=True)
class _Draft:
    """Messages about to be stored together: the last of them has events, those before say nothing."""

    entries: list[Entry]
    events: list[Event]
    stored: bool = False


@dataclass(slots=True)
class _Record:
    """What a unit's metadata says about messages."""

    number: int
    entries: list[Entry]
    order: list[str]


def _record(found: dict[str, Any], unit: MemoryUnit) -> _Record:
    entries = [
        Entry(key, from_unit(unit) if text is None else loaded(text), silent=True) for key, text in found["messages"]
    ]
    entries[-1].unit_ids, entries[-1].silent = [unit.id], False
    return _Record(found["number"], entries, [*found.get("order", ())])


def align(known: Sequence[str], given: Sequence[str]) -> list[int | None]:
    """Which of the known messages each given one is.

    A conversation usually goes on from where it was, less what was cut off its beginning; that is tried first.
    Otherwise each given message is the next known one that says the same, in order.

    Args:
        known: fingerprints, oldest first.
        given: fingerprints, oldest first.

    Returns:
        One index into `known` per given message; None for one that is new.
    """
    for start in range(len(known)):
        tail = known[start:]
        if [*given[: len(tail)]] == [*tail]:
            return [*range(start, len(known)), *[None] * (len(given) - len(tail))]
    matches: list[int | None] = []
    place = 0
    for each in given:
        match = next((index for index in range(place, len(known)) if known[index] == each), None)
        matches.append(match)
        place = place if match is None else match + 1
    return matches


def _chained(before: str, message: ChatMessage) -> str:
    return _hashed(before, fingerprint(message))


def _hashed(*parts: str) -> str:
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=10).hexdigest()
