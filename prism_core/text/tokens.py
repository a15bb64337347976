"""Counting tokens the way OpenAI's o200k models do, offline."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

_LONGEST_PIECE = 50_000
_loading = threading.Lock()


class O200kCounter:
    """Counts tokens of the o200k vocabulary (GPT-4o and later), without a network; a `TokenCounter`."""

    def count(self, text: str) -> int:
        """The number of tokens of `text`; names of special tokens are counted as the plain text they are."""
        return sum(len(_o200k().encode_ordinary(piece)) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces the tokenizer accepts, cut before a space, where tokens begin anyway."""
    start = 0
    while start < len(text):
        end = start + _LONGEST_PIECE
        if end < len(text):
            space = text.rfind(" ", start + 1, end)
            end = space if space > 0 else end
        yield text[start:end]
        start = end


def _o200k() -> Any:
    with _loading:
        return _load_o200k()


@cache
def _load_o200k() -> Any:
    with warnings.catch_warnings():
        # It opens its vocabulary by a function that some Python versions deprecate; no concern of whoever counts.
        warnings.simplefilter("ignore", DeprecationWarning)
        import bpe_openai  # noqa: PLC0415 - reads its vocabulary (0.1 s and more); text alone should import fast

        return bpe_openai.get_encoding("o200k_base")
