"""Identifiers: values one copies rather than paraphrases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_TOKEN = re.compile(r"[A-Za-z0-9_]+(?:[-./:@+][A-Za-z0-9_]+)*")
_MOMENT = re.compile(
    r"(?<![A-Za-z0-9_])(?:\d{4}-\d\d?-\d\d?(?:T\d\d(?::\d\d){0,2}(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\d{1,4}[/.]\d{1,2}[/.]\d{1,4}|\d\d?:\d\d(?::\d\d)?(?:\.\d+)?)(?![A-Za-z0-9_])"
)
_FIGURES = re.compile(r"\d+(?:\.\d+)+")
_DIGIT = re.compile("[0-9]")
_SHORTEST_IDENTIFIER = 4


def identifiers(text: str) -> list[str]:
    """Values one copies rather than paraphrases: codes, ids, dates, versions, phone numbers, files with figures.

    A token of `[A-Za-z0-9_]`, joined by single inner `- . / : @ +`, with a digit and at least four characters; also
    its segments between `/ : @` and its `[A-Za-z0-9_]+` runs of that kind. Dates, times and decimal numbers are not
    taken apart, except that a date standing free inside a longer token counts by itself.

    Returns:
        Distinct identifiers in exact case, in order of first appearance.

    >>> identifiers("Flight HAT136 on 2024-05-20 for mia_li_3668")
    ['HAT136', '2024-05-20', 'mia_li_3668']
    """
    if not _has_digit(text):
        return []
    found = (part for token in _TOKEN.findall(text) if _has_digit(token) for part in _identifier_parts(token))
    return list(dict.fromkeys(part for part in found if len(part) >= _SHORTEST_IDENTIFIER and _has_digit(part)))


@lru_cache(maxsize=1 << 14)
def whole_identifiers(text: str) -> tuple[str, ...]:
    """The identifiers of a text, each once, without those that are a part of an earlier one.

    >>> whole_identifiers("Mail mia.li3818@example.com about HAT136")
    ('mia.li3818@example.com', 'HAT136')
    """
    kept: list[str] = []
    parts: set[str] = set()
    for value in identifiers(text):
        if value not in parts:
            kept.append(value)
            parts.update(identifiers(value))
    return tuple(kept)


_SAME_KIND = re.compile(r"(.)\1+")
_RUN_OF_FIGURES = re.compile(r"\d+")
_KINDS = str.maketrans(
    {**dict.fromkeys("abcdefghijklmnopqrstuvwxyz", "a"), **dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "A")}
)


def literal_form(identifier: str) -> str:
    """An identifier with its figures blotted out: `credit_card_4421` is `credit_card_9+`."""
    return _RUN_OF_FIGURES.sub("9+", identifier)


def rough_form(identifier: str) -> str:
    """An identifier by kinds of characters: `credit_card_4421` is `a+_a+_9+`, `HAT136` is `A+9+`."""
    return _SAME_KIND.sub(r"\1+", _RUN_OF_FIGURES.sub("99", identifier).translate(_KINDS))


def _identifier_parts(token: str) -> Iterator[str]:
    yield token
    yield from _MOMENT.findall(token)
    for rest in _MOMENT.split(token):
        for segment in re.split("[/:@]", rest):
            segment = segment.strip("-.+")
            yield segment
            if not _FIGURES.fullmatch(segment):
                yield from re.split("[-.+]", segment)


def _has_digit(text: str) -> bool:
    return _DIGIT.search(text) is not None
