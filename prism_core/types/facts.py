"""Facts: what is known about an entity, every time it was said, and what an event claims."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

from prism_core.text import is_visible, normalize
from prism_core.types.base import Model, Text, UtcDatetime
from prism_core.types.vocabulary import Source


class FactCategory(StrEnum):
    """What a fact is about."""

    PREFERENCE = "preference"
    CONSTRAINT = "constraint"
    GOAL = "goal"
    IDENTITY = "identity"
    DECISION = "decision"
    WORLD_STATE = "world_state"
    COMMITMENT = "commitment"


def _named(value: str) -> str:
    if not is_visible(value) or "\0" in value:
        raise ValueError("a name needs something to be seen; pass for example 'user' or 'home'")
    return value


LONGEST_NAME, LONGEST_VALUE = 512, 20_000
Name = Annotated[Text, Field(max_length=LONGEST_NAME), AfterValidator(_named)]


class Statement(Model):
    """One time somebody said a fact, or that it no longer holds.

    Attributes:
        unit_id: the unit it was said in; empty where the fact was stored directly.
        event_time: when it was said; aware UTC.
        recorded_at: when that was recorded; aware UTC.
        source: who said it; only a user's own statements make a fact more certain.
        correction: whether it says that something changed or was wrong, such as "now" or "actually".
        ends: whether it says that the value no longer holds.
    """

    unit_id: Text = ""
    event_time: UtcDatetime
    recorded_at: UtcDatetime
    source: Source
    correction: bool = False
    ends: bool = False


class Fact(Model):
    """What is known about an entity: one attribute, one value.

    Facts of one entity and attribute are about the same thing, and at most one of them is current.

    Attributes:
        entity: who or what it is about; `user` for a user who has no name.
        attribute: what of it. Where several values hold at a time it names the object, as `allergic to nuts` does.
        value: what it is.
        category: a `FactCategory`, or a name of your own.
        statements: every time it was said, in the order recorded; kept by the memory. Of those handed in with an event
            it only matters whether one is a correction, which is believed against whatever was said before.
    """

    entity: Name
    attribute: Name
    value: Annotated[Text, Field(max_length=LONGEST_VALUE)]
    category: Text = FactCategory.WORLD_STATE.value
    statements: tuple[Statement, ...] = ()

    @property
    def slot(self) -> tuple[str, str]:
        """Entity and attribute in the form in which they are compared: facts with one slot are about the same thing."""
        return normalize(self.entity), normalize(self.attribute)

    @property
    def text(self) -> str:
        """The fact in words: `Ann: favourite colour is blue`, `Ann: allergic to nuts`."""
        return f"{self.entity}: {self.attribute}" + ("" if self.value in ("", "yes") else f" is {self.value}")


@dataclass(frozen=True, slots=True)
class Claim:
    """What an event says about an entity, before it is known what was said before.

    Attributes:
        entity: who or what it is about.
        attribute: what of it; empty where only `was` tells, as in "I was moved from Atlas to Borealis".
        value: what it is.
        category: a `FactCategory`, or a name of your own.
        correction: whether it says that something changed or was wrong.
        ends: whether it says that the value no longer holds.
        was: the value that it says held before; empty where it says none.
    """

    entity: str
    attribute: str
    value: str
    category: str = FactCategory.WORLD_STATE.value
    correction: bool = False
    ends: bool = False
    was: str = ""
