"""From an event to changes: tell duplicates, join replies to their calls, extract, tag, weigh, relate."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import cast

from pydantic import JsonValue, TypeAdapter

from prism_core.changes import AddKey, AddLink, AddUnit, Change, FloatArray, PutVector, ReplaceUnit, UpdateUnit
from prism_core.encode.dedup import idempotency_key, known_as
from prism_core.encode.extract import MAX_ENTITIES, action_name, entities
from prism_core.encode.importance import importance_of
from prism_core.encode.outcome import outcome_of
from prism_core.encode.relate import links_to
from prism_core.protocols import IdFactory, IntentTagger, TokenCounter, WriteView
from prism_core.results import Receipt, ReceiptStatus
from prism_core.text import normalize, relative_dates
from prism_core.types import Event, Kind, Layer, MemoryUnit, Outcome, Scope, Source

_FIELDS = TypeAdapter(dict[str, object])
_NUMBER = re.compile(r"\.\d+\Z")
CONTENT_FIELDS = ("observation", "attachments", "metadata", "fact", "confidence", "outcome")
"""What a replacement takes over as it is; intents, entities and importance are found anew where they are not given."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """What encoding one event came to.

    Attributes:
        receipt: what becomes of the event once the changes are committed.
        changes: to be committed; none for a duplicate or a rejected event.
        unit: the unit as it is afterwards; None when nothing changes.
        tokens: tokens of the unit's text.
        key: the idempotency key the event claims.
    """

    receipt: Receipt
    changes: tuple[Change, ...] = ()
    unit: MemoryUnit | None = None
    tokens: int = 0
    key: str | None = None


@dataclass(frozen=True, slots=True)
class WriteContext:
    """What an event is encoded against.

    Attributes:
        scope: where the events belong.
        view: the scope, and the events before in the same write.
        now: the instant of recording; stands in for a missing event time.
    """

    scope: Scope
    view: WriteView
    now: datetime


@dataclass(frozen=True, slots=True)
class Encoder:
    """Encodes events without an LLM.

    Attributes:
        tagger: gives intent labels.
        counter: counts tokens.
        new_id: makes ids of units.
        embedder_id: written with the vectors; empty without an embedder.
    """

    tagger: IntentTagger
    counter: TokenCounter
    new_id: IdFactory
    embedder_id: str

    def encode(self, event: Event, context: WriteContext, receipt_id: str) -> Encoded:
        """Encode one event against what was stored before it; the receipt gets the id given."""
        event = _with_action_type(event)
        key = idempotency_key(event)
        known = known_as(event, key, context.view)
        if known is not None:
            status = ReceiptStatus.DUPLICATE if known.same else ReceiptStatus.REJECTED
            return Encoded(Receipt(receipt_id, status, known.unit_id if known.same else None, known.reason))
        call = _call_of(event, context.view)
        if call is not None:
            return self._join(event, call, receipt_id, key)
        if event.blank:
            return Encoded(Receipt(receipt_id, ReceiptStatus.REJECTED, reason=_why_blank(event)))
        return self._add(event, context, receipt_id, key)

    def replace(self, event: Event, unit: MemoryUnit, receipt_id: str) -> Encoded:
        """Encode other content for a stored unit; its id, kind, key and place stay."""
        if event.blank:
            return Encoded(Receipt(receipt_id, ReceiptStatus.REJECTED, reason=_why_blank(event)))
        labels = event.intent_tags or self.tagger.tag(event.text)
        content: dict[str, object] = {name: getattr(event, name) for name in CONTENT_FIELDS}
        content |= {
            "intent_tags": labels,
            "entities": _merge(event.entities, entities(event.text), _dates_of(event, unit.event_time)),
            "importance": event.importance if event.importance is not None else importance_of(event, labels),
        }
        fresh = unit.model_copy(update=content)
        tokens = self.counter.count(fresh.text)
        changes = (ReplaceUnit(fresh, tokens), PutVector(unit.id, self.embedder_id, None))
        return Encoded(Receipt(receipt_id, ReceiptStatus.STORED, unit.id), changes, fresh, tokens)

    def complete(self, encoded: Encoded, vector: FloatArray | None) -> Encoded:
        """Put in the embedding of the unit's text, and the label it suggests where no cue gave one."""
        unit = encoded.unit
        if unit is None or vector is None:
            return encoded
        labels = unit.intent_tags
        if not labels and unit.action is None:
            # An action keeps the labels of its cues: its text, and so its vector, still grows by the reply.
            labels = self.tagger.tag(unit.text, vector=vector)
        unit = unit.model_copy(update={"intent_tags": labels})
        changes: list[Change] = []
        for change in encoded.changes:
            if isinstance(change, PutVector):
                changes.append(PutVector(change.unit_id, self.embedder_id, vector))
            elif isinstance(change, AddUnit | ReplaceUnit):
                changes.append(replace(change, unit=change.unit.model_copy(update={"intent_tags": labels})))
            else:
                changes.append(change)
        return replace(encoded, unit=unit, changes=tuple(changes))

    def _add(self, event: Event, context: WriteContext, receipt_id: str, key: str | None) -> Encoded:
        parent = _parent_id(event, context.view)
        unit = self._unit(event, context, key)
        tokens = self.counter.count(unit.text)
        changes: list[Change] = [AddUnit(unit, tokens), PutVector(unit.id, self.embedder_id, None)]
        changes += [AddLink(link) for link in links_to(unit, parent, context.view)]
        missing = f"its parent {event.parent!r} is unknown" if event.parent and parent is None else ""
        status = ReceiptStatus.DEGRADED if missing else ReceiptStatus.STORED
        return Encoded(Receipt(receipt_id, status, unit.id, missing), tuple(changes), unit, tokens, key)

    def _join(self, event: Event, call: MemoryUnit, receipt_id: str, key: str | None) -> Encoded:
        outcome = event.outcome
        if outcome is Outcome.UNKNOWN:
            # An answer without words is an answer: the call is no longer open.
            outcome = outcome_of(event.observation) if event.observation.strip() else Outcome.SUCCESS
        grown: dict[str, object] = {"observation": event.observation, "outcome": outcome}
        if event.attachments:
            grown["attachments"] = (*call.attachments, *event.attachments)
        if event.metadata:
            grown["metadata"] = {**call.metadata, **event.metadata}
        grown["entities"] = _merge(call.entities, event.entities, entities(event.observation))
        unit = call.model_copy(update=grown)
        tokens = self.counter.count(unit.text)
        before = {name: getattr(call, name) for name in grown}
        reason = "the tool's reply came in"
        changes: list[Change] = [
            UpdateUnit(call.id, _json(before), _json(grown), tokens, reason),
            PutVector(call.id, self.embedder_id, None),
        ]
        if key is not None:
            changes.append(AddKey(call.id, key))
        return Encoded(Receipt(receipt_id, ReceiptStatus.JOINED, call.id, reason), tuple(changes), unit, tokens, key)

    def _unit(self, event: Event, context: WriteContext, key: str | None) -> MemoryUnit:
        outcome = event.outcome
        if outcome is Outcome.UNKNOWN and event.kind is Kind.STEP:
            outcome = outcome_of(event.observation)
        labels = event.intent_tags or self.tagger.tag(event.text, action_type=event.action_type)
        fields = dict(event)
        fields.update(
            id=self.new_id(),
            scope=context.scope,
            idempotency_key=key,
            event_time=event.event_time or context.now,
            recorded_at=context.now,
            outcome=outcome,
            intent_tags=labels,
            entities=_merge(event.entities, entities(event.text), _dates_of(event, context.now)),
            importance=event.importance if event.importance is not None else importance_of(event, labels),
            layer=Layer.SEMANTIC if event.kind in (Kind.FACT, Kind.SUMMARY) else Layer.EPISODIC,
        )
        # An event that was changed by model_copy has not been checked.
        return MemoryUnit.parse(fields)


def _with_action_type(event: Event) -> Event:
    """The event, with the type of its action read off a call that is written as text."""
    name = action_name(event.action) if event.action and event.action_type is None else None
    return event if name is None else event.model_copy(update={"action_type": name})


def _call_of(event: Event, view: WriteView) -> MemoryUnit | None:
    """The call that a tool's reply answers.

    Call ids may repeat. The latest open one counts; of several calls that one message makes under one id the first,
    as replies come in the order of the calls.
    """
    if event.source is not Source.TOOL or event.action is not None or event.tool_call_id is None:
        return None
    calls = view.open_calls(event.session_id, event.tool_call_id)
    if not calls:
        return None
    latest = view.unit(calls[-1])
    beside = (view.unit(call) for call in calls[:-1])
    return next((call for call in beside if _same_message(call.idempotency_key, latest.idempotency_key)), latest)


def _same_message(one: str | None, other: str | None) -> bool:
    """Whether two calls were made by one message: a message's key is numbered for all its calls but the first."""
    if one is None or other is None:
        return False
    message = _NUMBER.sub("", other)
    return message in (one, _NUMBER.sub("", one))


def _why_blank(event: Event) -> str:
    if not event.text.strip():
        return "it has no text"
    return "it has no text that could be shown, only control characters or invisible ones; write what they stand for"


def _parent_id(event: Event, view: WriteView) -> str | None:
    """The parent's unit id, from a step id of the task or from a unit id."""
    if event.parent is None:
        return None
    return view.step(event.task_id, event.parent) or view.known(event.parent)


def _dates_of(event: Event, now: datetime) -> tuple[str, ...]:
    """What "yesterday" and the like mean, as ISO dates."""
    return tuple(value.terms[0].removeprefix("@") for value in relative_dates(event.text, event.event_time or now))


def _merge(*lists: tuple[str, ...]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for values in lists:
        for value in values:
            found.setdefault(normalize(value), value)
    return tuple(found.values())[:MAX_ENTITIES]


def _json(values: Mapping[str, object]) -> dict[str, JsonValue]:
    return cast(dict[str, JsonValue], _FIELDS.dump_python(dict(values), mode="json"))
