"""Quoting what units say: nothing in it can close the fence, pose as an entry, or forge the marks of an excerpt."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from prism_core.text import BLANK

MARKER = "past_experience"
"""Default name of the tags around the block; text that carries it was recalled and is not new."""

_NEUTRAL_BRACKET = "\u2039"
_NEUTRAL_ELISION = "("
# What a terminal obeys and what turns the reading direction; line breaks are kept.
_UNSHOWN = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")
# A square bracket before an ellipsis, and a fence bracket, in the plain form of a text.
_ELISION = re.compile(r"\[(?=\s*(?:(?:\.\s*){3}|(?:\.\s*){2}[0-9a-f]{8}\b))")
_FILLER = r"[\s/\\_.?!:-]*"

_LETTERS = {
    "a": "\u0251\u0430\u0410\u03b1\u0391\u1d00",
    "b": "\u0412\u0392\u0299",
    "c": "\u0441\u0421\u03f2\u03f9\u1d04",
    "d": "\u0501\u1d05",
    "e": "\u0435\u0415\u03b5\u0395\u1d07",
    "g": "\u0261\u050d\u0262",
    "h": "\u04bb\u041d\u0397\u029c",
    "i": "\u0131\u0456\u0406\u03b9\u0399\u026a\u04cf\u04c0",
    "j": "\u0458\u0408\u1d0a",
    "k": "\u043a\u041a\u03ba\u039a\u1d0b",
    "m": "\u043c\u041c\u039c\u1d0d",
    "n": "\u03bd\u039d\u043f\u0274\u0578",
    "o": "\u043e\u041e\u03bf\u039f\u1d0f\u0585",
    "p": "\u0440\u0420\u03c1\u03a1\u1d18",
    "q": "\u051b\u051a",
    "r": "\u0433\u0280",
    "s": "\u0455\u0405\ua731",
    "t": "\u0442\u0422\u03c4\u03a4\u1d1b",
    "u": "\u03c5\u057d\u1d1c",
    "v": "\u0475\u0474\u1d20",
    "w": "\u051d\u051c\u1d21",
    "x": "\u0445\u0425\u03c7\u03a7",
    "y": "\u0443\u0423\u03a5\u028f",
    "z": "\u0396\u1d22",
}
"""Letters of other scripts, and small capitals, that are drawn like Latin ones; upper case stands with lower case."""
_OPENING = {
    **dict.fromkeys(
        "<\uff1c\ufe64\u2329\u27e8\u3008\u276e\u276c\u2770\u02c2\u1438\u227a\u29fc\u300a\u00ab\u27ea\u22d6\u304f\u3111\u16b2",
        "<",
    ),
    **dict.fromkeys("[\uff3b\ufe47\u3010\u3014\u2045\u27e6\u301a\u298b\u2772\u2768\u3016\u3018\u27ec\u2e22", "["),
}
_LOOKS_LIKE = {
    **_OPENING,
    **dict.fromkeys("\u00b7\u0387\u2022\u2027\u2219\u22c5\u2e31\u2e33\u3002\u30fb\uff61\uff65\u06d4\ua4f8\u0701", "."),
    **dict.fromkeys("\u2025\u22ef\u22ee\u22f0\u22f1\u0eaf\u1801\ufe19\ufe30\ua4fa\u205e", "..."),
    **dict.fromkeys("\u2044\u2215\u29f8\u2571\u27cb", "/"),
    **dict.fromkeys("\u2212\u30fc", "-"),
    **{look: letter for letter, looks in _LETTERS.items() for look in looks},
    # Letters in black circles and squares, which have no compatibility form.
    **{chr(first + place): chr(ord("a") + place) for first in (0x1F150, 0x1F170) for place in range(26)},
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
    if character in BLANK or unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co", "Cs", "Mn", "Me"):
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
