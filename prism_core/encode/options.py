"""How events are understood when they are written: the parts of the write side, and their knobs."""

from __future__ import annotations

from dataclasses import dataclass, field

from prism_core.encode.conflict import ConflictRules
from prism_core.encode.distil import RuleDistiller
from prism_core.encode.route import MemoryRouter
from prism_core.protocols import Distiller


@dataclass(frozen=True, slots=True)
class EncodingOptions:
    """The parts that make memories of events. Passed to `PrismMemory.open`.

    Attributes:
        distiller: finds what a message states about people and things; None to keep no facts but those stored as such.
        router: scores importance and chooses the layer.
        conflicts: when a new value takes the place of the one that holds.
    """

    distiller: Distiller | None = field(default_factory=RuleDistiller)
    router: MemoryRouter = field(default_factory=MemoryRouter)
    conflicts: ConflictRules = field(default_factory=ConflictRules)
