from prism_core.storage.identifiers import IdentifierIndex


def test_what_is_new_in_its_chain_counts_as_introduced() -> None:
    index = IdentifierIndex()
    assert index.put(0, ["A123", "B456"], "one") == 2
    assert index.put(1, ["A123"], "one") == 0
    assert index.put(2, ["A123", "C789"], "two") == 2
    assert index.rows("A123") == [0, 1, 2]
    assert index.rows("a123") == []
    assert index.chain_count == 2


def test_a_row_that_grows_keeps_what_it_had() -> None:
    index = IdentifierIndex()
    index.put(0, ["A123"], "one")
    assert index.put(0, ["A123", "B456"], "one") == 1
    assert len(index.of_row(0)) == 2
    spread, rows = index.spread(index.of_row(0)[1])
    assert (spread, rows.tolist()) == (1, [0])
