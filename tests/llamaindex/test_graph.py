from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import ChunkNode, EntityNode
from llama_index.core.graph_stores.types import Relation as GraphRelation

from prism_core import Event, Fact, Kind, Link, Outcome, PrismMemory, Relation, Source
from prism_core.errors import CausalCycleError, ScopeError
from prism_llamaindex import GraphCounts, export_graph, import_graph
from prism_llamaindex.errors import AmbiguousGraphError

ALICE = ("acme", "alice")
BOB = ("acme", "bob")
Story = list[tuple[str, str, str]]


@pytest.fixture
def memory(tmp_path: Path) -> PrismMemory:
    """A run with causes, a repetition, a flow of values, a fact and documents."""
    opened = PrismMemory.open(tmp_path / "memory", embedder=None)
    when = datetime(2026, 5, 20, 9, tzinfo=UTC)
    call: dict[str, Any] = {"kind": Kind.STEP, "task_id": "trip", "session_id": "s1", "source": Source.ASSISTANT}
    first = opened.write(
        Event(
            **call, action='search({"to": "LIS"})', action_type="search", observation="offer HP-1046", event_time=when
        ),
        scope=ALICE,
    )
    opened.write_many(
        [
            Event(
                **call,
                action='book({"offer": "HP-1046"})',
                action_type="book",
                parent=first.unit_id,
                outcome=Outcome.FAILURE,
            ),
            Event(**call, action='book({"offer": "HP-1046"})', action_type="book", tool_call_id="c1"),
            Event(source=Source.TOOL, session_id="s1", tool_call_id="c1", observation="booked as QX7-4411"),
            Event(
                kind=Kind.FACT, observation="Ann likes windows", fact=Fact(entity="Ann", attribute="likes", value="w")
            ),
            Event(kind=Kind.DOCUMENT, observation="The hotel opens at nine.", metadata={"page": [1, 2]}),
            Event(observation='She said "hello" – 你好', speaker="Ann", session_id="s1"),
        ],
        scope=ALICE,
    )
    ids = [unit.id for unit in opened.units(scope=ALICE)]
    opened.link(
        [Link(source=ids[0], target=ids[3], relation=Relation.RELATED, confidence=0.4, reason="a guess")], scope=ALICE
    )
    return opened


@pytest.fixture
def store(memory: PrismMemory) -> SimplePropertyGraphStore:
    filled = SimplePropertyGraphStore()
    export_graph(memory, ALICE, filled)
    return filled


def links(memory: PrismMemory, scope: tuple[str, ...]) -> set[tuple[str, str, str, float, str]]:
    """Links by the texts at their ends, so that ids do not matter."""
    text = {unit.id: unit.text for unit in memory.units(scope=scope)}
    return {
        (text[link.source], link.relation.value, text[link.target], link.confidence, link.reason)
        for link in memory.links(scope=scope)
    }


def said(memory: PrismMemory, scope: tuple[str, ...]) -> list[dict[str, object]]:
    kept = {"id", "scope", "recorded_at", "parent", "idempotency_key"}
    dumped = [unit.model_dump(exclude=kept) for unit in memory.units(scope=scope)]
    for fields in dumped:
        (fields["fact"] or {}).pop("statements", None)  # the memory it is in says when it was recorded
    return dumped


def test_units_are_nodes_and_links_are_relations(memory: PrismMemory, store: SimplePropertyGraphStore) -> None:
    units = memory.units(scope=ALICE)
    nodes = store.get()
    assert {node.id for node in nodes} == {unit.id for unit in units}
    node = next(node for node in nodes if node.id == units[0].id)
    assert isinstance(node, ChunkNode)
    assert (node.label, node.text) == ("step", units[0].text)
    assert node.properties["event_time"] == "2026-05-20T09:00:00Z"
    assert node.properties["task_id"] == "trip"
    [related] = store.get_triplets(relation_names=["RELATED"])
    assert related[1].properties == {"confidence": 0.4, "reason": "a guess"}
    assert {relation.label for relation in store.graph.get_all_relations()} >= {
        "CAUSES",
        "REQUIRES",
        "REPEATS",
        "FOLLOWS",
    }


@pytest.mark.parametrize("through_a_file", [False, True])
def test_there_and_back_again(
    memory: PrismMemory, store: SimplePropertyGraphStore, tmp_path: Path, through_a_file: bool
) -> None:
    if through_a_file:
        store.persist(str(tmp_path / "graph.json"))
        store = SimplePropertyGraphStore.from_persist_path(str(tmp_path / "graph.json"))
    with PrismMemory.open(tmp_path / "another", embedder=None) as another:
        counts = import_graph(store, another, BOB)
        assert said(another, BOB) == said(memory, ALICE)
        assert links(another, BOB) == links(memory, ALICE)
        assert counts == GraphCounts(6, len(memory.links(scope=ALICE)))
        assert not {unit.id for unit in another.units(scope=BOB)} & {unit.id for unit in memory.units(scope=ALICE)}
        parents = [unit.parent for unit in another.units(scope=BOB) if unit.parent]
        assert parents == [another.units(scope=BOB)[0].id]
        again = import_graph(store, another, BOB)
        assert again == GraphCounts(0, 0)
        assert said(another, BOB) == said(memory, ALICE)


def test_importing_into_the_scope_it_came_from_adds_nothing(
    memory: PrismMemory, store: SimplePropertyGraphStore
) -> None:
    before = memory.stats(ALICE)
    assert import_graph(store, memory, ALICE) == GraphCounts(0, 0)
    assert memory.stats(ALICE) == before


def test_what_was_erased_leaves_the_store_at_the_next_export(
    memory: PrismMemory, store: SimplePropertyGraphStore
) -> None:
    gone = memory.units(scope=ALICE)[1]
    memory.erase(scope=ALICE, unit_ids=[gone.id])
    counts = export_graph(memory, ALICE, store)
    assert {node.id for node in store.get()} == {unit.id for unit in memory.units(scope=ALICE)}
    assert counts.links == len(store.graph.get_all_relations()) == len(memory.links(scope=ALICE))
    assert gone.text not in store.graph.model_dump_json()


def test_scopes_in_one_store_are_never_mixed(
    memory: PrismMemory, store: SimplePropertyGraphStore, tmp_path: Path
) -> None:
    memory.write("Bob's secret.", scope=BOB)
    export_graph(memory, BOB, store)
    with PrismMemory.open(tmp_path / "another", embedder=None) as another:
        with pytest.raises(AmbiguousGraphError, match="source_scope"):
            import_graph(store, another, ("new",))
        assert import_graph(store, another, ("new",), source_scope=BOB) == GraphCounts(1, 0)
        assert [unit.text for unit in another.units(scope=("new",))] == ["Bob's secret."]
    export_graph(memory, BOB, store)
    assert len(store.get()) == 7


def test_nodes_of_others_are_left_alone(store: SimplePropertyGraphStore, tmp_path: Path) -> None:
    store.upsert_nodes([EntityNode(name="Ann"), ChunkNode(text="another text", id_="c9")])
    store.upsert_relations([GraphRelation(label="RELATED", source_id="Ann", target_id="c9")])
    with PrismMemory.open(tmp_path / "another", embedder=None) as another:
        assert import_graph(store, another, BOB).units == 6
        assert export_graph(another, BOB, store).units == 6
    assert store.get(ids=["c9", "Ann"])


def test_a_cycle_is_refused_and_none_of_the_links_is_stored(
    memory: PrismMemory, store: SimplePropertyGraphStore, tmp_path: Path
) -> None:
    first, second = (unit.id for unit in memory.units(scope=ALICE)[:2])
    store.upsert_relations([GraphRelation(label="CAUSES", source_id=second, target_id=first)])
    with PrismMemory.open(tmp_path / "another", embedder=None) as another:
        with pytest.raises(CausalCycleError):
            import_graph(store, another, BOB)
        assert "RELATED" not in {link.relation.value for link in another.links(scope=BOB)}
    with pytest.raises(ScopeError):
        export_graph(memory, (), store)
    assert Outcome.FAILURE in {unit.outcome for unit in memory.units(scope=ALICE)}
