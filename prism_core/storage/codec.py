"""How units, links, vectors and log entries become rows, and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from pydantic import BaseModel, JsonValue
from pydantic_core import PydanticSerializationError

from prism_core.changes import MUTABLE_FIELDS, FloatArray
from prism_core.errors import InvalidEventError
from prism_core.results import LogEntry, Receipt, ReceiptStatus
from prism_core.text import normalize, wording
from prism_core.types import Kind, Link, MemoryUnit, Relation

Values = dict[str, Any]
"""One row, by column name."""


def instant(moment: datetime) -> str:
    """An aware datetime as text that sorts as time does."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def unstorable(value: object) -> InvalidEventError:
    """The error for text that has no UTF-8 form."""
    return InvalidEventError("text", value, "it holds half of a surrogate pair; decode the text with errors='replace'")


def dump(model: BaseModel) -> str:
    """A model as JSON without what equals its defaults.

    Raises:
        InvalidEventError: if it holds text that has no UTF-8 form.
    """
    try:
        return model.model_dump_json(exclude_defaults=True)
    except PydanticSerializationError as error:
        raise unstorable(str(error)) from error


def dump_json(value: object) -> str:
    """Plain JSON, compact.

    Raises:
        InvalidEventError: if it is not JSON.
    """
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidEventError("change", value, "values of a change must be JSON") from error


def fact_slot(unit: MemoryUnit) -> tuple[str, str] | None:
    """The entity and attribute a fact is about, in the form in which they are compared; None for other units."""
    return None if unit.fact is None else unit.fact.slot


def compared_text(kind: str, text: str) -> str:
    """The form in which two texts of a kind are compared: what messages say, whole texts of others."""
    return wording(text) if kind == Kind.MESSAGE else normalize(text)


def text_hash(kind: str, text: str) -> bytes:
    """A digest that is equal for texts of a kind that are equal as they are compared."""
    return hashlib.blake2b(compared_text(kind, text).encode(errors="surrogatepass"), digest_size=16).digest()


def unit_row(unit: MemoryUnit, tokens: int, seq: int) -> Values:
    """The row of a unit that changed at `seq`."""
    return {
        "unit_id": unit.id,
        "kind": unit.kind.value,
        "text_hash": text_hash(unit.kind, unit.text),
        "tokens": tokens,
        "body": dump(unit),
        "changed_seq": seq,
    }


def load_unit(body: str) -> MemoryUnit:
    """The unit of a stored body."""
    return MemoryUnit.model_validate_json(body)


def updated(body: str, after: Mapping[str, JsonValue]) -> MemoryUnit:
    """A stored unit with new values for some of its fields.

    Raises:
        InvalidEventError: if a field is fixed once the unit is stored, or a value is unusable.
    """
    for field in after.keys() - MUTABLE_FIELDS:
        raise InvalidEventError(field, after[field], f"only {', '.join(sorted(MUTABLE_FIELDS))} may change")
    return MemoryUnit.parse({**json.loads(body), **after})


def started_as(unit: MemoryUnit) -> Mapping[str, JsonValue]:
    """What the log keeps of a new unit; its text is in the unit itself."""
    return {
        "kind": unit.kind.value,
        "source": unit.source.value,
        "layer": unit.layer.value,
        "status": unit.status.value,
        "outcome": unit.outcome.value,
        "importance": unit.importance,
        "confidence": unit.confidence,
    }


def link_row(link: Link, seq: int, *, removed: bool = False) -> Values:
    """The row of a link that changed at `seq`."""
    return {
        "source": link.source,
        "target": link.target,
        "relation": link.relation.value,
        "confidence": link.confidence,
        "reason": link.reason,
        "label": link.label,
        "removed": int(removed),
        "changed_seq": seq,
    }


def load_link(row: Sequence[Any]) -> Link:
    """The link of a row that begins with source, target, relation, confidence, reason, label."""
    source, target, relation, confidence, reason, label = row[:6]
    kind = Relation(relation)
    return Link(source=source, target=target, relation=kind, confidence=confidence, reason=reason, label=label)


def dump_vector(vector: FloatArray) -> bytes:
    """A vector as little-endian float32.

    Raises:
        InvalidEventError: if it is not one row of finite numbers.
    """
    packed = np.asarray(vector, dtype="<f4")
    if packed.ndim != 1 or not np.isfinite(packed).all():
        raise InvalidEventError("vector", vector, "a vector is one row of finite numbers")
    return packed.tobytes()


def load_vector(blob: bytes) -> FloatArray:
    """The vector of a blob; shape (d,), read-only."""
    return np.frombuffer(blob, dtype="<f4").astype(np.float32, copy=False)


def load_log_entry(row: Sequence[Any]) -> LogEntry:
    """The entry of a row (seq, recorded_at, kind, subject, before, after, reason)."""
    seq, recorded_at, kind, subject, before, after, reason = row
    return LogEntry(
        seq=seq,
        recorded_at=datetime.fromisoformat(recorded_at),
        kind=kind,
        subject=subject,
        before=json.loads(before),
        after=json.loads(after),
        reason=reason,
    )


def receipt_row(receipt: Receipt) -> Values:
    """The row of a receipt."""
    return {
        "receipt_id": receipt.id,
        "status": receipt.status.value,
        "unit_id": receipt.unit_id,
        "reason": receipt.reason,
        "superseded": dump_json(receipt.superseded),
        "facts": dump_json(receipt.facts),
    }


def load_receipt(row: Sequence[Any]) -> Receipt:
    """The receipt of a row (receipt_id, status, unit_id, reason, superseded, facts)."""
    receipt_id, status, unit_id, reason, superseded, facts = row
    return Receipt(
        id=receipt_id,
        status=ReceiptStatus(status),
        unit_id=unit_id,
        reason=reason,
        superseded=tuple(json.loads(superseded)),
        facts=tuple(json.loads(facts)),
    )
