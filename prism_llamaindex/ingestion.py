"""Documents and nodes as memories, on their own or as the last step of an ingestion pipeline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any
from uuid import uuid4

from llama_index.core.bridge.pydantic import PrivateAttr, field_validator
from llama_index.core.schema import BaseNode, TransformComponent

from prism_core import Erasure, Link, MemoryUnit, PrismMemory, Receipt, ReceiptStatus, Relation, scope_of
from prism_core.errors import UnknownUnitError
from prism_llamaindex.errors import DetachedError
from prism_llamaindex.nodes import DOCUMENT, Origin, event_of, in_order

BATCH = 500
"""Nodes stored in one transaction."""
LOOKED_UP = 64
"""Documents that are looked up one by one."""

TimeOf = Callable[[BaseNode], datetime | None]


def remember_nodes(
    memory: PrismMemory, nodes: Sequence[BaseNode], *, scope: object, time_of: TimeOf | None = None
) -> list[Receipt]:
    """Store documents or nodes as units of kind `document`.

    What is stored already is a `duplicate`, and nothing is written for it. A node belongs to a version of its source
    document, the one whose id and hash its `SOURCE` relationship names (itself, where it has none): units of an older
    version are erased before the new one is stored, and so is a unit of the same node with other content. The nodes of
    one version may be handed in by several calls. An id that LlamaIndex made up (a random UUID, as readers give to
    documents unless told otherwise) is another one at the next run, so such a document is told by its content: the same
    again is a duplicate, but a changed one is another document. Give documents ids of their own to have them replaced.

    A document is a session: its nodes follow each other in the order given, one with a `PREVIOUS` after that. Nodes
    with a `PARENT` are a session of their own under it, and elaborate it. Metadata is kept as JSON, beside the id of
    the document under `ref_doc_id` and a record of the node under `llama_index`. Images and other media become
    attachments by path, URL or hash, never by content; a node without any text is named by its file.

    Args:
        memory: an open memory.
        nodes: any number of them.
        scope: whose memories they become.
        time_of: when a node was written or said, aware; the time of storing where it answers None.

    Returns:
        One receipt per node, in their order; a node with neither text nor media is `rejected`.

    Raises:
        ScopeError: if the scope is missing or malformed.
        InvalidEventError: if a node's text or metadata cannot be stored.
        NaiveDatetimeError: if `time_of` answers a time without a zone.
    """
    events = [event_of(node, time_of(node) if time_of is not None else None) for node in nodes]
    origins = [Origin.of(node) for node in nodes]
    known = _Known.of(memory, scope, origins)
    while outdated := known.outdated(origins):
        with suppress(UnknownUnitError):  # another process was faster
            memory.erase(scope=scope, unit_ids=outdated)
        known = _Known.of(memory, scope, origins)
    receipts: dict[int, Receipt] = {}
    fresh: list[int] = []
    for place in in_order(nodes):
        unit_id = known.by_key.get(origins[place].key)
        if unit_id is None:
            fresh.append(place)
        else:
            # Asking the ledger would leave a receipt there, for every node at every run.
            reason = "the same node was stored before"
            receipts[place] = Receipt("", ReceiptStatus.DUPLICATE, unit_id, reason)
    for start in range(0, len(fresh), BATCH):
        some = fresh[start : start + BATCH]
        receipts |= zip(some, memory.write_many([events[place] for place in some], scope=scope), strict=True)
    units = known.by_node | {origins[place].node_id: receipts[place].unit_id for place in range(len(nodes))}
    memory.link(_parts(nodes, fresh, units), scope=scope)
    return [receipts[place] for place in range(len(nodes))]


def forget_nodes(
    memory: PrismMemory, *, scope: object, node_ids: Sequence[str] = (), ref_doc_ids: Sequence[str] = ()
) -> Erasure | None:
    """Erase the units of nodes or of whole documents, provably.

    Args:
        memory: an open memory.
        scope: whose memories.
        node_ids: ids of nodes.
        ref_doc_ids: ids of source documents, all of whose nodes go.

    Returns:
        What was erased; None where the scope holds none of them.
    """
    nodes, documents = set(node_ids), set(ref_doc_ids)

    def wanted(unit: MemoryUnit) -> bool:
        origin = Origin.of_unit(unit)
        return origin is not None and (origin.node_id in nodes or origin.source_id in documents)

    found = [unit.id for unit in memory.units(scope=scope, where=wanted)]
    return memory.erase(scope=scope, unit_ids=found) if found else None


class PrismIngestion(TransformComponent):
    """Remembers nodes and passes them on: the last step of an `IngestionPipeline`, in place of a vector store.

    Runs as often as the pipeline does: what is stored already stays as it is, changed documents replace their older
    version (`remember_nodes` says how). The pipeline's cache skips this step only where the memory has not moved on
    since the same nodes went through it. It needs no embeddings in the nodes, and works in its own process only, so
    without `num_workers`.

    Args:
        memory: an open memory; never closed here.
        scope: whose memories the nodes become.
        time_of: when a node was written or said, aware.
    """

    scope: str | tuple[str, ...]
    _memory: PrismMemory | None = PrivateAttr(default=None)
    _time_of: TimeOf | None = PrivateAttr(default=None)
    _token: str = PrivateAttr(default_factory=lambda: uuid4().hex)
    _receipts: list[Receipt] = PrivateAttr(default_factory=list)

    def __init__(
        self, memory: PrismMemory | None = None, scope: Any = None, *, time_of: TimeOf | None = None, **fields: Any
    ) -> None:
        super().__init__(**{"scope": scope} | fields)
        self._memory = memory
        self._time_of = time_of

    @field_validator("scope", mode="before")
    @classmethod
    def _checked_scope(cls, value: object) -> object:
        scope_of(value)
        return value

    @classmethod
    def class_name(cls) -> str:
        """Names the class in serialised pipelines."""
        return "PrismIngestion"

    @property
    def receipts(self) -> list[Receipt]:
        """What became of the nodes of the latest run, one each."""
        return self._receipts

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """The scope, and how far the memory has got: what a cached run of the pipeline depends on."""
        data: dict[str, Any] = super().to_dict(**kwargs)
        if self._memory is not None:
            position = self._memory.stats(self.scope).position
            data["state"] = f"{self._token} {position.epoch}.{position.seq}"
        return data

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        """Remember the nodes; answers them unchanged.

        Raises:
            DetachedError: if it was unpickled or loaded, and so has no memory.
        """
        if self._memory is None:
            raise DetachedError(self.class_name())
        self._receipts = remember_nodes(self._memory, nodes, scope=self.scope, time_of=self._time_of)
        return nodes

    async def acall(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        """The same in a worker thread, so that the event loop stays free."""
        return await asyncio.to_thread(self.__call__, nodes, **kwargs)


class _Known:
    """What a scope holds of nodes: unit ids by key and by node id, and where each unit comes from."""

    def __init__(self, origins: dict[str, Origin]) -> None:
        self._origins = origins
        self.by_key = {origin.key: unit_id for unit_id, origin in origins.items()}
        self.by_node: dict[str, str | None] = {origin.node_id: unit_id for unit_id, origin in origins.items()}

    @classmethod
    def of(cls, memory: PrismMemory, scope: object, origins: Sequence[Origin]) -> _Known:
        """What the scope holds of the documents of these nodes; of all, where looking them up one by one is no gain."""
        sources = {origin.source_id for origin in origins}
        if len(sources) > LOOKED_UP or any(origin.made_up for origin in origins):
            units = memory.units(scope=scope)
        else:
            units = [unit for source in sources for unit in memory.units(scope=scope, where={DOCUMENT: source})]
        found = {unit.id: Origin.of_unit(unit) for unit in units}
        return cls({unit_id: origin for unit_id, origin in found.items() if origin is not None})

    def outdated(self, origins: Sequence[Origin]) -> list[str]:
        """Ids of the units that these nodes take the place of."""
        versions: dict[str, set[str]] = {}
        hashes: dict[str, set[str]] = {}
        for origin in origins:
            hashes.setdefault(origin.node_id, set()).add(origin.hash)
            if origin.source_hash:
                versions.setdefault(origin.source_id, set()).add(origin.source_hash)
        return [
            unit_id
            for unit_id, origin in self._origins.items()
            if (origin.source_hash and origin.source_hash not in versions.get(origin.source_id, {origin.source_hash}))
            or origin.hash not in hashes.get(origin.node_id, {origin.hash})
        ]


def _parts(nodes: Sequence[BaseNode], fresh: Sequence[int], units: dict[str, str | None]) -> list[Link]:
    links = []
    for place in fresh:
        parent = nodes[place].parent_node
        source = units.get(parent.node_id) if parent is not None else None
        target = units.get(nodes[place].node_id)
        if source is not None and target is not None and source != target:
            links.append(Link(source=source, target=target, relation=Relation.ELABORATES, reason="a part of that node"))
    return links
