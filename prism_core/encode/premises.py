"""What a message rests on: a decision on the proposal before it, a proposal on the wishes and limits behind it.

Together the links answer why something was decided: preferences and constraints, then the proposal that takes them up,
then the decision (row "why did we choose Barcelona" of the ContextWeaver article).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from prism_core.protocols import WriteView
from prism_core.text import STOP_WORDS, analyze
from prism_core.types import Claim, FactCategory, Kind, Link, MemoryUnit, Relation, Source

LOOKED_BACK = 30
"""Units of the chain that are looked at, the latest ones."""
MOST_WISHES = 6
_WISHES = frozenset({FactCategory.PREFERENCE.value, FactCategory.CONSTRAINT.value, FactCategory.GOAL.value})
_PROPOSAL = re.compile(
    r"\b(?:i(?:'d| would)? (?:suggest|recommend|propose)|my (?:suggestion|recommendation|proposal)|how about"
    r"|what about"
    r"|you (?:could|might)|we (?:could|might)|options?(?: are| is|:)|would (?:suit|fit|be (?:a )?(?:good|great"
    r"|ideal|perfect))"
    r"|(?:suits?|fits?) (?:your|the)|proposal|alternatively|candidates?)\b"
    r"|建议|推荐|提议|不如|可以考虑|方案|要不要|适合",
    re.IGNORECASE,
)
_ACCEPTED = re.compile(
    r"^\W*(?:yes|yeah|ok(?:ay)?|sure|great|perfect|sounds (?:good|great)|agreed|deal|fine|好的?|可以|行|同意"
    r"|就这样)\b[\s,.!，。！]*"
    r"(?:please|go ahead|do (?:it|that)|book it|let's do (?:it|that)|that one|i agree|就这样吧?|没问题)?\W*$",
    re.IGNORECASE,
)
_ADDS = re.compile(
    r"^\W*(?:also|in addition|additionally|moreover|furthermore|besides|more precisely|to be precise|specifically"
    r"|that is"
    r"|what's more|另外|此外|而且|具体来说|补充)(?!\w*[?？])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Premises:
    """Finds what messages rest on.

    Attributes:
        claims: what an earlier message states, by rules.
    """

    claims: Callable[[MemoryUnit], Sequence[Claim]]

    def links(self, unit: MemoryUnit, claims: Sequence[Claim], view: WriteView) -> Iterator[Link]:
        """Links from earlier messages of the task or session to a new one.

        Args:
            unit: the new message; anything else rests on nothing.
            claims: what it states.
            view: what was stored before it.
        """
        if unit.kind is not Kind.MESSAGE or unit.source not in (Source.USER, Source.ASSISTANT):
            return
        decides = [claim for claim in claims if claim.category == FactCategory.DECISION]
        accepts = unit.source is Source.USER and _ACCEPTED.match(unit.observation) is not None
        proposes = unit.source is Source.ASSISTANT and _PROPOSAL.search(unit.observation) is not None
        adds = _ADDS.match(unit.observation) is not None
        if not (decides or accepts or proposes or adds):
            return
        before = [each for each in view.recent(unit.task_id, unit.session_id, LOOKED_BACK) if each.kind is Kind.MESSAGE]
        if decides or accepts:
            yield from _decided(unit, decides, before)
        if proposes:
            yield from self._wished(unit, before)
        if adds:
            yield from _added(unit, before)

    def _wished(self, unit: MemoryUnit, before: Sequence[MemoryUnit]) -> Iterator[Link]:
        """What a proposal takes up: wishes and limits that it mentions, and those stated since the last proposal."""
        named = _content(unit.observation)
        answered = False
        found = 0
        for earlier in before:
            if earlier.source is Source.ASSISTANT:
                answered = answered or _PROPOSAL.search(earlier.observation) is not None
                continue
            stated = [claim for claim in self.claims(earlier) if claim.category in _WISHES]
            mentioned = [claim for claim in stated if _content(f"{claim.attribute} {claim.value}") & named]
            taken = mentioned or ([] if answered else stated)
            if taken and found < MOST_WISHES:
                found += 1
                said = ", ".join(f"{claim.attribute} {claim.value}".removesuffix(" yes") for claim in taken[:3])
                yield _premise(earlier, unit, f"takes up {said}", 0.8 if mentioned else 0.6)


def _decided(unit: MemoryUnit, decides: Sequence[Claim], before: Sequence[MemoryUnit]) -> Iterator[Link]:
    """The latest proposal that names what is decided on; the very last one where it is simply agreed to."""
    wanted = [_content(claim.attribute.partition(" for ")[2] or claim.attribute) for claim in decides]
    for earlier in before:
        if earlier.source is not Source.ASSISTANT:
            continue
        named = _content(earlier.observation)
        if any(terms & named for terms in wanted):
            yield _premise(earlier, unit, "decides on what was proposed", 0.9)
            return
        if not decides and _PROPOSAL.search(earlier.observation):
            yield _premise(earlier, unit, "agrees to what was proposed", 0.8)
            return


def _added(unit: MemoryUnit, before: Sequence[MemoryUnit]) -> Iterator[Link]:
    for earlier in before:
        if (earlier.source, earlier.speaker) == (unit.source, unit.speaker):
            reason = "adds to what the same speaker said before"
            link = Link(source=earlier.id, target=unit.id, relation=Relation.ELABORATES, confidence=0.6, reason=reason)
            yield link
            return


def _premise(earlier: MemoryUnit, unit: MemoryUnit, reason: str, confidence: float) -> Link:
    return Link(source=earlier.id, target=unit.id, relation=Relation.REQUIRES, confidence=confidence, reason=reason)


def _content(text: str) -> set[str]:
    """Index terms that say what a text is about."""
    return {term for term in analyze(text) if term not in STOP_WORDS and term not in _GENERIC}


_GENERIC = frozenset(
    analyze("opinion preferred prefers likes loves hates dislikes yes rule always never decision plan goal allergic")
)
