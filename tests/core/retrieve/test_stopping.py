import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism_core.retrieve.stopping import evidence_chances, supply_chances

SCORES = st.lists(st.floats(-5, 5, width=32), max_size=40).map(lambda v: np.array(sorted(v, reverse=True), np.float32))


@given(SCORES)
def test_chances_are_chances_and_never_rise(scores: np.ndarray) -> None:
    for chances in (evidence_chances(scores), supply_chances(scores)):
        assert chances.shape == scores.shape
        assert ((chances >= 0) & (chances <= 1)).all()
        assert (np.diff(chances) <= 1e-6).all()


@given(st.floats(0.5, 100))
def test_only_the_shape_of_the_scores_counts(factor: float) -> None:
    scores = np.array([3.0, 2.9, 1.5, 1.0, 0.9, 0.5], dtype=np.float32)
    assert np.allclose(evidence_chances(scores), evidence_chances(scores * np.float32(factor)), atol=1e-4)


def test_a_score_that_stands_out_is_likelier_and_a_small_pool_too() -> None:
    flat = np.linspace(1.0, 0.5, 100, dtype=np.float32)
    peaked = flat.copy()
    peaked[0] = 3.0
    assert evidence_chances(peaked)[0] > 3 * evidence_chances(flat)[0]
    assert evidence_chances(peaked)[1] < evidence_chances(flat)[1]
    assert evidence_chances(flat[:3])[0] > evidence_chances(flat)[0]


def test_the_best_is_likely_however_much_its_length_costs() -> None:
    alone, beside = np.array([-0.07], np.float32), np.array([-0.07, -0.9, -1.0], np.float32)
    assert evidence_chances(alone)[0] > 0.5
    assert evidence_chances(beside)[0] > 10 * evidence_chances(beside)[2]
