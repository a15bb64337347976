"""Which units hold what is known about an entity's attributes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from prism_core.text import normalize
from prism_core.types import MemoryUnit

Slot = tuple[str, str]
"""Normalised entity and attribute."""

MOST_HELD = 4096
"""Facts kept as units: every new value of an attribute is compared with all that were said of it before."""
BYTES_PER_UNIT = 3000


class FactIndex:
    """Unit ids of facts, by entity and attribute, and by entity and value."""

    def __init__(self) -> None:
        self._slots: dict[Slot, dict[str, None]] = defaultdict(dict)
        self._values: dict[Slot, dict[str, None]] = defaultdict(dict)
        self._held: dict[str, MemoryUnit] = {}

    @property
    def nbytes(self) -> int:
        """Estimated size in bytes."""
        return 600 * len(self._slots) + BYTES_PER_UNIT * len(self._held)

    def put(self, unit: MemoryUnit) -> None:
        """Take in a unit; what it is about never changes, and units without a fact are passed over."""
        if unit.fact is not None:
            self._slots[unit.fact.slot][unit.id] = None
            self._values[unit.fact.slot[0], normalize(unit.fact.value)][unit.id] = None
            if len(self._held) == MOST_HELD:
                self._held.clear()
            self._held[unit.id] = unit

    def held(self, unit_id: str) -> MemoryUnit | None:
        """The fact, if it is at hand; else it has to be read."""
        return self._held.get(unit_id)

    def about(self, entity: str, attribute: str) -> Sequence[str]:
        """Facts about an attribute of an entity, in the order they were recorded."""
        return list(self._slots.get((normalize(entity), normalize(attribute)), ()))

    def valued(self, entity: str, value: str) -> Sequence[str]:
        """Facts of an entity that have a value, whatever they are about."""
        return list(self._values.get((normalize(entity), normalize(value)), ()))

    def matching(self, entity: str | None, attribute: str | None) -> Sequence[str]:
        """Facts of an entity, about an attribute, or all; those of one attribute of one entity together.

        Args:
            entity: normalised; None for any.
            attribute: normalised; None for any.
        """
        return [
            unit_id
            for (whose, what), units in self._slots.items()
            if entity in (None, whose) and attribute in (None, what)
            for unit_id in units
        ]
