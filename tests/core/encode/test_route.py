import pytest

from prism_core.encode.route import MemoryRouter, is_small_talk
from prism_core.types import Claim, Event, Kind, Layer, Outcome, Source

ROUTER = MemoryRouter()


def test_scores_follow_what_was_said_and_how_it_ended() -> None:
    said = Event(observation="Please remember that my budget is 800 euros, never more")
    step = Event(kind=Kind.STEP, action="run()", observation="Error: x", outcome=Outcome.FAILURE, source=Source.TOOL)
    assert ROUTER.score(said, ("constraint",)) == 5
    assert ROUTER.score(Event(observation="ok"), ()) == 1
    assert ROUTER.score(Event(observation="The train was late again"), ()) == 2
    assert ROUTER.score(step, ()) == 4
    assert ROUTER.score(Event(observation="x"), (), [Claim("user", "home", "Oslo")]) == 4


def test_thresholds_choose_the_layer() -> None:
    assert ROUTER.route(Event(observation="thanks!"), ()).layer is Layer.WORKING
    assert ROUTER.route(Event(observation="The train was late again"), ()).layer is Layer.EPISODIC
    assert ROUTER.route(Event(observation="Remember: I prefer trains"), ("preference",)).layer is Layer.SEMANTIC
    assert MemoryRouter(episodic_from=3).route(Event(observation="The train was late"), ()).layer is Layer.WORKING
    assert MemoryRouter(semantic_from=6).route(Event(observation="Remember: trains"), ()).layer is Layer.EPISODIC
    failed = Event(kind=Kind.STEP, action="run()", outcome=Outcome.FAILURE)
    assert ROUTER.route(failed, ()).layer is Layer.EPISODIC


def test_importance_is_the_score_on_a_scale_of_one() -> None:
    assert [ROUTER.routed(Event(observation="x"), score).importance for score in (1, 2, 3, 4, 5)] == [
        0,
        0.25,
        0.5,
        0.75,
        1,
    ]
    assert ROUTER.route(Event(observation="thanks", importance=1.0), ()).layer is Layer.SEMANTIC


@pytest.mark.parametrize("text", ["ok", "Thanks a lot!", "Ok, great.", "👍", "好的，谢谢！", "你好", "Good morning"])
def test_small_talk(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize("text", ["room 12", "yes, the blue one", "no nuts please", "Oslo", "花生"])
def test_answers_are_no_small_talk(text: str) -> None:
    assert not is_small_talk(text)
