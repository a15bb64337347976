"""A scope's units and links in a LlamaIndex property graph, and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.graph_stores.types import ChunkNode, PropertyGraphStore
from llama_index.core.graph_stores.types import Relation as GraphRelation
from pydantic import ValidationError

from prism_core import Event, Kind, Link, MemoryUnit, PrismMemory, ReceiptStatus, Relation
from prism_core.errors import InvalidEventError
from prism_llamaindex.errors import AmbiguousGraphError

UNIT, SCOPE = "prism_unit", "prism_scope"
_SHOWN = ("event_time", "speaker", "session_id", "task_id", "source", "status", "outcome", "action_type")
_ADDED = frozenset({ReceiptStatus.STORED, ReceiptStatus.DEGRADED, ReceiptStatus.SUPERSEDED})
_MERGED = frozenset({Kind.DOCUMENT, Kind.FACT})
"""Kinds that the memory tells by their text."""


@dataclass(frozen=True, slots=True)
class GraphCounts:
    """How much went over.

    Attributes:
        units: units exported, or newly stored.
        links: links exported, or newly stored.
    """

    units: int
    links: int


def export_graph(memory: PrismMemory, scope: str | tuple[str, ...], store: PropertyGraphStore) -> GraphCounts:
    """Write a scope to a property graph; what it holds of the scope from an earlier export is brought up to date.

    A unit becomes a `ChunkNode` labelled with its kind, a link a relation labelled with its own, with `confidence` and
    `reason`. The whole unit is kept as JSON in `prism_unit`, and the usual fields beside it to query by.

    Args:
        memory: an open memory.
        scope: which scope.
        store: any property graph store.

    Returns:
        How many units and links the scope has.
    """
    units, links = memory.units(scope=scope), memory.links(scope=scope)
    name = _name(scope)
    current = {unit.id for unit in units}
    erased = [node.id for node in store.get(properties={SCOPE: name}) if node.id not in current]
    if erased:
        # First of all: a store may take the neighbours of a deleted node along.
        store.delete(ids=erased)
    store.upsert_nodes([_node(unit, name) for unit in units])
    store.upsert_relations([_relation(link) for link in links])
    return GraphCounts(len(units), len(links))


def import_graph(
    store: PropertyGraphStore,
    memory: PrismMemory,
    scope: str | tuple[str, ...],
    *,
    source_scope: str | tuple[str, ...] | None = None,
) -> GraphCounts:
    """Store an exported scope; importing it again adds nothing.

    Units get new ids unless the scope has them already; texts, times, sessions and all else a caller can give survive.
    Facts that other units state are not taken over: the memory finds them in those again.
    Nodes that were not exported from a memory are left alone.

    Args:
        store: a store that `export_graph` wrote to.
        memory: an open memory.
        scope: whose memories they become.
        source_scope: the scope that was exported; may be left out where the store holds one only.

    Returns:
        How many units and links are new; those that the memory derives itself are among the links.

    Raises:
        AmbiguousGraphError: if the store holds several scopes and none is named.
        InvalidEventError: if an exported unit cannot be read any more; nothing is stored.
        CausalCycleError: if the links run against each other; the units are stored, none of the links is.
    """
    exported = _units(store, source_scope)
    before = len(memory.links(scope=scope))
    ids, added = _stored(exported, memory, scope)
    links = [
        link.model_copy(update={"source": ids[link.source], "target": ids[link.target]})
        for link in _links(store)
        if link.source in ids and link.target in ids
    ]
    memory.link([link for link in links if link.source != link.target], scope=scope)
    return GraphCounts(added, len(memory.links(scope=scope)) - before)


def _node(unit: MemoryUnit, scope: str) -> ChunkNode:
    fields = unit.model_dump(mode="json")
    shown = {name: fields[name] for name in _SHOWN if fields[name] is not None}
    properties = {**shown, SCOPE: scope, UNIT: unit.model_dump_json()}
    return ChunkNode(text=unit.text, id_=unit.id, label=unit.kind.value, properties=properties)


def _relation(link: Link) -> GraphRelation:
    return GraphRelation(
        label=link.relation.value,
        source_id=link.source,
        target_id=link.target,
        properties={"confidence": link.confidence, "reason": link.reason},
    )


def _units(store: PropertyGraphStore, scope: str | tuple[str, ...] | None) -> list[MemoryUnit]:
    """The exported units of a scope, in the order they were recorded."""
    nodes = store.get() if scope is None else store.get(properties={SCOPE: _name(scope)})
    ours = [node.properties for node in nodes if UNIT in node.properties]
    scopes = {str(properties.get(SCOPE)) for properties in ours}
    if len(scopes) > 1:
        raise AmbiguousGraphError(sorted(scopes))
    units = [unit for unit in (_unit(properties[UNIT]) for properties in ours) if not _is_derived(unit)]
    return sorted(units, key=lambda unit: unit.recorded_at)


def _is_derived(unit: MemoryUnit) -> bool:
    """Whether a unit is a fact that other units state: the memory finds it in those again."""
    return unit.fact is not None and any(said.unit_id for said in unit.fact.statements)


def _unit(exported: object) -> MemoryUnit:
    try:
        return MemoryUnit.model_validate_json(str(exported))
    except ValidationError as error:
        problem = f"it is no exported unit ({error.error_count()} problems); export the scope again"
        raise InvalidEventError(UNIT, str(exported)[:80], problem) from None


def _stored(exported: Sequence[MemoryUnit], memory: PrismMemory, scope: object) -> tuple[dict[str, str], int]:
    """Store units; answers the id that each has now, and how many are new."""
    ids = {unit.id: unit.id for unit in memory.units(scope=scope)}
    ids = {unit.id: unit.id for unit in exported if unit.id in ids}
    added = 0
    for batch in _batches([unit for unit in exported if unit.id not in ids]):
        receipts = memory.write_many([_event(unit, ids) for unit in batch], scope=scope)
        for unit, receipt in zip(batch, receipts, strict=True):
            added += receipt.status in _ADDED
            if receipt.unit_id is not None:
                ids[unit.id] = receipt.unit_id
    return ids, added


def _batches(units: Sequence[MemoryUnit]) -> Iterator[list[MemoryUnit]]:
    """Units to store together: a parent has to be stored, and so have its new id, before it is named."""
    batch: dict[str, MemoryUnit] = {}
    for unit in units:
        if unit.parent in batch:
            yield list(batch.values())
            batch = {}
        batch[unit.id] = unit
    if batch:
        yield list(batch.values())


def _event(unit: MemoryUnit, ids: dict[str, str]) -> Event:
    fields: dict[str, Any] = {name: getattr(unit, name) for name in Event.model_fields}
    if unit.parent is not None:
        fields["parent"] = ids.get(unit.parent, unit.parent)
    if unit.idempotency_key is None and unit.kind not in _MERGED:
        fields["idempotency_key"] = f"graph:{_name(unit.scope)}:{unit.id}"
    return Event.parse(fields)


def _links(store: PropertyGraphStore) -> list[Link]:
    found = store.get_triplets(relation_names=[relation.value for relation in Relation])
    return [
        Link(
            source=relation.source_id,
            target=relation.target_id,
            relation=Relation(relation.label),
            confidence=relation.properties.get("confidence", 1.0),
            reason=relation.properties.get("reason", ""),
        )
        for _, relation, _ in found
    ]


def _name(scope: str | tuple[str, ...]) -> str:
    return json.dumps([scope] if isinstance(scope, str) else list(scope), ensure_ascii=False)
