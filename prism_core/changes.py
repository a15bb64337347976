"""Changes: what stages return and the one writer applies.

A change carries what is needed to apply it, to describe it in the log, and to walk back from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from prism_core.types import Link, MemoryUnit

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.intp]

MUTABLE_FIELDS = frozenset(
    {
        "observation",
        "fact",
        "outcome",
        "status",
        "layer",
        "importance",
        "confidence",
        "intent_tags",
        "entities",
        "metadata",
        "attachments",
    }
)
"""The fields of a stored unit that a change may touch; everything else is fixed when it is added."""


@dataclass(frozen=True, slots=True)
class AddUnit:
    """A new unit.

    Attributes:
        unit: the unit.
        tokens: size of `unit.text` in tokens.
    """

    unit: MemoryUnit
    tokens: int

    @property
    def subject(self) -> str:
        """Id of the unit the log files this change under."""
        return self.unit.id


@dataclass(frozen=True, slots=True)
class UpdateUnit:
    """New values for some fields of a stored unit.

    Attributes:
        unit_id: which unit.
        before: the old values (JSON), so that history and undo can walk back.
        after: the new values (JSON); the same keys.
        tokens: size of the unit's text afterwards, in tokens.
        reason: why, for the history.
    """

    unit_id: str
    before: Mapping[str, JsonValue]
    after: Mapping[str, JsonValue]
    tokens: int
    reason: str = ""

    @property
    def subject(self) -> str:
        """Id of the unit the log files this change under."""
        return self.unit_id


@dataclass(frozen=True, slots=True)
class ReplaceUnit:
    """Other content in the place of a stored unit's, which is kept nowhere, not in the log either.

    Attributes:
        unit: the unit as it is to be; of the same id, kind and place as before.
        tokens: size of `unit.text` in tokens.
    """

    unit: MemoryUnit
    tokens: int

    @property
    def subject(self) -> str:
        """Id of the unit the log files this change under."""
        return self.unit.id


@dataclass(frozen=True, slots=True)
class AddLink:
    """A new link. Adding a stored (source, target, relation) again replaces the rest."""

    link: Link

    @property
    def subject(self) -> str:
        """Id of the unit the log files this change under: the later one."""
        return self.link.target


@dataclass(frozen=True, slots=True)
class RemoveLink:
    """A link that no longer holds, such as a supersession between values that another one came to stand between.

    Attributes:
        link: the stored link; its source, target and relation say which one.
        reason: why, for the history.
    """

    link: Link
    reason: str = ""

    @property
    def subject(self) -> str:
        """Id of the unit the log files this change under: the later one."""
        return self.link.target


@dataclass(frozen=True, slots=True)
class PutVector:
    """The embedding of a unit's text, or none while it is pending.

    Attributes:
        unit_id: which unit.
        embedder_id: which embedder made it.
        vector: shape (d,), L2-normalised; None marks the unit as waiting to be embedded.
    """

    unit_id: str
    embedder_id: str
    vector: FloatArray | None = field(repr=False)

    @property
    def subject(self) -> str:
        """Id of the unit the log files this change under."""
        return self.unit_id


@dataclass(frozen=True, slots=True)
class MarkUnread:
    """Whether a unit waits to be read by a language model.

    Attributes:
        unit_id: which unit.
        unread: whether it waits from now on.
    """

    unit_id: str
    unread: bool = True

    @property
    def subject(self) -> str:
        """Id of the unit the log files this change under."""
        return self.unit_id


@dataclass(frozen=True, slots=True)
class AddKey:
    """A further idempotency key of a unit: that of an event which was joined to it."""

    unit_id: str
    key: str

    @property
    def subject(self) -> str:
        """Id of the unit the log files this change under."""
        return self.unit_id


Change = AddUnit | UpdateUnit | ReplaceUnit | AddLink | RemoveLink | PutVector | MarkUnread | AddKey
