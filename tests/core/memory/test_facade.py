from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from prism_core import (
    Confidence,
    Event,
    IntentQuery,
    Kind,
    Outcome,
    PrismMemory,
    ReceiptStatus,
    Relation,
    Scope,
    Source,
)
from prism_core.changes import FloatArray
from prism_core.errors import (
    BudgetError,
    ClosedError,
    EmbedderMismatchError,
    IndexFailedError,
    InvalidEventError,
    NaiveDatetimeError,
    QueryError,
    ScopeError,
    StoreNotFoundError,
    StoreUrlError,
    UnknownReceiptError,
    UnknownUnitError,
)
from prism_core.testing import CountingIds, ExactIndex, HashedEmbedder, ScriptedClock

SCOPE = ("acme", "ann")


def call(name: str, arguments: str, call_id: str = "c1", **fields: object) -> dict[str, object]:
    return {
        "kind": "step",
        "action": f"{name}({arguments})",
        "action_type": name,
        "tool_call_id": call_id,
        "source": "assistant",
        "task_id": "trip",
        "session_id": "day 1",
        **fields,
    }


def reply(text: str, call_id: str = "c1", **fields: object) -> dict[str, object]:
    return {
        "kind": "step",
        "observation": text,
        "tool_call_id": call_id,
        "source": "tool",
        "task_id": "trip",
        "session_id": "day 1",
        **fields,
    }


def nested(levels: int) -> list[object]:
    inner: list[object] = []
    for _ in range(levels):
        inner = [inner]
    return inner


@pytest.fixture
def lexical() -> PrismMemory:
    return PrismMemory.open(embedder=None, clock=ScriptedClock(), new_id=CountingIds())


class TestWrite:
    def test_text_is_found_again_with_what_was_said_of_it(self, memory: PrismMemory) -> None:
        receipt = memory.write(
            {"observation": "We booked the hotel Aurora.", "speaker": "Ann", "session_id": "s", "metadata": {"x": [1]}},
            scope=SCOPE,
        )
        assert receipt.status is ReceiptStatus.STORED
        assert receipt.unit_id is not None
        (hit,) = memory.search("which hotel did we book?", scope=SCOPE)
        assert hit.unit == memory.get(receipt.unit_id, scope=SCOPE)
        assert hit.unit.text == "Ann: We booked the hotel Aurora."
        assert hit.unit.metadata == {"x": [1]}
        assert hit.confidence is Confidence.HIGH
        assert memory.receipt(receipt.id, scope=SCOPE) == receipt

    def test_a_reply_joins_the_latest_open_call_with_its_id(self, lexical: PrismMemory) -> None:
        events = [call("find", '{"x": 1}'), reply("{}"), call("find", '{"x": 2}'), reply("Error: two")]
        receipts = lexical.write_many(events, scope=SCOPE)
        assert [receipt.status for receipt in receipts] == ["stored", "joined", "stored", "joined"]
        first, second = (lexical.get(str(receipts[place].unit_id), scope=SCOPE) for place in (1, 3))
        assert (first.observation, second.observation) == ("{}", "Error: two")
        assert (first.outcome, second.outcome) == (Outcome.SUCCESS, Outcome.FAILURE)
        assert lexical.search("two", scope=SCOPE, k=1)[0].unit == second

    def test_a_reply_joins_across_writes_and_without_a_call_stands_alone(self, lexical: PrismMemory) -> None:
        stored = lexical.write(call("find", "{}"), scope=SCOPE)
        assert lexical.write(reply("nothing", "other"), scope=SCOPE).status is ReceiptStatus.STORED
        joined = lexical.write(reply("found"), scope=SCOPE)
        assert (joined.status, joined.unit_id) == (ReceiptStatus.JOINED, stored.unit_id)
        assert lexical.write(reply("again"), scope=SCOPE).status is ReceiptStatus.STORED

    def test_the_same_event_twice_adds_nothing(self, lexical: PrismMemory) -> None:
        events = [
            Event(observation="hi", idempotency_key="k1"),
            Event(observation="yes", session_id="s", step_id="4"),
            Event(observation="yes", session_id="s", event_time=datetime(2026, 5, 1, tzinfo=UTC)),
            Event.parse(call("find", "{}", idempotency_key="k2")),
            Event.parse(reply("found", idempotency_key="k3")),
        ]
        first = lexical.write_many(events, scope=SCOPE)
        before = lexical.stats(SCOPE)
        again = lexical.write_many(events, scope=SCOPE)
        assert {receipt.status for receipt in again} == {ReceiptStatus.DUPLICATE}
        assert [receipt.unit_id for receipt in again] == [receipt.unit_id for receipt in first]
        assert lexical.stats(SCOPE) == before

    def test_a_key_that_was_used_for_other_content_is_refused_loudly(self, lexical: PrismMemory) -> None:
        lexical.write_many(
            [Event(observation="A", idempotency_key="t#0"), Event.parse(call("f", "{}", idempotency_key="t#1"))],
            scope=SCOPE,
        )
        lexical.write(reply("found", idempotency_key="t#2"), scope=SCOPE)
        for event in (
            Event(observation="B", idempotency_key="t#0"),
            Event.parse(call("g", "{}", idempotency_key="t#1")),
            Event.parse(reply("other", idempotency_key="t#2")),
        ):
            receipt = lexical.write(event, scope=SCOPE)
            assert receipt.status is ReceiptStatus.REJECTED
            assert receipt.unit_id is None
            assert "used before for other content" in receipt.reason
        assert lexical.stats(SCOPE).units == 2

    def test_equal_words_at_another_place_are_another_unit(self, lexical: PrismMemory) -> None:
        receipts = lexical.write_many(["yes", "yes", Event(observation="yes", session_id="s")], scope=SCOPE)
        assert len({receipt.unit_id for receipt in receipts}) == 3

    def test_documents_and_facts_merge_on_equal_text(self, lexical: PrismMemory) -> None:
        for kind in (Kind.DOCUMENT, Kind.FACT):
            texts = ["Deadline  is Oct 15th", "deadline is oct 15th", "deadline is Oct 16th"]
            receipts = lexical.write_many([Event(kind=kind, observation=text) for text in texts], scope=SCOPE)
            assert [receipt.status for receipt in receipts] == ["stored", "duplicate", "stored"]

    def test_a_document_with_a_key_of_its_own_is_told_by_it(self, lexical: PrismMemory) -> None:
        keys = ["a#1", "b#1", "a#1", None]
        events = [Event(kind=Kind.DOCUMENT, observation="All rights reserved.", idempotency_key=key) for key in keys]
        receipts = lexical.write_many(events, scope=SCOPE)
        assert [receipt.status for receipt in receipts] == ["stored", "stored", "duplicate", "duplicate"]

    def test_an_event_without_text_is_rejected_visibly(self, lexical: PrismMemory) -> None:
        receipts = lexical.write_many(["", " \n", "word"], scope=SCOPE)
        assert [receipt.status for receipt in receipts] == ["rejected", "rejected", "stored"]
        assert receipts[0].reason
        assert lexical.receipt(receipts[0].id, scope=SCOPE) == receipts[0]

    @pytest.mark.parametrize(
        ("event", "error"),
        [
            ({"observation": "x", "colour": "red"}, InvalidEventError),
            ({"observation": 5}, InvalidEventError),
            ({"observation": "x", "importance": 7}, InvalidEventError),
            ({"observation": "x", "kind": "poem"}, InvalidEventError),
            ({"observation": "x", "event_time": datetime(2026, 1, 1)}, NaiveDatetimeError),
            ({"observation": "x", "metadata": {"when": object()}}, InvalidEventError),
            ({"observation": "lone \ud800 surrogate"}, InvalidEventError),
            ({"observation": "x", "metadata": {"\ud800": 1}}, InvalidEventError),
            ({"observation": "x", "entities": ["\ud800"]}, InvalidEventError),
            ({"observation": "x", "metadata": {"a": float("nan")}}, InvalidEventError),
            ({"observation": "x", "metadata": {"a": 10**400}}, InvalidEventError),
            ({"observation": "x", "metadata": {"a": nested(40)}}, InvalidEventError),
            (5, InvalidEventError),
            (None, InvalidEventError),
        ],
    )
    def test_bad_events_raise_and_leave_the_store_as_it_was(
        self, lexical: PrismMemory, event: object, error: type[Exception]
    ) -> None:
        with pytest.raises(error):
            lexical.write_many([Event(observation="good"), event], scope=SCOPE)  # type: ignore[list-item]
        assert lexical.stats(SCOPE).units == 0

    @pytest.mark.parametrize("scope", [None, "", (), [], ("a", ""), ("a", 1), 7, b"a", ("a\x00",), ("\ud800",)])
    def test_no_scope_no_access(self, lexical: PrismMemory, scope: object) -> None:
        for use in (
            lambda: lexical.write("x", scope=scope),
            lambda: lexical.search("x", scope=scope),
            lambda: lexical.context("x", scope=scope),
            lambda: lexical.stats(scope),
        ):
            with pytest.raises(ScopeError):
                use()

    def test_event_times_come_from_the_caller_and_are_kept_in_utc(self, lexical: PrismMemory) -> None:
        local = datetime(2023, 5, 8, 20, 0, tzinfo=timezone(timedelta(hours=8)))
        receipt = lexical.write(Event(observation="x", event_time=local), scope=SCOPE)
        unit = lexical.get(str(receipt.unit_id), scope=SCOPE)
        assert unit.event_time == datetime(2023, 5, 8, 12, 0, tzinfo=UTC)
        assert unit.recorded_at > unit.event_time

    def test_an_unknown_parent_degrades_and_a_known_one_links(self, lexical: PrismMemory) -> None:
        first = lexical.write(Event(observation="goal", task_id="t", step_id="1"), scope=SCOPE)
        lost = lexical.write(Event(observation="a", task_id="t", parent="9"), scope=SCOPE)
        by_step = lexical.write(Event(observation="b", task_id="t", parent="1"), scope=SCOPE)
        by_id = lexical.write(Event(observation="c", parent=first.unit_id), scope=SCOPE)
        assert lost.status is ReceiptStatus.DEGRADED
        assert "'9' is unknown" in lost.reason
        for receipt in (by_step, by_id):
            chain = lexical.why(str(receipt.unit_id), scope=SCOPE)
            assert chain.units[0].observation == "goal"

    def test_accepted_events_are_durable_and_searchable_by_words_at_once(self, tmp_path: Path) -> None:
        with PrismMemory.open(tmp_path, embedder=None) as memory:
            (receipt,) = memory.accept(["the kettle is broken"], scope=SCOPE)
            assert receipt.status is ReceiptStatus.ACCEPTED
        with PrismMemory.open(tmp_path, embedder=None) as memory:
            assert memory.receipt(receipt.id, scope=SCOPE).status is ReceiptStatus.ACCEPTED
            assert memory.search("kettle", scope=SCOPE)[0].unit.observation == "the kettle is broken"
            assert memory.receipt(receipt.id, scope=SCOPE).status is ReceiptStatus.STORED
            memory.accept(["the lamp works"], scope=SCOPE)
            assert [done.status for done in memory.drain(scope=SCOPE)] == ["stored"]
            assert memory.drain(scope=SCOPE) == []

    def test_a_failing_embedder_degrades_and_units_are_embedded_later(self, tmp_path: Path) -> None:
        embedder = HashedEmbedder()
        embedder.down = True
        with PrismMemory.open(tmp_path, embedder=embedder) as memory:
            receipt = memory.write("the blue bicycle", scope=SCOPE)
            assert receipt.status is ReceiptStatus.DEGRADED
            assert "it is down" in receipt.reason
            found = memory.search("bicycle", scope=SCOPE)
            assert found[0].unit.id == receipt.unit_id
            assert found.degraded
            assert memory.stats(SCOPE).pending == 1
        embedder.down = False
        with PrismMemory.open(tmp_path, embedder=embedder) as memory:
            assert not memory.search("bicycle", scope=SCOPE).degraded
            assert memory.stats(SCOPE).pending == 0


class TestSearch:
    def test_k_gives_exactly_k_while_there_are_that_many(self, lexical: PrismMemory) -> None:
        lexical.write_many([f"note {n}" for n in range(30)], scope=SCOPE)
        for k in (1, 7, 30):
            found = lexical.search("something else entirely", scope=SCOPE, k=k)
            assert len(found) == len({unit.id for unit in found.units}) == k
        assert {hit.confidence for hit in found} == {Confidence.LOW}
        assert len(lexical.search("note", scope=SCOPE, k=99)) == 30

    def test_repeats_of_one_text_stand_behind_one_of_them(self, lexical: PrismMemory) -> None:
        texts = ["Deploy failed: quota exceeded"] * 8 + ["Deploy quota was raised on Monday"]
        lexical.write_many(texts, scope=SCOPE)
        found = lexical.search("deploy quota", scope=SCOPE, k=2)
        assert {unit.observation for unit in found.units} == set(texts)
        assert len(lexical.search("deploy quota", scope=SCOPE, k=5)) == 5
        context = lexical.context("deploy quota", scope=SCOPE, budget=200)
        assert context.text.count("quota exceeded") == 1
        assert "raised on Monday" in context.text
        assert any("says the same as" in candidate.reason for candidate in context.retrieval.candidates)

    def test_a_budget_is_never_exceeded_and_may_give_nothing(self, memory: PrismMemory) -> None:
        memory.write_many([f"The museum in hall {n} shows old maps of the harbour." for n in range(20)], scope=SCOPE)
        for budget in (1, 30, 100, 500):
            context = memory.context("maps of the harbour", scope=SCOPE, budget=budget)
            assert context.tokens == memory.counter.count(context.text) <= budget
            found = memory.search("maps of the harbour", scope=SCOPE, budget=budget)
            assert found.units == context.retrieval.units
        unrelated = memory.context("quarterly tax return of a llama farm", scope=SCOPE, budget=500)
        assert (unrelated.text, unrelated.tokens, len(unrelated.retrieval)) == ("", 0, 0)
        assert not unrelated

    def test_every_candidate_can_be_explained(self, memory: PrismMemory) -> None:
        receipts = memory.write_many(["Ann likes jazz", "Bob likes rock", "The sky is blue"], scope=SCOPE)
        found = memory.search("who likes jazz?", scope=SCOPE, k=1)
        assert [candidate.kept for candidate in found.candidates].count(True) == 1
        assert found.candidates[0].rank == 0
        for candidate in found.candidates:
            assert candidate.reason
            assert set(candidate.objectives) == set(found.objectives)
            assert all(0 <= value <= 1 for value in candidate.objectives.values())
        assert "place 1" in found.explain(str(receipts[0].unit_id))
        assert "not returned" in found.explain(str(receipts[1].unit_id))
        assert "not considered" in found.explain("elsewhere")

    def test_limits_by_task_session_steps_and_time(self, lexical: PrismMemory) -> None:
        start = datetime(2026, 5, 1, tzinfo=UTC)
        lexical.write_many(
            [
                Event(
                    observation=f"tea number {n}",
                    task_id="odd" if n % 2 else "even",
                    session_id=f"s{n // 4}",
                    event_time=start + timedelta(days=n),
                )
                for n in range(8)
            ],
            scope=SCOPE,
        )

        def numbers(**limits: object) -> set[int]:
            query = IntentQuery.model_validate({"text": "tea", **limits})
            return {int(unit.observation[-1]) for unit in lexical.search(query, scope=SCOPE, k=8).units}

        assert numbers() == set(range(8))
        assert numbers(task_id="odd") == {1, 3, 5, 7}
        assert numbers(session_id="s1") == {4, 5, 6, 7}
        assert numbers(task_id="odd", session_id="s1") == {5, 7}
        assert numbers(task_id="odd", first_step=1, last_step=2) == {3, 5}
        assert numbers(since=start + timedelta(days=6)) == {6, 7}
        assert numbers(until=start + timedelta(days=1)) == {0}
        assert numbers(task_id="none such") == set()

    def test_the_active_set_brings_what_the_next_call_needs(self, lexical: PrismMemory) -> None:
        lexical.write_many(
            [
                call("get_user", '{"name": "Mia"}', "1"),
                reply('{"user": "mia_77", "card": "visa_4411"}', "1"),
                *(Event(observation=f"small talk {n}", task_id="trip", session_id="day 1") for n in range(12)),
                *(Event(observation=f"pay book trip {n}", task_id="other", session_id="day 2") for n in range(12)),
                call("book_trip", "{}", "2", task_id="other", session_id="day 2"),
            ],
            scope=SCOPE,
        )
        active = [lexical.write(Event(observation="book it for mia_77", task_id="trip"), scope=SCOPE).unit_id]
        found = lexical.search("book_trip now", scope=SCOPE, k=3, active=[str(item) for item in active])
        assert "supply" in found.objectives
        assert any("visa_4411" in unit.text for unit in found.units)

    @pytest.mark.parametrize("k", [0, -1, 1.5, "3", True])
    def test_bad_k(self, lexical: PrismMemory, k: int) -> None:
        with pytest.raises(QueryError, match="k="):
            lexical.search("x", scope=SCOPE, k=k)

    @pytest.mark.parametrize("budget", [0, -1, 1.5, "3", True])
    def test_bad_budget(self, lexical: PrismMemory, budget: int) -> None:
        with pytest.raises(BudgetError):
            lexical.search("x", scope=SCOPE, budget=budget)
        with pytest.raises(BudgetError):
            lexical.context("x", scope=SCOPE, budget=budget)

    def test_a_question_of_book_length_is_refused(self, lexical: PrismMemory) -> None:
        with pytest.raises(QueryError, match="500000 characters"):
            lexical.search("a" * 500_000, scope=SCOPE)

    def test_an_empty_question_is_refused_and_strange_ones_are_not(self, lexical: PrismMemory) -> None:
        lexical.write("hello", scope=SCOPE)
        with pytest.raises(QueryError, match="text"):
            lexical.search(" ", scope=SCOPE)
        for text in ("*", '"', "a OR (b", "550e8400-e29b-41d4-a716-446655440000", "/tmp/x", "你好", "'; DROP TABLE"):
            assert len(lexical.search(text, scope=SCOPE)) == 1

    def test_an_empty_scope_answers_nothing(self, lexical: PrismMemory) -> None:
        assert len(lexical.search("x", scope=SCOPE)) == 0
        assert lexical.context("x", scope=SCOPE).text == ""


class TestIsolation:
    def test_nothing_depends_on_another_scope(self, lexical: PrismMemory) -> None:
        texts = [f"secret {n} of the orchard" for n in range(5)]
        lexical.write_many(texts, scope="alone")
        alone = lexical.search("orchard", scope="alone")
        lexical.write_many(texts, scope=("shared", "x"))
        lexical.write_many([f"orchard orchard {n}" for n in range(50)], scope=("shared", "y"))
        shared = lexical.search("orchard", scope=("shared", "x"))
        assert [(c.score, c.signals) for c in alone.candidates] == [(c.score, c.signals) for c in shared.candidates]
        unit_id = alone[0].unit.id
        for use in (
            lambda: lexical.get(unit_id, scope=("shared", "x")),
            lambda: lexical.why(unit_id, scope=("shared", "x")),
            lambda: lexical.impact(unit_id, scope=("shared", "x")),
            lambda: lexical.history(unit_id, scope=("shared", "x")),
        ):
            with pytest.raises(UnknownUnitError):
                use()

    def test_receipts_stay_in_their_scope(self, lexical: PrismMemory) -> None:
        receipt = lexical.write("x", scope="a")
        with pytest.raises(UnknownReceiptError):
            lexical.receipt(receipt.id, scope="b")

    def test_segments_do_not_run_together(self, lexical: PrismMemory) -> None:
        lexical.write("x", scope=("a", "b"))
        for other in ("a/b", ("a,b",), ("a", "b", "c"), ("a",), 'a","b'):
            assert lexical.stats(other).units == 0


class TestExplain:
    def test_why_names_where_the_values_came_from(self, lexical: PrismMemory) -> None:
        receipts = lexical.write_many(
            [
                Event(observation="My user id is mia_77.", task_id="trip", session_id="day 1"),
                Event(observation="Nice weather.", task_id="trip", session_id="day 1"),
                call("get_user", '{"id": "mia_77"}', "1"),
                reply('{"card": "visa_4411"}', "1"),
                call("pay", '{"with": "visa_4411"}', "2"),
                reply("Error: declined", "2"),
            ],
            scope=SCOPE,
        )
        ids = [str(receipt.unit_id) for receipt in receipts]
        chain = lexical.why(ids[4], scope=SCOPE)
        assert [unit.id for unit in chain.units] == [ids[0], ids[2], ids[4]]
        via = {step.unit.id: step.link for step in chain}
        assert via[ids[4]] is None
        link = via[ids[2]]
        assert link is not None
        assert link.relation is Relation.REQUIRES
        assert "visa_4411" in link.reason
        assert "visa_4411" in chain.render()
        led_to = {unit.id for unit in lexical.impact(ids[0], scope=SCOPE).units}
        assert led_to == {ids[0], ids[2], ids[4], *receipts[0].facts}
        failed = lexical.failure_path(scope=SCOPE, task_id="trip")
        assert failed.root == ids[4]
        assert {ids[0], ids[1], ids[2]} <= {unit.id for unit in failed.units}
        assert lexical.why(ids[4], scope=SCOPE, limit=2).truncated
        with pytest.raises(QueryError, match="no step of it failed"):
            lexical.failure_path(scope=SCOPE, task_id="none")

    def test_repeated_actions_are_linked_and_history_is_kept(self, lexical: PrismMemory) -> None:
        receipts = lexical.write_many(
            [call("ping", "{}", "1"), reply("slow", "1"), call("ping", "{}", "2"), reply("fast", "2")], scope=SCOPE
        )
        assert lexical.stats(SCOPE).links[Relation.REPEATS] == 1
        history = lexical.history(str(receipts[0].unit_id), scope=SCOPE)
        (update,) = [entry for entry in history if entry.kind == "update"]
        assert (update.before["observation"], update.after["observation"]) == ("", "slow")
        assert [entry.seq for entry in history] == sorted(entry.seq for entry in history)


class TestStore:
    def test_a_store_outlives_its_process_and_is_rebuilt_identically(self, tmp_path: Path) -> None:
        with PrismMemory.open(tmp_path, clock=ScriptedClock()) as memory:
            memory.write_many(
                [Event(observation=f"fact {n} about whales and ships", session_id=f"s{n % 3}") for n in range(40)],
                scope=SCOPE,
            )
            before = [(c.unit_id, c.score, c.front) for c in memory.search("ships 7", scope=SCOPE).candidates]
        with PrismMemory.open(tmp_path, create=False) as memory:
            after = [(c.unit_id, c.score, c.front) for c in memory.search("ships 7", scope=SCOPE).candidates]
            memory.rebuild(SCOPE)
            rebuilt = [(c.unit_id, c.score, c.front) for c in memory.search("ships 7", scope=SCOPE).candidates]
            assert all(finding.ok for finding in memory.doctor())
        assert before == after == rebuilt

    def test_another_process_s_commits_are_seen_at_the_next_call(self, tmp_path: Path) -> None:
        with PrismMemory.open(tmp_path, embedder=None) as memory:
            memory.write("the first", scope=SCOPE)
            assert len(memory.search("second", scope=SCOPE)) == 1
            program = (
                "import sys; from prism_core import PrismMemory\n"
                "with PrismMemory.open(sys.argv[1], embedder=None) as m: m.write('the second', scope=('acme', 'ann'))"
            )
            subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, timeout=60)
            assert memory.search("second", scope=SCOPE)[0].unit.observation == "the second"
            memory.write("the third", scope=SCOPE)
            assert memory.stats(SCOPE).units == 3

    def test_many_threads_write_and_search_one_scope(self, tmp_path: Path) -> None:
        failures: list[BaseException] = []
        with PrismMemory.open(tmp_path, embedder=None) as memory:

            def work(worker: int) -> None:
                try:
                    for n in range(15):
                        memory.write(Event(observation=f"worker {worker} note {n}", session_id=str(worker)), scope="s")
                        assert memory.search(f"worker {worker}", scope="s", k=1)
                except BaseException as error:  # noqa: BLE001
                    failures.append(error)

            threads = [threading.Thread(target=work, args=(worker,)) for worker in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert not failures
            assert memory.stats("s").units == 90
            assert all(finding.ok for finding in memory.doctor())

    def test_two_writers_on_one_scope_lose_nothing(self, tmp_path: Path) -> None:
        with PrismMemory.open(tmp_path, embedder=None) as one, PrismMemory.open(tmp_path, embedder=None) as other:
            threads = [
                threading.Thread(
                    target=lambda memory=memory, name=name: [
                        memory.write(Event(observation=f"{name} {n}", task_id="t"), scope="s") for n in range(25)
                    ]
                )
                for name, memory in (("one", one), ("other", other))
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert one.stats("s").units == 50
            assert one.stats("s").links[Relation.FOLLOWS] == 49
            assert all(finding.ok for finding in other.doctor())

    def test_a_long_write_is_not_starved_by_short_ones(self, tmp_path: Path) -> None:
        with PrismMemory.open(tmp_path, embedder=None) as one, PrismMemory.open(tmp_path, embedder=None) as other:
            done = threading.Event()

            def chatter() -> None:
                while not done.is_set():
                    other.write("a short note", scope="s")

            thread = threading.Thread(target=chatter)
            thread.start()
            try:
                many = [Event(observation=f"note {n} of Alice Smith in Rome, file{n}.txt " * 20) for n in range(200)]
                receipts = one.write_many(many, scope="s")
            finally:
                done.set()
                thread.join()
            assert {receipt.status for receipt in receipts} == {ReceiptStatus.STORED}
            assert one.stats("s").units > 200
            assert all(finding.ok for finding in other.doctor())

    def test_chroma_answers_as_exact_search_does(self, tmp_path: Path) -> None:
        embedder = HashedEmbedder()
        words = ["ship", "whale", "harbour", "map", "storm", "sail", "rope", "mast"]
        texts = [f"{words[n % 8]} {words[n * 3 % 8]} {words[n * 5 % 7]} {n}" for n in range(150)]
        with PrismMemory.open(tmp_path / "c", embedder=embedder, index="chroma", clock=ScriptedClock()) as chroma:
            chroma.write_many([Event(observation=text) for text in texts], scope=SCOPE)
            chroma.flush()
            found = chroma.search("whale in a storm", scope=SCOPE)
            assert (tmp_path / "c" / "chroma").is_dir()
        with PrismMemory.open(tmp_path / "c", embedder=embedder, index="exact") as exact:
            assert [unit.id for unit in exact.search("whale in a storm", scope=SCOPE).units] == [
                unit.id for unit in found.units
            ]

    def test_a_second_owner_of_the_index_searches_exactly_and_says_so(self, tmp_path: Path) -> None:
        embedder = HashedEmbedder()
        with PrismMemory.open(tmp_path, embedder=embedder, index="chroma") as one:
            one.write_many([f"ship {n}" for n in range(70)], scope=SCOPE)
            with PrismMemory.open(tmp_path, embedder=embedder, index="chroma") as other:
                found = other.search("ship 7", scope=SCOPE)
                assert [unit.id for unit in found.units] == [
                    unit.id for unit in one.search("ship 7", scope=SCOPE).units
                ]
                assert "exact search answers" in other.search("ship 7", scope=SCOPE).degraded[0]

    def test_another_embedder_is_refused_or_embeds_again(self, tmp_path: Path) -> None:
        with PrismMemory.open(tmp_path, embedder=HashedEmbedder("one", 32)) as memory:
            memory.write("the old lighthouse", scope=SCOPE)
        with pytest.raises(EmbedderMismatchError, match="reembed"):
            PrismMemory.open(tmp_path, embedder=HashedEmbedder("two", 16))
        with PrismMemory.open(tmp_path, embedder=None) as memory:
            assert len(memory.search("lighthouse", scope=SCOPE)) == 1
        with PrismMemory.open(tmp_path, embedder=HashedEmbedder("two", 16), on_embedder_change="reembed") as memory:
            assert memory.stats(SCOPE).pending == 0
            assert memory.search("lighthouse", scope=SCOPE)[0].candidate.signals["dense"] == 1.0
        with PrismMemory.open(tmp_path, embedder=HashedEmbedder("two", 16)) as memory:
            assert len(memory.search("lighthouse", scope=SCOPE)) == 1

    def test_an_index_that_fails_is_given_up_and_exact_search_answers(self) -> None:
        class Failing(ExactIndex):
            def search(self, scope: Scope, vector: FloatArray, k: int) -> list[tuple[str, float]]:
                raise IndexFailedError("search", "the server is down")

        memory = PrismMemory.open(embedder=HashedEmbedder(), index=Failing())
        memory.write_many([f"ship {n}" for n in range(70)], scope=SCOPE)
        found = memory.search("ship 7", scope=SCOPE)
        assert found[0].unit.observation == "ship 7"
        assert "the server is down" in found.degraded[0]

    def test_places_that_cannot_be_a_store(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        with pytest.raises(StoreUrlError, match="is a file"):
            PrismMemory.open(tmp_path / "file")
        with pytest.raises(StoreUrlError):
            PrismMemory.open("mysql://somewhere/db")
        with pytest.raises(StoreUrlError, match="in memory"):
            PrismMemory.open(index="chroma")
        with pytest.raises(StoreNotFoundError):
            PrismMemory.open(tmp_path / "none", create=False)
        assert not (tmp_path / "none").exists()

    def test_a_closed_memory_says_so(self, tmp_path: Path) -> None:
        memory = PrismMemory.open(tmp_path, embedder=None)
        memory.close()
        memory.close()
        for use in (lambda: memory.write("x", scope="a"), lambda: memory.search("x", scope="a"), memory.doctor):
            with pytest.raises(ClosedError):
                use()

    def test_trusted_fields_are_the_callers(self, lexical: PrismMemory) -> None:
        receipt = lexical.write(Event(observation="x", source=Source.EXTERNAL, intent_tags=("buy",)), scope=SCOPE)
        unit = lexical.get(str(receipt.unit_id), scope=SCOPE)
        assert (unit.source, unit.intent_tags) == (Source.EXTERNAL, ("buy",))


TALK = "Then we spoke of the weather and of other things that matter to nobody at all. "


def test_a_long_memory_enters_a_small_context_as_an_excerpt_and_its_mark_gets_the_full_text() -> None:
    with PrismMemory.open(embedder=None) as memory:
        said = f"{TALK * 20}The bell of the chapel weighs 412 kilos. {TALK * 20}"
        stored = memory.write(said, scope=SCOPE).unit_id
        assert stored is not None
        context = memory.context("How heavy is the chapel bell?", scope=SCOPE, budget=120)
        (hit,) = context.retrieval.hits
        mark = context.text.splitlines()[-2].rpartition("[… ")[2].rstrip("]")
        assert context.tokens <= 120
        assert "weighs 412 kilos" in context.text
        assert context.excerpts == {stored: hit.text}
        assert hit.metadata()["excerpt"] is True
        assert memory.get(mark, scope=SCOPE).text == said == hit.unit.text
        with pytest.raises(UnknownUnitError):
            memory.get(mark, scope="somebody else")
        with pytest.raises(UnknownUnitError):
            memory.get(mark[:6], scope=SCOPE)
        whole = memory.search("How heavy is the chapel bell?", scope=SCOPE, k=1)[0]
        assert (whole.text, whole.metadata()["excerpt"]) == (said, False)


def test_a_mark_that_may_stand_for_two_units_gets_none() -> None:
    numbers = itertools.count()
    with PrismMemory.open(embedder=None, new_id=lambda: f"01234567{next(numbers):08x}") as memory:
        _, receipt = memory.write_many(["one", "two"], scope=SCOPE)
        with pytest.raises(UnknownUnitError):
            memory.get("01234567", scope=SCOPE)
        assert receipt.unit_id is not None
        assert memory.get(receipt.unit_id, scope=SCOPE).text == "two"
