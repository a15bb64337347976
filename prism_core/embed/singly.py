"""Texts embedded one by one, several at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from prism_core.changes import FloatArray

USUAL_THREADS = min(4, os.cpu_count() or 1)
"""Texts embedded at the same time where nothing else is said."""


def embed_singly(embed: Callable[[str], FloatArray], texts: Sequence[str], threads: int) -> FloatArray:
    """Embed each text by itself, so that its vector does not depend on its neighbours.

    Args:
        embed: from a text to its vector, shape (d,); called by several threads.
        texts: n texts, at least one.
        threads: how many texts at the same time.

    Returns:
        Shape (n, d), in the order of the texts.
    """
    if threads <= 1 or len(texts) == 1:
        return np.stack([embed(text) for text in texts])
    with ThreadPoolExecutor(min(threads, len(texts)), "embed") as pool:
        return np.stack(list(pool.map(embed, texts)))
