"""Quoting what units say: nothing in it can close the fence, pose as an entry, or forge the marks of an excerpt."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

MARKER = "past_experience"
"""Default name of the tags around the block; text that carries it was recalled and is not new."""

_NEUTRAL_BRACKET = "\u2039"
_NEUTRAL_ELISION = "("
# What a terminal obeys and what turns the reading direction; line breaks are kept.
_UNSHOWN = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")
# A square bracket before an ellipsis, and a fence bracket, in the plain form of a text.
_ELISION = re.compile(r"\[(?=\s*(?:\.\s*){3})")
_FILLER = r"[\s/\\_-]*"

# What a reader sees nothing of, besides control and format characters and combining marks.
_BLANK = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_OPENING = {
    **dict.fromkeys("<\uff1c\ufe64\u2329\u27e8\u3008\u276e\u276c\u2770\u02c2\u1438\u227a\u29fc", "<"),
    **dict.fromkeys("[\uff3b\ufe47\u3010\u3014\u2045\u27e6\u301a\u298b\u2772\u2768\u3016\u3018", "["),
}
_LOOKS_LIKE = {
    **_OPENING,
    **dict.fromkeys("\u00b7\u0387\u2022\u2027\u2219\u22c5\u2e31\u2e33\u3002\u30fb\uff61\uff65\u06d4\ua4f8\u0701", "."),
    **dict.fromkeys("\u2025\u22ef\u22ee\u22f0\u22f1\u0eaf\u1801\ufe19\ufe30\ua4fa", "..."),
    **dict.fromkeys("\u2044\u2215\u29f8\u2571", "/"),
    **dict.fromkeys("\u2212\u30fc", "-"),
    # Letters of other scripts that are drawn like Latin ones.
    **dict(
        zip(
            "\u0430\u0441\u0501\u0435\u04bb\u0456\u0458\u04cf\u043e\u0440\u051b\u0455\u051d\u0445\u0443\u0475",
            "acdehijlopqswxyv",
            strict=True,
        )
    ),
    **dict(zip("\u03b1\u03b5\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7", "aeikvoptux", strict=True)),
}
_ANY_OPENING = re.compile(f"[{re.escape(''.join(_OPENING))}]")
_HIDDEN_ASCII = re.compile("[\x00-\x08\x0e-\x1b\x7f]")


def quoted(text: str, marker: str) -> str:
    """A text as an entry quotes it.

    Args:
        text: anything.
        marker: name of the tags around the block; what could be read as one of them gets another bracket.

    Returns:
        The lines that say something, those after the first indented by two spaces, so that none can pose as an entry.
    """
    text = _replaced(_UNSHOWN.sub("", text), _fence_pattern(marker), _NEUTRAL_BRACKET)
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
    return _replaced(text, _ELISION, _NEUTRAL_ELISION)


def _replaced(text: str, pattern: re.Pattern[str], neutral: str) -> str:
    """A text with another character wherever its plain form matches at one."""
    if not _ANY_OPENING.search(text):
        return text
    if text.isascii() and not _HIDDEN_ASCII.search(text):
        return pattern.sub(neutral, text)
    plain, places = _plain_form(text)
    characters = list(text)
    for match in pattern.finditer(plain):
        characters[places[match.start()]] = neutral
    return "".join(characters)


def _plain_form(text: str) -> tuple[str, list[int]]:
    """A text as it looks: what cannot be seen left out, look-alikes in ASCII; and where each character comes from."""
    places: list[int] = []
    plain: list[str] = []
    for place, character in enumerate(text):
        for shown in _looks(character):
            plain.append(shown)
            places.append(place)
    return "".join(plain), places


@lru_cache(maxsize=4096)
def _looks(character: str) -> str:
    """What a character looks like: empty for an invisible one, its compatibility form, or the ASCII it resembles."""
    if character.isspace():
        return " "
    if character.isascii() and character.isprintable():
        return character
    if character in _LOOKS_LIKE:
        return _LOOKS_LIKE[character]
    if character in _BLANK or unicodedata.category(character) in ("Cc", "Cf", "Mn", "Me"):
        return ""
    return "".join(_by_category(part) for part in unicodedata.normalize("NFKD", character))


def _by_category(character: str) -> str:
    category = unicodedata.category(character)
    if character in _LOOKS_LIKE:
        return _LOOKS_LIKE[character]
    return {"Mn": "", "Me": "", "Zs": " ", "Pd": "-", "Pc": "_"}.get(category, character)


@lru_cache(maxsize=16)
def _fence_pattern(marker: str) -> re.Pattern[str]:
    """Matches the bracket of an opening or closing tag, however the tag is spaced and cased, in a plain form."""
    letters = _FILLER.join(re.escape(letter) for letter in _letters(marker))
    return re.compile(rf"<(?={_FILLER}{letters})", re.IGNORECASE)


def _letters(marker: str) -> Iterator[str]:
    return (shown for letter in marker if letter != "_" for shown in _looks(letter))
