"""What is known: facts as they are said, change, are disputed, end and are erased."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from prism_core import Event, Fact, Kind, Onboarding, PrismMemory, ReceiptStatus, Relation, Source, Status
from prism_core.errors import DatasetError, InvalidEventError, NaiveDatetimeError, QueryError, UnknownUnitError
from prism_core.testing import ScriptedClock

SCOPE = ("acme", "ann")
START = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def memory() -> Iterator[PrismMemory]:
    with PrismMemory.open(embedder=None, clock=ScriptedClock()) as opened:
        yield opened


def say(memory: PrismMemory, text: str, day: int | None = None, **fields: object) -> Sequence[str]:
    when = {} if day is None else {"event_time": START + timedelta(days=day)}
    return memory.write({"observation": text, **when, **fields}, scope=SCOPE).facts


def known(memory: PrismMemory, **limits: object) -> list[str]:
    return [unit.text for unit in memory.facts(scope=SCOPE, **limits)]  # type: ignore[arg-type]


def test_a_new_value_takes_the_place_of_the_old_which_is_kept(memory: PrismMemory) -> None:
    (first,) = say(memory, "I live in Paris", 1)
    receipt = memory.write({"observation": "I moved to Rome", "event_time": START + timedelta(days=9)}, scope=SCOPE)
    assert receipt.superseded == (first,)
    assert known(memory) == ["user: home is Rome"]
    assert memory.get(first, scope=SCOPE).status is Status.SUPERSEDED
    (link,) = [each for each in memory.links(scope=SCOPE) if each.relation is Relation.SUPERSEDES]
    assert (link.source, link.target) == (first, receipt.facts[0])
    assert [
        (each.unit.text, each.since.day, each.until and each.until.day)
        for each in memory.beliefs("user", "home", scope=SCOPE)
    ] == [
        ("user: home is Paris", 2, 10),
        ("user: home is Rome", 10, None),
    ]
    assert [entry.kind for entry in memory.history(first, scope=SCOPE)].count("update") == 1


def test_it_can_be_asked_what_held_and_what_was_believed_when(memory: PrismMemory) -> None:
    say(memory, "I live in Paris", 1)
    between = memory.units(scope=SCOPE)[-1].recorded_at
    say(memory, "I moved to Rome", 9)
    assert known(memory, valid_at=START + timedelta(days=5)) == ["user: home is Paris"]
    assert known(memory, valid_at=START + timedelta(days=9)) == ["user: home is Rome"]
    assert known(memory, valid_at=START) == []
    assert known(memory, as_of=between) == ["user: home is Paris"]
    assert known(memory, as_of=between, valid_at=START + timedelta(days=20)) == ["user: home is Paris"]
    assert known(memory, as_of=START - timedelta(days=900)) == []
    for name in ("as_of", "valid_at"):
        with pytest.raises(NaiveDatetimeError, match=name):
            known(memory, **{name: datetime(2026, 5, 1)})
        with pytest.raises(QueryError, match=name):
            known(memory, **{name: "yesterday"})


def test_names_restrict_what_is_told_whatever_their_case(memory: PrismMemory) -> None:
    say(memory, "My favourite colour is blue. I live in Oslo.")
    say(memory, "The staging server's port is 8080")
    assert known(memory, entity="USER", attribute=" Home ") == ["user: home is Oslo"]
    assert known(memory, entity="Staging Server") == ["staging server: port is 8080"]
    assert known(memory, attribute="nothing") == []
    with pytest.raises(QueryError, match="entity"):
        known(memory, entity="")


def test_an_unrelated_fact_changes_none(memory: PrismMemory) -> None:
    facts = [*say(memory, "I live in Paris"), *say(memory, "I work at Acme"), *say(memory, "I love tea")]
    before = {each: memory.get(each, scope=SCOPE) for each in facts}
    say(memory, "My name is Ana")
    say(memory, "The deadline is Oct 15th")
    assert {each: memory.get(each, scope=SCOPE) for each in facts} == before


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_the_order_of_arrival_does_not_change_what_is_known(memory: PrismMemory, order: Sequence[int]) -> None:
    said = [("I live in Paris", 1), ("I live in Rome now", 3), ("I live in Oslo", 5), ("I live in Paris now", 7)]
    for place in order:
        say(memory, *said[place])
    periods = [
        (each.unit.text, each.unit.status, each.since.day) for each in memory.beliefs("user", "home", scope=SCOPE)
    ]
    assert periods == [
        ("user: home is Paris", Status.CURRENT, 2),
        ("user: home is Rome", Status.SUPERSEDED, 4),
        ("user: home is Oslo", Status.SUPERSEDED, 6),
        ("user: home is Paris", Status.CURRENT, 8),
    ]
    supersessions = {
        (memory.get(each.source, scope=SCOPE).text[-4:], memory.get(each.target, scope=SCOPE).text[-4:])
        for each in memory.links(scope=SCOPE)
        if each.relation is Relation.SUPERSEDES
    }
    assert supersessions == {("aris", "Rome"), ("Rome", "Oslo"), ("Oslo", "aris")}
    assert all(finding.ok for finding in memory.doctor() if "graph" in finding.check or "index" in finding.check)


def _home(rng: random.Random, day: int) -> Event:
    """What may be said or stored about a home."""
    place = rng.choice(["Paris", "Rome", "Oslo"])
    said = rng.choice(["I live in {}", "I live in {}", "I moved to {}", "I no longer live in {}", None])
    told = {"event_time": START + timedelta(days=day)}
    if said is not None:
        return Event.model_validate({"observation": said.format(place), **told})
    source = rng.choice([Source.USER, Source.ASSISTANT, Source.TOOL])
    return Event.model_validate(
        {"kind": "fact", "fact": Fact(entity="user", attribute="home", value=place), "source": source, **told}
    )


def _end_state(events: Sequence[Event]) -> tuple[object, ...]:
    with PrismMemory.open(embedder=None) as memory:
        for event in events:
            memory.write(event, scope=SCOPE)
        units = {unit.id: unit for unit in memory.units(scope=SCOPE) if unit.fact is not None}
        facts = sorted((unit.text, unit.status.value, round(unit.confidence, 6)) for unit in units.values())
        links = sorted(
            (link.relation.value, units[link.source].text, units[link.target].text)
            for link in memory.links(scope=SCOPE)
            if link.source in units and link.target in units
        )
        beliefs = [(each.unit.text, each.since, each.until) for each in memory.beliefs("user", "home", scope=SCOPE)]
        return facts, links, beliefs, [each.question for each in memory.needs_confirmation(scope=SCOPE)]


@pytest.mark.parametrize("seed", range(25))
def test_any_order_of_arrival_leads_to_the_same_store(seed: int) -> None:
    rng = random.Random(seed)
    events = [_home(rng, day) for day in range(6)]
    in_order = _end_state(events)
    for _ in range(2):
        assert _end_state(rng.sample(events, k=len(events))) == in_order


def test_what_is_well_known_is_asked_about_before_it_changes(memory: PrismMemory) -> None:
    for day in (1, 2, 3):
        say(memory, "I live in Paris", day)
    (rome,) = say(memory, "I live in Rome", 9)
    assert known(memory) == ["user: home is Paris"]
    assert memory.get(rome, scope=SCOPE).status is Status.DISPUTED
    (question,) = memory.needs_confirmation(scope=SCOPE)
    assert question.disputed.id == rome
    assert "Paris (said 3 times, last on 2026-05-04)" in question.question
    assert "Rome (said on 2026-05-10)" in question.question
    receipt = memory.confirm(rome, scope=SCOPE)
    assert receipt.superseded
    assert known(memory) == ["user: home is Rome"]
    assert memory.needs_confirmation(scope=SCOPE) == []
    with pytest.raises(UnknownUnitError):
        memory.confirm("nobody", scope=SCOPE)
    with pytest.raises(UnknownUnitError):
        memory.confirm(str(memory.write("The train was late", scope=SCOPE).unit_id), scope=SCOPE)


def test_saying_it_again_makes_it_more_certain_and_no_second_fact(memory: PrismMemory) -> None:
    first, again = say(memory, "I live in Paris", 1), say(memory, "I live in PARIS.", 5)
    assert first == again
    unit = memory.get(first[0], scope=SCOPE)
    assert unit.confidence == 0.9
    assert unit.fact is not None
    assert len(unit.fact.statements) == 2
    say(memory, "I no longer live in Paris", 7)
    assert known(memory) == []
    assert known(memory, valid_at=START + timedelta(days=6)) == ["user: home is Paris"]


def test_what_somebody_was_moved_from_says_what_is_meant(memory: PrismMemory) -> None:
    memory.write(
        Event(kind=Kind.FACT, fact=Fact(entity="user", attribute="project", value="Project Atlas")), scope=SCOPE
    )
    say(memory, "I was moved from Project Atlas to Project Borealis")
    assert known(memory) == ["user: project is Project Borealis"]


def test_a_fact_may_be_stored_as_such_and_is_merged_with_its_like(memory: PrismMemory) -> None:
    event = Event(kind=Kind.FACT, fact=Fact(entity="Ann", attribute="seat", value="aisle"))
    first = memory.write(event, scope=SCOPE)
    again = memory.write(event, scope=SCOPE)
    other = memory.write(
        {"kind": "fact", "fact": {"entity": "ann", "attribute": "Seat", "value": "window"}}, scope=SCOPE
    )
    assert [each.status for each in (first, again, other)] == ["stored", "duplicate", "superseded"]
    assert again.unit_id == first.unit_id
    assert len([unit for unit in memory.units(scope=SCOPE) if unit.kind is Kind.FACT]) == 2
    assert memory.get(str(first.unit_id), scope=SCOPE).text == "Ann: seat is aisle"


def test_the_assistant_and_recalled_text_confirm_nothing(memory: PrismMemory) -> None:
    (fact,) = say(memory, "I live in Paris")
    say(memory, "You live in Paris. I live in Paris.", source=Source.ASSISTANT)
    block = memory.context("Where do I live?", scope=SCOPE).text
    assert "Paris" in block
    say(memory, f"Where shall I eat?\n\n{block}")
    assert memory.get(fact, scope=SCOPE).confidence == 0.8


def test_a_search_gives_one_of_what_changed_and_says_so_of_the_other(memory: PrismMemory) -> None:
    say(memory, "The ssh port of the build host is 22, use port 22 for ssh", 1)
    say(memory, "The ssh port is 22", 2)
    say(memory, "The ssh port is now 49222", 9)
    context = memory.context("Which ssh port is it?", scope=SCOPE)
    assert "The ssh port is 22 (since changed: world: ssh port is 49222)" in context.text
    facts = [hit.unit.text for hit in context.retrieval if hit.unit.kind is Kind.FACT]
    assert "world: ssh port is 22" not in facts
    stale = next(hit for hit in context.retrieval if hit.unit.observation == "The ssh port is 22")
    assert stale.now == stale.metadata()["now"] == "world: ssh port is 49222"


def test_erasing_what_was_said_erases_what_it_stated(memory: PrismMemory) -> None:
    say(memory, "I live in Paris", session_id="one")
    say(memory, "I live in Rome", session_id="two")
    say(memory, "I love tea", session_id="two")
    say(memory, "I love tea", session_id="three")
    assert "user: home is Rome" in known(memory)
    erased = memory.erase(scope=SCOPE, session_id="two")
    assert erased.count == 3
    assert known(memory) == ["user: home is Paris", "user: opinion of tea is loves"]
    (paris, tea) = memory.facts(scope=SCOPE)
    assert (paris.status, tea.confidence) == (Status.CURRENT, 0.8)
    assert not [each for each in memory.links(scope=SCOPE) if each.relation is Relation.SUPERSEDES]
    memory.erase(scope=SCOPE, unit_ids=[paris.id])
    assert known(memory) == ["user: opinion of tea is loves"]
    assert all(finding.ok for finding in memory.doctor() if finding.check not in ("vectors", "embedder"))


def test_facts_of_one_scope_know_nothing_of_another(memory: PrismMemory) -> None:
    say(memory, "I live in Paris")
    memory.write("I live in Rome", scope="bob")
    assert known(memory) == ["user: home is Paris"]
    assert [unit.text for unit in memory.facts(scope="bob")] == ["user: home is Rome"]


def test_facts_are_there_again_when_the_store_is_opened_again(tmp_path: Path) -> None:
    with PrismMemory.open(tmp_path, embedder=None) as memory:
        say(memory, "I live in Paris", 1)
        say(memory, "I live in Rome", 5)
        links = memory.links(scope=SCOPE)
    with PrismMemory.open(tmp_path, embedder=None) as memory:
        assert known(memory) == ["user: home is Rome"]
        assert sorted(map(str, memory.links(scope=SCOPE))) == sorted(map(str, links))
        say(memory, "I live in Oslo", 3)
        assert [each.unit.text[-4:] for each in memory.beliefs("user", "home", scope=SCOPE)] == ["aris", "Oslo", "Rome"]


def test_two_processes_leave_one_value_current(tmp_path: Path) -> None:
    PrismMemory.open(tmp_path, embedder=None).close()
    program = (
        "import sys\nfrom prism_core import PrismMemory\n"
        "with PrismMemory.open(sys.argv[1], embedder=None) as memory:\n"
        "    for n in range(25):\n"
        "        memory.write(f'The build number is {sys.argv[2]}{n}', scope=('acme', 'ann'))\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name]) for name in ("1", "2")]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    with PrismMemory.open(tmp_path, embedder=None) as memory:
        facts = [unit for unit in memory.units(scope=SCOPE) if unit.kind is Kind.FACT]
        assert len(facts) == 50
        assert sum(unit.status is Status.CURRENT for unit in facts) == 1
        assert len(known(memory)) == 1


class TestPreload:
    def test_structured_files_become_facts_once(self, memory: PrismMemory, tmp_path: Path) -> None:
        file = tmp_path / "profile.yaml"
        file.write_text("user:\n  home: Lisbon\n  vegan: true\nproject:\n  deadline: 2026-06-01\n", encoding="utf-8")
        receipts = memory.preload(file, scope=SCOPE)
        assert {each.status for each in receipts} == {ReceiptStatus.STORED}
        assert known(memory) == ["user: home is Lisbon", "user: vegan", "project: deadline is 2026-06-01"]
        assert {each.status for each in memory.preload(file, scope=SCOPE)} == {ReceiptStatus.DUPLICATE}
        (tmp_path / "profile.json").write_text('{"user": {"home": "Porto"}}', encoding="utf-8")
        assert memory.preload(tmp_path / "profile.json", scope=SCOPE)[0].status is ReceiptStatus.SUPERSEDED
        assert known(memory, entity="user", attribute="home") == ["user: home is Porto"]

    def test_text_becomes_documents_by_paragraph(self, memory: PrismMemory, tmp_path: Path) -> None:
        file = tmp_path / "handbook.md"
        file.write_text("Refunds take five days.\n\nSupport is closed on Sunday.\n", encoding="utf-8")
        memory.preload(file, scope=SCOPE)
        memory.preload(file, scope=SCOPE)
        units = memory.units(scope=SCOPE)
        assert [unit.kind for unit in units] == [Kind.DOCUMENT, Kind.DOCUMENT]
        assert units[0].metadata == {"source": "handbook.md"}

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("a.json", "{"),
            ("a.yaml", "a: [1"),
            ("a.json", "[1]"),
            ("a.yaml", "user: Lisbon"),
            ("a.yaml", "user: {a: [1]}"),
        ],
    )
    def test_what_cannot_be_read_stores_nothing(
        self, memory: PrismMemory, tmp_path: Path, name: str, text: str
    ) -> None:
        (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(DatasetError, match=name):
            memory.preload(tmp_path / name, scope=SCOPE)
        with pytest.raises(DatasetError, match="cannot be read"):
            memory.preload(tmp_path / "missing.yaml", scope=SCOPE)
        assert memory.units(scope=SCOPE) == []


def test_onboarding_asks_for_what_is_not_known(memory: PrismMemory) -> None:
    asked = memory.onboarding_questions(scope=SCOPE)
    assert len(asked) == 6
    say(memory, "My name is Ana and I live in Lisbon")
    assert [each for each in asked if each not in memory.onboarding_questions(scope=SCOPE)] == asked[:2]
    own = [Onboarding("Which plan are you on?", ("plan",))]
    assert memory.onboarding_questions(scope=SCOPE, questions=own) == ["Which plan are you on?"]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_an_ending_counts_whenever_it_is_recorded(memory: PrismMemory, order: Sequence[int]) -> None:
    said = [("I live in Paris", 1), ("I no longer live in Paris", 4), ("I'm allergic to nuts", 2)]
    for place in order:
        say(memory, *said[place])
    assert known(memory) == ["user: allergic to nuts"]
    assert known(memory, valid_at=START + timedelta(days=3), attribute="home") == ["user: home is Paris"]


def test_a_fact_that_is_repeated_without_end_stays_small(memory: PrismMemory) -> None:
    for day in range(60):
        (fact,) = say(memory, "I live in Paris", day)
    unit = memory.get(fact, scope=SCOPE)
    assert unit.fact is not None
    assert len(unit.fact.statements) == 24
    assert unit.confidence > 0.99
    assert [each.since for each in memory.beliefs("user", "home", scope=SCOPE)] == [START]


@pytest.mark.parametrize("kind", [Kind.DOCUMENT, Kind.MESSAGE, Kind.STEP])
def test_only_facts_have_a_fact(memory: PrismMemory, kind: Kind) -> None:
    with pytest.raises(InvalidEventError, match="only events of kind 'fact'"):
        memory.write(Event(kind=kind, observation="x", fact=Fact(entity="a", attribute="b", value="c")), scope=SCOPE)
    for entity, attribute in ((" ", "a"), ("a", "\u200b"), ("a\0b", "c"), ("a", "b" * 600)):
        with pytest.raises(ValidationError):
            Fact(entity=entity, attribute=attribute, value="c")


def test_preloaded_values_stay_as_written_and_may_change_back(memory: PrismMemory, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("user:\n  zip: 01234\n  meeting: 12:30\n  country: no\n  version: 1.10\n", encoding="utf-8")
    memory.preload(file, scope=SCOPE)
    assert known(memory) == [
        "user: zip is 01234",
        "user: meeting is 12:30",
        "user: country is no",
        "user: version is 1.10",
    ]
    for home in ("Oslo", "Rome", "Oslo"):
        file.write_text(f"user: {{home: {home}}}", encoding="utf-8")
        memory.preload(file, scope=SCOPE)
        assert known(memory, attribute="home") == [f"user: home is {home}"]
    (tmp_path / "deep.json").write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(DatasetError):
        memory.preload(tmp_path / "deep.json", scope=SCOPE)
    with pytest.raises(QueryError, match="file"):
        memory.preload(None, scope=SCOPE)  # type: ignore[arg-type]


def test_a_fact_may_be_replaced_in_what_it_carries_but_not_in_what_it_states(memory: PrismMemory) -> None:
    fact = Fact(entity="Ann", attribute="seat", value="aisle")
    unit_id = str(memory.write(Event(kind=Kind.FACT, fact=fact), scope=SCOPE).unit_id)
    event = Event(kind=Kind.FACT, fact=fact, metadata={"from": "form"})
    assert memory.replace(unit_id, event, scope=SCOPE).status is ReceiptStatus.STORED
    assert memory.get(unit_id, scope=SCOPE).metadata == {"from": "form"}
    other = Event(kind=Kind.FACT, fact=Fact(entity="Ann", attribute="seat", value="window"))
    with pytest.raises(InvalidEventError, match="as a fact of its own"):
        memory.replace(unit_id, other, scope=SCOPE)
