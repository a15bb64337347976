"""Importance of a unit by rules, on the articles' scale of 1 to 5, stored as (score - 1) / 4."""

from __future__ import annotations

import re

from prism_core.text import analyze
from prism_core.types import Event, Kind, Outcome, Source

_STATED = re.compile(
    r"\b(?:remember|don't forget|important|i prefer|my (?:preference|goal|budget|name)|always|never"
    r"|i(?:'m| am) allergic|we (?:decided|agreed|chose)|i (?:decided|chose)|the goal is|must)\b"
    r"|记住|别忘|重要|我喜欢|我的目标|预算|必须|决定",
    re.IGNORECASE,
)
_PERSONAL = frozenset({"preference", "constraint", "identity", "relationship", "health", "event", "decide", "plan"})
FEW_WORDS = 5


def importance_of(event: Event, labels: tuple[str, ...]) -> float:
    """How much a unit deserves to be kept, in [0, 1].

    Args:
        event: what happened.
        labels: its intent labels.

    Returns:
        1.0 for what was asked to be remembered; 0.0 for small talk of a few words.
    """
    score = 3 if event.kind is not Kind.MESSAGE or _PERSONAL & set(labels) else 2
    if event.outcome is Outcome.FAILURE:
        score += 1
    if event.source is Source.USER and _STATED.search(event.observation):
        score += 2
    if event.kind is Kind.MESSAGE and len(analyze(event.observation)) < FEW_WORDS:
        score -= 1
    return (min(max(score, 1), 5) - 1) / 4
