"""What an event says about people and things, as claims: entity, attribute, value.

Only what somebody states about themselves or the world becomes a claim. The assistant's words become commitments at
most, and what was quoted, asked, guessed or supposed becomes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from prism_core.encode.chinese import CHINESE
from prism_core.encode.clauses import clauses
from prism_core.encode.english import ENGLISH
from prism_core.encode.patterns import FactPattern
from prism_core.encode.phrases import RELATIVE
from prism_core.types import Claim, Event, FactCategory, Kind, Source

USER = "user"
"""The entity that stands for a user without a name."""
WORLD = "world"
"""The entity of what is so without belonging to anybody."""
MOST_CLAIMS = 12
LONGEST_REMARK = 1_000
"""Characters of a message that tells what is so in the world. A longer one narrates, as minutes and letters do: what
its clauses say of things holds in their context only."""
LONGEST_VALUE = 120

_OPENERS = re.compile(
    r"^(?:(?:oh|well|btw|by the way|actually|also|and|but|so|yes|yeah|yep|no|ok|okay|hi|hello|hey|fyi"
    r"|just so you know|for the record"
    r"|you should know(?: that)?|as you know|just|please|sorry|correction|in fact|honestly|personally|sure|thanks"
    r"|then|plus"
    r"|from now on|as of \w+|these days|nowadays|today|right)\b[,:]?\s*)+",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"^(?:please )?(?:remember|note|keep in mind|don't forget|do not forget|make a note"
    r"|bear in mind)(?P<that> that)?[:,]? "
    r"(?P<what>.+)$|^(?:请)?(?P<zh_that>记住|记得|别忘了|注意)[，,:：]?(?P<zh>.+)$",
    re.IGNORECASE,
)
_ADVICE = re.compile(r"(?:to|they|you|your|it|how|when|what|sometimes|he|she|we|there)\b", re.IGNORECASE)
_CORRECTION = re.compile(
    r"\b(?:now|actually|no longer|anymore|any more|instead|correction|from now on|as of|changed|switched"
    r"|rather than)\b"
    r"|现在|其实|不再|更正|改成|改为|改到|换成|从现在起|已经",
    re.IGNORECASE,
)
_ENDED = re.compile(
    r"\s*\b(?:no longer|not any ?more|any ?more)\b|(?<=\bam) not\b|(?<='m) not\b|(?<=\bdo)(?:n't| not)\b|不再|已经不",
    re.IGNORECASE,
)
_ZH_RELATIVE = re.compile(
    r"^我的?(?P<who>妹妹|姐姐|哥哥|弟弟|妈妈|爸爸|母亲|父亲|妻子|老婆|丈夫|老公|儿子|女儿|孩子|朋友|同事|室友|奶奶|爷爷)(?P<rest>.+)$"
)
_OF_RELATIVE = re.compile(
    rf"^my (?P<who>{RELATIVE})(?:(?P<is>'s| is)(?= (?:[a-z]|\d))| (?P<verb>lives|has|works|loves|likes|hates|prefers"
    rf"|enjoys|moved|can't|doesn't"
    r"|does not|dislikes|joined|turned))(?P<rest> .+)$",
    re.IGNORECASE,
)
_VERBS = {
    "has": "have",
    "doesn't": "don't",
    "does not": "do not",
    "can't": "can't",
    "moved": "moved",
    "joined": "joined",
    "turned": "turned",
}
_JOINED = re.compile(r",\s*(?:and\s+)?|\s+and\s+|\s*[、和及与]\s*")
_TRAILING = re.compile(
    r"(?:\s+(?:too|as well|thanks|thank you|please|though|by the way|btw|right now|now))+$", re.IGNORECASE
)
_LEADING = re.compile(r"^(?:the|a|an|some|my|our)\s+", re.IGNORECASE)
_POSSESSED = re.compile(r"^(?P<e>\S.{1,40}?)'s (?P<a>\S.{1,40})$|^(?P<a2>\S.{1,30}?) of (?:the )?(?P<e2>\S.{1,40})$")


@dataclass(frozen=True, slots=True)
class RuleDistiller:
    """Distils by forms of clauses. Implements `protocols.Distiller`.

    Attributes:
        most: claims of one event at most.
    """

    most: int = MOST_CLAIMS

    def distil(self, event: Event) -> Sequence[Claim]:
        """What an event claims; nothing for steps, documents and tools."""
        if event.kind is not Kind.MESSAGE or event.source not in (Source.USER, Source.ASSISTANT):
            return ()
        claims: dict[tuple[str, str, str], Claim] = {}
        left_out = {FactCategory.WORLD_STATE.value} if len(event.observation) > LONGEST_REMARK else set()
        for clause in clauses(event.observation):
            for claim in _claims_of(clause, _speaker(event)):
                stated = event.source is Source.USER and claim.category not in left_out
                if stated or claim.category == FactCategory.COMMITMENT:
                    claims.setdefault((claim.entity, claim.attribute.casefold(), claim.value.casefold()), claim)
        return list(claims.values())[: self.most]


def _speaker(event: Event) -> str:
    return event.speaker or (USER if event.source is Source.USER else event.source.value)


def _claims_of(clause: str, speaker: str) -> Iterator[Claim]:
    correction = _CORRECTION.search(clause) is not None
    said = _OPENERS.sub("", clause).strip()
    asked = _ASKED.match(said)
    if asked is not None:
        said = _OPENERS.sub("", (asked["what"] or asked["zh"]).strip())
    entity = speaker
    for form in (_OF_RELATIVE, _ZH_RELATIVE):
        relative = form.match(said)
        if relative is not None:
            own = _in_first_person(relative) if form is _OF_RELATIVE else f"我{relative['rest']}"
            claims = list(_matched(own, f"{speaker}'s {relative['who'].lower()}", correction))
            if claims:
                yield from claims
                return
    claims = list(_matched(said, entity, correction)) or _ended(said, entity)
    told = asked is not None and (asked["that"] or asked["zh_that"])
    if not claims and told and len(said) <= LONGEST_VALUE and not _ADVICE.match(said):
        claims = [Claim(entity, f"noted: {said}", "yes", correction=correction)]
    yield from claims


def _ended(said: str, entity: str) -> list[Claim]:
    """What a clause says to hold no longer: what it would say without the words that say so."""
    plain = _ENDED.sub(" ", said)
    if plain == said:
        return []
    joined = re.sub(r"(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])", "", " ".join(plain.split()))
    found = _matched(joined, entity, correction=True)
    return [replace(claim, ends=True, correction=True) for claim in found]


def _in_first_person(relative: re.Match[str]) -> str:
    verb = relative["verb"]
    if verb is None:
        return f"I am{relative['rest']}"
    plain = _VERBS.get(verb.lower(), verb.lower().removesuffix("s"))
    return f"I {plain}{relative['rest']}"


def _matched(clause: str, entity: str, correction: bool) -> Iterator[Claim]:
    for pattern in ENGLISH if clause.isascii() or not re.search("[\u4e00-\u9fff]", clause) else CHINESE:
        match = pattern.form.fullmatch(clause)
        if match is not None:
            yield from _built(pattern, match, entity, correction)
            return


def _built(pattern: FactPattern, match: re.Match[str], entity: str, correction: bool) -> Iterator[Claim]:
    groups = {name: _trimmed(text or "") for name, text in match.groupdict().items()}
    objects = _JOINED.split(groups[pattern.listed]) if pattern.listed else [""]
    for each in objects:
        named = groups | ({pattern.listed: _plain(each)} if pattern.listed else {})
        if "o" in named and not pattern.listed:
            named["o"] = _plain(named["o"])
        if "other" in named:
            pair = sorted((named["v"].casefold(), named["other"].casefold()))
            attribute = " or ".join(pair)
        else:
            attribute = " ".join(pattern.attribute.format(**named).split())
        value = pattern.value.format(**named)
        if not attribute and not named.get("was"):
            continue
        if len(attribute) > LONGEST_VALUE or len(value) > LONGEST_VALUE:
            continue
        whose, what = _owner(attribute, entity, pattern, match)
        changed = correction or pattern.correction or bool(named.get("changed"))
        yield Claim(whose, what, value, pattern.category.value, changed, pattern.ends, named.get("was", ""))


def _owner(attribute: str, entity: str, pattern: FactPattern, match: re.Match[str]) -> tuple[str, str]:
    """Whose attribute it is: the speaker's, or that of what the clause names."""
    if pattern.category is not FactCategory.WORLD_STATE or not attribute:
        return entity, attribute
    named = _POSSESSED.match(attribute)
    if named is not None:
        return named["e"] or named["e2"], named["a"] or named["a2"]
    return (entity if match[0].lower().startswith(("my ", "our ")) else WORLD), attribute


def _trimmed(text: str) -> str:
    return _TRAILING.sub("", text.strip(" \t.,;:!\"'“”")).strip()


def _plain(text: str) -> str:
    return _LEADING.sub("", _trimmed(text))
