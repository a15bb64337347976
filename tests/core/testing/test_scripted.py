from __future__ import annotations

from datetime import timedelta

import numpy as np

from prism_core.testing import CountingIds, ScriptedClock, make_unit, unit_vectors
from prism_core.testing.scripted import ALICE, START


def test_the_clock_moves_when_it_is_read_and_when_it_is_told_to() -> None:
    clock = ScriptedClock()
    first, second = clock(), clock()
    assert first.utcoffset() == timedelta(0)
    assert second - first == timedelta(seconds=1)
    clock.advance(timedelta(days=1))
    assert clock() - second == timedelta(days=1, seconds=1)


def test_a_clock_may_stand_still() -> None:
    clock = ScriptedClock(step=timedelta(0))
    assert clock() == clock() == START


def test_ids_are_counted_per_source() -> None:
    ids = CountingIds()
    assert [ids(), ids()] == ["u1", "u2"]
    assert CountingIds("r")() == "r1"


def test_units_take_any_field() -> None:
    unit = make_unit("u1", "hello", speaker="Alice", importance=0.9)
    assert (unit.text, unit.scope, unit.importance) == ("Alice: hello", ALICE, 0.9)


def test_vectors_have_unit_length_and_repeat() -> None:
    vectors = unit_vectors(5, 16, seed=3)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0)
    assert np.array_equal(vectors, unit_vectors(5, 16, seed=3))
    assert not np.array_equal(vectors, unit_vectors(5, 16, seed=4))
