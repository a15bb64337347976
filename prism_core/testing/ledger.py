"""The contract of a ledger."""

# ruff: noqa: D102  (a test's name says what it tests)
from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np
import pytest

from prism_core.changes import AddKey, AddLink, AddUnit, Change, PutVector, UpdateUnit
from prism_core.errors import (
    ClosedError,
    InvalidEventError,
    LedgerError,
    NaiveDatetimeError,
    ScopeError,
    StaleReadError,
    UnknownReceiptError,
    UnknownUnitError,
)
from prism_core.protocols import Ledger
from prism_core.results import Position, Receipt, ReceiptStatus
from prism_core.testing.erasure import ErasureContract
from prism_core.testing.scripted import ALICE, BOB, START, add, commit, make_unit, run_threads, unit_vectors
from prism_core.types import Event, Fact, Kind, Link, Outcome, Relation, Scope, Status


def _link(source: str, target: str, **fields: object) -> AddLink:
    return AddLink(Link.model_validate({"source": source, "target": target, "relation": Relation.FOLLOWS, **fields}))


class LedgerContract(ErasureContract):
    """What every `Ledger` keeps. Provide a fixture `ledger` that answers an empty one."""

    def test_an_unwritten_scope_is_empty(self, ledger: Ledger) -> None:
        assert ledger.head(ALICE) == Position()
        assert ledger.delta(ALICE, 0).position == Position()
        assert ledger.log(ALICE) == []
        assert ledger.scopes() == []
        assert ledger.stats(ALICE).units == 0
        assert ledger.find_key(ALICE, "k") is None
        assert ledger.vectors(ALICE, ["u1"]) == {}

    def test_each_change_takes_the_next_seq(self, ledger: Ledger) -> None:
        first = commit(ledger, add("u1"), add("u2"), _link("u1", "u2"))
        second = commit(ledger, add("u3"))
        assert (first, second) == (Position(3), Position(4))
        assert ledger.head(ALICE) == second
        assert [entry.seq for entry in ledger.log(ALICE)] == [1, 2, 3, 4]

    def test_changes_from_an_old_state_are_refused(self, ledger: Ledger) -> None:
        old = ledger.head(ALICE)
        commit(ledger, add("u1"))
        for based_on in (old, Position(2), Position(1, epoch=1)):
            with pytest.raises(StaleReadError):
                ledger.commit(ALICE, [add("u2")], based_on=based_on, recorded_at=START)
        assert ledger.stats(ALICE).units == 1

    def test_receipts_alone_leave_the_head(self, ledger: Ledger) -> None:
        commit(ledger, add("u1"))
        receipt = Receipt("r1", ReceiptStatus.DUPLICATE, "u1", "same key", superseded=("u0",))
        assert commit(ledger, receipts=[receipt]) == Position(1)
        assert ledger.receipt(ALICE, "r1") == receipt

    def test_a_unit_comes_back_as_it_was(self, ledger: Ledger) -> None:
        unit = make_unit(
            "u1",
            "Zürich\x00 東京 👩‍🚀\n",
            kind=Kind.FACT,
            fact=Fact(entity="Alice", attribute="city", value="Zürich"),
            event_time=datetime(2026, 5, 20, 11, 0, 0, 123456, tzinfo=UTC),
            outcome=Outcome.FAILURE,
            intent_tags=("travel/plan",),
            metadata={"n": 1, "nested": {"list": [1.5, None, True, "x"]}},
        )
        commit(ledger, AddUnit(unit, tokens=7))
        assert ledger.units(ALICE, ["u1"]) == [unit]
        assert list(ledger.delta(ALICE, 0).units) == [(unit, 7)]

    def test_units_come_in_the_order_asked_for(self, ledger: Ledger) -> None:
        ids = [f"u{number}" for number in range(1200)]
        commit(ledger, *(add(unit_id) for unit_id in ids))
        wanted = [*reversed(ids), "u5", "u5"]
        assert [unit.id for unit in ledger.units(ALICE, wanted)] == wanted
        assert ledger.units(ALICE, []) == []

    def test_an_unknown_unit_is_an_error(self, ledger: Ledger) -> None:
        commit(ledger, add("u1"))
        with pytest.raises(UnknownUnitError) as caught:
            ledger.units(ALICE, ["u1", "u2"])
        assert caught.value.unit_id == "u2"

    def test_an_update_changes_what_it_names(self, ledger: Ledger) -> None:
        commit(ledger, add("u1", "old", session_id="s"), add("u2"))
        update = UpdateUnit("u1", {"observation": "old"}, {"observation": "new", "status": "superseded"}, 9, "reply")
        commit(ledger, update)
        expected = make_unit("u1", "new", session_id="s", status=Status.SUPERSEDED)
        assert ledger.units(ALICE, ["u1"]) == [expected]
        assert list(ledger.delta(ALICE, 2).units) == [(expected, 9)]
        assert [unit.id for unit, _ in ledger.delta(ALICE, 0).units] == ["u1", "u2"]
        assert ledger.find_text(ALICE, "message", "old") is None
        assert ledger.find_text(ALICE, "message", "new") == "u1"

    def test_a_unit_may_be_added_and_updated_at_once(self, ledger: Ledger) -> None:
        first = UpdateUnit("u1", {"importance": 0.5}, {"importance": 0.7}, 3)
        second = UpdateUnit("u1", {"importance": 0.7}, {"importance": 0.9}, 4)
        assert commit(ledger, add("u1"), first, second) == Position(3)
        assert list(ledger.delta(ALICE, 0).units) == [(make_unit("u1", importance=0.9), 4)]

    @pytest.mark.parametrize("after", [{"id": "u2"}, {"scope": ["x"]}, {"importance": 2}, {"outcome": "maybe"}])
    def test_an_update_that_cannot_be_is_refused(self, ledger: Ledger, after: dict[str, object]) -> None:
        commit(ledger, add("u1"))
        update = UpdateUnit("u1", {}, after, 3)  # type: ignore[arg-type]  # wrong values are the point
        with pytest.raises(InvalidEventError):
            commit(ledger, add("u2"), update)
        assert ledger.head(ALICE) == Position(1)
        assert ledger.units(ALICE, ["u1"]) == [make_unit("u1")]

    @pytest.mark.parametrize(
        "change",
        [
            UpdateUnit("nobody", {}, {"importance": 0.1}, 3),
            _link("u1", "nobody"),
            _link("nobody", "u1"),
            PutVector("nobody", "e", None),
            AddKey("nobody", "k"),
        ],
    )
    def test_changes_to_unknown_units_store_nothing(self, ledger: Ledger, change: Change) -> None:
        commit(ledger, add("u1"))
        with pytest.raises(UnknownUnitError) as caught:
            commit(ledger, add("u2"), change, receipts=[Receipt("r2", ReceiptStatus.STORED, "u2")])
        assert caught.value.unit_id == "nobody"
        assert ledger.head(ALICE) == Position(1)
        assert ledger.stats(ALICE).units == 1
        with pytest.raises(UnknownReceiptError):
            ledger.receipt(ALICE, "r2")

    def test_a_repeated_link_replaces_all_but_its_ends(self, ledger: Ledger) -> None:
        commit(ledger, add("u1"), add("u2"), _link("u1", "u2", confidence=0.5))
        commit(
            ledger,
            _link("u1", "u2", confidence=0.9, reason="seen", label="mirrors"),
            _link("u1", "u2", relation=Relation.CAUSES),
        )
        expected = [
            Link(source="u1", target="u2", relation=Relation.FOLLOWS, confidence=0.9, reason="seen", label="mirrors"),
            Link(source="u1", target="u2", relation=Relation.CAUSES),
        ]
        assert list(ledger.delta(ALICE, 0).links) == expected
        assert list(ledger.delta(ALICE, 4).links) == expected[1:]
        assert ledger.stats(ALICE).links == {"FOLLOWS": 1, "CAUSES": 1}

    def test_vectors_are_exact_and_may_wait(self, ledger: Ledger) -> None:
        vectors = unit_vectors(2)
        commit(ledger, add("u1"), add("u2"), PutVector("u1", "e", vectors[0]), PutVector("u2", "e", None))
        assert ledger.stats(ALICE).pending == 1
        assert list(ledger.vectors(ALICE, ["u2", "u1", "u3"])) == ["u1"]
        delta = dict(ledger.delta(ALICE, 0).vectors)
        assert delta["u2"] is None
        commit(ledger, PutVector("u2", "e", vectors[1]))
        stored = ledger.vectors(ALICE, ["u1", "u2"])
        assert np.array_equal(np.stack([stored["u1"], stored["u2"]]), vectors)
        assert [unit_id for unit_id, _ in ledger.delta(ALICE, 4).vectors] == ["u2"]
        assert ledger.stats(ALICE).pending == 0

    def test_vectors_of_many_units(self, ledger: Ledger) -> None:
        vectors = unit_vectors(1100)
        ids = [f"u{number}" for number in range(len(vectors))]
        puts = [PutVector(unit_id, "e", vector) for unit_id, vector in zip(ids, vectors, strict=True)]
        commit(ledger, *(add(unit_id) for unit_id in ids), *puts)
        stored = ledger.vectors(ALICE, ids)
        assert np.array_equal(np.stack([stored[unit_id] for unit_id in ids]), vectors)

    def test_a_vector_that_is_no_vector_is_refused(self, ledger: Ledger) -> None:
        commit(ledger, add("u1"))
        for vector in (np.array([np.nan, 1]), np.array([np.inf, 0]), np.ones((1, 2))):
            with pytest.raises(InvalidEventError):
                commit(ledger, PutVector("u1", "e", vector.astype(np.float32)))
        assert ledger.head(ALICE) == Position(1)

    def test_a_delta_holds_what_changed_since(self, ledger: Ledger) -> None:
        commit(ledger, add("u1"), add("u2"), _link("u1", "u2"))
        after = commit(ledger, add("u3"), _link("u2", "u3"))
        delta = ledger.delta(ALICE, 3)
        assert [unit.id for unit, _ in delta.units] == ["u3"]
        assert [link.target for link in delta.links] == ["u3"]
        assert delta.position == after
        nothing = ledger.delta(ALICE, after.seq)
        assert (list(nothing.units), list(nothing.links), list(nothing.vectors)) == ([], [], [])
        assert nothing.position == after

    def test_a_delta_may_know_more_of_the_vectors(self, ledger: Ledger) -> None:
        vectors = unit_vectors(3)
        commit(ledger, add("u1"), PutVector("u1", "e", None), add("u2"), PutVector("u2", "e", vectors[1]))
        head = commit(ledger, add("u3"), PutVector("u3", "e", vectors[2]))
        for vectors_after, expected in ((4, ["u1", "u3"]), (head.seq, ["u1"]), (0, ["u1", "u2", "u3"])):
            delta = ledger.delta(ALICE, 0, vectors_after=vectors_after)
            assert [unit_id for unit_id, _ in delta.vectors] == expected
            assert dict(delta.vectors)["u1"] is None
            assert len(delta.units) == 3
        assert [unit_id for unit_id, _ in ledger.delta(ALICE, 4).vectors] == ["u1", "u3"]

    def test_the_log_tells_what_happened_to_a_unit(self, ledger: Ledger) -> None:
        commit(ledger, add("u1", "a text to remember"), add("u2"), _link("u1", "u2", reason="next"))
        commit(ledger, UpdateUnit("u2", {"status": "current"}, {"status": "disputed"}, 3, "they disagree"))
        commit(ledger, PutVector("u2", "e", None))
        entries = ledger.log(ALICE, unit_id="u2")
        assert [entry.kind for entry in entries] == ["unit", "link", "update", "vector"]
        assert all(entry.recorded_at == START and entry.subject == "u2" for entry in entries)
        assert (entries[1].after["source"], entries[1].reason) == ("u1", "next")
        assert (entries[2].before, entries[2].after) == ({"status": "current"}, {"status": "disputed"})
        assert entries[2].reason == "they disagree"
        assert "a text to remember" not in str(ledger.log(ALICE))
        assert [entry.seq for entry in ledger.log(ALICE, after=3)] == [4, 5]
        assert ledger.log(ALICE, unit_id="u2", after=4) == entries[3:]

    def test_a_key_is_stored_once(self, ledger: Ledger) -> None:
        commit(ledger, add("u1", idempotency_key="k"))
        assert ledger.find_key(ALICE, "k") == "u1"
        assert ledger.find_key(ALICE, "K") is None
        with pytest.raises(LedgerError):
            commit(ledger, add("u2"), add("u3", idempotency_key="k"))
        with pytest.raises(LedgerError):
            commit(ledger, add("u2"), add("u1"))
        with pytest.raises(LedgerError):
            commit(ledger, add("u2"), add("u2"))
        assert ledger.head(ALICE) == Position(1)
        assert ledger.stats(ALICE).units == 1

    def test_a_unit_may_have_further_keys(self, ledger: Ledger) -> None:
        commit(ledger, add("u1", idempotency_key="call"), AddKey("u1", "reply"))
        commit(ledger, add("u2"), AddKey("u2", "late"))
        found = [ledger.find_key(ALICE, key) for key in ("call", "reply", "late")]
        assert found == ["u1", "u1", "u2"]
        with pytest.raises(LedgerError):
            commit(ledger, AddKey("u1", "late"))
        assert [entry.kind for entry in ledger.log(ALICE, unit_id="u2")] == ["unit", "key"]
        assert ledger.head(ALICE) == Position(4)

    @pytest.mark.parametrize("kind", [Kind.FACT, Kind.DOCUMENT])
    def test_equal_texts_are_found(self, ledger: Ledger, kind: Kind) -> None:
        commit(ledger, add("u1", "The  flight\nis full", kind=kind), add("u2", "The flight is full", kind=kind))
        assert ledger.find_text(ALICE, kind, " The flight is full") == "u1"
        assert ledger.find_text(ALICE, kind, "The flight is not full") is None
        assert ledger.find_text(ALICE, Kind.SUMMARY, "The flight is full") is None

    def test_scopes_do_not_meet(self, ledger: Ledger) -> None:
        vector = unit_vectors(1)[0]
        receipt = Receipt("r1", ReceiptStatus.STORED, "u1")
        unit = add("u1", kind=Kind.FACT, idempotency_key="k")
        commit(ledger, unit, add("u2"), _link("u1", "u2"), PutVector("u1", "e", vector), receipts=[receipt])
        ledger.accept(ALICE, [Event(observation="later")], received_at=START)
        assert ledger.head(BOB) == Position()
        assert not ledger.delta(BOB, 0).units
        assert ledger.vectors(BOB, ["u1"]) == {}
        assert (ledger.find_key(BOB, "k"), ledger.find_text(BOB, "fact", "text of u1")) == (None, None)
        assert (ledger.log(BOB), ledger.log(BOB, unit_id="u1")) == ([], [])
        assert (ledger.stats(BOB).units, ledger.stats(BOB).inbox) == (0, 0)
        assert ledger.lease(BOB, owner="w", now=START, seconds=9, limit=9) == []
        assert ledger.scopes() == [ALICE]
        with pytest.raises(UnknownUnitError):
            ledger.units(BOB, ["u1"])
        with pytest.raises(UnknownReceiptError):
            ledger.receipt(BOB, "r1")
        with pytest.raises(UnknownUnitError):
            commit(ledger, add("u3", scope=BOB), _link("u1", "u3"), scope=BOB)

    def test_two_scopes_may_use_the_same_ids(self, ledger: Ledger) -> None:
        for scope in (ALICE, BOB):
            receipts = [Receipt("r1", ReceiptStatus.STORED, "u1", reason=scope[1])]
            commit(ledger, add("u1", scope=scope, idempotency_key="k"), scope=scope, receipts=receipts)
        assert [ledger.receipt(scope, "r1").reason for scope in (ALICE, BOB)] == ["alice", "bob"]
        assert ledger.scopes() == [ALICE, BOB]

    def test_scopes_are_told_apart_by_their_segments(self, ledger: Ledger) -> None:
        scopes: list[Scope] = [("a", "b"), ("a/b",), ('a","b',), ("a b",), ("ä",), ("a",), ("A",), ("a ",)]
        for scope in scopes:
            commit(ledger, add("u1", scope=scope), scope=scope)
        assert ledger.scopes() == scopes
        assert all(ledger.units(scope, ["u1"])[0].scope == scope for scope in scopes)

    def test_a_unit_of_another_scope_is_refused(self, ledger: Ledger) -> None:
        with pytest.raises(ScopeError):
            commit(ledger, add("u1", scope=BOB), scope=ALICE)
        assert ledger.head(ALICE) == Position()

    def test_the_inbox_is_worked_off_oldest_first(self, ledger: Ledger) -> None:
        events = [Event(observation=f"said {number}", event_time=START) for number in range(5)]
        receipts = ledger.accept(ALICE, events, received_at=START)
        assert [receipt.status for receipt in receipts] == [ReceiptStatus.ACCEPTED] * 5
        assert len({receipt.id for receipt in receipts}) == 5
        assert ledger.waiting(ALICE)
        assert not ledger.waiting(BOB)
        assert ledger.stats(ALICE).inbox == 5
        first = ledger.lease(ALICE, owner="one", now=START, seconds=60, limit=2)
        second = ledger.lease(ALICE, owner="two", now=START, seconds=60, limit=9)
        assert [item.event for item in (*first, *second)] == events
        assert [item.receipt_id for item in (*first, *second)] == [receipt.id for receipt in receipts]
        assert ledger.lease(ALICE, owner="three", now=START, seconds=60, limit=9) == []
        assert ledger.lease(ALICE, owner="three", now=START, seconds=60, limit=0) == []

    def test_an_expired_lease_can_be_taken_again(self, ledger: Ledger) -> None:
        ledger.accept(ALICE, [Event(observation="said")], received_at=START)
        taken = ledger.lease(ALICE, owner="one", now=START, seconds=60, limit=1)
        assert ledger.lease(ALICE, owner="two", now=START + timedelta(seconds=59), seconds=60, limit=1) == []
        assert ledger.lease(ALICE, owner="two", now=START + timedelta(seconds=60), seconds=60, limit=1) == taken

    def test_a_commit_takes_items_off_the_inbox(self, ledger: Ledger) -> None:
        accepted, other = ledger.accept(ALICE, [Event(observation="a"), Event(observation="b")], received_at=START)
        assert ledger.receipt(ALICE, accepted.id).status is ReceiptStatus.ACCEPTED
        stored = Receipt(accepted.id, ReceiptStatus.STORED, "u1")
        commit(ledger, add("u1"), receipts=[stored])
        assert ledger.receipt(ALICE, accepted.id) == stored
        assert ledger.stats(ALICE).inbox == 1
        left = ledger.lease(ALICE, owner="w", now=START, seconds=9, limit=9)
        assert [item.receipt_id for item in left] == [other.id]

    def test_a_receipt_without_an_id_cannot_be_asked_for(self, ledger: Ledger) -> None:
        commit(ledger, receipts=[Receipt("", ReceiptStatus.REJECTED, reason="empty")])
        for unknown in ("", "r1"):
            with pytest.raises(UnknownReceiptError):
                ledger.receipt(ALICE, unknown)

    def test_instants_must_be_aware(self, ledger: Ledger) -> None:
        naive = START.replace(tzinfo=None)
        with pytest.raises(NaiveDatetimeError):
            ledger.commit(ALICE, [add("u1")], based_on=Position(), recorded_at=naive)
        with pytest.raises(NaiveDatetimeError):
            ledger.accept(ALICE, [Event(observation="a")], received_at=naive)
        assert ledger.scopes() == []

    def test_half_a_surrogate_pair_stores_nothing(self, ledger: Ledger) -> None:
        commit(ledger, add("u0"))
        half = "\ud83d"
        broken: list[Change] = [
            # Units are checked when they are made; a copy is not.
            AddUnit(make_unit("u2").model_copy(update={"observation": half}), 3),
            AddUnit(make_unit("u2").model_copy(update={"metadata": {"key": [half]}}), 3),
            AddUnit(make_unit("u2").model_copy(update={"session_id": half}), 3),
            _link("u0", "u1", reason=half),
            UpdateUnit("u0", {}, {"observation": half}, 3),
            UpdateUnit("u0", {}, {"importance": 0.1}, 3, reason=half),
        ]
        for change in broken:
            with pytest.raises((InvalidEventError, LedgerError)):
                commit(ledger, add("u1"), change)
        with pytest.raises((InvalidEventError, LedgerError)):
            broken_event = Event(observation="fine").model_copy(update={"observation": half})
            ledger.accept(ALICE, [Event(observation="fine"), broken_event], received_at=START)
        assert ledger.head(ALICE) == Position(1)
        assert (ledger.stats(ALICE).units, ledger.stats(ALICE).inbox) == (1, 0)

    def test_settings_are_kept(self, ledger: Ledger) -> None:
        assert ledger.get_meta("embedder") is None
        ledger.set_meta("embedder", "one")
        ledger.set_meta("embedder", "two")
        assert ledger.get_meta("embedder") == "two"

    def test_index_positions_are_kept_per_index_and_scope(self, ledger: Ledger) -> None:
        commit(ledger, add("u1"), add("u2"))
        assert ledger.index_position("i", ALICE) is None
        ledger.note_index_position("i", ALICE, Position(1))
        ledger.note_index_position("i", ALICE, Position(2, epoch=1))
        assert ledger.index_position("i", ALICE) == Position(2, epoch=1)
        assert ledger.index_position("j", ALICE) is None
        assert ledger.index_position("i", BOB) is None

    def test_stats_count(self, ledger: Ledger) -> None:
        commit(ledger, add("u1"), add("u2", kind=Kind.FACT), add("u3"), _link("u1", "u2"), PutVector("u1", "e", None))
        stats = ledger.stats(ALICE)
        assert (stats.scope, stats.units, stats.tokens, stats.pending) == (ALICE, 3, 9, 1)
        assert (stats.kinds, stats.links) == ({"message": 2, "fact": 1}, {"FOLLOWS": 1})
        assert stats.position == Position(5)

    def test_threads_do_not_lose_writes(self, ledger: Ledger) -> None:
        def write(name: str) -> None:
            for number in range(15):
                _commit_until_accepted(ledger, add(f"{name}{number}"))
                ledger.delta(ALICE, 0)

        run_threads(*(partial(write, name) for name in "abcd"))
        assert ledger.head(ALICE) == Position(60)
        assert [entry.seq for entry in ledger.log(ALICE)] == list(range(1, 61))
        assert ledger.stats(ALICE).units == 60

    def test_threads_do_not_lease_the_same_items(self, ledger: Ledger) -> None:
        ledger.accept(ALICE, [Event(observation=str(number)) for number in range(40)], received_at=START)
        taken: list[str] = []

        def work(owner: str) -> None:
            while items := ledger.lease(ALICE, owner=owner, now=START, seconds=60, limit=3):
                taken.extend(item.receipt_id for item in items)

        run_threads(*(partial(work, owner) for owner in "abcd"))
        assert len(taken) == len(set(taken)) == 40

    def test_closing_twice_is_fine_and_use_after_it_is_not(self, ledger: Ledger) -> None:
        ledger.close()
        ledger.close()
        for use in (
            lambda: ledger.head(ALICE),
            lambda: ledger.delta(ALICE, 0),
            lambda: ledger.commit(ALICE, [add("u1")], based_on=Position(), recorded_at=START),
        ):
            with pytest.raises(ClosedError):
                use()


def _commit_until_accepted(ledger: Ledger, change: Change) -> None:
    while True:
        try:
            commit(ledger, change)
        except StaleReadError:
            continue
        return
