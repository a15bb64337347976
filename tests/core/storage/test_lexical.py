from __future__ import annotations

import math
import threading
from collections.abc import Sequence

import bm25s
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_core.storage.lexical import LexicalIndex

UNITS = [
    ["flight", "full", "flight", "booked"],
    ["hotel", "booked"],
    [],
    ["flight", "cancelled", "refund", "asked", "refund"],
    ["refund"],
]

terms = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=8)
operations = st.lists(st.tuples(st.integers(0, 5), terms), max_size=25)


def indexed(units: Sequence[Sequence[str]], k1: float = 0.9, b: float = 0.4) -> LexicalIndex:
    index = LexicalIndex(k1, b)
    for row, unit in enumerate(units):
        index.put(row, unit)
    return index


def idf(units: Sequence[Sequence[str]], term: str) -> float:
    df = sum(term in unit for unit in units)
    return math.log(1 + (len(units) - df + 0.5) / (df + 0.5))


def plain_bm25(units: Sequence[Sequence[str]], query: Sequence[str], k1: float = 0.9, b: float = 0.4) -> list[float]:
    """The formula of the docstring, spelled out over raw texts."""
    mean = sum(map(len, units)) / len(units) if units else 0
    scores = []
    for unit in units:
        score = 0.0
        for term in query:
            tf = list(unit).count(term)
            if tf:
                score += idf(units, term) * tf / (tf + k1 * (1 - b + b * len(unit) / mean))
        scores.append(score)
    return scores


def test_rarer_terms_and_shorter_rows_score_higher() -> None:
    scores = indexed(UNITS).scores(["booked"])
    assert scores[1] > scores[0] > 0
    assert scores[2] == scores[3] == scores[4] == 0
    assert indexed(UNITS).scores(["hotel"])[1] > scores[1]


def test_scores_of_an_empty_index_and_of_unknown_terms() -> None:
    assert LexicalIndex().scores(["a"]).shape == (0,)
    assert not indexed(UNITS).scores(["unheard"]).any()
    assert not indexed(UNITS).scores([]).any()
    assert not indexed([[], []]).scores(["a"]).any()


def test_repeated_query_terms_count_each_time() -> None:
    index = indexed(UNITS)
    np.testing.assert_allclose(index.scores(["flight", "flight"]), 2 * index.scores(["flight"]), rtol=1e-6)


def test_scores_equal_bm25s() -> None:
    units = [unit for unit in UNITS if unit]
    peer = bm25s.BM25(method="lucene", k1=0.9, b=0.4)
    peer.index(units, show_progress=False)
    query = ["flight", "refund", "booked"]
    np.testing.assert_allclose(indexed(units).scores(query), peer.get_scores(query), atol=1e-4)


@given(operations, terms)
def test_any_sequence_of_writes_scores_like_an_index_built_afresh(
    writes: list[tuple[int, list[str]]], query: list[str]
) -> None:
    index = LexicalIndex()
    units: list[list[str]] = []
    for place, words in writes:
        row = min(place, len(units))
        if row == len(units):
            units.append([])
        index.put(row, words)
        units[row] = list(words)
    assert len(index) == len(units)
    np.testing.assert_allclose(index.scores(query), plain_bm25(units, query), rtol=1e-5, atol=1e-6)
    assert [index.document_frequency(term) for term in "abcde"] == [sum(t in u for u in units) for t in "abcde"]
    rows = np.arange(len(units), dtype=np.intp)[::-1]
    assert index.held(query, rows).tolist() == [[term in units[row] for row in rows] for term in query]


@given(st.lists(terms, min_size=1, max_size=6), terms, st.floats(0, 3), st.floats(0, 1))
def test_k1_and_b_are_honoured(units: list[list[str]], query: list[str], k1: float, b: float) -> None:
    expected = plain_bm25(units, query, k1, b)
    np.testing.assert_allclose(indexed(units, k1, b).scores(query), expected, rtol=1e-4, atol=1e-6)


def test_replacing_a_row_forgets_its_old_terms() -> None:
    index = indexed(UNITS)
    index.put(3, ["hotel"])
    assert index.document_frequency("cancelled") == 0
    assert index.document_frequency("hotel") == 2
    assert index.scores(["cancelled"])[3] == 0
    assert len(index) == len(UNITS)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 2), terms), max_size=12), terms)
def test_groups_score_as_one_document_each_whatever_was_replaced(
    writes: list[tuple[int, int, list[str]]], query: list[str]
) -> None:
    index, rows = LexicalIndex(), dict[int, tuple[int, list[str]]]()
    for place, group, words in writes:
        row = min(place, len(rows))
        index.put(row, words, group=group)
        rows[row] = group, words
    found = index.group_scores(query)
    groups = range(max((group for _, group, _ in writes), default=-1) + 1)
    documents = [[word for group, words in rows.values() if group == number for word in words] for number in groups]
    expected = plain_bm25(documents, query) if any(documents) else [0.0] * len(documents)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("row", [-1, 1, 7])
def test_a_row_beyond_the_end_is_refused_and_changes_nothing(row: int) -> None:
    index = LexicalIndex()
    with pytest.raises(IndexError, match="one after the other"):
        index.put(row, ["a"])
    assert len(index) == 0


def test_held_terms_are_told_for_rows_in_any_order() -> None:
    index = indexed(UNITS)
    rows = np.array([3, 0, 2, 0], np.intp)
    assert index.held(["flight", "zebra"], rows).tolist() == [
        ["flight" in UNITS[row] for row in rows.tolist()],
        [False] * 4,
    ]
    assert index.held([], rows).shape == (0, 4)
    assert index.held(["flight"], np.zeros(0, np.intp)).shape == (1, 0)


def test_memory_estimate_grows_with_content() -> None:
    index = LexicalIndex()
    before = index.nbytes
    index.put(0, ["a", "b"])
    assert index.nbytes > before
    assert indexed(UNITS).nbytes > index.nbytes


def test_writing_and_asking_from_several_threads() -> None:
    index = LexicalIndex()
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(300):
                scores = index.scores(["even", "unit"])
                index.held(["even"], np.arange(len(scores), dtype=np.intp))
        except (BufferError, ValueError, IndexError) as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for row in range(400):
        index.put(row, ["unit", "even" if row % 2 == 0 else "odd"])
    for thread in threads:
        thread.join()
    assert failures == []
    assert index.document_frequency("even") == 200
