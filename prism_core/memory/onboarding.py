"""The cold start: what is known before the first conversation, and what is worth asking."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from prism_core.errors import DatasetError
from prism_core.types import Event, Fact, FactCategory, Kind, Source


@dataclass(frozen=True, slots=True)
class Onboarding:
    """A question worth asking a new user.

    Attributes:
        question: in words.
        attributes: the attributes whose being known makes it needless.
    """

    question: str
    attributes: tuple[str, ...]


ONBOARDING = (
    Onboarding("What shall I call you?", ("name",)),
    Onboarding("Where do you live, and in which time zone shall I think?", ("home", "timezone", "time zone")),
    Onboarding("What do you do for a living?", ("occupation", "employer", "job")),
    Onboarding("What would you like to reach with my help?", ("goal",)),
    Onboarding("Is there anything I must always respect, such as a diet, an allergy or a budget?", ("diet", "budget")),
    Onboarding("In which language and in what detail shall I answer?", ("language", "preferred language")),
)
"""Six questions that help most assistants; pass your own for a domain."""

_STRUCTURED = {".json", ".yaml", ".yml"}
_CATEGORIES = {"diet": FactCategory.CONSTRAINT, "budget": FactCategory.CONSTRAINT, "goal": FactCategory.GOAL}


def preloaded(file: Path) -> list[Event]:
    """The events a file comes to.

    Raises:
        DatasetError: if it cannot be read as what its name says.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise DatasetError(str(file), 1, f"cannot be read as text: {reason}") from None
    if file.suffix.lower() not in _STRUCTURED:
        return list(_documents(text, file))
    return list(_facts(_parsed(text, file), file))


def _parsed(text: str, file: Path) -> object:
    try:
        return json.loads(text) if file.suffix.lower() == ".json" else yaml.load(text, Loader=yaml.BaseLoader)
    except RecursionError:
        raise DatasetError(str(file), 1, "is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise DatasetError(str(file), error.lineno, f"no JSON: {error.msg}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise DatasetError(
            str(file), mark.line + 1 if mark else 1, f"no YAML: {getattr(error, 'problem', error)}"
        ) from None


def _facts(entities: object, file: Path) -> Iterator[Event]:
    if not isinstance(entities, Mapping):
        raise DatasetError(str(file), 1, "is no mapping of entities, such as user: {home: Lisbon}")
    for entity, attributes in entities.items():
        if not isinstance(attributes, Mapping):
            raise DatasetError(str(file), 1, f"what is said of {entity!r} is no mapping of attributes to values")
        for attribute, value in attributes.items():
            yield _fact(str(entity), str(attribute), value, file)


def _fact(entity: str, attribute: str, value: object, file: Path) -> Event:
    if isinstance(value, Mapping | list) or value is None:
        raise DatasetError(str(file), 1, f"the value of {entity!r}, {attribute!r} is {value!r}; give one plain value")
    shown = "yes" if value is True or str(value).lower() in ("true", "yes") else str(value)
    category = _CATEGORIES.get(
        attribute.lower(), FactCategory.IDENTITY if entity == "user" else FactCategory.WORLD_STATE
    )
    fact = Fact(entity=entity, attribute=attribute, value=shown, category=category.value)
    return Event(kind=Kind.FACT, fact=fact, source=Source.USER)


def _documents(text: str, file: Path) -> Iterator[Event]:
    for paragraph in filter(None, (part.strip() for part in text.replace("\r\n", "\n").split("\n\n"))):
        yield Event(
            kind=Kind.DOCUMENT,
            observation=paragraph,
            source=Source.USER,
            metadata={"source": file.name},
            idempotency_key=_key("document", paragraph),
        )


def _key(*parts: str) -> str:
    return "preload:" + hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]
