"""Labels of a store's namespaces from any name or number.

LangGraph refuses labels with a period, empty ones, and `langgraph` at the root, and so every e-mail address.
"""

from __future__ import annotations

from urllib.parse import unquote

_ESCAPED = {"%": "%25", ".": "%2E", "\x00": "%00"}
_RESERVED = "langgraph"


def to_label(value: str | int) -> str:
    """A namespace label that stands for a name or number; `from_label` gives the text back.

    Different texts have different labels; a number has that of its digits.

    Raises:
        ValueError: if the text is empty.

    >>> to_label("alice@example.com"), to_label(42)
    ('alice@example%2Ecom', '42')
    """
    text = str(value)
    if not text:
        raise ValueError("an empty text has no label; name the user, or leave the label out")
    if text == _RESERVED:
        return "%6C" + text[1:]
    return "".join(_ESCAPED.get(character, character) for character in text)


def from_label(label: str) -> str:
    """The text that a label made by `to_label` stands for.

    >>> from_label("alice@example%2Ecom")
    'alice@example.com'
    """
    return unquote(label)
