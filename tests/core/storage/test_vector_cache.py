import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism_core.storage.vector_cache import VectorCache


@given(st.lists(st.tuples(st.sampled_from(["put", "drop"]), st.integers(0, 9), st.integers(1, 99)), max_size=60))
def test_what_is_held_is_the_latest_value(steps: list[tuple[str, int, int]]) -> None:
    cache, latest = VectorCache(4), dict[str, int]()
    one = np.ones(1, dtype=np.float32)
    for verb, number, value in steps:
        if verb == "put":
            cache.put({f"u{number}": one * value})
            latest[f"u{number}"] = value
        else:
            cache.discard([f"u{number}"])
            latest.pop(f"u{number}", None)
        ids = [f"u{n}" for n in range(10)]
        places = cache.places(ids)
        held = [unit_id for unit_id, place in zip(ids, places, strict=True) if place >= 0]
        assert len(held) <= 4
        assert set(held) <= set(latest)
        if held:
            scores = cache.scores(places[places >= 0], one)
            assert scores.tolist() == [latest[unit_id] for unit_id in held]
        if verb == "put":
            assert f"u{number}" in held


def test_it_grows_to_its_capacity_and_no_further() -> None:
    cache = VectorCache(1000)
    cache.put({f"u{n}": np.full(2, n, dtype=np.float32) for n in range(1500)})
    places = cache.places([f"u{n}" for n in range(1500)])
    assert (places[:500] == -1).all()
    assert cache.scores(places[500:], np.array([1, 0], dtype=np.float32)).tolist() == list(range(500, 1500))
    assert cache.nbytes == 1000 * 2 * 4
