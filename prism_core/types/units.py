"""Events, the units they become, and the links between units."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from pydantic import Field

from prism_core.text import date_form, is_visible, name_form, quantity_form
from prism_core.types.base import Metadata, Model, Share, Text, Texts, UtcDatetime, parsed
from prism_core.types.facts import Fact
from prism_core.types.scopes import Scope
from prism_core.types.vocabulary import Facet, Kind, Layer, Outcome, Relation, Source, Status


class Attachment(Model):
    """Something a unit carries that is not text."""

    media_type: Text
    uri: Text
    caption: Text = ""


class EntityType(StrEnum):
    """What an entity is."""

    FILE = "file"
    PATH = "path"
    URL = "url"
    EMAIL = "email"
    ID = "id"
    CODE = "code"
    QUOTED = "quoted"
    PERSON = "person"
    PLACE = "place"
    ORGANISATION = "organisation"
    PRODUCT = "product"
    QUANTITY = "quantity"
    DATE = "date"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Entity:
    """Something a text names.

    Attributes:
        text: as written.
        type: what it is.
        start: where it begins in the text, in characters.
        end: where it ends.
    """

    text: str
    type: EntityType
    start: int
    end: int

    @property
    def normal(self) -> str:
        """The form in which entities are compared: `Paper_A`, `paper-a` and "Paper A" have the same.

        Dates have their ISO form where they are absolute, quantities a number with its unit (`3 km`).
        """
        if self.type is EntityType.DATE:
            return date_form(self.text)
        return quantity_form(self.text) if self.type is EntityType.QUANTITY else name_form(self.text)


class Event(Model):
    """What a host hands in: one thing that was said, done or read.

    Attributes:
        kind: what the event is; a step has an `action`, everything else keeps its text in `observation`.
        observation: what was said, returned or read.
        action: what the agent did, such as `search_flights({"to": "SEA"})`.
        action_type: the action's name without arguments, such as `search_flights`; read off a call written as text
            when missing.
        thought: what the agent said it was about to do, when it came with the action.
        session_id: one sitting (LangGraph `thread_id`, LlamaIndex `session_id`).
        task_id: the unit of work this belongs to.
        step_id: the caller's own name for the step; may repeat on retries and branches.
        parent: unit id, or step id within the task, of the step this one was taken for.
        tool_call_id: pairs a tool's reply with its call. An event from a tool with a `tool_call_id` and no `action`
            is joined to the call's unit.
        speaker: who said it.
        idempotency_key: the same key in one scope is stored once.
        event_time: when it happened; aware. Filled from the clock when missing.
        outcome: how the action ended.
        intent_tags: labels of the intent taxonomy; filled by the encoder when empty.
        entities: names, ids, files and dates in it; extended by the encoder.
        source: who it comes from.
        importance: in [0, 1]; estimated when missing.
        confidence: in [0, 1].
        fact: the statement, for units of kind `fact`.
        attachments: what it carries besides text.
        metadata: free, JSON; returned with the unit, never interpreted.
    """

    kind: Kind = Kind.MESSAGE
    observation: Text = ""
    action: Text | None = None
    action_type: Text | None = None
    thought: Text | None = None
    session_id: Text | None = None
    task_id: Text | None = None
    step_id: Text | None = None
    parent: Text | None = None
    tool_call_id: Text | None = None
    speaker: Text | None = None
    idempotency_key: Text | None = Field(default=None, min_length=1)
    event_time: UtcDatetime | None = None
    outcome: Outcome = Outcome.UNKNOWN
    intent_tags: Texts = ()
    entities: Texts = ()
    source: Source = Source.USER
    importance: Share | None = None
    confidence: Share = 1.0
    fact: Fact | None = None
    attachments: tuple[Attachment, ...] = ()
    metadata: Metadata = Field(default_factory=dict)

    @property
    def text(self) -> str:
        """The one rendering that is embedded, indexed and returned as page content."""
        spoken = self.observation if self.action is None else ""
        lines = [part for part in (self.thought, self.action) if part]
        if spoken:
            lines.append(f"{self.speaker}: {spoken}" if self.speaker else spoken)
        elif self.observation:
            lines.append(f"-> {self.observation}")
        lines.extend(f"[{attachment.caption}]" for attachment in self.attachments if attachment.caption)
        return "\n".join(lines)

    @property
    def blank(self) -> bool:
        """Whether a reader would see nothing of it; unless it answers a call, such an event is not stored."""
        captions = (attachment.caption for attachment in self.attachments)
        return not any(map(is_visible, (self.observation, self.action or "", self.thought or "", *captions)))

    @classmethod
    def parse(cls, data: object) -> Self:
        """Validate a mapping (or an event) into an event.

        Raises:
            InvalidEventError: if a field is unknown, of the wrong type or out of range.
            NaiveDatetimeError: if `event_time` has no time zone.
        """
        return parsed(cls, data)


class MemoryUnit(Event):
    """One remembered thing, as stored.

    Attributes:
        id: unique and independent of the content.
        scope: the privacy boundary it belongs to.
        event_time: when it happened; aware UTC.
        recorded_at: when it was stored; aware UTC.
        importance: in [0, 1].
        layer: working, episodic or semantic.
        status: whether it still holds.
    """

    id: str
    scope: Scope
    event_time: UtcDatetime
    recorded_at: UtcDatetime
    importance: Share
    layer: Layer = Layer.EPISODIC
    status: Status = Status.CURRENT


def is_distilled(unit: MemoryUnit) -> bool:
    """Whether a unit is a fact that other units state, and so adds nothing to where values come from."""
    return unit.fact is not None and any(each.unit_id for each in unit.fact.statements)


class Link(Model):
    """A directed, typed relation between two units of one scope.

    Attributes:
        source: id of the earlier or causing unit.
        target: id of the later unit.
        relation: what relates them.
        confidence: in [0, 1].
        reason: why the link was made, in words a person can check.
        label: what relates them in a language model's or a caller's own words; empty where `relation` says it all.
    """

    source: str
    target: str
    relation: Relation
    confidence: Share = 1.0
    reason: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class Except:
    """Every unit but these: a condition for `PrismMemory.search` and `units`, such as for what a prompt shows anyway.

    Only the named units are looked up, where a function would be asked about every unit of the scope.

    Attributes:
        keys: idempotency keys; unknown ones are ignored.
        unit_ids: ids; unknown ones are ignored.
    """

    keys: frozenset[str] = frozenset()
    unit_ids: frozenset[str] = frozenset()

    def __call__(self, unit: MemoryUnit) -> bool:
        """Whether the unit is none of them."""
        return unit.id not in self.unit_ids and unit.idempotency_key not in self.keys


class IntentQuery(Model):
    """What is wanted, as the planner understood it.

    Attributes:
        text: the question in words.
        target_intents: taxonomy labels the answer should carry.
        target_entities: normalised names the answer should mention.
        action_type: restricts nothing; steps of this action rank higher.
        task_id: the task the question is about; only units of it are returned.
        session_id: the session the question is about; only units of it are returned.
        first_step: lowest 0-based position within the task or session that may be returned.
        last_step: highest 0-based position within the task or session that may be returned.
        since: only units that happened at or after this instant.
        until: only units that happened before this instant.
        active: ids of the units the agent is working on now, oldest first.
        facets: what kind of answer is wanted.
        intents_told: whether the target intents come from more than the question's words: from the caller, a language
            model or the goals of the task. They count for more then.
    """

    text: str
    target_intents: tuple[str, ...] = ()
    target_entities: tuple[str, ...] = ()
    action_type: str | None = None
    task_id: str | None = None
    session_id: str | None = None
    first_step: int | None = Field(default=None, ge=0)
    last_step: int | None = Field(default=None, ge=0)
    since: UtcDatetime | None = None
    until: UtcDatetime | None = None
    active: tuple[str, ...] = ()
    facets: frozenset[Facet] = frozenset({Facet.PLAIN})
    intents_told: bool = False
