"""Quoting what units say: nothing in it can close the fence, pose as an entry, or forge the marks of an excerpt."""

from __future__ import annotations

import re
from functools import lru_cache

MARKER = "past_experience"
"""Default name of the tags around the block; text that carries it was recalled and is not new."""

_OPENING_BRACKETS = "<\uff1c\ufe64"
_NEUTRAL_BRACKET = "\u2039"
# Control and format characters, joiners, fillers and variation selectors: a reader sees nothing where they stand.
_INVISIBLE = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# What a terminal obeys and what turns the reading direction; line breaks are kept.
_UNSHOWN = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")
# What a reader could take for a mark of elision: a square bracket before an ellipsis, however it is written.
_ELISION = re.compile(rf"[\[\uff3b\u3010](?=[\s{_INVISIBLE}]*(?:\u2026|\u22ef|\ufe19|[.\uff0e\u3002\u00b7]{{3}}))")


def quoted(text: str, marker: str) -> str:
    """A text as an entry quotes it.

    Args:
        text: anything.
        marker: name of the tags around the block; what could be read as one of them gets another bracket.

    Returns:
        The lines that say something, those after the first indented by two spaces, so that none can pose as an entry.
    """
    text = _UNSHOWN.sub("", text)
    if not text.isascii() or "<" in text:
        text = _fence_pattern(marker).sub(lambda match: _NEUTRAL_BRACKET + match.group()[1:], text)
    # splitlines knows every character a reader may take for a line break.
    return "\n  ".join(line.rstrip() for line in text.splitlines() if line.strip()).lstrip()


def without_recalled(text: str, marker: str = MARKER) -> str:
    """A text without the blocks of memories in it: what was recalled is not new, and is not stored again.

    Args:
        text: anything, such as a prompt with a block at its end, or a reply that repeats one.
        marker: name of the tags around a block. A block that was cut off before its closing tag ends with the text.
    """
    if f"<{marker}>" not in text:
        return text
    name = re.escape(marker)
    return re.sub(rf"\s*<{name}>.*?(?:</{name}>|\Z)", "", text, flags=re.DOTALL).strip()


def without_elisions(text: str) -> str:
    """A text that holds nothing a reader could take for the mark of an excerpt: its `[…` becomes `(…`."""
    return _ELISION.sub("(", text)


@lru_cache(maxsize=16)
def _fence_pattern(marker: str) -> re.Pattern[str]:
    """Matches the opening or closing tag however it is spaced, cased, widened or salted with invisible characters."""
    filler = rf"[\s/\\_\-／＼＿－{_INVISIBLE}]*"
    letters = (_spellings(letter) for letter in marker if letter != "_")
    return re.compile(rf"[{_OPENING_BRACKETS}](?={filler}{filler.join(letters)})", re.IGNORECASE)


def _spellings(letter: str) -> str:
    wide = chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter
    return f"[{re.escape(letter)}{wide}]"
