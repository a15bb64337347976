from prism_core.storage.identifiers import IdentifierIndex


def test_rows_chains_and_forms() -> None:
    index = IdentifierIndex()
    index.put(0, ["A123", "B456"], "one")
    index.put(1, ["A123"], "one")
    index.put(2, ["A123", "C789"], "two")
    assert index.rows("A123") == [0, 1, 2]
    assert index.rows("a123") == []
    assert index.chain_count == 2
    assert [index.within("A123", chain) for chain in ("one", "two", "three")] == [[0, 1], [2], []]
    assert index.forms(index.of_row(0)[0]) == ("A9+", "A9+")
    spread, rows = index.spread(index.of_row(0)[0])
    assert (spread, rows.tolist()) == (2, [0, 1, 2])


def test_a_row_that_grows_later_reads_as_if_it_had_held_it_all_along() -> None:
    late, early = IdentifierIndex(), IdentifierIndex()
    late.put(0, ["A123"], "one")
    late.put(1, ["B456"], "one")
    late.put(0, ["A123", "B456"], "one")
    early.put(0, ["A123", "B456"], "one")
    early.put(1, ["B456"], "one")
    for value in ("A123", "B456"):
        assert late.rows(value) == early.rows(value)
        assert late.within(value, "one") == early.within(value, "one")
