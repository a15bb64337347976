"""From an event to changes: tell duplicates, join replies to their calls, extract, tag, weigh, relate."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import cast

from pydantic import JsonValue, TypeAdapter

from prism_core.changes import (
    AddKey,
    AddLink,
    AddUnit,
    Change,
    FloatArray,
    MarkUnread,
    PutVector,
    ReplaceUnit,
    UpdateUnit,
)
from prism_core.encode.conflict import ConflictRules
from prism_core.encode.dedup import idempotency_key, known_as
from prism_core.encode.entities import MAX_ENTITIES, RuleExtractor, named
from prism_core.encode.outcome import outcome_of
from prism_core.encode.premises import Premises
from prism_core.encode.route import MemoryRouter, Routed
from prism_core.encode.settle import LABELS, FactSettler, Settled, Told
from prism_core.errors import InvalidEventError
from prism_core.protocols import Distiller, EntityExtractor, IdFactory, IntentTagger, Linker, TokenCounter, WriteView
from prism_core.results import Receipt, ReceiptStatus
from prism_core.text import action_name, normalize, relative_dates
from prism_core.types import Claim, Event, Fact, Kind, Layer, MemoryUnit, Outcome, Scope, Source

_FIELDS = TypeAdapter(dict[str, object])
MOST_LABELS = 3
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
        facts: facts that are new or change because of it, as they are afterwards, with their token counts, by id.
    """

    receipt: Receipt
    changes: tuple[Change, ...] = ()
    unit: MemoryUnit | None = None
    tokens: int = 0
    key: str | None = None
    facts: Mapping[str, tuple[MemoryUnit, int]] = field(default_factory=dict)

    @property
    def units(self) -> list[tuple[MemoryUnit, int]]:
        """Every unit that is new or changes, with its token count."""
        own = [] if self.unit is None else [(self.unit, self.tokens)]
        return [*own, *(pair for unit_id, pair in self.facts.items() if not own or unit_id != own[0][0].id)]


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
        linker: relates a new unit to those before it.
        new_id: makes ids of units.
        embedder_id: written with the vectors; empty without an embedder.
        extractor: finds what texts name.
        router: says how important an event is, and which layer it belongs to.
        conflicts: when a new value takes the place of the one that holds.
        distiller: finds what events state; None to keep no facts but those that are stored as such.
        read_when: whether a language model is to read a unit, given how many claims rules find in it; None where there
            is no model. Rules store what it states meanwhile.
        readable: takes out of a text what is not new, such as recalled memories that it repeats.
    """

    tagger: IntentTagger
    counter: TokenCounter
    linker: Linker
    new_id: IdFactory
    embedder_id: str
    extractor: EntityExtractor = field(default_factory=RuleExtractor)
    router: MemoryRouter = field(default_factory=MemoryRouter)
    conflicts: ConflictRules = field(default_factory=ConflictRules)
    distiller: Distiller | None = None
    read_when: Callable[[MemoryUnit, int], bool] | None = None
    readable: Callable[[str], str] = str

    @property
    def settler(self) -> FactSettler:
        """Settles what events state against what is known."""
        return FactSettler(self.conflicts, self.counter, self.new_id, self.embedder_id)

    def encode(self, event: Event, context: WriteContext, receipt_id: str) -> Encoded:
        """Encode one event against what was stored before it; the receipt gets the id given."""
        event = _with_words(_with_action_type(event))
        if event.fact is not None and event.kind is not Kind.FACT:
            raise InvalidEventError("fact", event.fact, f"only events of kind 'fact' have one, this is a {event.kind}")
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
        if event.fact is not None and event.kind is Kind.FACT:
            return self._add_fact(event, event.fact, context, receipt_id, key)
        return self._add(event, context, receipt_id, key)

    def replace(self, event: Event, unit: MemoryUnit, receipt_id: str) -> Encoded:
        """Encode other content for a stored unit; its id, kind, key and place stay."""
        event = _with_words(event)
        if event.blank:
            return Encoded(Receipt(receipt_id, ReceiptStatus.REJECTED, reason=_why_blank(event)))
        labels = event.intent_tags or self.tagger.tag(event.text)
        content: dict[str, object] = {name: getattr(event, name) for name in CONTENT_FIELDS}
        content |= {
            "intent_tags": labels,
            "entities": _merge(event.entities, named(event.text, self.extractor), _dates_of(event, unit.event_time)),
            "importance": _importance(event, self.router.route(event, labels)),
        }
        if unit.fact is not None or event.fact is not None:
            if unit.fact is None or event.fact is None or not _same_fact(unit.fact, event.fact):
                remedy = "write the new value as a fact of its own, which takes the place of the old one; or erase it"
                raise InvalidEventError("fact", event.fact, remedy)
            content["fact"], content["confidence"] = unit.fact, unit.confidence
        fresh = unit.model_copy(update=content)
        tokens = self.counter.count(fresh.text)
        changes = (ReplaceUnit(fresh, tokens), PutVector(unit.id, self.embedder_id, None))
        return Encoded(Receipt(receipt_id, ReceiptStatus.STORED, unit.id), changes, fresh, tokens)

    def complete(self, encoded: Encoded, vectors: Mapping[str, FloatArray]) -> Encoded:
        """Put in the embeddings of the units' texts, and the label one suggests where no cue gave one.

        Args:
            encoded: what an event came to.
            vectors: by text; what is missing waits to be embedded.
        """
        unit = encoded.unit
        vector_of = {each.id: vectors.get(each.text) for each, _ in encoded.units}
        vector = vector_of[unit.id] if unit is not None else None
        # An action keeps the labels of its cues: its text, and so its vector, still grows by the reply.
        if unit is not None and vector is not None and not unit.intent_tags and unit.action is None:
            unit = unit.model_copy(update={"intent_tags": self.tagger.tag(unit.text, vector=vector)})
        changes: list[Change] = []
        for change in encoded.changes:
            if isinstance(change, PutVector) and change.vector is None:
                changes.append(PutVector(change.unit_id, self.embedder_id, vector_of.get(change.unit_id)))
            elif isinstance(change, AddUnit | ReplaceUnit) and unit is not None and change.unit.id == unit.id:
                labelled = change.unit.model_copy(update={"intent_tags": unit.intent_tags})
                changes.append(replace(change, unit=labelled))
            else:
                changes.append(change)
        return replace(encoded, unit=unit, changes=tuple(changes))

    def _add(self, event: Event, context: WriteContext, receipt_id: str, key: str | None) -> Encoded:
        parent = _parent_id(event, context.view)
        claims = self.claims(event)
        unit = self._unit(event, context, key, claims)
        tokens = self.counter.count(unit.text)
        changes: list[Change] = [AddUnit(unit, tokens), PutVector(unit.id, self.embedder_id, None)]
        changes += [AddLink(link) for link in self.linker.links(unit, parent, context.view)]
        changes += [AddLink(link) for link in Premises(self.claims).links(unit, claims, context.view)]
        missing = f"its parent {event.parent!r} is unknown" if event.parent and parent is None else ""
        if self.read_when is not None and self.read_when(unit, len(claims)):
            changes.append(MarkUnread(unit.id))
        settled = self.settle(unit, claims, context.view)
        changes += settled.changes
        status = ReceiptStatus.DROPPED if unit.layer is Layer.WORKING else ReceiptStatus.STORED
        reason = (
            "of little importance: kept in working memory until it is forgotten" if unit.layer is Layer.WORKING else ""
        )
        if missing:
            status, reason = ReceiptStatus.DEGRADED, missing
        superseded, facts = tuple(settled.superseded), tuple(settled.facts)
        receipt = Receipt(receipt_id, status, unit.id, reason, superseded, facts)
        return Encoded(receipt, tuple(changes), unit, tokens, key, settled.units)

    def claims(self, event: Event) -> Sequence[Claim]:
        """What an event states, by rules."""
        if self.distiller is None:
            return ()
        new = self.readable(event.observation)
        return self.distiller.distil(
            event if new == event.observation else event.model_copy(update={"observation": new})
        )

    def settle(self, unit: MemoryUnit, claims: Sequence[Claim], view: WriteView) -> Settled:
        """What the claims of a unit change."""
        told = Told(unit.id, unit.event_time, unit.recorded_at, unit.source)
        return self.settler.settle(claims, told, unit, view)

    def _add_fact(self, event: Event, fact: Fact, context: WriteContext, receipt_id: str, key: str | None) -> Encoded:
        """Store a fact as such, or note that a stored one was said again."""
        unit = self._unit(event, context, key)
        told = Told("", unit.event_time, unit.recorded_at, unit.source)
        correction = any(each.correction for each in fact.statements)
        claim = Claim(fact.entity, fact.attribute, fact.value, fact.category, correction)
        settled = self.settler.adopt(unit, claim, told, context.view)
        holder = settled.facts[0]
        known = holder != unit.id
        changes = [*settled.changes, *([AddKey(holder, key)] if known and key is not None else [])]
        superseded = tuple(settled.superseded)
        if known:
            receipt = Receipt(
                receipt_id, ReceiptStatus.DUPLICATE, holder, "said before; noted as said again", superseded
            )
        else:
            status = ReceiptStatus.SUPERSEDED if superseded else ReceiptStatus.STORED
            receipt = Receipt(receipt_id, status, holder, superseded=superseded)
        held, tokens = settled.units.get(holder, (None, 0))
        return Encoded(receipt, tuple(changes), held, tokens, key, settled.units)

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
        grown["entities"] = _merge(call.entities, event.entities, named(event.observation, self.extractor))
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

    def _unit(self, event: Event, context: WriteContext, key: str | None, claims: Sequence[Claim] = ()) -> MemoryUnit:
        outcome = event.outcome
        if outcome is Outcome.UNKNOWN and event.kind is Kind.STEP:
            outcome = outcome_of(event.observation)
        labels = event.intent_tags or _with_stated(self.tagger.tag(event.text, action_type=event.action_type), claims)
        routed = self.router.route(event, labels, claims)
        fields = dict(event)
        fields.update(
            id=self.new_id(),
            scope=context.scope,
            idempotency_key=key,
            event_time=event.event_time or context.now,
            recorded_at=context.now,
            outcome=outcome,
            intent_tags=labels,
            entities=_merge(event.entities, named(event.text, self.extractor), _dates_of(event, context.now)),
            importance=_importance(event, routed),
            layer=routed.layer,
        )
        # An event that was changed by model_copy has not been checked.
        return MemoryUnit.parse(fields)


def _with_action_type(event: Event) -> Event:
    """The event, with the type of its action read off a call that is written as text."""
    name = action_name(event.action) if event.action and event.action_type is None else None
    return event if name is None else event.model_copy(update={"action_type": name})


def _with_words(event: Event) -> Event:
    """The event; a fact without words of its own has those of what it states."""
    if event.kind is not Kind.FACT or event.fact is None or event.observation.strip():
        return event
    return event.model_copy(update={"observation": event.fact.text})


def _with_stated(labels: tuple[str, ...], claims: Sequence[Claim]) -> tuple[str, ...]:
    """The labels of a text, and those of what it states that none of them covers."""
    covered = {label.partition("/")[0] for label in labels}
    stated = (LABELS.get(claim.category, claim.category) for claim in claims)
    return (*labels, *dict.fromkeys(label for label in stated if label not in covered))[:MOST_LABELS]


def _importance(event: Event, routed: Routed) -> float:
    return event.importance if event.importance is not None else routed.importance


def _same_fact(one: Fact, other: Fact) -> bool:
    return one.slot == other.slot and normalize(one.value) == normalize(other.value)


def _call_of(event: Event, view: WriteView) -> MemoryUnit | None:
    """The call that a tool's reply answers.

    Call ids may repeat. Replies to calls made together come in their order, so the oldest of them counts; a call that
    was left open before somebody spoke was given up.
    """
    if event.source is not Source.TOOL or event.action is not None or event.tool_call_id is None:
        return None
    calls = view.open_calls(event.session_id, event.tool_call_id)
    if not calls:
        return None
    turn = max(calls.values())
    together = [view.unit(call) for call in calls if calls[call] == turn]
    # A call that was lost before the message does not take the first reply away from those of the message.
    latest = together[-1].idempotency_key
    return next((call for call in together if _same_message(call.idempotency_key, latest)), together[0])


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
