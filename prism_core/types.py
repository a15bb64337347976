"""The data model: scopes, events, memory units, links and intent queries.

A *scope* is a privacy boundary, a *task* a unit of work with a goal, a *session* one sitting. A scope holds many
sessions and tasks. Isolation is by scope only.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

from prism_core.errors import InvalidEventError, NaiveDatetimeError, ScopeError
from prism_core.text import is_visible

Scope = tuple[str, ...]
"""A privacy boundary: one or more non-empty segments, such as `("acme", "alice")`."""

MAX_SCOPE_SEGMENTS = 16
MAX_SEGMENT_LENGTH = 512


def scope_of(value: object) -> Scope:
    """Check and normalise what a caller passed as a scope.

    Args:
        value: a string (a scope of one segment) or a sequence of strings. Characters are free: e-mail addresses,
            UUIDs and paths are fine.

    Returns:
        The scope as a tuple of segments, unchanged in content.

    Raises:
        ScopeError: if it is missing, empty, not made of strings, or too long.
    """
    if isinstance(value, str):
        segments: tuple[object, ...] = (value,)
    elif isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        segments = tuple(value)
    else:
        raise ScopeError(value, "is not a string or a sequence of strings")
    if not segments:
        raise ScopeError(value, "is empty")
    if len(segments) > MAX_SCOPE_SEGMENTS:
        raise ScopeError(value, f"has more than {MAX_SCOPE_SEGMENTS} segments")
    for segment in segments:
        if not isinstance(segment, str):
            raise ScopeError(value, f"holds {segment!r}, which is not a string")
        if not segment.strip():
            raise ScopeError(value, "holds an empty segment")
        if len(segment) > MAX_SEGMENT_LENGTH:
            raise ScopeError(value, f"holds a segment of more than {MAX_SEGMENT_LENGTH} characters")
        if not _encodable(segment) or "\x00" in segment:
            raise ScopeError(value, "holds a character that cannot be stored")
    return tuple(str(segment) for segment in segments)


def scope_key(scope: Scope) -> str:
    """The scope as one string: injective, so `("a", "b")` and `("a/b",)` never meet."""
    return json.dumps(scope, ensure_ascii=False, separators=(",", ":"))


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def utc(value: datetime, field: str = "event_time") -> datetime:
    """Convert an aware datetime to UTC.

    Raises:
        NaiveDatetimeError: if it has no time zone.
    """
    if value.tzinfo is None or value.utcoffset() is None:
        raise NaiveDatetimeError(field, value)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{value.isoformat()} in UTC lies outside the years 1 to 9999") from None


UtcDatetime = Annotated[datetime, AfterValidator(utc)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class Kind(StrEnum):
    """What a unit is."""

    STEP = "step"
    MESSAGE = "message"
    DOCUMENT = "document"
    FACT = "fact"
    SUMMARY = "summary"


class Layer(StrEnum):
    """Which memory layer a unit lives in."""

    WORKING = "working"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"


class Source(StrEnum):
    """Who a unit's content comes from; decides how far it is trusted."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    EXTERNAL = "external"
    DERIVED = "derived"


class Outcome(StrEnum):
    """How an action ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    UNKNOWN = "unknown"


class Status(StrEnum):
    """Whether a unit still holds."""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    DISPUTED = "disputed"
    ARCHIVED = "archived"


class Relation(StrEnum):
    """How two units are related. The stored direction is source → target, earlier or causing unit first."""

    FOLLOWS = "FOLLOWS"
    CAUSES = "CAUSES"
    REQUIRES = "REQUIRES"
    ELABORATES = "ELABORATES"
    CONTRADICTS = "CONTRADICTS"
    SUPERSEDES = "SUPERSEDES"
    SUMMARIZES = "SUMMARIZES"
    RELATED = "RELATED"
    REPEATS = "REPEATS"
    NEAR_DUPLICATE = "NEAR_DUPLICATE"


ACYCLIC_RELATIONS = frozenset({Relation.FOLLOWS, Relation.CAUSES, Relation.REQUIRES})
"""Relations that follow the arrow of time; together they never form a cycle."""


EXPLAINING_RELATIONS = frozenset(
    {
        Relation.REQUIRES,
        Relation.CAUSES,
        Relation.ELABORATES,
        Relation.CONTRADICTS,
        Relation.SUPERSEDES,
        Relation.SUMMARIZES,
    }
)
"""Relations that say why; the mere order of steps does not."""


class Facet(StrEnum):
    """What kind of answer a question wants."""

    TEMPORAL = "temporal"
    CAUSAL = "causal"
    CURRENT_VALUE = "current-value"
    MULTI_EVIDENCE = "multi-evidence"
    PLAIN = "plain"


_M = TypeVar("_M", bound=BaseModel)


MAX_DEPTH = 32
"""Levels of nesting that metadata may have."""


def _storable(value: Any, depth: int = 0) -> Any:
    """Refuse JSON that would not come back from the ledger as it went in."""
    if depth > MAX_DEPTH:
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep; flatten it")
    if isinstance(value, str):
        return _encodable_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("NaN and infinity are not JSON; leave the value out or pass a string")
    if isinstance(value, int) and abs(value) >= 1 << 63:
        raise ValueError("whole numbers beyond 64 bits are not kept exactly; pass a string")
    if isinstance(value, Mapping):
        for key, item in value.items():
            _storable(key, depth)
            _storable(item, depth + 1)
    elif isinstance(value, Sequence):
        for item in value:
            _storable(item, depth + 1)
    return value


def _encodable_text(value: str) -> str:
    if not _encodable(value):
        raise ValueError("a lone surrogate cannot be stored; decode the text properly first")
    return value


def _encodable_texts(value: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_encodable_text, value))


Text = Annotated[str, AfterValidator(_encodable_text)]
Texts = Annotated[tuple[str, ...], AfterValidator(_encodable_texts)]
Metadata = Annotated[dict[str, JsonValue], AfterValidator(_storable)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Fact(_Model):
    """A statement distilled from a unit: entity, attribute, value."""

    entity: Text = Field(min_length=1)
    attribute: Text = Field(min_length=1)
    value: Text
    category: Text = "world_state"


class Attachment(_Model):
    """Something a unit carries that is not text."""

    media_type: Text
    uri: Text
    caption: Text = ""


class Event(_Model):
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
        return _parse(cls, data)


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


class Link(_Model):
    """A directed, typed relation between two units of one scope.

    Attributes:
        source: id of the earlier or causing unit.
        target: id of the later unit.
        relation: what relates them.
        confidence: in [0, 1].
        reason: why the link was made, in words a person can check.
    """

    source: str
    target: str
    relation: Relation
    confidence: Share = 1.0
    reason: str = ""


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


class IntentQuery(_Model):
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


def _parse(model: type[_M], data: object) -> _M:
    if isinstance(data, model):
        return data
    try:
        return model.model_validate(data)
    except NaiveDatetimeError:
        raise
    except ValueError as error:
        field, value, problem = _first_problem(error, data)
        raise InvalidEventError(field, value, problem) from None


def _first_problem(error: ValueError, data: object) -> tuple[str, Any, str]:
    details = getattr(error, "errors", None)
    if details is None:
        return "event", data, str(error)
    first = details()[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, NaiveDatetimeError):
        raise cause
    field = ".".join(str(part) for part in first["loc"]) or "event"
    if first["type"] == "extra_forbidden":
        return field, first.get("input"), "there is no such field; what was said or read belongs in 'observation'"
    return field, first.get("input"), first["msg"]
