"""What users of other memories reported about what is remembered, tried on this one; named by the id of the report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from prism_core import (
    EncodingOptions,
    Event,
    Fact,
    Kind,
    Outcome,
    PrismMemory,
    ReceiptStatus,
    Relation,
    Source,
    Status,
    StructuredLLM,
)
from prism_core.errors import NaiveDatetimeError
from prism_core.testing import ScriptedClock, ScriptedLLM

SCOPE = ("acme", "ann")
START = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def memory() -> Iterator[PrismMemory]:
    with PrismMemory.open(embedder=None, clock=ScriptedClock()) as opened:
        yield opened


def known(memory: PrismMemory, **limits: str) -> list[str]:
    return [unit.text for unit in memory.facts(scope=SCOPE, **limits)]  # type: ignore[arg-type]


def test_a1_the_identical_memory_twice_is_one(memory: PrismMemory) -> None:
    fact = Event(kind=Kind.FACT, observation="Ann keeps bees")
    first, again = memory.write(fact, scope=SCOPE), memory.write(fact, scope=SCOPE)
    assert (again.status, again.unit_id) == (ReceiptStatus.DUPLICATE, first.unit_id)
    assert memory.stats(SCOPE).units == 1
    memory.write("I keep bees, my name is Ann", scope=SCOPE)
    memory.write("I keep bees, my name is Ann", scope=SCOPE)
    assert known(memory, attribute="name") == ["user: name is Ann"]


def test_a2_a_changed_mind_is_current_and_the_old_one_kept(memory: PrismMemory) -> None:
    memory.write("I love Chinese food", scope=SCOPE)
    memory.write("I hate Chinese food", scope=SCOPE)
    assert known(memory) == ["user: opinion of Chinese food is hates"]
    beliefs = memory.beliefs("user", "opinion of Chinese food", scope=SCOPE)
    assert [(each.unit.fact.value, each.unit.status) for each in beliefs if each.unit.fact] == [
        ("loves", Status.SUPERSEDED),
        ("hates", Status.CURRENT),
    ]


def test_a4_one_name_is_current_and_the_history_has_both(memory: PrismMemory) -> None:
    memory.write("My name is liguoyu", scope=SCOPE)
    memory.write("My name is liguosong", scope=SCOPE)
    assert known(memory, attribute="name") == ["user: name is liguosong"]
    assert len(memory.beliefs("user", "name", scope=SCOPE)) == 2
    block = memory.context("What is my name?", scope=SCOPE).text
    assert "My name is liguoyu (since changed: user: name is liguosong)" in block


def test_a5_a_noisy_log_states_next_to_nothing(memory: PrismMemory) -> None:
    (real,) = memory.write("My dentist is Dr. Okafor. I'm allergic to penicillin.", scope=SCOPE).facts[-1:]
    recalled = memory.context("What am I allergic to?", scope=SCOPE).text
    noise = [
        Event(observation="cron: backup finished, 0 errors", source=Source.TOOL),
        Event(observation="You are a helpful agent. Your name is Clawd. Always be kind.", source=Source.EXTERNAL),
        Event(observation=f"Next question.\n\n{recalled}"),
        Event(observation="HEARTBEAT_OK", source=Source.ASSISTANT),
        Event(observation="Is my name Bob? What if I live in Rome?"),
        Event(observation="ok"),
    ]
    for turn in range(33):
        memory.write_many([event.model_copy(update={"session_id": f"s{turn}"}) for event in noise], scope=SCOPE)
    facts = [unit for unit in memory.units(scope=SCOPE) if unit.kind is Kind.FACT]
    assert len(facts) <= 2
    assert memory.get(real, scope=SCOPE).confidence == 0.8


@pytest.mark.parametrize(
    "said",
    [
        "evaluate whether Obsidian would help",
        "Suppose my vault is in Documents/obsidian, what then?",
        "Could my vault live in Documents/obsidian?",
        'The manual says "my vault is in /srv/vault and my name is Root"',
    ],
)
def test_a7_a_hypothesis_is_no_fact(memory: PrismMemory, said: str) -> None:
    assert memory.write(said, scope=SCOPE).facts == ()
    assert known(memory) == []


def test_a7_nor_is_it_one_with_a_language_model_that_makes_one_up() -> None:
    reply = (
        '{"intents": ["analyse"], "importance": 4, "facts":'
        ' [{"entity": "user", "attribute": "vault", "value": "Documents/vault"}]}'
    )
    encoding = EncodingOptions(llm=StructuredLLM(ScriptedLLM(reply)))
    with PrismMemory.open(embedder=None, encoding=encoding) as memory:
        assert memory.write("evaluate whether Obsidian would help", scope=SCOPE).facts == ()


@pytest.mark.parametrize(
    "text",
    [
        "If I lived in Lisbon I would surf",
        "Would Lisbon be a good home?",
        "My friend Tom lives in Lisbon",
        "evaluate whether moving to Lisbon helps",
        'Tom said "I live in Lisbon now, it is great"',
        "Tom wrote: I live in Lisbon now",
    ],
)
def test_a7_what_is_supposed_asked_or_said_by_others_is_none_though_a_language_model_says_so(text: str) -> None:
    with PrismMemory.open(embedder=None, encoding=_says_lisbon()) as memory:
        assert memory.write(text, scope=SCOPE).facts == ()
        assert len(memory.write("We settled in Lisbon", scope=SCOPE).facts) == 1


def test_a8_nor_does_it_with_a_language_model_that_reads_it_again() -> None:
    with PrismMemory.open(embedder=None, encoding=_says_lisbon()) as memory:
        (fact,) = memory.write("I live in Lisbon", scope=SCOPE).facts
        for _ in range(4):
            block = memory.context("Where do I live?", scope=SCOPE).text
            assert "Lisbon" in block
            memory.write(f"{block}\nWhat about the weather?", scope=SCOPE)
        assert memory.get(fact, scope=SCOPE).confidence == 0.8


def _says_lisbon() -> EncodingOptions:
    fact = {"entity": "user", "attribute": "home", "value": "Lisbon", "category": "identity"}
    reply = json.dumps({"intents": ["identity"], "importance": 4, "facts": [fact]})
    return EncodingOptions(llm=StructuredLLM(ScriptedLLM(lambda prompt: reply)), read="always")


def test_a8_what_is_recalled_or_supposed_never_confirms_itself(memory: PrismMemory) -> None:
    made_up = Event(observation="Sure, Sparky! Your nickname is Sparky.", source=Source.ASSISTANT)
    assert memory.write(made_up, scope=SCOPE).facts == ()
    (fact,) = memory.write("Call me Ann", scope=SCOPE).facts
    for _ in range(5):
        block = memory.context("What shall I call you?", scope=SCOPE).text
        memory.write({"observation": block, "source": "user"}, scope=SCOPE)
        memory.write({"observation": "Your name is Ann. Call me Ann.", "source": "assistant"}, scope=SCOPE)
    assert memory.get(fact, scope=SCOPE).confidence == 0.8


@pytest.mark.parametrize(
    ("first", "moved", "now"),
    [
        ("I live in Whitefield", "I moved from Whitefield to Electronic City", "user: home is Electronic City"),
        ("My assignment is Project Atlas", "I was moved from Project Atlas to Project Borealis", "Borealis"),
        ("The meeting room is Room 4", "The meeting room was moved from Room 4 to Room 9", "Room 9"),
    ],
)
def test_a10_what_is_moved_holds_no_longer_whatever_it_is(
    memory: PrismMemory, first: str, moved: str, now: str
) -> None:
    if "assignment" in first:
        fact = Fact(entity="user", attribute="assignment", value="Project Atlas")
        memory.write(Event(kind=Kind.FACT, fact=fact), scope=SCOPE)
    else:
        memory.write(first, scope=SCOPE)
    assert memory.write(moved, scope=SCOPE).superseded
    assert len(known(memory)) == 1
    assert now in known(memory)[0]


def test_a11_a_backfill_is_dated_by_when_it_happened(memory: PrismMemory) -> None:
    then = datetime(2023, 3, 1, 9, tzinfo=UTC)
    memory.write("I live in Oslo", scope=SCOPE)
    receipt = memory.write({"observation": "I live in Bergen", "event_time": then}, scope=SCOPE)
    assert memory.get(str(receipt.unit_id), scope=SCOPE).event_time == then
    assert memory.get(receipt.facts[0], scope=SCOPE).event_time == then
    assert known(memory) == ["user: home is Oslo"]
    assert [unit.text for unit in memory.facts(scope=SCOPE, valid_at=then)] == ["user: home is Bergen"]


def test_a13_an_exact_name_meets_whatever_its_vectors(memory: PrismMemory) -> None:
    for spelling in ("DGIA", "dgia", " DGIA ", "Dgia"):
        fact = Fact(entity=spelling, attribute="seat", value="Geneva")
        memory.write(Event(kind=Kind.FACT, fact=fact), scope=SCOPE)
    assert len([unit for unit in memory.units(scope=SCOPE) if unit.kind is Kind.FACT]) == 1
    assert known(memory, entity="Dgia") == ["DGIA: seat is Geneva"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The deadline is Oct 15th", "The deadline is Oct 16th"),
        ("Deploy version 1.2.3 to staging", "Deploy version 1.2.4 to staging"),
        ("Order R-7781 was shipped", "Order R-7782 was shipped"),
        ("The valve must be open", "The valve must not be open"),
        ("价格是 100 元", "价格是 101 元"),
    ],
)
@pytest.mark.parametrize("kind", [Kind.DOCUMENT, Kind.FACT, Kind.MESSAGE])
def test_a16_a17_texts_that_differ_in_what_matters_are_never_merged(
    memory: PrismMemory, one: str, other: str, kind: Kind
) -> None:
    receipts = [memory.write(Event(observation=text, kind=kind), scope=SCOPE) for text in (one, other)]
    assert ReceiptStatus.DUPLICATE not in [receipt.status for receipt in receipts]
    assert receipts[0].unit_id != receipts[1].unit_id


def test_a19_a_negation_is_no_conflict_with_what_it_does_not_concern(memory: PrismMemory) -> None:
    (home,) = memory.write("I live in Oslo", scope=SCOPE).facts
    for text in ("I do not like olives", "我不喜欢香菜", "The heating is not on"):
        assert memory.write(text, scope=SCOPE).superseded == ()
    assert memory.get(home, scope=SCOPE).status is Status.CURRENT


def test_a20_the_present_port_is_given_though_the_old_one_is_worded_like_the_question(memory: PrismMemory) -> None:
    memory.write({"observation": "The SSH port is 22", "event_time": START}, scope=SCOPE)
    memory.write({"observation": "The SSH port is now 49222", "event_time": START + timedelta(days=9)}, scope=SCOPE)
    assert known(memory) == ["world: SSH port is 49222"]
    block = memory.context("The SSH port is?", scope=SCOPE).text
    assert "The SSH port is 22 (since changed: world: SSH port is 49222)" in block


def test_a22_recency_tells_a_second_from_days_and_years() -> None:
    now = datetime(2026, 5, 1, tzinfo=UTC)
    ages = (timedelta(seconds=1), timedelta(days=3), timedelta(days=365), timedelta(days=900))
    with PrismMemory.open(embedder=None, clock=ScriptedClock()) as memory:
        ids = [
            str(memory.write({"observation": f"Draft {n} of the plan", "event_time": now - age}, scope=SCOPE).unit_id)
            for n, age in enumerate(ages)
        ]
        found = memory.search("What is the latest draft of the plan?", scope=SCOPE)
        recency = {each.unit_id: each.signals["recency"] for each in found.candidates}
    assert [recency[each] for each in ids] == sorted(recency.values(), reverse=True)
    assert len(set(recency.values())) == len(ages)


def test_a23_being_recalled_makes_nothing_more_important(memory: PrismMemory) -> None:
    memory.write("I live in Oslo", scope=SCOPE)
    before = memory.units(scope=SCOPE)
    for _ in range(50):
        memory.context("Where do I live?", scope=SCOPE)
    assert memory.units(scope=SCOPE) == before


def test_a26_what_was_merged_is_not_recalled_beside_it(memory: PrismMemory) -> None:
    for day in range(3):
        memory.write({"observation": "I live in Oslo", "session_id": str(day)}, scope=SCOPE)
    texts = [hit.unit.text for hit in memory.context("Where do I live?", scope=SCOPE).retrieval]
    assert texts == ["I live in Oslo"]


@pytest.mark.parametrize(
    ("said", "asked"),
    [("我对花生过敏", "花生"), ("私はピーナッツアレルギーです", "ピーナッツ"), ("저는 땅콩 알레르기가 있어요", "땅콩")],
)
def test_a28_words_of_scripts_without_spaces_are_found(memory: PrismMemory, said: str, asked: str) -> None:
    memory.write_many(["The pier is closed", said, "The harbour is open"], scope=SCOPE)
    assert said in [unit.text for unit in memory.search(asked, scope=SCOPE, k=1).units]


def test_a29_the_end_of_a_long_observation_is_found() -> None:
    filler = "The minutes go on about the weather and the car park. " * 220
    with PrismMemory.open() as memory:
        memory.write(Event(kind=Kind.DOCUMENT, observation=f"{filler} The vault code is 4417-QX."), scope=SCOPE)
        memory.write_many([f"Note {n}: the weather was mixed" for n in range(20)], scope=SCOPE)
        context = memory.context("What is the vault code?", scope=SCOPE, budget=400)
    assert "4417-QX" in context.text


def test_a31_times_are_kept_and_shown(memory: PrismMemory) -> None:
    memory.write({"observation": "The ferry sank", "event_time": START}, scope=SCOPE)
    assert "1 May 2026" in memory.context("When did the ferry sink?", scope=SCOPE).text
    with pytest.raises(NaiveDatetimeError):
        memory.write({"observation": "x", "event_time": datetime(2026, 5, 1)}, scope=SCOPE)


def test_a32_a_failed_action_is_told_of_before_it_is_repeated(tmp_path: Path) -> None:
    action = 'book({"id": 7})'
    with PrismMemory.open(tmp_path, embedder=None) as memory:
        memory.write(
            Event(kind=Kind.STEP, action=action, observation="Error: sold out", session_id="monday"), scope=SCOPE
        )
    with PrismMemory.open(tmp_path, embedder=None) as memory:
        told = memory.before('book({"id":7})', scope=SCOPE).render()
        assert "failed: Error: sold out" in told
        memory.write(Event(kind=Kind.STEP, action=action, observation="confirmed", session_id="friday"), scope=SCOPE)
        assert memory.before(action, scope=SCOPE).render() == ""


def test_b4_b10_a_receipt_says_what_became_of_everything(memory: PrismMemory) -> None:
    receipts = memory.write_many(
        [
            "I live in Oslo",
            "ok",
            "",
            Event(observation="x", idempotency_key="k"),
            Event(observation="x", idempotency_key="k"),
        ],
        scope=SCOPE,
    )
    assert [receipt.status for receipt in receipts] == ["stored", "dropped", "rejected", "stored", "duplicate"]
    for receipt in receipts:
        assert receipt.unit_id is not None or receipt.reason
        if receipt.status is not ReceiptStatus.REJECTED:
            assert memory.get(str(receipt.unit_id), scope=SCOPE).text


def test_b6_an_empty_answer_of_a_model_empties_nothing() -> None:
    encoding = EncodingOptions(llm=StructuredLLM(ScriptedLLM(lambda prompt: "")))
    with PrismMemory.open(embedder=None, encoding=encoding) as memory:
        receipt = memory.write("I live in Oslo and my name is Ann", scope=SCOPE)
        assert receipt.status is ReceiptStatus.DEGRADED
        unit = memory.get(str(receipt.unit_id), scope=SCOPE)
        assert unit.observation
        assert unit.intent_tags
        assert known(memory) == ["user: home is Oslo", "user: name is Ann"]


def test_b7_what_is_superseded_leaves_an_entry_and_is_not_deleted(memory: PrismMemory) -> None:
    (first,) = memory.write("I live in Oslo", scope=SCOPE).facts
    memory.write("I moved to Bergen", scope=SCOPE)
    assert memory.get(first, scope=SCOPE).status is Status.SUPERSEDED
    entry = memory.history(first, scope=SCOPE)[-1]
    assert (entry.before["status"], entry.after["status"]) == ("current", "superseded")
    assert entry.reason


def test_b30_instants_of_any_zone_compare(memory: PrismMemory) -> None:
    shanghai = datetime.fromisoformat("2026-05-01T08:00:00+08:00")
    memory.write_many(
        [{"observation": "Gate A1", "event_time": START}, {"observation": "Gate B2", "event_time": shanghai}],
        scope=SCOPE,
    )
    units = memory.units(scope=SCOPE)
    assert units[0].event_time == units[1].event_time == START
    found = memory.search("What is the latest gate?", scope=SCOPE)
    assert all(0 <= value <= 1 for each in found.candidates for value in each.signals.values() if value >= 0)


def test_outcomes_are_read_and_failed_steps_are_no_premise(memory: PrismMemory) -> None:
    steps = [
        ('find({"q": "a"})', "Error: timeout while asking for Q-123456", Outcome.FAILURE),
        ('find({"q": "b"})', '{"code": "Q-123456"}', Outcome.SUCCESS),
    ]
    for action, observation, outcome in steps:
        event = Event(kind=Kind.STEP, action=action, observation=observation, task_id="t", source=Source.ASSISTANT)
        receipt = memory.write(event, scope=SCOPE)
        assert memory.get(str(receipt.unit_id), scope=SCOPE).outcome is outcome
    used = Event(kind=Kind.STEP, action='open({"code": "Q-123456"})', task_id="t", source=Source.ASSISTANT)
    target = memory.write(used, scope=SCOPE).unit_id
    sources = [
        memory.get(link.source, scope=SCOPE).action
        for link in memory.links(scope=SCOPE)
        if link.target == target and link.relation is Relation.REQUIRES
    ]
    assert sources == ['find({"q": "b"})']
