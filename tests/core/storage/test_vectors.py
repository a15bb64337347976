import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prism_core.changes import FloatArray
from prism_core.storage.vectors import best_rows


@given(arrays(np.float32, st.integers(0, 30), elements=st.sampled_from([-1.0, 0.0, 0.5, 1.0])), st.integers(1, 40))
def test_the_best_come_first_and_equal_ones_in_their_order(scores: FloatArray, k: int) -> None:
    assert best_rows(scores, k).tolist() == sorted(range(len(scores)), key=lambda row: (-scores[row], row))[:k]
