from __future__ import annotations

from collections.abc import Iterator

import pytest

from prism_core import ChainStep, Event, Link, PrismMemory, Relation
from prism_core.testing import CountingIds, ScriptedClock
from tests.core.encode.conftest import did, says, user

PLAN = says("I plan: first find a flight, then a hotel near the harbour, then pay with the card on file, " * 3)
RUN = [
    user("Book HAT136, then pay it with visa_4411."),
    PLAN,
    did('find({"flight": "HAT136"})', "offer HS-4471"),
    says("Nice."),
    did('pay({"offer": "HS-4471", "card": "visa_4411"})', "Error: declined"),
    says("It did not work."),
]


@pytest.fixture
def memory() -> Iterator[PrismMemory]:
    with PrismMemory.open(embedder=None, clock=ScriptedClock(), new_id=CountingIds()) as opened:
        yield opened


def written(memory: PrismMemory, events: list[Event]) -> list[str]:
    return [str(receipt.unit_id) for receipt in memory.write_many(events, scope="a")]


def suspicion(memory: PrismMemory, events: list[Event]) -> list[float]:
    """Of each event, against the failure path of the last one."""
    ids = written(memory, events)
    found = {step.unit.id: step.suspicion for step in memory.failure_path(ids[-1], scope="a")}
    return [found[unit_id] for unit_id in ids]


def test_a_failure_path_is_in_order_of_time_and_its_suspects_are_not(memory: PrismMemory) -> None:
    ids = written(memory, RUN)
    path = memory.failure_path(ids[-1], scope="a")
    assert [unit.id for unit in path.units] == ids
    assert not path.truncated
    by_suspicion = [step.suspicion for step in path.suspects]
    assert by_suspicion == sorted(by_suspicion, reverse=True)
    assert all(0 <= value <= 1 for value in by_suspicion)
    assert {step.unit.id for step in path.suspects[:2]} == {ids[1], ids[4]}
    assert f"suspicion {path.suspects[0].suspicion:.2f}"[:-1] in path.render()


def test_a_limit_keeps_the_failure_and_the_most_suspicious(memory: PrismMemory) -> None:
    ids = written(memory, RUN)
    path = memory.failure_path(ids[-1], scope="a", limit=3)
    assert [unit.id for unit in path.units] == [ids[1], ids[4], ids[5]]
    assert path.truncated


def test_a_long_run_is_looked_at_to_its_beginning(memory: PrismMemory) -> None:
    ids = written(memory, [PLAN, *(says(f"step {n}") for n in range(60))])
    path = memory.failure_path(ids[-1], scope="a")
    assert path.suspects[0].unit.id == ids[0]
    assert len(path) == 50
    assert path.truncated
    assert max(len(line) - len(line.lstrip()) for line in path.render().splitlines()) == 16


def test_only_failure_paths_have_suspicions(memory: PrismMemory) -> None:
    ids = written(memory, RUN)
    for chain in (memory.why(ids[4], scope="a"), memory.impact(ids[0], scope="a")):
        assert len(chain) > 1
        assert {step.suspicion for step in chain} == {0.0}
        assert "suspicion" not in chain.render()
    assert ChainStep(memory.get(ids[0], scope="a"), 0, None).suspicion == 0.0


@pytest.mark.parametrize(
    ("less", "more"),
    [
        (says("I go on to the next."), says("I go on to the next, which is the one in the old harbour of Lyon.")),
        (user("I take the Sirius hotel."), says("I take the Sirius hotel.")),
        (says("It is at 09:15 there."), says("It is at 10:45 there.")),
    ],
    ids=["substance", "told", "takes"],
)
def test_what_raises_suspicion(memory: PrismMemory, less: Event, more: Event) -> None:
    first = [did("look()", "HAT136 leaves at 10:45"), did("wait()", "so it was")]
    last = did("end()", "that is all there is to say about it, " * 5)
    scores = suspicion(memory, [*first, less, more, last])
    assert scores[3] > scores[2]


def test_what_failed_is_suspicious(memory: PrismMemory) -> None:
    steps = [did("book(A)", "it went well"), says("hm"), did("book(B)", "Error: no room"), says("hm, hm, hm, hm, hm")]
    scores = suspicion(memory, steps)
    assert scores[2] > scores[0]


def test_the_step_before_a_failure_and_what_others_use_are_suspicious(memory: PrismMemory) -> None:
    said = [says(f"I found the code R{n}D{n}.") for n in range(3)]
    used = did('open({"code": "R0D0"})', "it is open now")
    scores = suspicion(memory, [*said, used, says("Error: the door is locked"), says("The end of it, at last, it is.")])
    assert scores[0] > scores[1]
    assert scores[1] == scores[2]
    assert scores[3] > scores[2]


def test_a_repetition_is_less_suspicious_than_the_first_time(memory: PrismMemory) -> None:
    again = did("scroll()", "nothing new")
    scores = suspicion(memory, [again, says("hm, hm, hm"), again, says("The end of it, at last, it is.")])
    assert scores[2] < scores[0]


def test_what_was_corrected_is_suspicious(memory: PrismMemory) -> None:
    ids = written(memory, [says("The sum is high."), says("The sum is low."), says("So the sum is settled now.")])
    before = {step.unit.id: step.suspicion for step in memory.failure_path(ids[2], scope="a")}
    memory.link([Link(source=ids[0], target=ids[2], relation=Relation.CONTRADICTS)], scope="a")
    after = {step.unit.id: step.suspicion for step in memory.failure_path(ids[2], scope="a")}
    assert after[ids[0]] > before[ids[0]]
    assert after[ids[1]] == before[ids[1]]


def test_a_failure_that_rests_on_nothing_is_alone(memory: PrismMemory) -> None:
    (only,) = written(memory, [did("go()", "Error: no road", session_id=None)])
    path = memory.failure_path(scope="a")
    assert [step.unit.id for step in path] == [only]
    assert path.suspects == path.steps
