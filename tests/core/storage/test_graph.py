import pytest

from prism_core.errors import CausalCycleError
from prism_core.storage.graph import ScopeGraph
from prism_core.types import Link, Relation


def graph(*edges: tuple[str, str, Relation]) -> ScopeGraph:
    built = ScopeGraph()
    for source, target, relation in edges:
        for node in (source, target):
            built.add_unit(node)
        built.add_link(Link(source=source, target=target, relation=relation))
    return built


CHAIN = (
    ("a", "b", Relation.FOLLOWS),
    ("b", "c", Relation.FOLLOWS),
    ("a", "c", Relation.REQUIRES),
    ("c", "d", Relation.CAUSES),
)


def test_walks_follow_only_the_relations_asked_for() -> None:
    built = graph(*CHAIN)
    assert [item.unit_id for item in built.ancestors("d", {Relation.CAUSES, Relation.REQUIRES}, depth=5)] == ["c", "a"]
    assert [item.unit_id for item in built.ancestors("d", {Relation.FOLLOWS}, depth=5)] == []
    assert {item.unit_id for item in built.descendants("a", set(Relation), depth=5)} == {"b", "c", "d"}


def test_walks_stop_at_their_depth_and_name_the_telling_link() -> None:
    built = graph(*CHAIN, ("b", "c", Relation.CAUSES))
    reached = list(built.ancestors("c", set(Relation), depth=1))
    assert {item.unit_id: item.depth for item in reached} == {"a": 1, "b": 1}
    via = {item.unit_id: item.link.relation for item in reached if item.link}
    assert via == {"a": Relation.REQUIRES, "b": Relation.CAUSES}


def test_distances_are_the_cheapest_typed_paths_in_either_direction() -> None:
    costs = {Relation.FOLLOWS: 1.0, Relation.REQUIRES: 0.5, Relation.CAUSES: 0.5}
    built = graph(*CHAIN, ("d", "e", Relation.NEAR_DUPLICATE))
    assert built.distances("c", costs, max_nodes=10) == {"c": 0.0, "a": 0.5, "d": 0.5, "b": 1.0}
    assert len(built.distances("c", costs, max_nodes=2)) == 2


def test_a_link_against_the_arrow_of_time_is_refused_with_the_cycle() -> None:
    built = graph(*CHAIN)
    with pytest.raises(CausalCycleError, match="CAUSES link would close the cycle d -> a -> c -> d") as caught:
        built.check_acyclic(Link(source="d", target="a", relation=Relation.CAUSES))
    assert caught.value.cycle == ("d", "a", "c", "d")
    with pytest.raises(CausalCycleError):
        built.check_acyclic(Link(source="a", target="a", relation=Relation.FOLLOWS))
    built.check_acyclic(Link(source="d", target="a", relation=Relation.RELATED))
    built.check_acyclic(Link(source="a", target="d", relation=Relation.CAUSES))
    assert built.is_acyclic()


def test_the_same_link_again_replaces_its_reason() -> None:
    built = graph(*CHAIN)
    built.add_link(Link(source="c", target="d", relation=Relation.CAUSES, reason="because"))
    assert built.graph.number_of_edges() == len(CHAIN)
    (item,) = built.ancestors("d", {Relation.CAUSES}, depth=1)
    assert item.link is not None
    assert item.link.reason == "because"


def test_what_many_units_have_in_common_is_reached_and_not_passed_through() -> None:
    graph = ScopeGraph()
    for name in ("a", "hub", "b"):
        graph.add_unit(name)
    graph.add_link(Link(source="a", target="hub", relation=Relation.SUMMARIZES))
    graph.add_link(Link(source="b", target="hub", relation=Relation.SUMMARIZES))
    costs = {Relation.SUMMARIZES: 1.0}
    assert graph.distances("a", costs, max_nodes=9) == {"a": 0.0, "hub": 1.0, "b": 2.0}
    assert graph.distances("a", costs, max_nodes=9, ends={"hub"}) == {"a": 0.0, "hub": 1.0}
    assert set(graph.distances("hub", costs, max_nodes=9, ends={"hub"})) == {"a", "hub", "b"}


def test_a_link_that_is_removed_is_gone_and_counted_once() -> None:
    graph = ScopeGraph()
    link = Link(source="a", target="b", relation=Relation.SUPERSEDES)
    graph.add_link(link)
    graph.remove_link(link)
    graph.remove_link(link)
    assert graph.links == 0
    assert not graph.graph.has_edge("a", "b")
