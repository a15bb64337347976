import numpy as np

from prism_core.storage.keys import KeyIndex


def test_keys_of_a_row_are_replaced() -> None:
    index = KeyIndex()
    index.put(0, ["plan", "buy", "plan"])
    index.put(2, ["buy"])
    index.put(0, ["buy", "read"])
    assert index.rows("plan").tolist() == []
    assert index.rows("buy").tolist() == [0, 2]
    assert index.rows("unknown").tolist() == []
    assert index.keys(np.array([1, 0])) == [(), ("buy", "read")]
