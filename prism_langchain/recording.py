"""Storing what happens in a run, each thing once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, ToolCall, ToolMessage

from prism_core import Event, PrismMemory, Receipt, ReceiptStatus
from prism_langchain.messages import Keyed, call_events, renamed
from prism_langchain.places import Place
from prism_langchain.problems import MemoryProblem, Watch

BeforeWrite = Callable[[Event], Event | None]
Written = list[tuple[Event, Receipt]]


@dataclass(frozen=True, slots=True)
class MessageRecorder:
    """Stores messages as the events that `prism ingest` would make of them.

    What was stored before is known by keys in the ledger, so nothing is stored twice by another process, after a
    restart, or when a thread is run again from a checkpoint.

    Attributes:
        memory: where to.
        watch: is told what could not be stored.
        before_write: may change an event, or drop it by answering None; a dropped call drops its reply.
        unrecorded: names of tools whose calls are not stored.
    """

    memory: PrismMemory
    watch: Watch
    before_write: BeforeWrite | None = None
    unrecorded: frozenset[str] = frozenset()

    def record(self, messages: Keyed, place: Place, *, delegated: bool = False) -> None:
        """Store the messages of a turn that has ended; those stored before are left as they were stored.

        Args:
            messages: of the turn.
            place: where they belong.
            delegated: whether an agent speaks in the user's role.
        """
        with self.watch.over("record", place.scope):
            written = self._write(messages.events(place, delegated=delegated), place)
            # Stored under the same key and worded otherwise since: redacted or cleared, and no news.
            self._report([pair for pair in written if not _refused(pair)], place)

    def record_said(self, messages: Keyed, place: Place, *, delegated: bool = False) -> None:
        """Store messages that were just said; arguments are those of `record`.

        A message of an id that was used before for other words, such as an edited one, is stored beside the other.
        """
        with self.watch.over("record", place.scope):
            written = self._write(messages.events(place, delegated=delegated), place)
            refused = [event for event, receipt in written if _refused((event, receipt))]
            again = self._write([_renamed(event) for event in refused], place)
            self._report([pair for pair in written if not _refused(pair)] + again, place)

    def record_call(
        self, message: AIMessage, key: str | None, call: ToolCall, reply: ToolMessage | None, place: Place
    ) -> None:
        """Store a call of a tool together with its reply, in one transaction.

        A call that is made again and ends otherwise, as after a failure, is stored again: both happened.

        Args:
            message: the message that asks for the call.
            key: the message's key.
            call: the call as it was made.
            reply: what came back; None where nothing did.
            place: where it belongs.
        """
        with self.watch.over("record", place.scope):
            written = self._write(call_events(message, key, call, reply, place), place)
            if any(map(_refused, written)):
                written = self._write(call_events(message, key, call, reply, place, again=True), place)
            self._report(written, place)

    def _write(self, events: Sequence[Event], place: Place) -> Written:
        kept = self._kept(events)
        if not kept:
            return []
        return list(zip(kept, self.memory.write_many(kept, scope=place.scope), strict=True))

    def _kept(self, events: Sequence[Event]) -> list[Event]:
        kept: list[Event] = []
        dropped: set[str] = set()
        for event in events:
            allowed = None if event.action_type in self.unrecorded else event
            if allowed is not None and self.before_write is not None:
                allowed = self.before_write(allowed)
            if allowed is None or event.tool_call_id in dropped:
                dropped |= {event.tool_call_id} if event.tool_call_id else set()
            elif not allowed.blank or allowed.tool_call_id:
                # A reply without words still says that the call has ended.
                kept.append(allowed)
        return kept

    def _report(self, written: Written, place: Place) -> None:
        for _, receipt in written:
            if receipt.status in (ReceiptStatus.DEGRADED, ReceiptStatus.REJECTED):
                self.watch.report(MemoryProblem("record", place.scope, receipt.reason))


def _refused(pair: tuple[Event, Receipt]) -> bool:
    event, receipt = pair
    return receipt.status is ReceiptStatus.REJECTED and event.idempotency_key is not None


def _renamed(event: Event) -> Event:
    return event.model_copy(update={"idempotency_key": renamed(event.idempotency_key or "", event.text)})
