"""Scopes: privacy boundaries, checked where callers pass them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from prism_core.errors import ScopeError

Scope = tuple[str, ...]
"""A privacy boundary: one or more non-empty segments, such as `("acme", "alice")`."""

MAX_SCOPE_SEGMENTS = 16
MAX_SEGMENT_LENGTH = 512


def scope_of(value: object) -> Scope:
    """Check and normalise what a caller passed as a scope.

    Args:
        value: a string (a scope of one segment) or a sequence of strings. Characters are free: e-mail addresses,
            UUIDs and paths are fine.

    Returns:
        The scope as a tuple of segments, unchanged in content.

    Raises:
        ScopeError: if it is missing, empty, not made of strings, or too long.
    """
    if isinstance(value, str):
        segments: tuple[object, ...] = (value,)
    elif isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        segments = tuple(value)
    else:
        raise ScopeError(value, "is not a string or a sequence of strings")
    if not segments:
        raise ScopeError(value, "is empty")
    if len(segments) > MAX_SCOPE_SEGMENTS:
        raise ScopeError(value, f"has more than {MAX_SCOPE_SEGMENTS} segments")
    for segment in segments:
        if not isinstance(segment, str):
            raise ScopeError(value, f"holds {segment!r}, which is not a string")
        if not segment.strip():
            raise ScopeError(value, "holds an empty segment")
        if len(segment) > MAX_SEGMENT_LENGTH:
            raise ScopeError(value, f"holds a segment of more than {MAX_SEGMENT_LENGTH} characters")
        if not encodable(segment) or "\x00" in segment:
            raise ScopeError(value, "holds a character that cannot be stored")
    return tuple(str(segment) for segment in segments)


def scope_key(scope: Scope) -> str:
    """The scope as one string: injective, so `("a", "b")` and `("a/b",)` never meet."""
    return json.dumps(scope, ensure_ascii=False, separators=(",", ":"))


def encodable(text: str) -> bool:
    """Whether a text has a UTF-8 form."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
