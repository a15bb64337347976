"""Which cues of a taxonomy stand in a text."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from prism_core.encode.taxonomy import IntentLabel
from prism_core.text import analyze, normalize
from prism_core.types import ancestors_of

ACTION_WEIGHT = 3
"""Cues in the name of an action count this many times, and once more than that in its first word, which is its verb."""
_WORD = re.compile(r"[\w']+")


@dataclass(frozen=True, slots=True)
class Cue:
    """A word or phrase that speaks for labels.

    Attributes:
        terms: its index terms; it is present where all of them are.
        written: its words between spaces, where the index leaves some of them out: `call off` is no `call`, so it has
            to stand as it is written. Empty for all other cues.
        acts: whether it is looked for in the names of actions only; written with an underscore at its end, as `get_`.
        labels: the labels it speaks for, and those above them.
    """

    terms: frozenset[str]
    written: str
    acts: bool
    labels: frozenset[str]


class CueIndex:
    """Finds cues by one of their terms, so that a text costs what it holds and not what the taxonomy does."""

    def __init__(self, labels: Iterable[IntentLabel]) -> None:
        # Words of one stem are one cue, whichever label has them.
        owners: dict[tuple[frozenset[str], str, bool], set[str]] = defaultdict(set)
        for label in labels:
            for text in label.cues:
                owners[_key(normalize(text))] |= {label.name, *ancestors_of(label.name)}
        self._by_term: dict[str, list[Cue]] = defaultdict(list)
        for (terms, written, acts), names in owners.items():
            if terms:
                rarest = max(terms, key=lambda term: (len(term), term))
                self._by_term[rarest].append(Cue(terms, written, acts, frozenset(names)))

    def support(self, text: str, action_type: str | None = None) -> dict[str, int]:
        """How many different cues speak for every label or for one under it; those in an action's name count more."""
        support: dict[str, int] = defaultdict(int)
        action = action_type or ""
        verb = _WORD.findall(action.replace("_", " "))[:1]
        for part, weight in ((text, 1), (action, ACTION_WEIGHT), ("".join(verb), ACTION_WEIGHT + 1)):
            for cue in self._present(part):
                if cue.acts and part is text:
                    continue
                for name in cue.labels:
                    support[name] += weight
        return dict(support)

    def _present(self, text: str) -> list[Cue]:
        terms = frozenset(analyze(text))
        found = [cue for term in terms for cue in self._by_term.get(term, ()) if cue.terms <= terms]
        if not any(cue.written for cue in found):
            return found
        written = _written(text)
        return [cue for cue in found if not cue.written or cue.written in written]


def _key(text: str) -> tuple[frozenset[str], str, bool]:
    terms = analyze(text.rstrip("_"))
    left_out = text.isascii() and len(terms) < len(_WORD.findall(text))
    return frozenset(terms), _written(text) if left_out else "", text.endswith("_")


def _written(text: str) -> str:
    return f" {' '.join(_WORD.findall(normalize(text).replace('’', chr(39))))} "
