"""The intent taxonomy: a tree of labels that say what a unit is for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

import yaml

from prism_core.errors import TaxonomyError
from prism_core.text import normalize
from prism_core.types import ancestors_of

_FIELDS = frozenset({"name", "description", "chinese", "examples", "cues", "children"})
_LISTS = ("examples", "cues")


@dataclass(frozen=True)
class IntentLabel:
    """One label.

    Attributes:
        name: as stored with units. A slash leads from a label to one under it, as in `code/refactor`.
        description: what it means, in a line; embedded once, so that texts can be compared with it.
        cues: words and phrases that speak for it, in any language.
        examples: texts that carry it, for people and language models.
        chinese: what it is called in Chinese.
    """

    name: str
    description: str
    cues: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    chinese: str = ""

    @property
    def parent(self) -> str | None:
        """Name of the label above it; None at the top."""
        return self.name.rpartition("/")[0] or None

    @property
    def english(self) -> str:
        """What it is called in English: the last part of its name, spelled out."""
        return self.name.rpartition("/")[2].replace("_", " ")


@dataclass(frozen=True)
class IntentTaxonomy:
    """A tree of labels, in order of precedence; every label after the one above it.

    Attributes:
        labels: all of them.

    Raises:
        TaxonomyError: if a name is used twice or empty, a label above is missing, or a description is empty.
    """

    labels: Sequence[IntentLabel]

    def __post_init__(self) -> None:
        known: set[str] = set()
        for label in self.labels:
            if not all(part.strip() for part in label.name.split("/")):
                raise TaxonomyError(label.name, "has an empty part; name it like code/refactor")
            if label.name in known:
                raise TaxonomyError(label.name, "is there twice; merge the two")
            if label.parent is not None and label.parent not in known:
                raise TaxonomyError(label.name, f"comes before {label.parent!r}, or that is missing; add it first")
            if not label.description.strip():
                raise TaxonomyError(label.name, "has no description; say in a line what it means")
            known.add(label.name)

    @classmethod
    def default(cls) -> Self:
        """The bundled taxonomy: agent work and personal facts, with English and Chinese cues."""
        rows = json.loads(files("prism_core.encode").joinpath("intents.json").read_text(encoding="utf-8"))
        return cls(list(_labels(rows, "")))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """A taxonomy of a YAML or JSON file, as `dump` writes it: a list of labels with `children`.

        Raises:
            TaxonomyError: if the file cannot be read as one; it names the file and the label.
        """
        file = Path(path)
        try:
            text = file.read_text(encoding="utf-8")
            return cls.parse(json.loads(text) if file.suffix.lower() == ".json" else yaml.safe_load(text))
        except (OSError, UnicodeDecodeError, json.JSONDecodeError, yaml.YAMLError) as error:
            raise TaxonomyError(str(file), f"cannot be read: {' '.join(str(error).split())}") from None
        except TaxonomyError as error:
            raise TaxonomyError(error.label, error.problem, file=str(file)) from None

    @classmethod
    def parse(cls, rows: object) -> Self:
        """A taxonomy of plain data: a list of mappings with `name`, `description`, and what else there is.

        Raises:
            TaxonomyError: if it is none.
        """
        return cls(list(_labels(rows, "")))

    def rows(self) -> list[dict[str, Any]]:
        """The taxonomy as plain data, which `parse` takes back."""
        return self._rows(None)

    def dump(self, path: str | Path) -> None:
        """Write the taxonomy to a YAML or JSON file, by the name's suffix."""
        file = Path(path)
        if file.suffix.lower() == ".json":
            text = json.dumps(self.rows(), ensure_ascii=False, indent=2)
        else:
            text = yaml.safe_dump(self.rows(), allow_unicode=True, sort_keys=False, width=120)
        file.write_text(text, encoding="utf-8")

    def extended(self, labels: Iterable[IntentLabel]) -> Self:
        """The taxonomy with further labels, and with those of a name that is there in their place."""
        own = {label.name: label for label in self.labels}
        own |= {label.name: label for label in labels}
        return type(self)(list(own.values()))

    def without(self, *names: str) -> Self:
        """The taxonomy without labels and what is under them.

        Raises:
            TaxonomyError: if one is not there.
        """
        for name in names:
            if name not in self:
                raise TaxonomyError(name, "is not in the taxonomy")
        kept = [label for label in self.labels if not {label.name, *ancestors_of(label.name)} & set(names)]
        return type(self)(kept)

    def __contains__(self, name: object) -> bool:
        return any(label.name == name for label in self.labels)

    def children(self, name: str | None = None) -> list[IntentLabel]:
        """The labels right under one; those at the top for None."""
        return [label for label in self.labels if label.parent == name]

    def ancestors(self, name: str) -> list[IntentLabel]:
        """The labels above one, the nearest first."""
        above = {label.name: label for label in self.labels}
        return [above[each] for each in ancestors_of(name) if each in above]

    def find(self, name: str) -> IntentLabel | None:
        """The label of a name, or of what it is called in English or Chinese; None where there is none."""
        wanted = normalize(name)
        named = (label for label in self.labels if normalize(label.name) == wanted)
        called = (label for label in self.labels if wanted in (normalize(label.english), normalize(label.chinese)))
        return next(named, None) or next(called, None)

    def listing(self, *, examples: bool = False) -> str:
        """The labels as a list for a prompt, one `name: description` a line, with an example where that is wanted."""
        shown = [(label, label.examples[0] if examples and label.examples else "") for label in self.labels]
        return "\n".join(
            f"- {label.name}: {label.description}" + (f" (such as: {example})" if example else "")
            for label, example in shown
        )

    def _rows(self, parent: str | None) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for label in self.children(parent):
            row: dict[str, Any] = {"name": label.name.rpartition("/")[2], "description": label.description}
            row |= {"chinese": label.chinese} if label.chinese else {}
            row |= {name: list(getattr(label, name)) for name in _LISTS if getattr(label, name)}
            below = self._rows(label.name)
            rows.append(row | ({"children": below} if below else {}))
        return rows


def _labels(rows: object, parent: str) -> Iterator[IntentLabel]:
    if not isinstance(rows, list):
        raise TaxonomyError(parent or "taxonomy", "is no list of labels")
    for row in rows:
        label = _label(row, parent)
        yield replace(label, name=f"{parent}/{label.name}" if parent else label.name)
        yield from _labels(row.get("children", []), f"{parent}/{label.name}" if parent else label.name)


def _label(row: object, parent: str) -> IntentLabel:
    place = parent or "taxonomy"
    if not isinstance(row, Mapping) or not isinstance(row.get("name"), str):
        raise TaxonomyError(place, f"holds {row!r:.80}, which is no label; give it a name and a description")
    unknown = set(row) - _FIELDS
    if unknown:
        raise TaxonomyError(
            row["name"], f"has the unknown field {min(map(str, unknown))!r}; there are {sorted(_FIELDS)}"
        )
    texts = {name: row.get(name) or "" for name in ("description", "chinese")}
    lists = {name: row.get(name) or [] for name in _LISTS}
    if not all(isinstance(each, str) for each in texts.values()):
        raise TaxonomyError(row["name"], "has a description or Chinese name that is no text")
    for name, values in lists.items():
        if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
            raise TaxonomyError(row["name"], f"has {name} that are no list of texts")
    return IntentLabel(
        name=row["name"],
        description=texts["description"],
        cues=tuple(lists["cues"]),
        examples=tuple(lists["examples"]),
        chinese=texts["chinese"],
    )
