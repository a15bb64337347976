from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from prism_core.changes import FloatArray
from prism_core.evaluation import baselines
from prism_core.evaluation.baselines import Baseline, Score, Shelf, character_terms
from prism_core.evaluation.datasets import Item
from prism_core.evaluation.systems import Ask
from prism_core.types import Event

NOON = datetime(2026, 5, 20, 12, tzinfo=UTC)


class WordEmbedder:
    """Counts three words; similar texts share words."""

    id = "words"
    dimension = 3

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        counts = np.array([[text.count(word) for word in ("tea", "train", "snow")] for text in texts], dtype=np.float32)
        return np.asarray(counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9), dtype=np.float32)

    def embed_query(self, text: str) -> FloatArray:
        return np.asarray(self.embed_documents([text])[0], dtype=np.float32)


def item(key: str, text: str, *, session: str | None = None, minutes: int = 0) -> Item:
    event = Event(observation=text, session_id=session, event_time=NOON + timedelta(minutes=minutes))
    return Item(key, (event,), event)


def order(score: Score, ask: Ask, *items: Item, embed: bool = False) -> list[str]:
    baseline = Baseline(Shelf(WordEmbedder() if embed else None), score)
    baseline.add(items[:1])
    baseline.add(items[1:])
    return [key for unit in baseline.search(ask).units for key in baseline.keys(unit.id)]


def test_bm25_prefers_rare_terms_and_leaves_out_what_has_none() -> None:
    items = [item("a", "tea and cake"), item("b", "green tea"), item("c", "a train"), item("d", "tea tax train")]
    assert order(baselines.bm25, Ask("train with cake"), *items) == ["a", "c", "d"]


def test_characters_and_their_pairs_find_chinese_text() -> None:
    assert character_terms("Ab 生日") == ["a", "b", "生", "日", "ab", "b生", "生日"]
    baseline = Baseline(Shelf(analyzer=character_terms), baselines.bm25)
    baseline.add([item("a", "日出生长"), item("b", "生日派对"), item("c", "下雨")])
    assert [unit.id for unit in baseline.search(Ask("我的生日")).units] == ["b", "a"]


def test_dense_orders_by_cosine() -> None:
    items = [item("a", "train snow"), item("b", "tea"), item("c", "snow snow tea")]
    assert order(baselines.dense, Ask("snow"), *items, embed=True) == ["c", "a", "b"]


def test_fusions_use_both_rankings() -> None:
    # "trainee" is no term of the question for BM25, but holds its word for the embedder.
    items = [item("a", "trainee"), item("b", "cake"), item("c", "train tea")]
    ask = Ask("train cake")
    assert set(order(baselines.bm25, ask, *items, embed=True)) == {"b", "c"}
    for fusion in (baselines.rrf, baselines.score_sum):
        assert set(order(fusion, ask, *items, embed=True)) == {"a", "b", "c"}
    assert order(baselines.score_sum, ask, *items, embed=True)[0] == "c"
    assert order(baselines.rrf, ask, *items, embed=True)[-1] != "c"


def test_recency_goes_by_time_and_then_by_order() -> None:
    items = [item("a", "x", minutes=5), item("b", "y"), item("c", "z")]
    assert order(baselines.recency, Ask("?"), *items) == ["a", "c", "b"]


@pytest.mark.parametrize(
    "score", [baselines.bm25, baselines.dense, baselines.rrf, baselines.score_sum, baselines.recency]
)
def test_a_question_inside_a_session_gets_nothing_from_another(score: Score) -> None:
    items = [item("a", "tea", session="1"), item("b", "tea", session="2"), item("c", "tea")]
    assert order(score, Ask("tea", session_id="2"), *items, embed=True) == ["b"]


def test_rows_that_are_told_the_run_stay_in_it() -> None:
    items = [item("r1#0", "tea"), item("r1#1", "rain"), item("r1#2", "tea rain"), item("r10#0", "tea tea")]
    assert order(baselines.run_recency, Ask("tea", run="r1"), *items) == ["r1#2", "r1#1", "r1#0"]
    assert order(baselines.run_bm25, Ask("tea", run="r1"), *items) == ["r1#0", "r1#2"]


def test_an_empty_shelf_answers_nothing() -> None:
    for score in (baselines.bm25, baselines.dense, baselines.rrf, baselines.score_sum, baselines.recency):
        assert Baseline(Shelf(WordEmbedder()), score).search(Ask("tea", run="r")).units == []
