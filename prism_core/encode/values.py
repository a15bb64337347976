"""The values that a unit uses, and where another unit holds one."""

from __future__ import annotations

import json
from collections.abc import Iterator

from prism_core.text import action_arguments, identifiers
from prism_core.types import MemoryUnit

SHORTEST = 4
LONGEST = 120
"""Nobody copies an argument of more characters; of it the words with a figure count alone."""
_AROUND = "()[]{}<>,.;:!?$€£¥'\"`*"


def used_values(unit: MemoryUnit) -> list[str]:
    """The values a unit uses: the arguments of its call and the identifiers in what it says or does, each once.

    An argument is a leaf of the call's JSON: a text of four characters or more or with a figure, or a number, as
    written. Of a text of several words, those with a figure count by themselves as well.
    """
    return list(dict.fromkeys([*_arguments(unit.action or ""), *identifiers(unit.action or unit.observation)]))


def holds(text: str, value: str) -> bool:
    """Whether a value stands in a text by itself: to the letter, and not a part of a longer word or number.

    >>> holds("offer HS-4471, 95 EUR", "95"), holds("offer HS-4471, 95.50 EUR", "95")
    (True, False)
    """
    place = text.find(value)
    while place >= 0:
        end = place + len(value)
        if _ends(text[max(0, place - 2) : place][::-1], value[0]) and _ends(text[end : end + 2], value[-1]):
            return True
        place = text.find(value, place + 1)
    return False


def _ends(beside: str, edge: str) -> bool:
    """Whether a value with this character at its edge ends before the characters beside it, the nearest first."""
    if not beside or not _wordy(edge):
        return True
    if _wordy(beside[0]):
        return False
    # The point of a sentence ends a number, that of a decimal does not.
    return not (edge.isdecimal() and beside[0] in ".,:-/" and beside[1:].isdecimal())


def _wordy(character: str) -> bool:
    return character == "_" or (character.isascii() and character.isalnum())


def _arguments(action: str) -> Iterator[str]:
    arguments = action_arguments(action)
    if not arguments:
        return
    try:
        parsed = json.loads(arguments, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return
    for leaf in _leaves(parsed):
        if len(leaf) <= LONGEST and (len(leaf) >= SHORTEST or _has_figure(leaf)):
            yield leaf
        words = leaf.split()
        if len(words) > 1:
            yield from (word.strip(_AROUND) for word in words if _has_figure(word))


def _has_figure(text: str) -> bool:
    return any(map(str.isdigit, text))


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value.strip()
    elif isinstance(value, dict):
        for member in value.values():
            yield from _leaves(member)
    elif isinstance(value, list):
        for member in value:
            yield from _leaves(member)
