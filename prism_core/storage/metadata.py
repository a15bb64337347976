"""Which rows carry which metadata: an index by key and value, so that a filter reads no unit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import numpy as np
from pydantic import JsonValue

from prism_core.changes import IntArray
from prism_core.storage.keys import KeyIndex


class MetadataIndex:
    """Rows by the entries of their metadata, equal as JSON is: 1 and 1.0 are one value, 1 and true are two."""

    def __init__(self) -> None:
        self._entries = KeyIndex()

    @property
    def nbytes(self) -> int:
        """Estimated size in bytes."""
        return self._entries.nbytes

    def put(self, row: int, metadata: Mapping[str, JsonValue]) -> None:
        """Set the metadata of a row, in place of what it had."""
        self._entries.put(row, [_digest(key, value) for key, value in metadata.items()])

    def rows(self, wanted: Mapping[str, JsonValue], size: int) -> IntArray:
        """Rows that have every wanted entry, ascending; all `size` rows where nothing is wanted."""
        found: IntArray = np.arange(size)
        for key, value in wanted.items():
            found = np.intersect1d(found, self._entries.rows(_digest(key, value)), assume_unique=True)
        return found


def _digest(key: str, value: JsonValue) -> str:
    # Values may be long; their digest is what the index keeps.
    text = json.dumps([key, _plain(value)], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _plain(value: JsonValue) -> JsonValue:
    """The value with whole floats as integers, as deep as it goes."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
