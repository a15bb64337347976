import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_core.evaluation.metrics import all_at, mean, percentile, recall_at, reciprocal_rank, share

# The third place was derived and stands for nothing; "b" and "c" were equal and are stored once.
PLACES: tuple[list[str], ...] = (["x"], ["a"], [], ["b", "c"], ["y"])


@pytest.mark.parametrize(("k", "expected"), [(1, 0.0), (2, 1 / 3), (3, 1 / 3), (4, 1.0), (99, 1.0)])
def test_recall_counts_gold_keys_in_the_first_places(k: int, expected: float) -> None:
    assert recall_at(PLACES, {"a", "b", "c"}, k) == pytest.approx(expected)
    assert all_at(PLACES, {"a", "b", "c"}, k) == (expected == 1.0)


def test_a_place_that_stands_for_nothing_takes_a_rank() -> None:
    assert reciprocal_rank(PLACES, {"c"}) == 1 / 4
    assert reciprocal_rank(PLACES, {"a", "c"}) == 1 / 2


def test_the_reciprocal_rank_ends_at_its_depth() -> None:
    places = [["x"]] * 100 + [["a"]]
    assert reciprocal_rank(places, {"a"}) == 0.0
    assert reciprocal_rank(places, {"a"}, depth=101) == 1 / 101


def test_nothing_found_is_worth_nothing() -> None:
    assert share([], {"a"}) == recall_at([], {"a"}, 5) == reciprocal_rank([], {"a"}) == 0.0


def test_figures_of_no_values_are_zero() -> None:
    assert mean([]) == percentile([], 50) == 0.0


def test_percentiles_are_interpolated() -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0], 50) == 2.5


@given(
    st.lists(st.lists(st.sampled_from("abcdef"), max_size=2), max_size=12), st.sets(st.sampled_from("abc"), min_size=1)
)
def test_recall_grows_with_k_up_to_the_share_of_all(places: list[list[str]], gold: set[str]) -> None:
    recalls = [recall_at(places, gold, k) for k in range(len(places) + 1)]
    assert recalls == sorted(recalls)
    assert recalls[-1] == share([key for place in places for key in place], gold)
