"""The part that finds how a new unit is related to those before it."""

from __future__ import annotations

from typing import Protocol

from prism_core.protocols.views import WriteView
from prism_core.types import Link, MemoryUnit


class Linker(Protocol):
    """Makes the links of a new unit."""

    def links(self, unit: MemoryUnit, parent: str | None, view: WriteView) -> list[Link]:
        """All links between a new unit and those before it; with a confidence, and a reason a person can check.

        Links of an acyclic relation that would close a cycle, and links to units that do not exist, refuse the whole
        write. It is asked again where another process wrote in between.

        Args:
            unit: the new unit; a call's reply is not in it yet.
            parent: id of its explicit parent, if any.
            view: what was stored before it, the events before it in the same write included.
        """
        ...
