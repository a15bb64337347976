from __future__ import annotations

import pytest

from prism_core import Event, Relation, RelationLinker
from tests.core.encode.conftest import Relate, did, says, user

BEFORE = [
    user("The customer is Acme Labs, in the Old Harbour."),
    did('search_hotels({"city": "Lyon"})', "Sirius", task_id="t", step_id="4"),
    did('charge({"sum": 95})', "Error: declined", task_id="t", step_id="5"),
    user("Please do not give up, order HS-4471."),
]
IN_TASK = [event.model_copy(update={"task_id": "t"}) for event in BEFORE]


def causes(relate: Relate, event: Event, before: list[Event] = IN_TASK) -> list[tuple[str, str]]:
    links = relate([*before, event.model_copy(update={"task_id": before[0].task_id})])
    target = f"u{len(before) + 1}"
    return [(link.source, link.reason) for link in links if link.relation is Relation.CAUSES and link.target == target]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("I use another card because charge was declined.", "u3"),
        ("I use another card because the payment failed.", "u3"),
        ("Since the payment failed, I use another card.", "u3"),
        ("I go on because of step 4.", "u2"),
        ("We take the Sirius due to search_hotels, as told.", "u2"),
        ("The last step returned an error. Therefore I try again.", "u3"),
        ("It was declined and, as a result, I stop.", "u3"),
        ("I send it to Lyon because Acme Labs asked for it.", "u1"),
        ("It is late because HS-4471 was lost.", "u4"),
        ("我换一张卡，因为付款失败。", "u3"),
        ("由于第4步的结果，我选这家酒店。", "u2"),
        ("付款失败了，所以我换一张卡。", "u3"),
        ("付款报错。因此我再试一次。", "u3"),
    ],
)
def test_a_cause_that_is_named_is_linked(relate: Relate, text: str, source: str) -> None:
    for event in (says(text), did("go()", thought=text)):
        found = causes(relate, event)
        assert [unit for unit, _ in found] == [source]
        assert found[0][1].startswith('says "')


@pytest.mark.parametrize(
    "text",
    [
        "I use another card because I like it.",
        "I have been here since Monday.",
        "Since you ask: search_hotels found one.",
        "I stop because of step 9.",
        "It failed. I try again.",
        "I book because searching is tedious.",
        "I ask because Globex wants to know.",
        "因为天气好，我去公园。",
    ],
)
def test_a_cue_without_a_target_makes_no_link(relate: Relate, text: str) -> None:
    assert causes(relate, says(text)) == []


def test_without_a_failure_before_nothing_is_blamed(relate: Relate) -> None:
    assert causes(relate, says("I stop because it failed."), IN_TASK[:2]) == []


def test_what_tools_return_states_no_causes_of_ours(relate: Relate) -> None:
    assert causes(relate, did("read()", "The bank collapsed because charge failed.")) == []


def test_outside_of_task_and_session_no_cause_is_looked_for(relate: Relate) -> None:
    alone = [event.model_copy(update={"task_id": None, "session_id": None}) for event in BEFORE]
    last = says("I stop because charge was declined.", session_id=None)
    assert causes(relate, last, alone) == []


def test_an_entity_that_many_name_is_no_cause(relate: Relate) -> None:
    many = [user(f"Acme Labs wrote again, letter {n}.") for n in range(4)]
    assert causes(relate, says("I answer because Acme Labs wrote."), many) == []
    assert causes(relate, says("I answer because Acme Labs wrote."), many[:2]) != []


def test_cues_can_be_switched_off(relate: Relate) -> None:
    events = [*BEFORE, says("I use another card because charge was declined.")]
    assert relate(events, linker=RelationLinker(cues=False)) == []
