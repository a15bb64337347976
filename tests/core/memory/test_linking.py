from __future__ import annotations

import threading
from pathlib import Path

import pytest

from prism_core import Event, Link, PrismMemory, Relation
from prism_core.errors import CausalCycleError, ClosedError, InvalidLinkError, ScopeError, UnknownUnitError

ALICE = ("acme", "alice")
BOB = ("acme", "bob")


@pytest.fixture
def ids(memory: PrismMemory) -> list[str]:
    memory.write_many([Event(observation=text, session_id=text) for text in ("a", "b", "c")], scope=ALICE)
    return [unit.id for unit in memory.units(scope=ALICE)]


def link(source: str, target: str, relation: Relation = Relation.CAUSES, **fields: object) -> Link:
    return Link.model_validate({"source": source, "target": target, "relation": relation, **fields})


def test_links_are_stored_once_read_back_and_explain(memory: PrismMemory, ids: list[str], tmp_path: Path) -> None:
    made = [link(ids[0], ids[1], confidence=0.5, reason="said so"), link(ids[1], ids[2], Relation.RELATED)]
    assert memory.link(made, scope=ALICE) == 2
    assert memory.links(scope=ALICE) == made
    assert [step.unit.id for step in memory.why(ids[1], scope=ALICE)] == ids[:2]
    position = memory.stats(ALICE).position
    assert memory.link(made, scope=ALICE) == 0
    assert memory.stats(ALICE).position == position
    changed = made[0].model_copy(update={"confidence": 0.9})
    assert memory.link([changed, made[1]], scope=ALICE) == 1
    memory.close()
    with PrismMemory.open(tmp_path / "memory") as again:
        assert again.links(scope=ALICE) == [changed, made[1]]
        assert all(finding.ok for finding in again.doctor())


def test_links_made_on_writing_are_among_them(memory: PrismMemory) -> None:
    memory.write_many([Event(observation=text, session_id="s") for text in ("a", "b")], scope=ALICE)
    assert [each.relation for each in memory.links(scope=ALICE)] == [Relation.FOLLOWS]
    assert memory.links(scope=BOB) == []


def test_what_cannot_be_stored_is_refused_and_nothing_is(memory: PrismMemory, ids: list[str]) -> None:
    memory.write("d", scope=BOB)
    [of_bob] = (unit.id for unit in memory.units(scope=BOB))
    good = link(ids[0], ids[1])
    for bad, error in (
        (link(ids[0], "nobody"), UnknownUnitError),
        (link(of_bob, ids[0]), UnknownUnitError),
        (link(ids[1], ids[0]), CausalCycleError),
        (link(ids[1], ids[1]), CausalCycleError),
        (link(ids[1], ids[1], Relation.RELATED), InvalidLinkError),
        ("a -> b", InvalidLinkError),
    ):
        with pytest.raises(error):
            memory.link([good, bad], scope=ALICE)  # type: ignore[list-item]
    assert memory.links(scope=ALICE) == []
    with pytest.raises(ScopeError):
        memory.link([], scope=())


def test_a_cycle_among_the_given_ones_is_found_across_relations(memory: PrismMemory, ids: list[str]) -> None:
    around = [link(ids[0], ids[1]), link(ids[1], ids[2], Relation.REQUIRES), link(ids[2], ids[0], Relation.FOLLOWS)]
    with pytest.raises(CausalCycleError, match="FOLLOWS"):
        memory.link(around, scope=ALICE)
    assert memory.link([*around[:2], link(ids[2], ids[0], Relation.RELATED)], scope=ALICE) == 3


def test_two_memories_of_one_store_link_at_the_same_time(memory: PrismMemory, ids: list[str], tmp_path: Path) -> None:
    with PrismMemory.open(tmp_path / "memory") as other:
        relations = [Relation.RELATED, Relation.ELABORATES, Relation.CONTRADICTS, Relation.CAUSES]

        def add(to: PrismMemory, some: list[Relation]) -> None:
            for relation in some:
                to.link([link(ids[0], ids[1], relation)], scope=ALICE)

        threads = [
            threading.Thread(target=add, args=(to, some))
            for to, some in ((memory, relations[:2]), (other, relations[2:]))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {each.relation for each in memory.links(scope=ALICE)} == set(relations)
        assert {each.relation for each in other.links(scope=ALICE)} == set(relations)


def test_a_closed_memory_says_so(memory: PrismMemory) -> None:
    memory.close()
    with pytest.raises(ClosedError):
        memory.links(scope=ALICE)
