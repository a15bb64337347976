"""What the models are made of: aware instants, storable text and JSON, and how callers' data is parsed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

from prism_core.errors import InvalidEventError, NaiveDatetimeError
from prism_core.types.scopes import encodable

_M = TypeVar("_M", bound=BaseModel)


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
    if not encodable(value):
        raise ValueError("a lone surrogate cannot be stored; decode the text properly first")
    return value


def _encodable_texts(value: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_encodable_text, value))


Text = Annotated[str, AfterValidator(_encodable_text)]
Texts = Annotated[tuple[str, ...], AfterValidator(_encodable_texts)]
Metadata = Annotated[dict[str, JsonValue], AfterValidator(_storable)]


class Model(BaseModel):
    """Immutable, and without fields nobody asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def parsed(model: type[_M], data: object) -> _M:
    """Validate a mapping, or take over what is such a model already.

    Raises:
        InvalidEventError: if a field is unknown, of the wrong type or out of range.
        NaiveDatetimeError: if an instant has no time zone.
    """
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
