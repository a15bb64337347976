"""Reading an event with a language model: labels, entities, importance, facts and relations in one call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from prism_core.encode.clauses import clauses
from prism_core.encode.phrases import RELATIVE
from prism_core.encode.taxonomy import IntentTaxonomy
from prism_core.llm import StructuredLLM
from prism_core.text import STOP_WORDS, analyze, normalize
from prism_core.types import Claim, FactCategory, Link, MemoryUnit, Relation, Source

MOST_EARLIER = 5
"""Earlier units that an event is compared with, in the same call."""
SHOWN = 400
"""Characters shown of each of them."""
LONGEST_EVENT = 8_000
MOST_FACTS = 12
LONGEST_NAME = 200
LONGEST_LABEL = 60
_YES = frozenset({"yes", "true"})
_NONE = frozenset({"", "unrelated", "none", "parallel"})
_FOUND = "found by a language model"
_RELATIONS: Mapping[str, Relation] = {
    "premise": Relation.REQUIRES,
    "cause": Relation.CAUSES,
    "elaboration": Relation.ELABORATES,
    "contradiction": Relation.CONTRADICTS,
}
_OF_RELATIVE = re.compile(rf"\b(?:my|our) (?P<who>{RELATIVE})\b", re.IGNORECASE)
_IN_FIRST_PERSON = re.compile(r"\b(?:i|we)\b", re.IGNORECASE)
_CATEGORIES = frozenset(category.value for category in FactCategory)


def _texts(value: Any) -> Any:
    """A list of texts; a single one, or none, is taken for a list."""
    if value is None:
        return []
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else value


def _whole(value: Any) -> Any:
    """A score, also where it is written as a text, a fraction or out of range."""
    try:
        return min(max(round(float(value)), 1), 5)
    except (TypeError, ValueError, OverflowError):
        return 3


def _share(value: Any) -> Any:
    try:
        return min(max(float(value), 0.0), 1.0)
    except (TypeError, ValueError):
        return 0.5


def _only(schema: type[BaseModel]) -> Callable[[Any], Any]:
    """A list of objects of a schema, without those that are none: one bad item must not spoil the others."""

    def usable(value: Any) -> Any:
        found = []
        for each in value if isinstance(value, list) else []:
            try:
                found.append(schema.model_validate(each))
            except ValidationError:
                continue  # an item of no use, such as a text where an object was asked for
        return found

    return usable


def _text(value: Any) -> Any:
    """A text, also where there is none, or a list of one."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return "" if value is None else value if isinstance(value, str) else str(value)


class _FactRead(BaseModel):
    entity: Annotated[str, BeforeValidator(_text)] = ""
    attribute: Annotated[str, BeforeValidator(_text)] = ""
    value: Annotated[str, BeforeValidator(_text)] = ""
    category: Annotated[str, BeforeValidator(_text)] = FactCategory.WORLD_STATE.value
    correction: Annotated[bool, BeforeValidator(bool)] = False
    ends: Annotated[bool, BeforeValidator(bool)] = False


class _RelationRead(BaseModel):
    candidate: Annotated[str, BeforeValidator(_text)] = ""
    relation: Annotated[str, BeforeValidator(_text)] = ""
    label: Annotated[str, BeforeValidator(_text)] = ""
    reason: Annotated[str, BeforeValidator(_text)] = ""
    confidence: Annotated[float, BeforeValidator(_share)] = 0.5


class EventReading(BaseModel):
    """What a language model answers about an event."""

    reason: str = ""
    intents: Annotated[list[str], BeforeValidator(_texts)]
    entities: Annotated[list[str], BeforeValidator(_texts)] = Field(default_factory=list)
    importance: Annotated[int, BeforeValidator(_whole)] = 3
    facts: Annotated[list[_FactRead], BeforeValidator(_only(_FactRead))] = Field(default_factory=list)
    relations: Annotated[list[_RelationRead], BeforeValidator(_only(_RelationRead))] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Understood:
    """What a language model found in a unit, as far as it can be checked.

    Attributes:
        labels: known intent labels, at most three.
        entities: names that stand in the text.
        score: importance from 1 to 5.
        claims: what is stated; only what the text bears out.
        links: relations from earlier units.
    """

    labels: tuple[str, ...]
    entities: tuple[str, ...]
    score: int
    claims: tuple[Claim, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class LLMReader:
    """Reads units with a language model, one call each.

    What it answers is held against the text: names and values that do not stand there are dropped, so are numbers of
    earlier units that were not shown, facts of anybody but a user, save commitments, and what the text asks, supposes,
    quotes or recalls.

    Attributes:
        model: asks and checks.
        taxonomy: the labels to choose from.
        relations: what labels of its own for relations stand for, by label in the form of `text.normalize`.
        readable: takes out of a text what is not new, such as recalled memories that it repeats.
    """

    model: StructuredLLM
    taxonomy: IntentTaxonomy
    relations: Mapping[str, Relation] = field(default_factory=dict)
    readable: Callable[[str], str] = str

    def read(self, unit: MemoryUnit, earlier: Sequence[MemoryUnit]) -> Understood:
        """Read a unit.

        Args:
            unit: what happened.
            earlier: units it may rest on, at most `MOST_EARLIER` are shown.

        Raises:
            LLMError: if the model does not answer, or not usably.
        """
        shown, text = list(earlier)[:MOST_EARLIER], self.readable(unit.text)
        speaker = unit.speaker or ("user" if unit.source is Source.USER else unit.source.value)
        numbered = "\n".join(f"{place}. {_one_line(each.text)}" for place, each in enumerate(shown, 1))
        answer = self.model.ask(
            "read_event",
            EventReading,
            {"event": text[:LONGEST_EVENT], "earlier": numbered or "-", "speaker": _one_line(speaker)},
            {"labels": self.taxonomy.listing(), "source": unit.source.value},
        )
        names = {label.name for label in self.taxonomy.labels}
        return Understood(
            labels=tuple(dict.fromkeys(each for each in answer.intents if each in names))[:3],
            entities=tuple(each for each in answer.entities if each.strip() and normalize(each) in normalize(text)),
            score=answer.importance,
            claims=tuple(_claims(answer.facts, unit, text, speaker)),
            links=tuple(self._links(answer.relations, unit, shown)),
        )

    def _links(
        self, relations: Sequence[_RelationRead], unit: MemoryUnit, shown: Sequence[MemoryUnit]
    ) -> Iterator[Link]:
        for each in relations[:MOST_EARLIER]:
            number = each.candidate.strip().rstrip(".")
            if not (number.isascii() and number.isdigit() and len(number) == 1 and 1 <= int(number) <= len(shown)):
                continue
            source, name = shown[int(number) - 1], normalize(each.relation)
            if name in _NONE or source.id == unit.id:
                continue
            relation, label = _RELATIONS.get(name, Relation.RELATED), ""
            if relation is Relation.RELATED:
                own = each.relation if each.label.strip() == "" else each.label
                label = _label(own, source, unit, shown)
                relation = self.relations.get(normalize(label), relation)
            said = _one_line(each.reason)
            reason = said if said and not _quotes_others(said, source, unit, shown) else _FOUND
            yield Link(
                source=source.id,
                target=unit.id,
                relation=relation,
                confidence=each.confidence,
                reason=reason,
                label=label,
            )


def _claims(facts: Sequence[_FactRead], unit: MemoryUnit, text: str, speaker: str) -> Iterator[Claim]:
    if unit.source not in (Source.USER, Source.ASSISTANT):
        return
    stated = list(clauses(text))
    for fact in facts[:MOST_FACTS]:
        value = "yes" if normalize(fact.value) in _YES else _one_line(fact.value)
        entity, attribute = _one_line(fact.entity), _one_line(fact.attribute)
        category = normalize(fact.category).replace(" ", "_")
        if category not in _CATEGORIES:
            category = FactCategory.WORLD_STATE.value
        if unit.source is not Source.USER and category != FactCategory.COMMITMENT:
            continue
        own = normalize(entity) in ("user", "i", "me", "speaker", normalize(speaker))
        known = own or normalize(entity) == "world" or normalize(entity) in normalize(text)
        short = max(len(entity), len(attribute), len(value)) <= LONGEST_NAME
        said = [clause for clause in stated if not own or _is_own(attribute, clause)]
        if entity and attribute and value and known and short and _borne_out(attribute, value, said):
            yield Claim(speaker if own else entity, attribute, value, category, fact.correction, fact.ends)


def _is_own(attribute: str, clause: str) -> bool:
    """Whether a clause may be about who speaks: "my sister lives in Rome" tells where the sister does."""
    other = _OF_RELATIVE.search(clause)
    return other is None or _IN_FIRST_PERSON.search(clause) is not None or other["who"].lower() in attribute.lower()


def _borne_out(attribute: str, value: str, said: Sequence[str]) -> bool:
    """Whether clauses say it: every word of the value, or half of the attribute's where the value is a plain yes."""
    held = {term for clause in said for term in analyze(clause)}
    if normalize(value) not in ("yes", "no"):
        terms = set(analyze(value))
        return bool(terms) and terms <= held
    terms = set(analyze(attribute))
    return bool(terms) and len(terms & held) * 2 >= len(terms)


def _label(text: str, source: MemoryUnit, unit: MemoryUnit, shown: Sequence[MemoryUnit]) -> str:
    """A label for a relation, if it is one: short, and of nothing but the two units."""
    line = " ".join(text.split())
    usable = normalize(line) != "other" and len(line) <= LONGEST_LABEL and not _quotes_others(line, source, unit, shown)
    return line if usable else ""


def _quotes_others(reason: str, source: MemoryUnit, unit: MemoryUnit, shown: Sequence[MemoryUnit]) -> bool:
    """Whether a reason speaks of units that the link is not about: it would outlive them."""
    own = set(analyze(f"{source.text} {unit.text}"))
    others = {term for each in shown if each.id != source.id for term in analyze(each.text)} - own - STOP_WORDS
    return bool(others & set(analyze(reason)))


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"
