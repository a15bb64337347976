from collections.abc import Iterator
from datetime import timedelta

import pytest

from prism_core.evaluation.baselines import Baseline, Shelf, recency
from prism_core.evaluation.datasets import Item
from prism_core.evaluation.systems import (
    START,
    Ask,
    PrismSystem,
    StoppingPrismSystem,
    System,
    TickingClock,
    after,
    contexts,
)
from prism_core.evaluation.workbench import workbench
from prism_core.types import Event, Kind, Source


def message(key: str, text: str) -> Item:
    event = Event(observation=text, speaker="user", session_id="s", task_id="t", idempotency_key=key)
    return Item(key, (event,), event)


def step(key: str, action: str, reply: str) -> Item:
    shared = {"kind": Kind.STEP, "session_id": "s", "task_id": "t", "tool_call_id": "c1"}
    call = Event.parse({**shared, "action": action, "source": Source.ASSISTANT, "idempotency_key": f"{key}.call"})
    answer = Event.parse({**shared, "observation": reply, "source": Source.TOOL, "idempotency_key": f"{key}.reply"})
    return Item(key, (call, answer), call.model_copy(update={"observation": reply}))


def found(system: System, ask: Ask) -> list[str]:
    return [key for unit in system.search(ask).units for key in system.keys(unit.id)]


@pytest.fixture(params=[False, True], ids=["with embeddings", "lexical"])
def prism(request: pytest.FixtureRequest) -> Iterator[PrismSystem]:
    system = PrismSystem(workbench().opener(lexical=request.param), START)
    yield system
    system.close()


def test_returned_units_are_named_by_the_items_they_were_made_from(prism: PrismSystem) -> None:
    prism.add([message("a", "I adopted a cat named Tom."), step("b", 'book({"to": "SEA"})', "booked ZFA04Y")])
    prism.add([message("c", "The weather is fine today.")])
    assert found(prism, Ask("What is the name of the cat?"))[0] == "a"
    assert set(found(prism, Ask("reservation ZFA04Y"))) == {"a", "b", "c"}


def test_a_call_and_its_reply_come_back_as_one_unit(prism: PrismSystem) -> None:
    prism.add([step("b", 'book({"to": "SEA"})', "booked ZFA04Y")])
    (unit,) = prism.search(Ask("ZFA04Y")).units
    assert (unit.action, unit.observation) == ('book({"to": "SEA"})', "booked ZFA04Y")
    assert prism.keys("never stored") == ()


def test_an_item_that_is_rejected_is_never_found(prism: PrismSystem) -> None:
    prism.add([message("a", ""), message("b", "tea")])
    assert found(prism, Ask("tea", active=("a", "b", "unknown"))) == ["b"]


@pytest.mark.parametrize("kind", ["prism", "baseline"])
def test_a_fork_goes_on_by_itself(kind: str) -> None:
    bench = workbench()
    base: System
    base = PrismSystem(bench.opener(lexical=True), START) if kind == "prism" else Baseline(Shelf(), recency)
    base.add([message("a", "green tea")])
    fork = base.fork()
    fork.add([message("b", "black tea")])
    base.add([message("c", "white tea")])
    assert sorted(found(fork, Ask("tea"))) == ["a", "b"]
    assert sorted(found(base, Ask("tea"))) == ["a", "c"]
    fork.close()
    base.close()


def test_the_stopping_system_leaves_the_choice_to_the_memory() -> None:
    system = StoppingPrismSystem(workbench().opener(), START)
    system.add([message("a", "I adopted a cat named Tom."), message("b", "The weather is fine today.")])
    ask = Ask("What is the name of the cat?", budgets=(1, 500))
    ranking = system.search(ask)
    packed = contexts(ranking, ask, workbench().builder)
    assert packed[1].text == ""
    assert "Tom" in packed[500].text
    assert system.keys(ranking.units[0].id) == ("a",)
    system.close()


def test_contexts_are_packed_in_the_order_of_the_ranking(prism: PrismSystem) -> None:
    prism.add([message(str(number), f"cup {number} of tea") for number in range(30)])
    ask = Ask("tea", budgets=(60, 4000))
    ranking = prism.search(ask)
    packed = contexts(ranking, ask, workbench().builder)
    assert packed[60].units == tuple(ranking.units[: len(packed[60].units)])
    assert 0 < packed[60].tokens <= 60
    assert len(packed[4000].units) == 30


def test_questions_are_asked_after_everything_happened() -> None:
    later = START + timedelta(days=400)
    dated = Event(observation="x", event_time=later)
    assert after([Item("a", (dated,), dated), message("b", "y")]) > later
    assert after([]) > START


def test_the_clock_ticks() -> None:
    clock = TickingClock(START)
    assert [clock(), clock()] == [START, START + timedelta(seconds=1)]
