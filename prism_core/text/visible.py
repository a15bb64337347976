"""Whether a reader sees anything of a text."""

from __future__ import annotations

import unicodedata

BLANK = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""What a reader sees nothing of, besides white space, control and format characters."""
_UNSEEN = frozenset({"Cc", "Cf", "Cs"})


def is_visible(text: str) -> bool:
    r"""Whether there is more to a text than white space, control characters and others that show nothing.

    >>> is_visible("\x00 \u200b"), is_visible("\x00 no")
    (False, True)
    """
    return any(
        not character.isspace() and character not in BLANK and unicodedata.category(character) not in _UNSEEN
        for character in text
    )
