"""Passages: the sentences or records a long text is made of."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from pydantic import JsonValue

from prism_core.text import analyze

LONGEST = 320
"""Characters of a passage at most."""
SHORTEST = 20
"""Shorter sentences go with the one before them: `Fourteen of them.` says nothing alone."""
UNSPACED = 3
"""How many characters of a text with spaces one of a text without them counts for: it is about a token."""

_END = re.compile(
    r"[.!?\u2026]+[\"'\u201d\u2019)\]]*(?=\s)|[\u3002\uff01\uff1f\uff61]+[\"\u201d\u2019\u300d\u300f\uff09]*"
)
_ABBREVIATION = re.compile(r"(?:^|[\s(])(?:Mr|Mrs|Ms|Dr|St|Prof|No|vs|cf|approx|e\.g|i\.e|[A-Z])\.$")
_ENDLESS = re.compile(r"[!-~]{80,}")
_PART = re.compile(r"[!-~]+")
SHORTEST_PART = 40
"""Characters at least of a part of a word without end."""
_BREAK = re.compile(r"[\s,;\u3001\uff0c\uff1b]")


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a text.

    Attributes:
        text: without white space around it; never empty.
        glue: what stands between the passage before it and this one: nothing, a space or a line break.
        terms: its index terms.
        figures: whether it holds a figure.
    """

    text: str
    glue: str
    terms: frozenset[str]
    figures: bool


@lru_cache(maxsize=256)
def passages(text: str) -> tuple[Passage, ...]:
    """The passages of a text, in order: sentences; of a JSON document one for every object, as `key=value`."""
    value = parsed(text)
    lines = text.splitlines() if value is None else records(value)
    found: list[Passage] = []
    for line in lines:
        for number, (piece, spaced) in enumerate(_pieces(line.strip())):
            glue = "\n" if not number else " " if spaced else ""
            figures = any(character.isdigit() for character in piece)
            found.append(Passage(piece, glue, frozenset(analyze(piece)), figures))
    return tuple(found)


def is_endless(text: str) -> bool:
    """Whether a passage is a word without end, or a part of one: a link, or encoded data."""
    return len(text) >= SHORTEST_PART and _PART.fullmatch(text) is not None


def parsed(text: str) -> JsonValue:
    """The JSON object or list a text is; None for any other text."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value or None


def leaves(value: JsonValue) -> Iterator[tuple[str, str]]:
    """The scalars of a JSON value with the key each stands under, in order; a key over an object stands for itself."""
    stack: list[tuple[str, JsonValue]] = [("", value)]
    while stack:
        key, inner = stack.pop()
        if isinstance(inner, dict):
            stack.extend(reversed(inner.items()))
        elif isinstance(inner, list):
            stack.extend((key, member) for member in reversed(inner))
        else:
            yield key, scalar(inner)
        if isinstance(inner, dict) and key:
            yield "", key


def records(value: JsonValue) -> Iterator[str]:
    """One line for every object: its own scalars as `key=value`, after the key it stands under."""
    stack: list[tuple[str, JsonValue]] = [("", value)]
    while stack:
        key, inner = stack.pop()
        members = inner.items() if isinstance(inner, dict) else [("", each) for each in _listed(inner)]
        flat = [(name, scalar(each)) for name, each in members if not isinstance(each, dict | list)]
        stack.extend(reversed([(name or key, each) for name, each in members if isinstance(each, dict | list)]))
        if flat:
            said = ", ".join(f"{name}={shown}" if name else shown for name, shown in flat)
            yield f"{key}: {said}" if key else said


def scalar(value: JsonValue) -> str:
    """A JSON scalar as text: strings as they are."""
    return value if isinstance(value, str) else json.dumps(value)


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [value]


Span = tuple[int, int]


def _pieces(line: str) -> Iterator[tuple[str, bool]]:
    """The passages of a line, and whether white space stands before each."""
    before = 0
    for span in _sentences(line):
        for start, end in _cut(line, span):
            text = line[start:end]
            room = len(text) - len(text.lstrip())
            if text.strip():
                yield text.strip(), start + room > before
                before = start + len(text.rstrip())


def _sentences(line: str) -> list[Span]:
    found: list[Span] = []
    start, shortest = 0, SHORTEST // _density(line, 0, len(line))
    for end in [*(match.end() for match in _END.finditer(line)), len(line)]:
        follows = line[end : end + 2].strip()[:1]
        if end < len(line) and (follows.islower() or _ABBREVIATION.search(line, max(start, end - 8), end)):
            continue
        if found and end - start < shortest:
            found[-1] = (found[-1][0], end)
        elif end > start:
            found.append((start, end))
        start = end
    return found


def _cut(line: str, span: Span) -> Iterator[Span]:
    """Parts of a sentence of at most the longest size, cut behind a space or comma where there is one.

    A word without end, such as a link or encoded data, is a part of its own: what stands beside it is worth quoting
    without it.
    """
    start, end = span
    for word in _ENDLESS.finditer(line, start, end):
        yield from _cut_words(line, (start, word.start()))
        yield from _cut_words(line, word.span())
        start = word.end()
    yield from _cut_words(line, (start, end))


def _cut_words(line: str, span: Span) -> Iterator[Span]:
    start, end = span
    limit = LONGEST // _density(line, start, end)
    while end - start > limit:
        breaks = [match.end() for match in _BREAK.finditer(line, start + limit // 2, start + limit)]
        # Without a break the last two parts are of one size: a few characters left over would say nothing.
        stop = breaks[-1] if breaks else start + min(limit, (end - start + 1) // 2)
        yield start, stop
        start = stop
    yield start, end


def _density(line: str, start: int, end: int) -> int:
    return 1 if line.count(" ", start, end) * 40 >= end - start else UNSPACED
