"""What the memory keeps of a LlamaIndex node, and in which order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Any, Self
from uuid import UUID

from llama_index.core.schema import BaseNode, ImageNode, MediaResource, MetadataMode, Node
from pydantic_core import to_jsonable_python

from prism_core import Attachment, Event, Kind, MemoryUnit, Source
from prism_core.errors import InvalidEventError
from prism_llamaindex.storable import storable

RECORD, DOCUMENT = "llama_index", "ref_doc_id"
"""The metadata keys under which a unit says which node it is, and of which document."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a unit comes from.

    Attributes:
        node_id: id of the node.
        hash: of the node's text and metadata.
        source_id: id of the document it belongs to; its own where it belongs to none.
        source_hash: of that document; empty where nobody noted it.
        key: the idempotency key it is stored under.
        node_type: the node's class.
    """

    node_id: str
    hash: str
    source_id: str
    source_hash: str
    key: str
    node_type: str

    @property
    def made_up(self) -> bool:
        """Whether the document's id is one that LlamaIndex made, and makes anew at the next run: a random UUID."""
        return _made_up(self.source_id)

    @classmethod
    def of(cls, node: BaseNode) -> Self:
        """The origin of a node."""
        source = node.source_node
        if source is None:
            source_id, source_hash, place = node.node_id, node.hash, None
        else:
            # Parsers give a chunk a new random id at every run, so its place and content tell it.
            source_id, source_hash, place = source.node_id, source.hash or "", getattr(node, "start_char_idx", None)
        parts = [None if _made_up(source_id) else source_id, source_hash, place, node.hash]
        key = "llama-index:" + hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]
        return cls(node.node_id, node.hash, source_id, source_hash, key, node.class_name())

    @classmethod
    def of_unit(cls, unit: MemoryUnit) -> Self | None:
        """The origin a unit records; None where it was no node."""
        record = unit.metadata.get(RECORD)
        if not isinstance(record, Mapping) or unit.idempotency_key is None:
            return None
        fields = {name: value for name, value in record.items() if name in _RECORDED and isinstance(value, str)}
        return cls(key=unit.idempotency_key, **fields) if fields.keys() == _RECORDED else None


_RECORDED = frozenset({"node_id", "hash", "source_id", "source_hash", "node_type"})


def _made_up(node_id: str) -> bool:
    try:
        return UUID(node_id).version == 4
    except ValueError:
        return False


def event_of(node: BaseNode, time: datetime | None) -> Event:
    """A node as an event of kind `document`.

    Raises:
        InvalidEventError: if its text or metadata cannot be stored.
        NaiveDatetimeError: if the time has no zone.
    """
    origin = Origin.of(node)
    text = node.get_content(MetadataMode.NONE)
    record = {name: value for name, value in asdict(origin).items() if name != "key"}
    for name in ("start_char_idx", "end_char_idx"):
        if getattr(node, name, None) is not None:
            record[name] = getattr(node, name)
    metadata = _json(node.metadata)
    parent = node.parent_node
    return Event.parse(
        {
            "kind": Kind.DOCUMENT,
            "observation": storable(text),
            "source": Source.EXTERNAL,
            "session_id": parent.node_id if parent is not None else origin.source_id,
            "idempotency_key": origin.key,
            "event_time": time,
            "attachments": _attachments(node, named=not text.strip()),
            "metadata": metadata | {RECORD: record, DOCUMENT: origin.source_id},
        }
    )


def _json(metadata: Mapping[str, Any]) -> dict[str, Any]:
    try:
        found: dict[str, Any] = storable(_jsonable(storable(metadata)))
    except (ValueError, RecursionError) as error:
        raise InvalidEventError("metadata", [*metadata], f"pass values that are JSON ({error})") from None
    return found


def _jsonable(metadata: Mapping[str, Any]) -> Any:
    try:
        return to_jsonable_python(metadata, inf_nan_mode="null", fallback=str)
    except UnicodeDecodeError:
        return to_jsonable_python(metadata, inf_nan_mode="null", fallback=str, bytes_mode="base64")


def in_order(nodes: Sequence[BaseNode]) -> list[int]:
    """Places of the nodes as given, but each after the one it names as its `PREVIOUS`."""
    places = {node.node_id: place for place, node in enumerate(nodes)}
    ordered: dict[int, None] = {}
    for place in range(len(nodes)):
        chain = [place]
        while (previous := nodes[chain[-1]].prev_node) is not None and previous.node_id in places:
            before = places[previous.node_id]
            if before in ordered or before in chain:
                break
            chain.append(before)
        ordered |= dict.fromkeys(reversed(chain))
    return list(ordered)


def _attachments(node: BaseNode, *, named: bool) -> list[Attachment]:
    if isinstance(node, ImageNode):
        uri = node.image_url or node.image_path or (_hashed(node.image) if node.image else None)
        return [_attachment(uri, node.image_mimetype or "image", named)] if uri else []
    if not isinstance(node, Node):
        return []
    media: dict[str, MediaResource | None] = {
        "image": node.image_resource,
        "audio": node.audio_resource,
        "video": node.video_resource,
    }
    found = []
    for kind, resource in media.items():
        if resource is not None:
            uri = str(resource.url or resource.path or _hashed(resource.data or b""))
            found.append(_attachment(uri, resource.mimetype or kind, named))
    return found


def _attachment(uri: str, media_type: str, named: bool) -> Attachment:
    name = media_type if uri.startswith("sha256:") else PurePath(uri).name
    return Attachment(media_type=media_type, uri=uri, caption=name if named else "")


def _hashed(data: str | bytes) -> str:
    return f"sha256:{hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()}"
