"""The forms in which texts are compared."""

from __future__ import annotations

import re
import unicodedata

_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# Zero-width characters and soft hyphens stand inside words and are typed or not; typographic quotes and hyphens vary.
_VARIANTS: dict[int, str | None] = dict.fromkeys((0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF))
_VARIANTS |= {0x2018: "'", 0x2019: "'", 0x2010: "-", 0x2011: "-"}
_JOINTS = re.compile(r"(?<=[^\W_])[_-]+(?=[^\W_])")
_SUPERSCRIPT_RUN = re.compile("[⁰¹²³⁴-⁹⁺⁻]+")


def normalize(text: str) -> str:
    r"""The form in which two texts are compared for equality: NFKC, case-folded, white space folded.

    Superscripts stay distinguishable, because `10²` is not `102`.

    >>> normalize("  The  ＦＬＩＧＨＴ\n is Full ")
    'the flight is full'
    """
    folded = unicodedata.normalize("NFKC", _SUPERSCRIPT_RUN.sub(lambda run: "^" + run[0], text)).casefold()
    # Case folding may leave a sequence that composes, and composing one that folds.
    return " ".join(unicodedata.normalize("NFKC", folded).casefold().split())


def name_form(name: str) -> str:
    """The form in which names are compared: as texts are, and whatever joins their words.

    >>> name_form("Paper_A") == name_form("paper-a") == name_form(" Paper  A ")
    True
    """
    return " ".join(_JOINTS.sub(" ", normalize(name)).split()) or normalize(name)


def prepare(text: str) -> str:
    """Compatibility forms folded, invisible characters and thousands separators gone; case is kept."""
    prepared = text if text.isascii() else unicodedata.normalize("NFKC", text.translate(_VARIANTS))
    return _THOUSANDS.sub("", prepared) if "," in prepared else prepared
