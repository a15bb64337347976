"""How the items of a store are kept: one document each, its value as JSON text in the metadata.

The text of the document is what the item is found by. Whatever is in the value comes back as it was: nothing is
merged, cut or redacted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from langgraph.store.base import Item, PutOp, SearchItem, get_text_at_path

from prism_core import Event, Kind, MemoryUnit, Source
from prism_core.errors import InvalidEventError

IDENTITY = "store.id"
INDEXED = "store.indexed"
_ITEM, _NAMESPACE, _KEY, _VALUE = "store.item", "store.namespace", "store.key", "store.value"
_CREATED, _UPDATED = "store.created_at", "store.updated_at"
WHOLE = "$"
"""The path of a whole value."""
_UNINDEXED = "an item that is not searched"
_REMEDY = "a store keeps JSON: a dict with string keys of text, finite numbers, true, false, null, lists and dicts"

Path = tuple[str, ...]
"""A namespace."""


def identity(namespace: Path, key: str) -> str:
    """One text per namespace and key, and for no other."""
    return json.dumps([*namespace, key])


def within(prefix: Path) -> dict[str, Any]:
    """The metadata that every item below a namespace has."""
    return {_ITEM: True, **{f"store.{place}": label for place, label in enumerate(prefix)}}


def to_event(op: PutOp, fields: Sequence[str], created: datetime, updated: datetime) -> Event:
    """The document that keeps an item.

    Args:
        op: what is put.
        fields: paths of the value that an item is found by where the operation names none.
        created: when its key was put first.
        updated: now.

    Raises:
        InvalidEventError: if the value is not JSON, or a name cannot be stored.
    """
    value = _checked(op.value)
    text = _text(value, fields if op.index is None else op.index or ())
    return Event.parse(
        {
            "kind": Kind.DOCUMENT,
            "source": Source.EXTERNAL,
            "observation": text or _UNINDEXED,
            "idempotency_key": f"store:{identity(op.namespace, op.key)}",
            "metadata": {
                **within(op.namespace),
                IDENTITY: identity(op.namespace, op.key),
                INDEXED: bool(text),
                _NAMESPACE: list(op.namespace),
                _KEY: op.key,
                _VALUE: json.dumps(value),
                _CREATED: created.isoformat(),
                _UPDATED: updated.isoformat(),
            },
        }
    )


def to_item(unit: MemoryUnit) -> Item:
    """The item that a document keeps."""
    return Item(**_fields(unit))


def to_search_item(unit: MemoryUnit, score: float | None = None) -> SearchItem:
    """The item that a document keeps, as a search returns it."""
    return SearchItem(**_fields(unit), score=score)


def value_of(unit: MemoryUnit) -> dict[str, Any]:
    """The value of the item that a document keeps."""
    value: dict[str, Any] = json.loads(str(unit.metadata[_VALUE]))
    return value


def namespace_of(unit: MemoryUnit) -> Path:
    """The namespace of the item that a document keeps."""
    labels = unit.metadata[_NAMESPACE]
    return tuple(map(str, labels)) if isinstance(labels, list) else ()


def created_at(unit: MemoryUnit) -> datetime:
    """When the item that a document keeps was put first."""
    return datetime.fromisoformat(str(unit.metadata[_CREATED]))


def _fields(unit: MemoryUnit) -> dict[str, Any]:
    return {
        "namespace": namespace_of(unit),
        "key": str(unit.metadata[_KEY]),
        "value": value_of(unit),
        "created_at": created_at(unit),
        "updated_at": datetime.fromisoformat(str(unit.metadata[_UPDATED])),
    }


def _checked(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidEventError("value", value, _REMEDY)
    try:
        _check_keys(value)
        json.dumps(dict(value), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidEventError("value", type(value).__name__, f"{_REMEDY} ({error})") from None
    return dict(value)


def _check_keys(value: Any) -> None:
    """JSON would turn other keys into strings, and two of them into one."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is no string")
            _check_keys(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_keys(item)


def _text(value: dict[str, Any], paths: Sequence[str]) -> str:
    """What an item is found by: the texts at some paths, each once."""
    texts = [text for path in paths for text in ([_whole(value)] if path == WHOLE else get_text_at_path(value, path))]
    joined = "\n".join(dict.fromkeys(text for text in texts if text.strip()))
    # A lone surrogate has no UTF-8 form; in the value it is kept.
    return joined.encode(errors="replace").decode()


def _whole(value: dict[str, Any]) -> str:
    """A whole value in words: a line per key."""
    lines = [f"{key}: {each if isinstance(each, str) else _compact(each)}" for key, each in value.items()]
    return "\n".join(lines) or _compact(value)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
