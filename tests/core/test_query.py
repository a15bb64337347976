from __future__ import annotations

from typing import Literal

import pytest

from prism_core import Event, Facet, IntentQuery, Kind, PlanningOptions, PrismMemory, StructuredLLM
from prism_core.encode.entities import entities
from prism_core.encode.tag import RuleTagger
from prism_core.encode.taxonomy import IntentTaxonomy
from prism_core.query import RulePlanner
from prism_core.testing import ScriptedLLM

PLANNER = RulePlanner(RuleTagger(IntentTaxonomy.default()), entities)


def plan(text: str, **given: object) -> IntentQuery:
    memory = PrismMemory.open(embedder=None)
    for name in ("book_flight", "book_flight_return", "search", "Read"):
        memory.write(Event(kind=Kind.STEP, action=f"{name}()", action_type=name), scope="a")
    state = memory._reader.ready(("a",))
    return PLANNER.plan(IntentQuery.model_validate({"text": text, **given}), state)


@pytest.mark.parametrize(
    ("text", "facet"),
    [
        ("When did Ann move?", Facet.TEMPORAL),
        ("她什么时候搬家的？", Facet.TEMPORAL),
        ("Why did we choose Lyon?", Facet.CAUSAL),
        ("为什么选里昂？", Facet.CAUSAL),
        ("What is the current budget?", Facet.CURRENT_VALUE),
        ("现在的预算是多少？", Facet.CURRENT_VALUE),
        ("Compare the two papers", Facet.MULTI_EVIDENCE),
        ("Tell me of Ann's hat", Facet.PLAIN),
    ],
)
def test_facets(text: str, facet: Facet) -> None:
    assert facet in plan(text).facets


def test_names_and_codes_become_entities() -> None:
    planned = plan('Did Ann Lee pay AB123 for "Blue Moon"?')
    assert set(planned.target_entities) == {"Ann Lee", "AB123", "Blue Moon"}


def test_only_a_code_name_standing_free_names_an_action() -> None:
    assert plan("book_flight Yes, go ahead").action_type == "book_flight"
    assert plan("call book_flight_return now").action_type == "book_flight_return"
    assert plan("a search for meaning").action_type is None
    assert plan("rebook_flight").action_type is None


def test_what_the_caller_gave_stays() -> None:
    given = {"target_intents": ("buy",), "target_entities": ("X",), "action_type": "a", "facets": {Facet.CAUSAL}}
    planned = plan("When did Ann search?", **given)
    assert planned == IntentQuery.model_validate({"text": "When did Ann search?", **given, "intents_told": True})


class TestModels:
    """Introspection by a language model: checked, and left to rules where it fails."""

    @staticmethod
    def opened(*replies: str, ask: Literal["always", "unsure"] = "always") -> tuple[PrismMemory, ScriptedLLM]:
        llm = ScriptedLLM(*replies)
        memory = PrismMemory.open(embedder=None, planning=PlanningOptions(StructuredLLM(llm), ask))
        memory.write(Event(kind=Kind.STEP, action="book_flight()", action_type="book_flight", task_id="t"), scope="a")
        memory.write(Event(observation="Please plan the trip to Oslo", task_id="t"), scope="a")
        return memory, llm

    def test_what_the_model_says_is_taken_as_far_as_it_can_be_checked(self) -> None:
        answer = (
            '{"target_intents": ["购买", "bogus"], "target_entities": ["Oslo", "Atlantis"],'
            ' "action_type": "book_flight"}'
        )
        memory, llm = self.opened(answer)
        query = memory.search("What do I need for Oslo?", scope="a", task_id="t").query
        assert query.target_intents == ("buy",)
        assert query.intents_told
        assert "Oslo" in query.target_entities
        assert "Atlantis" not in query.target_entities
        assert query.action_type == "book_flight"
        assert "goal: plan the trip to Oslo" in llm.prompts[0]
        assert "- buy: " in llm.prompts[0]

    @pytest.mark.parametrize("replies", [("no", "no"), ("", ""), ()])
    def test_rules_plan_where_the_model_fails_and_the_answer_says_so(self, replies: tuple[str, ...]) -> None:
        memory, _ = self.opened(*replies)
        found = memory.search("Why did we choose Oslo?", scope="a")
        assert Facet.CAUSAL in found.query.facets
        assert found.degraded

    def test_what_the_caller_gave_stays(self) -> None:
        memory, _ = self.opened('{"target_intents": ["buy"], "action_type": "no such tool"}')
        query = memory.search(IntentQuery(text="Oslo", target_intents=("read",)), scope="a").query
        assert (query.target_intents, query.action_type) == (("read",), None)

    def test_the_cascade_asks_only_where_rules_are_at_a_loss(self) -> None:
        memory, llm = self.opened('{"target_intents": ["buy"]}', ask="unsure")
        memory.search("Compare the two", scope="a")
        memory.search("Go on.", scope="a", task_id="t")
        assert llm.prompts == []
        assert memory.search("Zorgblatt?", scope="a").query.target_intents == ("buy",)
        assert len(llm.prompts) == 1
