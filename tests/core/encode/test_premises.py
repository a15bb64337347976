"""Why something was decided: wishes and limits, the proposal, the decision (row C6 of the articles)."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from prism_core import EncodingOptions, Event, PrismMemory, Relation, Source, StructuredLLM
from prism_core.testing import ScriptedLLM

SCOPE = ("agency", "eva")
TALK = (
    ("user", "Hello! It rains here without end."),
    ("user", "I love the sea and modern architecture."),
    ("user", "My budget is 2000 euros for the week."),
    ("user", "The weather is awful here today."),
    ("assistant", "I suggest Barcelona: beaches, Gaudí's buildings, and a week fits 2000 euros."),
    ("user", "Great, let's go with Barcelona!"),
    ("user", "By the way, my sister Ines has a new dog."),
)
CHAIN = [TALK[place][1] for place in (1, 2, 4, 5)]


def told(memory: PrismMemory, talk: Sequence[tuple[str, str]], *, at_once: bool = False) -> list[str]:
    events = [Event(observation=text, source=Source(source), session_id="may") for source, text in talk]
    batches = [events] if at_once else [[event] for event in events]
    return [str(receipt.unit_id) for batch in batches for receipt in memory.write_many(batch, scope=SCOPE)]


@pytest.mark.parametrize("at_once", [False, True])
def test_c6_the_chain_behind_a_decision_is_told_and_nothing_else(at_once: bool) -> None:
    memory = PrismMemory.open(embedder=None)
    ids = told(memory, TALK, at_once=at_once)
    chain = memory.why(ids[5], scope=SCOPE)
    assert [unit.text for unit in chain.units] == CHAIN
    assert {step.link.relation for step in chain if step.link is not None} == {Relation.REQUIRES}
    best = memory.search("Why did we choose Barcelona?", scope=SCOPE, k=2).units
    assert ids[5] in [unit.id for unit in best]


def test_c6_the_same_chain_with_a_language_model() -> None:
    def answer(prompt: str) -> str:
        event = prompt.rsplit("<event-", 1)[-1]
        shown = [line for line in prompt.splitlines() if line[:2] in ("1.", "2.", "3.", "4.", "5.")]

        def number(words: str) -> int | None:
            return next((int(line[0]) for line in shown if words in line), None)

        relations: list[dict[str, object]] = []
        if "I suggest" in event:
            wishes = [number("I love the sea"), number("My budget")]
            relations = [{"candidate": each, "relation": "premise", "reason": "takes it up"} for each in wishes if each]
        elif "let's go with" in event:
            relations = [{"candidate": number("I suggest"), "relation": "premise", "reason": "decides on it"}]
        return json.dumps({"intents": ["plan"], "importance": 3, "relations": relations})

    llm = ScriptedLLM(answer)
    memory = PrismMemory.open(encoding=EncodingOptions(llm=StructuredLLM(llm)))
    ids = told(memory, TALK)
    chain = memory.why(ids[5], scope=SCOPE)
    assert [unit.text for unit in chain.units] == CHAIN
    assert {step.link.reason for step in chain if step.link} >= {"decides on it"}
    assert len(llm.prompts) == len(TALK)


def test_an_agreement_rests_on_the_proposal_before_it() -> None:
    memory = PrismMemory.open(embedder=None)
    ids = told(memory, [("assistant", "How about the 12:03 train?"), ("user", "Yes, please go ahead.")])
    assert [unit.id for unit in memory.why(ids[1], scope=SCOPE).units] == ids


def test_a_decision_rests_on_the_proposal_that_names_it_not_on_the_latest() -> None:
    memory = PrismMemory.open(embedder=None)
    talk = [
        ("assistant", "I suggest the Villa Rosa, it has a garden."),
        ("assistant", "Alternatively, how about the Hotel Stern?"),
        ("user", "We decided on the Villa Rosa."),
    ]
    ids = told(memory, talk)
    assert [unit.id for unit in memory.why(ids[2], scope=SCOPE).units] == [ids[0], ids[2]]


def test_wishes_before_an_earlier_proposal_count_only_where_they_are_mentioned() -> None:
    memory = PrismMemory.open(embedder=None)
    talk = [
        ("user", "I love hiking"),
        ("user", "I'm allergic to nuts"),
        ("assistant", "I suggest the Alps."),
        ("user", "I prefer aisle seats"),
        ("assistant", "I recommend seats in row 12; the meal has no nuts."),
    ]
    ids = told(memory, talk)
    assert [unit.id for unit in memory.why(ids[4], scope=SCOPE).units] == [ids[1], ids[3], ids[4]]


def test_other_sessions_are_left_out() -> None:
    memory = PrismMemory.open(embedder=None)
    memory.write(Event(observation="I love the desert", session_id="other"), scope=SCOPE)
    ids = told(memory, [("assistant", "I suggest the desert.")])
    assert [unit.id for unit in memory.why(ids[0], scope=SCOPE).units] == ids


def test_what_is_added_elaborates_what_the_speaker_said_before() -> None:
    memory = PrismMemory.open(embedder=None)
    ids = told(memory, [("user", "The pump is loud."), ("assistant", "Since when?"), ("user", "Also, it leaks.")])
    links = [link for link in memory.links(scope=SCOPE) if link.relation is Relation.ELABORATES]
    assert [(link.source, link.target) for link in links] == [(ids[0], ids[2])]


def test_chinese() -> None:
    memory = PrismMemory.open(embedder=None)
    talk = [
        ("user", "我的预算是5000元"),
        ("assistant", "我推荐巴塞罗那，5000元足够。"),
        ("user", "好的，我们决定去巴塞罗那"),
    ]
    ids = told(memory, talk)
    assert [unit.id for unit in memory.why(ids[2], scope=SCOPE).units] == ids
