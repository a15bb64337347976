"""Units for tests of rendering."""

from datetime import UTC, datetime, timedelta

from prism_core.types import MemoryUnit

START = datetime(2026, 5, 8, 13, 56, tzinfo=UTC)


def unit(text: str, number: int = 0, *, minutes: float | None = None, **fields: object) -> MemoryUnit:
    when = START + timedelta(minutes=number if minutes is None else minutes)
    given = {"id": f"u{number:04}", "scope": ("s",), "event_time": when, "recorded_at": when, "importance": 0.5}
    return MemoryUnit.model_validate({**given, "observation": text, **fields})
