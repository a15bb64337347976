from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from prism_core import Event, Except, MemoryUnit, PrismMemory
from prism_core.errors import DimensionMismatchError, QueryError
from prism_core.testing import CountingIds, HashedEmbedder, ScriptedClock

SCOPE = ("acme", "ann")
START = datetime(2026, 5, 1, tzinfo=UTC)


def events(count: int = 40) -> list[dict[str, object]]:
    """Messages in turn of two sessions, every fourth about a flight; the later, the later it happened."""
    return [
        {
            "observation": f"note {n} about the {'flight' if n % 4 == 0 else 'garden'}",
            "session_id": f"s{n % 2}",
            "task_id": "trip" if n % 4 < 2 else None,
            "event_time": START + timedelta(days=n),
            "metadata": {"n": n, "third": n % 3 == 0, "tags": ["a", {"x": n % 2}]},
        }
        for n in range(count)
    ]


@pytest.fixture
def filled() -> PrismMemory:
    memory = PrismMemory.open(embedder=HashedEmbedder(), clock=ScriptedClock(), new_id=CountingIds())
    memory.write_many(events(), scope=SCOPE)
    return memory


def numbers(units: list[MemoryUnit] | tuple[MemoryUnit, ...]) -> list[object]:
    return [unit.metadata["n"] for unit in units]


def is_third(unit: MemoryUnit) -> bool:
    return bool(unit.metadata["third"])


class TestUnits:
    def test_they_come_in_the_order_they_were_recorded(self, filled: PrismMemory) -> None:
        filled.write({"observation": "late news of old", "event_time": START, "metadata": {"n": 99}}, scope=SCOPE)
        assert numbers(filled.units(scope=SCOPE)) == [*range(40), 99]
        assert filled.units(scope="nobody") == []

    def test_session_task_and_last_restrict_them(self, filled: PrismMemory) -> None:
        assert numbers(filled.units(scope=SCOPE, session_id="s1", last=3)) == [35, 37, 39]
        assert numbers(filled.units(scope=SCOPE, task_id="trip", last=3)) == [33, 36, 37]
        assert numbers(filled.units(scope=SCOPE, task_id="trip", session_id="s0", last=2)) == [32, 36]
        assert filled.units(scope=SCOPE, session_id="none") == []
        assert len(filled.units(scope=SCOPE, last=1000)) == 40

    def test_a_condition_restricts_them_before_the_last_are_taken(self, filled: PrismMemory) -> None:
        assert numbers(filled.units(scope=SCOPE, where={"third": True}, last=2)) == [36, 39]
        assert numbers(filled.units(scope=SCOPE, where=is_third, last=2)) == [36, 39]
        both = filled.units(scope=SCOPE, session_id="s0", where=is_third)
        assert numbers(both) == [0, 6, 12, 18, 24, 30, 36]
        assert filled.units(scope=SCOPE, session_id="s0", where={"third": True}) == both

    def test_metadata_is_compared_as_json(self, filled: PrismMemory) -> None:
        assert numbers(filled.units(scope=SCOPE, where={"n": 7.0})) == [7]
        assert filled.units(scope=SCOPE, where={"third": 1}) == []
        assert numbers(filled.units(scope=SCOPE, where={"tags": ["a", {"x": 1.0}]}, last=1)) == [39]
        assert len(filled.units(scope=SCOPE, where={})) == 40
        assert filled.units(scope=SCOPE, where={"unseen": None}) == []

    def test_metadata_of_later_units_is_found_as_well(self, filled: PrismMemory) -> None:
        assert filled.units(scope=SCOPE, where={"n": 41}) == []
        call = {"kind": "step", "action": "find()", "tool_call_id": "c", "source": "assistant", "metadata": {"n": 41}}
        filled.write(call, scope=SCOPE)
        assert numbers(filled.units(scope=SCOPE, where={"n": 41})) == [41]
        answer = {"kind": "step", "observation": "found", "tool_call_id": "c", "source": "tool", "metadata": {"n": 42}}
        filled.write(answer, scope=SCOPE)
        assert filled.units(scope=SCOPE, where={"n": 41}) == []
        assert numbers(filled.units(scope=SCOPE, where={"n": 42})) == [42]

    def test_accepted_events_are_among_them(self, filled: PrismMemory) -> None:
        filled.accept([{"observation": "just in", "metadata": {"n": 40}}], scope=SCOPE)
        assert numbers(filled.units(scope=SCOPE, last=1)) == [40]

    def test_only_what_a_function_needs_is_read(self, filled: PrismMemory) -> None:
        asked: list[object] = []

        def note(unit: MemoryUnit) -> bool:
            asked.append(unit.metadata["n"])
            return True

        filled.units(scope=SCOPE, session_id="s1", where=note, last=2)
        assert asked == [39, 37]
        asked.clear()
        filled.search("garden", scope=SCOPE, k=3, session_id="s0", since=START + timedelta(days=30), where=note)
        assert sorted(map(str, asked)) == ["30", "32", "34", "36", "38"]

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("last", 0),
            ("last", True),
            ("last", "2"),
            ("session_id", 3),
            ("task_id", ["x"]),
            ("where", "n"),
            ("where", 3),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, filled: PrismMemory, field: str, value: object) -> None:
        with pytest.raises(QueryError, match=field):
            filled.units(scope=SCOPE, **{field: value})  # type: ignore[arg-type]  # wrong values are the point


class TestFilteredSearch:
    def test_units_left_out_by_their_ids_are_no_candidates(self, filled: PrismMemory) -> None:
        everything = filled.search("flight", scope=SCOPE, k=5)
        left_out = Except(unit_ids=frozenset({*(unit.id for unit in everything.units), "unknown"}))
        found = filled.search("flight", scope=SCOPE, k=40, where=left_out)
        assert len(found) == 35
        assert not left_out.unit_ids & {candidate.unit_id for candidate in found.candidates}
        asked = filled.search("flight", scope=SCOPE, k=40, where=lambda unit: left_out(unit))
        assert [hit.unit.id for hit in asked] == [hit.unit.id for hit in found]
        assert len(filled.units(scope=SCOPE, where=left_out)) == 35
        assert len(filled.search("flight", scope=SCOPE, k=3, where=Except())) == 3

    @pytest.mark.parametrize("where", [{"third": True}, is_third])
    def test_exactly_k_come_back_while_so_many_may(self, filled: PrismMemory, where: object) -> None:
        for k in (1, 5, 14):
            found = filled.search("flight", scope=SCOPE, k=k, where=where)  # type: ignore[arg-type]  # both kinds
            assert len(found) == k
            assert all(unit.metadata["third"] for unit in found.units)
        assert len(filled.search("flight", scope=SCOPE, k=30, where=where)) == 14  # type: ignore[arg-type]  # as above

    def test_conditions_and_limits_add_up(self, filled: PrismMemory) -> None:
        found = filled.search(
            "flight", scope=SCOPE, k=9, where={"third": True}, session_id="s0", until=START + timedelta(days=13)
        )
        assert sorted(map(str, numbers(found.units))) == ["0", "12", "6"]
        assert not filled.search("flight", scope=SCOPE, k=9, where={"third": True, "n": 1})

    def test_times_restrict_by_when_it_happened(self, filled: PrismMemory) -> None:
        since, until = START + timedelta(days=10), START + timedelta(days=12)
        found = filled.search("note", scope=SCOPE, k=9, since=since, until=until)
        assert sorted(map(str, numbers(found.units))) == ["10", "11"]
        assert found.query.since == since

    def test_a_context_obeys_them_too(self, filled: PrismMemory) -> None:
        context = filled.context("note about the flight", scope=SCOPE, where={"n": 8})
        assert numbers(context.retrieval.units) == [8]
        assert "note 8 " in context.text

    def test_a_failing_function_is_named_with_the_unit(self, filled: PrismMemory) -> None:
        class Odd(Exception):
            pass

        def fails(unit: MemoryUnit) -> bool:
            raise Odd(f"no {unit.id}")

        with pytest.raises(QueryError, match=r"fails.*Odd: no u\d+ on unit 'u\d+'") as caught:
            filled.search("flight", scope=SCOPE, where=fails)
        assert isinstance(caught.value.__cause__, Odd)
        with pytest.raises(QueryError, match="missing"):
            filled.units(scope=SCOPE, where=lambda unit: bool(unit.metadata["missing"]))

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("where", {1: 2}),
            ("where", {"a": object()}),
            ("where", {"a": float("nan")}),
            ("since", datetime(2026, 5, 1)),
            ("until", "yesterday"),
            ("vector", "abc"),
            ("vector", [[0.0] * 32]),
            ("vector", [float("nan")] * 32),
            ("vector", [0.0] * 32),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, filled: PrismMemory, field: str, value: object) -> None:
        verbs: list[Callable[..., object]] = [filled.search, filled.context]
        for ask in verbs:
            with pytest.raises(QueryError, match=field):
                ask("flight", scope=SCOPE, **{field: value})

    def test_a_window_that_ends_before_it_begins_is_refused(self, filled: PrismMemory) -> None:
        with pytest.raises(QueryError, match="since"):
            filled.search("flight", scope=SCOPE, since=START, until=START)

    def test_an_async_function_is_refused(self, filled: PrismMemory) -> None:
        async def later(unit: MemoryUnit) -> bool:
            return True

        with pytest.raises(QueryError, match="where"):
            filled.search("flight", scope=SCOPE, where=later)  # type: ignore[arg-type]  # the point


class TestOwnVector:
    def test_it_takes_the_place_of_the_embedded_text(self, filled: PrismMemory) -> None:
        embedder = HashedEmbedder()
        own = embedder.embed_query("note 7 about the garden")
        by_text = filled.search("note 7 about the garden", scope=SCOPE, k=5)
        for vector in (own, (3 * own).tolist(), np.asarray(own, dtype=np.float64)):
            assert filled.search("note 7 about the garden", scope=SCOPE, k=5, vector=vector).units == by_text.units
        found = filled.search("nothing in common", scope=SCOPE, k=1, vector=own)
        assert numbers(found.units) == [7]

    def test_it_is_used_while_the_embedder_is_down(self) -> None:
        embedder = HashedEmbedder()
        memory = PrismMemory.open(embedder=embedder)
        memory.write_many(events(), scope=SCOPE)
        own = embedder.embed_query("note 7 about the garden")
        embedder.down = True
        assert memory.search("something", scope=SCOPE, k=1).degraded
        found = memory.search("something", scope=SCOPE, k=1, vector=own)
        assert (numbers(found.units), found.degraded) == ([7], ())

    def test_another_length_is_refused(self, filled: PrismMemory) -> None:
        with pytest.raises(DimensionMismatchError) as caught:
            filled.search("flight", scope=SCOPE, vector=[1.0, 0.0])
        assert (caught.value.expected, caught.value.got) == (32, 2)


def test_units_may_be_left_out_by_their_keys() -> None:
    with PrismMemory.open(embedder=None) as memory:
        memory.write_many(
            [Event(observation=f"the blue variant, v{n}", idempotency_key=f"k{n}") for n in range(4)], scope=SCOPE
        )
        where = Except(frozenset({"k0", "k2", "never used"}))
        assert [unit.idempotency_key for unit in memory.units(scope=SCOPE, where=where)] == ["k1", "k3"]
        found = memory.search("blue variant", scope=SCOPE, k=4, where=where)
        assert {unit.idempotency_key for unit in found.units} == {"k1", "k3"}
        asked = memory.search("blue variant", scope=SCOPE, k=4, where=lambda unit: where(unit))
        assert [hit.score for hit in asked] == [hit.score for hit in found]


@pytest.mark.parametrize(
    "limit", [{"task_id": []}, {"task_id": b"x"}, {"session_id": ()}, {"since": 5}, {"until": "now"}]
)
def test_an_empty_or_odd_limit_is_refused_and_never_dropped(filled: PrismMemory, limit: dict[str, object]) -> None:
    with pytest.raises(QueryError, match=next(iter(limit))):
        filled.search("flight", scope=SCOPE, **limit)  # type: ignore[arg-type]  # wrong values are the point
