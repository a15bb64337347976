"""What a clause looks like that states a fact."""

from __future__ import annotations

import re
from dataclasses import dataclass

from prism_core.types import FactCategory


@dataclass(frozen=True, slots=True)
class FactPattern:
    """A form of clause. `{name}` in attribute and value stands for the group of that name.

    Attributes:
        form: matched against the whole clause.
        category: of the fact.
        attribute: of the fact, with groups put in.
        value: of the fact, with groups put in.
        listed: group that may name several objects, joined by "and", each a fact of its own; empty for none.
        correction: whether the form says that something changed.
        ends: whether the form says that the value no longer holds.
    """

    form: re.Pattern[str]
    category: FactCategory
    attribute: str
    value: str
    listed: str = ""
    correction: bool = False
    ends: bool = False


def row(form: str, category: FactCategory, attribute: str, value: str, **marks: str | bool) -> FactPattern:
    """A pattern whose form is matched whatever the case."""
    return FactPattern(re.compile(form, re.IGNORECASE), category, attribute, value, **marks)  # type: ignore[arg-type]
