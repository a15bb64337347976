"""A language model reads what rules have stored; where it fails, rules do the rest."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from prism_core import (
    Completion,
    EncodingOptions,
    Event,
    Kind,
    Layer,
    LLMBudget,
    PlanningOptions,
    PrismMemory,
    ReceiptStatus,
    Relation,
    Source,
    StructuredLLM,
)
from prism_core.errors import LLMError, QueryError
from prism_core.testing import ScriptedLLM

SCOPE = ("acme", "ann")


def reading(**fields: object) -> str:
    return json.dumps({"intents": ["plan"], "importance": 3, **fields})


def opened(
    *replies: str | LLMError | Callable[[str], str], path: str | Path = ":memory:", **options: object
) -> PrismMemory:
    model = StructuredLLM(ScriptedLLM(*replies), budget=options.pop("budget", None))  # type: ignore[arg-type]
    return PrismMemory.open(path, embedder=None, encoding=EncodingOptions(llm=model, **options))  # type: ignore[arg-type]


def shown_to(memory: PrismMemory) -> Sequence[str]:
    llm = memory._enricher.reader.model.llm  # type: ignore[union-attr]
    assert isinstance(llm, ScriptedLLM)
    return llm.prompts


def test_what_the_model_reads_is_on_the_unit_and_in_the_facts() -> None:
    fact = {"entity": "user", "attribute": "home", "value": "Lisbon", "category": "identity"}
    memory = opened(reading(intents=["identity", "made up"], importance=5, entities=["Lisbon", "Porto"], facts=[fact]))
    receipt = memory.write("These days you'll find me in Lisbon", scope=SCOPE)
    unit = memory.get(str(receipt.unit_id), scope=SCOPE)
    assert (receipt.status, len(receipt.facts)) == (ReceiptStatus.STORED, 1)
    assert (unit.intent_tags, unit.importance, unit.layer) == (("identity",), 1.0, Layer.SEMANTIC)
    assert "Lisbon" in unit.entities
    assert "Porto" not in unit.entities
    assert [each.text for each in memory.facts(scope=SCOPE)] == ["user: home is Lisbon"]
    assert memory.receipt(receipt.id, scope=SCOPE) == receipt
    assert memory.stats(SCOPE).unread == 0


def test_a_made_up_fact_is_dropped() -> None:
    facts = [
        {"entity": "user", "attribute": "vault path", "value": "C:/notes/obsidian"},
        {"entity": "user", "attribute": "nickname", "value": "Sparky"},
        {"entity": "user", "attribute": "code", "value": "4712"},
    ]
    memory = opened(reading(facts=facts))
    receipt = memory.write("Please evaluate whether Obsidian would help us, code 4711", scope=SCOPE)
    assert receipt.facts == ()


def test_nobody_but_a_user_states_facts() -> None:
    fact = {"entity": "user", "attribute": "nickname", "value": "Sparky", "category": "identity"}
    promise = {"entity": "assistant", "attribute": "will send the file", "value": "yes", "category": "commitment"}
    memory = opened(reading(facts=[fact, promise]))
    said = Event(observation="Sure, Sparky, I will send the file.", source=Source.ASSISTANT)
    receipt = memory.write(said, scope=SCOPE)
    assert [memory.get(each, scope=SCOPE).text for each in receipt.facts] == ["assistant: will send the file"]


def test_b3_a_number_that_was_not_shown_is_dropped_and_the_rest_kept() -> None:
    def answer(prompt: str) -> str:
        if "let's go" not in prompt.lower():
            return reading()
        relations = [
            {"candidate": "12", "relation": "premise", "reason": "out of range"},
            {"candidate": 1, "relation": "premise", "reason": "rests on the budget", "confidence": 0.8},
            {"candidate": "x", "relation": "cause"},
            {"candidate": 1, "relation": "mirrors", "reason": "same shape"},
        ]
        return reading(relations=relations)

    memory = opened(answer)
    first = memory.write({"observation": "Budget is 900 for the trip", "session_id": "s"}, scope=SCOPE)
    second = memory.write({"observation": "Let's go to Oslo then", "session_id": "s"}, scope=SCOPE)
    found = {link.relation: link for link in memory.links(scope=SCOPE) if link.target == second.unit_id}
    assert found[Relation.REQUIRES].source == first.unit_id
    assert found[Relation.REQUIRES].confidence == 0.8
    assert (found[Relation.RELATED].label, found[Relation.RELATED].reason) == ("mirrors", "same shape")
    assert Relation.CAUSES not in found


@pytest.mark.parametrize("replies", [("no", "still no"), ("", "")])
def test_an_unusable_answer_leaves_the_work_to_rules(replies: tuple[str, str]) -> None:
    memory = opened(*replies)
    receipt = memory.write("I live in Lisbon", scope=SCOPE)
    assert receipt.status is ReceiptStatus.DEGRADED
    assert "cannot be used" in receipt.reason
    assert [each.text for each in memory.facts(scope=SCOPE)] == ["user: home is Lisbon"]
    assert memory.receipt(receipt.id, scope=SCOPE) == receipt
    assert memory.stats(SCOPE).unread == 0


def test_a_model_that_is_down_is_asked_again_later(tmp_path: Path) -> None:
    memory = opened(LLMError("scripted", "it is down"), path=tmp_path)
    receipt = memory.write("I live in Lisbon", scope=SCOPE)
    assert receipt.status is ReceiptStatus.DEGRADED
    assert "it is down" in receipt.reason
    assert len(memory.facts(scope=SCOPE)) == 1
    assert memory.stats(SCOPE).unread == 1
    memory.close()
    with opened(reading(intents=["identity"], importance=5), path=tmp_path) as again:
        again.drain(scope=SCOPE)
        assert again.stats(SCOPE).unread == 0
        assert again.get(str(receipt.unit_id), scope=SCOPE).importance == 1.0
        assert len(again.facts(scope=SCOPE)) == 1


def test_a_used_up_budget_leaves_the_work_to_rules() -> None:
    memory = opened(lambda prompt: reading(), budget=LLMBudget(max_calls=1))
    statuses = [memory.write(f"I met Ines at noon, visit {n}", scope=SCOPE).status for n in range(3)]
    assert statuses == [ReceiptStatus.STORED, ReceiptStatus.DEGRADED, ReceiptStatus.DEGRADED]
    assert len(shown_to(memory)) == 1


def test_one_call_per_event_and_none_for_small_talk_duplicates_and_facts() -> None:
    memory = opened(lambda prompt: reading())
    events = [
        Event(observation="The client wants the blue variant", idempotency_key="a"),
        Event(observation="The client wants the blue variant", idempotency_key="a"),
        Event(observation="ok, thanks"),
        Event(kind=Kind.STEP, action='order({"variant": "blue"})', source=Source.ASSISTANT, tool_call_id="c"),
        Event(observation="done", source=Source.TOOL, tool_call_id="c"),
    ]
    memory.write_many(events, scope=SCOPE)
    assert len(shown_to(memory)) == 2


def test_unsure_asks_about_what_rules_may_have_misjudged() -> None:
    memory = opened(lambda prompt: reading(), read="unsure")
    memory.write("I live in Lisbon", scope=SCOPE)
    assert len(shown_to(memory)) == 0
    assert len(memory.facts(scope=SCOPE)) == 1
    memory.write("Zorgblatt frumious", scope=SCOPE)
    assert len(shown_to(memory)) == 1


def test_what_was_accepted_is_found_before_the_model_has_read_it() -> None:
    memory = opened(lambda prompt: reading(importance=5))
    memory.accept([{"observation": "The client wants the blue variant"}], scope=SCOPE)
    assert memory.search("blue variant", scope=SCOPE, k=1)[0].unit.importance < 1
    assert len(shown_to(memory)) == 0
    memory.drain(scope=SCOPE)
    assert len(shown_to(memory)) == 1
    assert memory.search("blue variant", scope=SCOPE, k=1)[0].unit.importance == 1


def test_what_is_erased_is_not_read_and_not_kept_in_the_cache() -> None:
    memory = opened(lambda prompt: reading())
    memory.accept([{"observation": "The secret is hunter2", "session_id": "s"}], scope=SCOPE)
    assert len(memory.search("secret", scope=SCOPE)) == 1
    memory.erase(scope=SCOPE, session_id="s")
    memory.drain(scope=SCOPE)
    assert len(shown_to(memory)) == 0
    memory.write("The secret is hunter2", scope=SCOPE)
    memory.erase(scope=SCOPE, whole_scope=True)
    memory.write("The secret is hunter2", scope=SCOPE)
    assert len(shown_to(memory)) == 2


# -- a model that errs -----------------------------------------------------------------------------------------------

HALF = "\\ud83d"


@pytest.mark.parametrize(
    "answer",
    [
        '{"intents": ["plan"], "facts": [{"entity": "user", "attribute": "home", "value": "Lisbon HALF"}]}',
        '{"intents": ["plan"], "entities": ["HALF"], "reason": "HALF"}',
        '{"intents": ["plan"], "relations": [{"candidate": "²", "relation": "premise", "reason": "HALF"}]}',
        '{"intents": ["plan"], "relations": [{"candidate": "99999", "relation": "cause"}]}'.replace("9", "9" * 999),
        '{"intents": ["plan"], "relations": [{"candidate": 1, "relation": "premise", "confidence": NaN}]}',
        '{"intents": ["plan"], "importance": Infinity}',
        '{"intents": ["plan"], "facts": [{"entity": " ", "attribute": "aaaaa", "value": "x"}]}'.replace("a", "a" * 999),
        '{"intents": ["plan"], "facts": [null, 7, {"entity": "user", "attribute": null, "value": ["Lisbon"]}]}',
        "[" * 5_000,
        "<think>" * 14_000,
    ],
)
def test_whatever_a_model_answers_the_event_is_stored_once_and_nothing_is_held_up(answer: str) -> None:
    memory = opened(lambda prompt: answer.replace("HALF", HALF))
    for text in ("I live in Lisbon", "I'm allergic to nuts"):
        receipt = memory.write({"observation": text, "session_id": "s"}, scope=SCOPE)
        assert receipt.unit_id is not None
    assert {"user: home is Lisbon", "user: allergic to nuts"} <= {unit.text for unit in memory.facts(scope=SCOPE)}
    assert memory.stats(SCOPE).unread == 0
    assert memory.stats(SCOPE).kinds["message"] == 2
    memory.accept(["My name is Ann"], scope=SCOPE)
    memory.drain(scope=SCOPE)
    assert memory.stats(SCOPE).unread == 0


@pytest.mark.parametrize("error", [TimeoutError("late"), ConnectionError("gone"), ValueError("odd"), KeyError("x")])
def test_a_client_that_raises_errors_of_its_own_takes_nothing_with_it(error: Exception) -> None:
    class Failing:
        id = "failing"

        def complete(self, prompt: str) -> Completion:
            raise error

    encoding = EncodingOptions(llm=StructuredLLM(Failing()))
    planning = PlanningOptions(StructuredLLM(Failing()), "always")
    with PrismMemory.open(embedder=None, encoding=encoding, planning=planning) as memory:
        receipt = memory.write("I live in Lisbon", scope=SCOPE)
        assert receipt.status is ReceiptStatus.DEGRADED
        assert type(error).__name__ in receipt.reason
        assert memory.search("Where do I live?", scope=SCOPE).degraded


def test_many_writes_during_an_outage_lose_no_fact_and_ask_once() -> None:
    memory = opened(LLMError("scripted", "it is down"))
    receipts = [memory.write(f"The build {n} port is {n}", scope=SCOPE) for n in range(40)]
    assert {receipt.status for receipt in receipts} == {ReceiptStatus.DEGRADED}
    assert len(memory.facts(scope=SCOPE)) == 40
    assert len(shown_to(memory)) == 1
    assert memory.stats(SCOPE).unread == 40


def test_without_a_model_rules_finish_what_waited_for_one(tmp_path: Path) -> None:
    with opened(LLMError("scripted", "it is down"), path=tmp_path) as memory:
        memory.write("I live in Lisbon", scope=SCOPE)
        assert memory.stats(SCOPE).unread == 1
    with PrismMemory.open(tmp_path, embedder=None) as memory:
        memory.drain(scope=SCOPE)
        assert memory.stats(SCOPE).unread == 0
        assert len(memory.facts(scope=SCOPE)) == 1


def test_what_rules_find_stays_beside_what_the_model_finds() -> None:
    extra = {"entity": "user", "attribute": "view", "value": "harbour"}
    memory = opened(reading(facts=[extra]), reading(facts=[{**extra, "ends": True}]))
    memory.write("I live in Rome and look over the harbour", scope=SCOPE)
    assert [unit.text for unit in memory.facts(scope=SCOPE)] == ["user: home is Rome", "user: view is harbour"]
    memory.write("The harbour is out of sight since they built the tower", scope=SCOPE)
    assert [unit.text for unit in memory.facts(scope=SCOPE)] == ["user: home is Rome"]


def test_a_name_that_stands_nowhere_in_the_event_is_no_entity_of_a_fact() -> None:
    planted = {"entity": "Alice Smith", "attribute": "criminal record", "value": "Monday"}
    memory = opened(reading(facts=[planted, {"entity": "user", "attribute": "home", "value": "New York City, Berlin"}]))
    assert memory.write("See you on Monday at the Berlin office", scope=SCOPE).facts == ()


def test_a_reason_does_not_speak_of_units_that_may_be_erased() -> None:
    def answer(prompt: str) -> str:
        place = next((line[0] for line in prompt.splitlines() if line[1:].startswith(". The budget")), None)
        relation = {"candidate": place, "relation": "premise", "reason": "rests on the Mxyzptlk deal"}
        return reading(relations=[relation] if place else [])

    memory = opened(answer)
    for text in ("The Mxyzptlk deal is signed", "The budget is 900", "We leave in June"):
        memory.write({"observation": text, "session_id": "s"}, scope=SCOPE)
    reasons = [link.reason for link in memory.links(scope=SCOPE) if link.relation is Relation.REQUIRES]
    assert reasons
    assert not any("Mxyzptlk" in reason for reason in reasons)


def test_parts_of_the_wrong_kind_are_refused_when_they_are_given() -> None:
    wrong: list[dict[str, Any]] = [{"llm": ScriptedLLM()}, {"llm": "gpt"}, {"read": "sometimes"}]
    for given in wrong:
        with pytest.raises(QueryError):
            EncodingOptions(**given)
    questions: list[dict[str, Any]] = [{"llm": ScriptedLLM()}, {"ask": "sometimes"}]
    for given in questions:
        with pytest.raises(QueryError):
            PlanningOptions(**given)
