"""The intent taxonomy: labels that say what a unit is for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Self

from prism_core.text import analyze


@dataclass(frozen=True)
class IntentLabel:
    """One label.

    Attributes:
        name: as stored with units.
        description: what it means; embedded once, so that texts can be compared with it.
        cues: words and phrases that speak for it, in any language.
    """

    name: str
    description: str
    cues: tuple[str, ...] = ()

    @cached_property
    def cue_terms(self) -> tuple[frozenset[str], ...]:
        """The index terms of every cue; a cue is present where all its terms are."""
        return tuple(frozenset(analyze(cue)) for cue in self.cues)


@dataclass(frozen=True)
class IntentTaxonomy:
    """A set of labels, in order of precedence."""

    labels: Sequence[IntentLabel]

    @classmethod
    def default(cls) -> Self:
        """The bundled taxonomy: agent work and personal facts, with English and Chinese cues."""
        rows = json.loads(files("prism_core.encode").joinpath("intents.json").read_text(encoding="utf-8"))
        return cls([IntentLabel(row["name"], row["description"], tuple(row["cues"])) for row in rows])

    def listing(self) -> str:
        """The labels as a list for a prompt, one `name: description` a line."""
        return "\n".join(f"- {label.name}: {label.description}" for label in self.labels)
