from __future__ import annotations

import pytest

from prism_core import Event, Facet, IntentQuery, Kind, PrismMemory
from prism_core.encode.extract import entities
from prism_core.encode.tag import RuleTagger
from prism_core.encode.taxonomy import IntentTaxonomy
from prism_core.query import RulePlanner

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
    assert planned == IntentQuery.model_validate({"text": "When did Ann search?", **given})
