"""Which memory layer an event belongs to, and how important it is: rules of the layered-memory article's router."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from prism_core.types import Claim, Event, Kind, Layer, Outcome, Source

_STATED = re.compile(
    r"\b(?:remember|don't forget|important|i prefer|my (?:preference|goal|budget|name)|always|never"
    r"|i(?:'m| am) allergic|we (?:decided|agreed|chose)|i (?:decided|chose)|the goal is|must)\b"
    r"|记住|别忘|重要|我喜欢|我的目标|预算|必须|决定",
    re.IGNORECASE,
)
_PERSONAL = frozenset({"preference", "constraint", "identity", "relationship", "health", "event", "decide", "plan"})
_SMALL_TALK = re.compile(
    r"(?:(?:ok(?:ay)?|kk?|yes|yeah|yep|yup|no|nope|sure|great|good|cool|nice|fine|perfect|awesome|wow|lol|haha+"
    r"|hmm+|hi|hey|hello"
    r"|bye|goodbye|thanks?|thank|you|thx|ty|please|welcome|so|very|much|a|lot|that'?s|it|sounds|got|right|well|then"
    r"|see|later|morning"
    r"|afternoon|evening|night|how|are|everyone|all|there|again|np|no problem|cheers|alright)\b\W*)+"
    r"|(?:好的?|谢谢|多谢|你好|您好|再见|嗯|哦|哈|行|可以|没事|不客气|早上好|晚安|[吧呀啊啦了的]|\W)+|\W*",
    re.IGNORECASE,
)
LONGEST_SMALL_TALK = 80
LOWEST, HIGHEST = 1, 5


def is_small_talk(text: str) -> bool:
    """Whether a message only greets, thanks or agrees, in English or Chinese.

    >>> is_small_talk("Ok, great, thanks!"), is_small_talk("Ok, room 12")
    (True, False)
    """
    return len(text) <= LONGEST_SMALL_TALK and _SMALL_TALK.fullmatch(text.strip()) is not None


@dataclass(frozen=True, slots=True)
class Routed:
    """Where an event goes.

    Attributes:
        score: importance from 1 (small talk) to 5 (asked to be remembered).
        layer: semantic, episodic, or working for what is not worth keeping for long.
    """

    score: int
    layer: Layer

    @property
    def importance(self) -> float:
        """The score as units store it, in [0, 1]: (score - 1) / 4."""
        return (self.score - LOWEST) / (HIGHEST - LOWEST)


@dataclass(frozen=True, slots=True)
class MemoryRouter:
    """Scores events and sends them to a layer; once per event, not per sentence.

    What is scored below `episodic_from` goes to working memory: it is kept in the ledger and found by every search,
    until it is forgotten. Steps and documents are never semantic, since they tell what happened and what was read;
    what is known from them is kept in facts.

    Attributes:
        semantic_from: lowest score of semantic memory.
        episodic_from: lowest score of episodic memory.
    """

    semantic_from: int = 4
    episodic_from: int = 2

    def route(self, event: Event, labels: Sequence[str], claims: Sequence[Claim] = ()) -> Routed:
        """Where an event goes.

        Args:
            event: what happened; an importance of its own decides the score.
            labels: its intent labels.
            claims: what it states.
        """
        if event.importance is not None:
            score = round(event.importance * (HIGHEST - LOWEST)) + LOWEST
        else:
            score = self.score(event, labels, claims)
        return self.routed(event, score)

    def routed(self, event: Event, score: int) -> Routed:
        """Where an event of a score goes, whoever gave the score."""
        return Routed(score, self._layer(event, score))

    def score(self, event: Event, labels: Sequence[str], claims: Sequence[Claim] = ()) -> int:
        """Importance from 1 to 5 by rules."""
        score = 3 if event.kind is not Kind.MESSAGE or _PERSONAL & {label.partition("/")[0] for label in labels} else 2
        if event.outcome is Outcome.FAILURE:
            score += 1
        if event.source is Source.USER and _STATED.search(event.observation):
            score += 2
        if event.kind is Kind.MESSAGE and not claims and is_small_talk(event.observation):
            score = LOWEST
        if claims:
            score = max(score, self.semantic_from)
        return min(max(score, LOWEST), HIGHEST)

    def _layer(self, event: Event, score: int) -> Layer:
        if event.kind in (Kind.FACT, Kind.SUMMARY):
            return Layer.SEMANTIC
        if score < self.episodic_from and event.kind is Kind.MESSAGE:
            return Layer.WORKING
        return Layer.SEMANTIC if score >= self.semantic_from and event.kind is Kind.MESSAGE else Layer.EPISODIC
