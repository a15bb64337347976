"""Units of an evidence-QA row, turned into events."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from prism_core.ingest.files import Record
from prism_core.types import Event, Kind, Source


@dataclass(frozen=True, slots=True)
class QAUnit:
    """One thing that was said, as the row has it.

    Attributes:
        id: unique in its row.
        text: what was said.
        speaker: who said it.
        time: when; aware UTC.
        session: one sitting.
    """

    id: str
    text: str
    speaker: str | None
    time: datetime | None
    session: str | None


def read_units(row: Record) -> list[QAUnit]:
    """The units of a row.

    Raises:
        DatasetError: if one has no id or text, a time that cannot be read, or an id that another one has.
    """
    units: dict[str, QAUnit] = {}
    for record in row.children("units", "unit"):
        unit = QAUnit(
            id=record.text("id"),
            text=record.text("text"),
            speaker=record.optional("speaker"),
            time=record.time("time"),
            session=record.optional("session"),
        )
        if unit.id in units:
            record.fail(f"the id {unit.id!r} occurs twice")
        units[unit.id] = unit
    return list(units.values())


def unit_event(unit: QAUnit, row_id: str | None = None) -> Event:
    """A unit as an event.

    Args:
        unit: what was said.
        row_id: put in front of the unit's id and session, which are only unique within a row; needed where several
            rows share a scope.
    """
    return Event(
        kind=Kind.MESSAGE,
        observation=unit.text,
        speaker=unit.speaker,
        event_time=unit.time,
        session_id=prefixed(row_id, unit.session) if unit.session else row_id,
        idempotency_key=prefixed(row_id, unit.id),
        source=Source.USER,
    )


def prefixed(row_id: str | None, name: str) -> str:
    """A name that is unique within a row, made unique among rows."""
    return name if row_id is None else f"{row_id}/{name}"
