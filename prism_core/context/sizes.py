"""Token counts that are remembered."""

from __future__ import annotations

import threading
from collections import OrderedDict
from hashlib import blake2b

from prism_core.protocols import TokenCounter


class SizeCache:
    """Token counts by text, least recently used out first; keeps digests, so long texts cost no memory.

    Args:
        counter: counts what is not remembered.
        limit: how many counts are remembered.
    """

    def __init__(self, counter: TokenCounter, limit: int) -> None:
        self._counter = counter
        self._limit = limit
        self._lock = threading.Lock()
        self._sizes: OrderedDict[bytes, int] = OrderedDict()

    def __call__(self, text: str) -> int:
        """The number of tokens of `text`."""
        key = blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
        with self._lock:
            if key in self._sizes:
                self._sizes.move_to_end(key)
                return self._sizes[key]
        size = self._counter.count(text)
        with self._lock:
            self._sizes[key] = size
            if len(self._sizes) > self._limit:
                self._sizes.popitem(last=False)
        return size
