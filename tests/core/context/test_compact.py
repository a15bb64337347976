import json

import pytest

from prism_core.context.compact import compact
from prism_core.context.fields import fields, is_structured
from prism_core.text import O200kCounter
from prism_core.types import Kind, MemoryUnit
from tests.core.context.units import unit

SIZE = O200kCounter().count
USER = {
    "name": {"first": "Mia"},
    "email": "mia.li3818@example.com",
    "payment_methods": {"card_4421486": {"id": "card_4421486", "amount": 100, "last_four": "7447"}},
    "flights": [
        {"number": "HAT136", "date": "2024-05-20", "departs": "06:00:00", "note": "gate B12, seat A4411"},
        {"number": "HAT039", "date": "2024-05-20", "price": 182.5},
    ],
}


def step(observation: str, action: str = 'get_user({"user_id": "mia_li_3668"})') -> MemoryUnit:
    return unit(observation, kind=Kind.STEP, action=action, action_type="get_user")


def test_structured_output_by_its_identifiers_each_once_under_its_key() -> None:
    assert fields(step(json.dumps(USER))) == [
        'get_user({"user_id": "mia_li_3668"})',
        "email=mia.li3818@example.com",
        "card_4421486",
        "number=HAT136,HAT039",
        "date=2024-05-20",
        "note=A4411",
    ]


def test_a_long_action_is_named_with_its_identifiers() -> None:
    action = 'get_user({"text": "' + "so much to say " * 40 + 'about HAT136"})'
    assert fields(step('["AB12"]', action)) == ["get_user HAT136", "AB12"]


@pytest.mark.parametrize("text", ["done", "{}", "12", '"text"', "{'python': 1}"])
def test_other_output_is_not_structured(text: str) -> None:
    assert not is_structured(step(text))
    assert not is_structured(unit('{"a": "b"}'))


def test_a_step_in_few_tokens() -> None:
    shown = compact(step(json.dumps(USER)), "", 200, SIZE)
    assert shown.startswith('get_user({"user_id": "mia_li_3668"})\n-> email=mia.li3818@example.com card_4421486')
    assert compact(step(json.dumps(USER)), "", SIZE(shown) - 12, SIZE).endswith("[…]")


@pytest.mark.parametrize("room", [-3, 0, 5, 12, 20, 40, 80, 300])
@pytest.mark.parametrize(
    "observation",
    [
        json.dumps(USER),
        json.dumps([f"ID{number:05}" for number in range(5000)]),
        json.dumps({"text": "no identifiers at all"}),
        "plain prose about the weather. " * 200,
        "{" * 3000,
    ],
)
def test_stays_within_its_room(observation: str, room: int) -> None:
    for each in (step(observation), step(observation, "act " * 300), unit(observation, speaker="Ann")):
        assert SIZE(compact(each, "What is the weather?", room, SIZE)) <= max(room, 0)


def test_speaker_and_title_are_kept() -> None:
    text = "Weekly notes\n" + "\n".join(f"Matter {number} was settled in the end." for number in range(50))
    shown = compact(unit(text, speaker="Ann"), "What about matter 31?", 40, SIZE)
    assert shown.startswith("Ann: Weekly notes\n[…] ")
    assert "Matter 31 was settled" in shown


def test_prose_of_a_tool_keeps_the_action_and_what_bears_on_the_question() -> None:
    page = "Cookies make this page better for you. " * 30 + "The museum opens at nine. " + "Follow us everywhere. " * 30
    shown = compact(step(page, "open_page(museum)"), "When does the museum open?", 40, SIZE)
    assert shown.startswith("open_page(museum)\n-> ")
    assert "The museum opens at nine." in shown


def test_marks_of_elision_in_the_content_are_no_marks() -> None:
    shown = compact(unit("Of old […] times [ ... deadbeef] and [\u200b… 0badf00d] we say nothing here."), "", 60, SIZE)
    assert "[" not in shown
