"""What one system did on one question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ADVERSARIAL = "adversarial"
"""Questions whose premise is false; they are reported apart and are no part of the overall figures."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was returned, for those who want to look at single questions.

    Attributes:
        returned: keys of the items every returned unit stands for, best first.
        scores: what each was ordered by; empty where the system does not say.
        evidence: what should have been returned: keys of units, or the values a call needs.
    """

    returned: Sequence[Sequence[str]]
    scores: Sequence[float]
    evidence: Sequence[str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one system did on one question.

    Attributes:
        system: its name.
        question: what was asked; unique in the file.
        category: of the question.
        values: figures to be averaged, over the outcomes that have them.
        counts: figures to be added up, once per question.
        seconds: wall time of the search.
        group: the conversation or task it belongs to; questions of one group are alike.
        found: what was returned, where it is kept.
    """

    system: str
    question: str
    category: str
    values: Mapping[str, float]
    counts: Mapping[str, int]
    seconds: float
    group: str = ""
    found: Found | None = None

    def as_dict(self) -> dict[str, object]:
        """The outcome as plain values, for one line of JSON."""
        fields: dict[str, object] = {
            "system": self.system,
            "question": self.question,
            "group": self.group,
            "category": self.category,
            "ms": round(1000 * self.seconds, 3),
            "values": {key: round(value, 4) for key, value in self.values.items()},
        }
        if self.found is not None:
            fields["returned"] = [list(keys) for keys in self.found.returned]
            fields["scores"] = [round(score, 5) for score in self.found.scores]
            fields["evidence"] = list(self.found.evidence)
        return fields
