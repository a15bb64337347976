from __future__ import annotations

import os
from pathlib import Path

import pytest

from prism_core import Event, Link, MemoryUnit, Outcome, PrismMemory, Relation, RelationLinker, WriteView
from prism_core.errors import CausalCycleError
from prism_core.ingest import read_traces
from prism_core.types import ACYCLIC_RELATIONS
from tests.core.encode.conftest import Relate, did, says, user

RUN = [
    user("Book HAT136 for Mia Smith, reservation SI5UKW."),
    did('get_user({"id": "mia_77"})', '{"card": "visa_4411", "cabin": "economy"}', tool_call_id="c"),
    says("Your card is visa_4411."),
    did('search({"flight": "HAT136"})', "Error: the service timed out for HAT136 and HAT999"),
    did('search({"flight": "HAT136"})', "HAT136 leaves at 09:15, HAT999 at 11:40"),
    did('book({"card": "visa_4411", "cabin": "economy", "flight": "HAT999", "who": "Smith"})', "done"),
]


def sources(links: list[Link], target: str, relation: Relation = Relation.REQUIRES) -> dict[str, str]:
    return {link.source: link.reason for link in links if link.target == target and link.relation is relation}


@pytest.mark.parametrize("at_once", [True, False])
def test_a_call_requires_who_observed_its_values(relate: Relate, at_once: bool) -> None:
    links = relate(RUN, at_once=at_once)
    assert sources(links, "u6") == {
        "u1": "uses Smith",
        "u2": "uses visa_4411, economy",
        "u5": "uses HAT999",
    }
    assert sources(links, "u3") == {"u2": "uses visa_4411"}
    assert sources(links, "u4") == {"u1": "uses HAT136"}
    assert {link.source for link in links if link.relation is Relation.REPEATS} == {"u4"}


def test_a_failed_step_is_a_premise_only_where_nothing_else_brought_the_value(relate: Relate) -> None:
    failed = did('search({"day": 4})', "Error: only HAT555 was left")
    links = relate([failed, did('hold({"flight": "HAT555"})', "held")])
    assert sources(links, "u2") == {"u1": "uses HAT555 (failed call)"}
    again = did('search({"day": 5})', "HAT555 is free")
    links = relate([failed, again, did('hold({"flight": "HAT555"})', "held")])
    assert sources(links, "u3") == {"u2": "uses HAT555"}


def test_of_a_repeated_call_the_latest_observation_counts(relate: Relate) -> None:
    look = [did('look( {"b": 2, "a": "x"} )', found) for found in ("seat 14C free", "seat 14C free", "no seat")]
    take = did('take({"seat": "14C!"})')
    links = relate([look[0], did('look({"a":"x","b":2})', "seat 14C is free"), did('take({"seat": "14C"})')])
    assert sources(links, "u2", Relation.REPEATS) == {"u1": "the same action and arguments"}
    assert sources(links, "u3") == {"u2": "uses 14C"}
    # The latest observation holds the value no longer: it was taken from the one before.
    assert list(sources(relate([*look[:1], look[2], did('take({"seat": "14C"})')]), "u3")) == ["u1"]
    assert sources(relate([*look, take]), "u4") == {}


def test_what_only_the_assistant_said_is_trusted_less(relate: Relate) -> None:
    events = [says("I suggest the offer HS-4471."), did('book({"offer": "HS-4471"})')]
    (link,) = relate(events)
    assert (link.source, link.reason) == ("u1", "uses HS-4471 (said by the assistant)")
    (observed,) = relate([user("Take HS-4471."), *events[1:]])
    assert link.confidence < observed.confidence
    # A value that was only passed on came from nowhere.
    assert relate([did('look({"offer": "HS-4471"})', "nothing"), *events[1:]]) == []


def test_the_first_or_the_nearest_source(relate: Relate) -> None:
    events = [user("My id is mia_77."), user("As I said, mia_77."), did('get({"id": "mia_77"})')]
    assert list(sources(relate(events), "u3")) == ["u1"]
    assert list(sources(relate(events, linker=RelationLinker(nearest=True)), "u3")) == ["u2"]


def test_a_value_that_many_hold_makes_no_link_but_is_named(relate: Relate) -> None:
    seen = [user(f"economy costs {100 + n} EUR") for n in range(4)]
    call = did('book({"cabin": "economy", "price": 102})')
    links = relate([*seen, call], linker=RelationLinker(common=3))
    assert sources(links, "u5") == {"u3": "uses 102, economy"}
    rare, spread = (relate([*seen[:n], call])[0].confidence for n in (1, 2))
    assert spread < rare


def test_at_most_so_many_sources_those_of_rare_values_first(relate: Relate) -> None:
    seen = [user("the code is R2D2"), user("the room is 1408"), user("the room is 1408, I said")]
    call = did('open({"room": 1408, "code": "R2D2"})')
    assert list(sources(relate([*seen, call]), "u4")) == ["u1", "u2"]
    assert list(sources(relate([*seen, call], linker=RelationLinker(max_sources=1)), "u4")) == ["u1"]


def test_a_value_from_another_session_is_no_source(relate: Relate) -> None:
    assert relate([user("mia_77", session_id="other"), did('get({"id": "mia_77"})')]) == []


def test_units_without_a_chain_share_rare_identifiers_only(relate: Relate) -> None:
    call = did('get({"id": "mia_77", "kind": "economy"})', session_id=None)
    held = [user(f"mia_77 flies economy, part {n}", session_id=None) for n in range(3)]
    assert list(sources(relate([held[0], call]), "u2")) == ["u1"]
    assert list(sources(relate([*held[:2], call]), "u3")) == ["u2"]
    assert relate([*held, call], linker=RelationLinker(common_alone=2)) == []


def test_an_explicit_parent_causes_its_step(relate: Relate) -> None:
    parent = did("plan()", "ok", step_id="1", task_id="t")
    (link,) = relate([parent, did("go()", step_id="2", task_id="t", parent="1", thought="As step 1 failed, go.")])
    assert (link.source, link.relation, link.reason) == ("u1", Relation.CAUSES, "named as its parent")


def runs() -> list[list[Event]]:
    folder = os.environ.get("PRISM_DATA")
    file = Path(folder) / "tau-airline-dev.jsonl" if folder else None
    real = [list(run.events) for run in read_traces(file)[:3]] if file and file.exists() else []
    return [RUN, *real]


@pytest.mark.parametrize("events", runs())
def test_the_same_links_however_a_run_is_written(relate: Relate, events: list[Event]) -> None:
    one_by_one = relate(events)
    at_once = relate(events, at_once=True)
    assert sorted(map(repr, one_by_one)) == sorted(map(repr, at_once))
    assert all(int(link.source[1:]) < int(link.target[1:]) for link in one_by_one)
    assert all(link.reason and 0 < link.confidence <= 1 for link in one_by_one)


class Backwards:
    """Links every new unit to the one before it, as its cause, and the right way round as well."""

    def links(self, unit: MemoryUnit, parent: str | None, view: WriteView) -> list[Link]:
        before = view.last_in_session("s")
        if before is None:
            return []
        ends = [(before, unit.id), (unit.id, before)]
        return [Link(source=source, target=target, relation=Relation.CAUSES) for source, target in ends]


class Silent:
    """Makes no links."""

    def links(self, unit: MemoryUnit, parent: str | None, view: WriteView) -> list[Link]:
        return []


@pytest.mark.parametrize("at_once", [True, False])
def test_a_linker_of_ones_own_may_be_silent_but_not_go_in_circles(relate: Relate, at_once: bool) -> None:
    assert relate(RUN, linker=Silent(), at_once=at_once) == []
    with pytest.raises(CausalCycleError):
        relate([user("one"), user("two")], linker=Backwards(), at_once=at_once)


def test_time_is_respected_in_all_acyclic_relations(tmp_path: Path) -> None:
    with PrismMemory.open(tmp_path, embedder=None) as memory:
        memory.write_many([*RUN, *RUN], scope="a")
        state = memory._reader.ready("a")  # type: ignore[arg-type]
        assert state.graph.is_acyclic()
        assert {link.relation for link in memory.links(scope="a")} >= ACYCLIC_RELATIONS - {Relation.CAUSES}
        failed = [unit for unit in memory.units(scope="a") if unit.outcome is Outcome.FAILURE]
        assert len(failed) == 2


def test_a_message_of_the_same_words_keeps_its_place_and_is_linked_to_the_first() -> None:
    memory = PrismMemory.open(embedder=None)
    ids = [
        str(memory.write(Event(observation="The pump leaks again", session_id=name), scope="a").unit_id)
        for name in ("one", "two", "three")
    ]
    links = [link for link in memory.links(scope="a") if link.relation is Relation.NEAR_DUPLICATE]
    assert [(link.source, link.target) for link in links] == [(ids[0], ids[1]), (ids[0], ids[2])]
    assert [unit.id for unit in memory.units(scope="a", session_id="two")] == [ids[1]]
    found = memory.search("Which pump leaks?", scope="a", budget=300)
    assert len(found.hits) == 1
