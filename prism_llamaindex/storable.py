"""What other libraries hand over, as far as it can be stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MOST_BITS = 63


def storable(value: Any) -> Any:
    """JSON that comes back as it is stored.

    Half a surrogate pair, which has no UTF-8 form, becomes a question mark, a whole number beyond 64 bits text.
    """
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return str(value)
    if isinstance(value, Mapping):
        return {storable(key): storable(each) for key, each in value.items()}
    return [*map(storable, value)] if isinstance(value, list | tuple) else value
