"""The part of a ledger's contract that is about erasing."""

# ruff: noqa: D102  (a test's name says what it tests)
from __future__ import annotations

import pytest

from prism_core.changes import AddKey, AddLink, PutVector, ReplaceUnit, UpdateUnit
from prism_core.errors import NaiveDatetimeError, StaleReadError, UnknownReceiptError, UnknownUnitError
from prism_core.protocols import Ledger
from prism_core.results import Position, Receipt, ReceiptStatus
from prism_core.testing.scripted import ALICE, BOB, START, add, commit, make_unit, unit_vectors
from prism_core.types import Event, Link, Relation


def _fill(ledger: Ledger) -> None:
    """Three units in a row, with all that may hang on them."""
    links = [
        Link(source=a, target=b, relation=Relation.FOLLOWS, reason=f"{a} {b}") for a, b in (("u1", "u2"), ("u2", "u3"))
    ]
    commit(ledger, add("u1", idempotency_key="k1"), add("u2", idempotency_key="k2"), add("u3"))
    commit(ledger, *map(AddLink, links), *(PutVector(f"u{n}", "e", row) for n, row in enumerate(unit_vectors(3), 1)))
    commit(
        ledger, UpdateUnit("u2", {"observation": "text of u2"}, {"observation": "secret"}, 3, "why"), AddKey("u2", "r")
    )
    receipts = [Receipt(f"r{n}", ReceiptStatus.STORED, f"u{n}") for n in (1, 2)]
    commit(ledger, receipts=[*receipts, Receipt("r3", ReceiptStatus.SUPERSEDED, "u3", superseded=("u2",))])


class ErasureContract:
    """What erasing leaves and what it does not."""

    def test_an_erased_unit_is_gone_with_all_that_hangs_on_it(self, ledger: Ledger) -> None:
        _fill(ledger)
        head = ledger.head(ALICE)
        position = ledger.erase(ALICE, ["u2"], based_on=head, recorded_at=START)
        assert position == ledger.head(ALICE) == Position(head.seq + 1, epoch=1)
        delta = ledger.delta(ALICE, 0)
        assert ([unit.id for unit, _ in delta.units], list(delta.links)) == (["u1", "u3"], [])
        assert [unit_id for unit_id, _ in delta.vectors] == ["u1", "u3"]
        assert [ledger.find_key(ALICE, key) for key in ("k1", "k2", "r")] == ["u1", None, None]
        assert ledger.find_text(ALICE, "message", "secret") is None
        assert ledger.receipt(ALICE, "r1").unit_id == "u1"
        for receipt in ("r2", "r3"):
            with pytest.raises(UnknownReceiptError):
                ledger.receipt(ALICE, receipt)
        with pytest.raises(UnknownUnitError):
            ledger.units(ALICE, ["u2"])

    def test_the_log_stays_dense_and_says_that_something_was_erased(self, ledger: Ledger) -> None:
        _fill(ledger)
        seq = ledger.erase(ALICE, ["u2"], based_on=ledger.head(ALICE), recorded_at=START).seq
        entries = ledger.log(ALICE)
        assert [entry.seq for entry in entries] == list(range(1, seq + 1))
        assert [entry.kind for entry in entries] == (
            ["unit", "erased", "unit", "erased", "erased", "vector", "erased", "vector", "erased", "erased", "erase"]
        )
        blank = [entry for entry in entries if entry.kind == "erased"]
        assert {(entry.subject, entry.reason, *entry.before, *entry.after) for entry in blank} == {("", "")}
        assert (entries[-1].subject, entries[-1].after) == ("", {"units": 1, "events": 0})
        assert ledger.log(ALICE, unit_id="u2") == []

    def test_erasing_from_an_old_state_is_refused(self, ledger: Ledger) -> None:
        old = commit(ledger, add("u1"))
        commit(ledger, add("u2"))
        with pytest.raises(StaleReadError):
            ledger.erase(ALICE, ["u1"], based_on=old, recorded_at=START)
        new = ledger.erase(ALICE, ["u1"], based_on=ledger.head(ALICE), recorded_at=START)
        for based_on in (old, Position(2), Position(new.seq)):
            with pytest.raises(StaleReadError):
                ledger.commit(ALICE, [add("u3")], based_on=based_on, recorded_at=START)
        assert ledger.stats(ALICE).units == 1

    def test_an_unknown_unit_erases_nothing(self, ledger: Ledger) -> None:
        head = commit(ledger, add("u1"))
        commit(ledger, add("u2", scope=BOB), scope=BOB)
        for ids in (["u1", "u2"], ["nobody"]):
            with pytest.raises(UnknownUnitError):
                ledger.erase(ALICE, ids, based_on=head, recorded_at=START)
        with pytest.raises(NaiveDatetimeError):
            ledger.erase(ALICE, ["u1"], based_on=head, recorded_at=START.replace(tzinfo=None))
        assert ledger.head(ALICE) == head
        assert ledger.stats(BOB).units == 1

    def test_a_replaced_unit_keeps_nothing_of_what_it_was(self, ledger: Ledger) -> None:
        commit(ledger, add("u1", "secret", idempotency_key="k"), PutVector("u1", "e", unit_vectors(1)[0]), add("u2"))
        fresh = make_unit("u1", "anew", idempotency_key="k", metadata={"n": 2})
        assert commit(ledger, ReplaceUnit(fresh, 7), PutVector("u1", "e", None)) == Position(5)
        assert ledger.units(ALICE, ["u1"]) == [fresh]
        assert list(ledger.delta(ALICE, 3).units) == [(fresh, 7)]
        assert [unit.id for unit, _ in ledger.delta(ALICE, 0).units] == ["u1", "u2"]
        assert (ledger.find_text(ALICE, "message", "secret"), ledger.find_key(ALICE, "k")) == (None, "u1")
        assert ledger.vectors(ALICE, ["u1"]) == {}
        assert [entry.kind for entry in ledger.log(ALICE, unit_id="u1")] == ["unit", "vector", "replace", "vector"]
        with pytest.raises(UnknownUnitError):
            commit(ledger, ReplaceUnit(make_unit("nobody"), 3))

    def test_an_erased_id_and_key_may_be_used_again(self, ledger: Ledger) -> None:
        head = commit(ledger, add("u1", idempotency_key="k"))
        ledger.erase(ALICE, ["u1"], based_on=head, recorded_at=START)
        assert commit(ledger, add("u1", "anew", idempotency_key="k")) == Position(3, epoch=1)
        assert [unit.text for unit in ledger.units(ALICE, ["u1"])] == ["anew"]

    def test_accepted_events_are_erased_unprocessed(self, ledger: Ledger) -> None:
        one, two = ledger.accept(ALICE, [Event(observation="a"), Event(observation="b")], received_at=START)
        assert [item.receipt_id for item in ledger.unprocessed(ALICE)] == [one.id, two.id]
        assert [item.event.observation for item in ledger.unprocessed(ALICE, [two.id, "nobody"])] == ["b"]
        assert ledger.unprocessed(ALICE, []) == ledger.unprocessed(BOB) == []
        ledger.lease(ALICE, owner="w", now=START, seconds=60, limit=2)
        ledger.erase(ALICE, [], based_on=Position(), recorded_at=START, receipt_ids=[one.id])
        assert [item.receipt_id for item in ledger.unprocessed(ALICE)] == [two.id]
        with pytest.raises(UnknownReceiptError):
            ledger.receipt(ALICE, one.id)

    def test_of_an_erased_scope_only_the_epoch_survives(self, ledger: Ledger) -> None:
        _fill(ledger)
        commit(ledger, add("u1", scope=BOB), scope=BOB)
        ledger.accept(ALICE, [Event(observation="later")], received_at=START)
        assert ledger.erase_scope(ALICE) == (["u1", "u2", "u3"], Position(0, epoch=1))
        assert ledger.scopes() == [BOB]
        assert ledger.head(ALICE) == Position(0, epoch=1)
        stats = ledger.stats(ALICE)
        assert (stats.units, stats.links, stats.pending, stats.inbox) == (0, {}, 0, 0)
        assert (ledger.log(ALICE), ledger.waiting(ALICE), ledger.find_key(ALICE, "k1")) == ([], False, None)
        with pytest.raises(UnknownReceiptError):
            ledger.receipt(ALICE, "r1")
        assert commit(ledger, add("u1")) == Position(1, epoch=1)
        assert ledger.scopes() == [ALICE, BOB]

    def test_erasing_a_scope_that_never_was_makes_none(self, ledger: Ledger) -> None:
        assert ledger.erase_scope(ALICE) == ([], Position())
        assert ledger.scopes() == []
        assert ledger.head(ALICE) == Position()

    def test_an_index_of_an_older_epoch_is_told_until_it_is_noted_anew(self, ledger: Ledger) -> None:
        head = commit(ledger, add("u1"), add("u2"))
        assert not ledger.index_outdated(ALICE)
        ledger.note_index_position("i", ALICE, head)
        ledger.note_index_position("j", ALICE, head)
        assert not ledger.index_outdated(ALICE)
        head = ledger.erase(ALICE, ["u1"], based_on=head, recorded_at=START)
        assert ledger.index_outdated(ALICE)
        assert not ledger.index_outdated(BOB)
        ledger.note_index_position("i", ALICE, head)
        assert not ledger.index_outdated(ALICE)
        assert ledger.index_position("j", ALICE) is None
