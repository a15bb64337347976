import numpy as np
import pytest

from prism_core.changes import FloatArray
from prism_core.retrieve.options import Order, RankingOptions
from prism_core.retrieve.order import order_by

OBJECTIVES: dict[str, FloatArray] = {
    "near": np.array([0.9, 0.8, 0.1], dtype=np.float32),
    "new": np.array([0.1, 0.0, 0.9], dtype=np.float32),
}
SCORE = np.array([0.5, 0.9, 0.4], dtype=np.float32)


@pytest.mark.parametrize(
    ("order", "places", "values"),
    [
        ("sum", [1, 0, 2], [0.5, 0.9, 0.4]),
        # The second of the candidates is dominated by the first: front 1 of at most 6.
        ("soft", [1, 0, 2], [0.5, 0.9 - 0.05 * 2 / 6, 0.4]),
        ("front_first", [0, 2, 1], [0.5, 0.9, 0.4]),
    ],
)
def test_fronts_decide_as_the_order_says(order: Order, places: list[int], values: list[float]) -> None:
    found = order_by(OBJECTIVES, SCORE, 2.0, RankingOptions(order=order))
    assert found.places.tolist() == places
    assert found.values.tolist() == pytest.approx(values)
    assert found.fronts.tolist() == [0, 1, 0]


def test_a_penalty_that_is_large_enough_changes_places() -> None:
    found = order_by(OBJECTIVES, SCORE, 2.0, RankingOptions(order="soft", front_penalty=1.0))
    assert found.places.tolist() == [1, 0, 2]
    assert order_by(OBJECTIVES, SCORE, 9.0, RankingOptions(order="soft", front_penalty=1.0)).places.tolist() == [
        0,
        2,
        1,
    ]


def test_differences_below_the_grain_do_not_dominate() -> None:
    close = {"near": np.array([0.52, 0.48], dtype=np.float32), "new": np.array([0.52, 0.49], dtype=np.float32)}
    score = np.array([0.5, 0.5], dtype=np.float32)
    assert order_by(close, score, 1.0, RankingOptions()).fronts.tolist() == [0, 0]
    assert order_by(close, score, 1.0, RankingOptions(grain=0.01)).fronts.tolist() == [0, 1]


def test_nothing_can_be_put_in_order() -> None:
    nothing = np.empty(0, dtype=np.float32)
    found = order_by({"near": nothing}, nothing, 0.0, RankingOptions())
    assert (len(found.places), len(found.values), len(found.fronts)) == (0, 0, 0)
