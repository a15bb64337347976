from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_core import (
    CachedEmbedder,
    IntentQuery,
    MemoryUnit,
    MiniLMEmbedder,
    Passage,
    Ranked,
    RankingOptions,
    Reranker,
)
from prism_core.changes import FloatArray
from prism_core.errors import BudgetError, EmbeddingError, NaiveDatetimeError, QueryError
from prism_core.memory.pool import prior

BY_WORDS = Reranker(None)
HOTEL = "The hotel in Lisbon confirmed the booking under reference QX7-4411."
NOISE = ("Alice prefers window seats.", "The museum is closed on Mondays.", "Rain is expected all week.")
QUESTION = "Under which reference is the hotel in Lisbon booked?"


@pytest.fixture(scope="module")
def reranker() -> Reranker:
    return Reranker()


def order(ranked: Sequence[Ranked]) -> list[int]:
    return [each.index for each in ranked]


def test_what_answers_comes_first_whatever_the_hosts_order(reranker: Reranker) -> None:
    ranked = reranker.rank(QUESTION, [*map(Passage, NOISE), Passage(HOTEL)])
    assert ranked[0].index == 3
    assert sorted(order(ranked)) == [0, 1, 2, 3]
    assert [each.score for each in ranked] == sorted((each.score for each in ranked), reverse=True)
    assert ranked[0].front == 0
    assert set(ranked[0].objectives) == {"lexical", "dense", "prior", "cost"}
    assert all(0 <= value <= 1 for each in ranked for value in each.objectives.values())
    assert "lexical" in ranked[0].reason


def test_meaning_counts_beside_words(reranker: Reranker) -> None:
    passages = [Passage("Invoices are due within 30 days."), Passage("My kitten sleeps on the sofa.")]
    assert reranker.rank("Does she have a cat as a pet?", passages)[0].index == 1


CASES = (
    ("When does the ferry to Bergen leave?", "The ferry to Bergen leaves at 07:15 from pier 4."),
    ("What is Marta allergic to?", "Marta cannot eat peanuts; she carries an injector."),
    ("Which port does the staging database listen on?", "Staging Postgres was moved to port 5544."),
    ("Who approved the travel budget?", "Priya signed off the travel budget on Tuesday."),
)
FILLER = (
    "The ferry terminal has a small cafe.",
    "Marta is learning to play the cello.",
    "The staging environment is rebuilt every night.",
    "The budget meeting was moved to room 12.",
    "Databases are backed up weekly.",
    "Bergen is rainy in October.",
    "Travel insurance covers lost luggage.",
    "Nobody knows who left the port wine open.",
)


def test_it_does_not_lose_against_the_order_of_a_host_that_searches_by_vectors(reranker: Reranker) -> None:
    texts = [*FILLER, *(answer for _, answer in CASES)]
    embedder = CachedEmbedder(MiniLMEmbedder())
    rows = embedder.embed_documents(texts)
    host, ours = [], []
    for number, (question, _) in enumerate(CASES):
        similar = rows @ embedder.embed_query(question)
        passages = [Passage(text, float(score)) for text, score in zip(texts, similar, strict=True)]
        answer = len(FILLER) + number
        host.append(np.argsort(-similar, kind="stable").tolist().index(answer))
        ours.append(order(reranker.rank(question, passages)).index(answer))
    assert all(our <= their for our, their in zip(ours, host, strict=True))


def test_the_hosts_score_decides_where_nothing_else_does() -> None:
    passages = [Passage("one", 0.1), Passage("two", 0.9), Passage("three", 0.5)]
    assert order(BY_WORDS.rank("zebra", passages)) == [1, 2, 0]
    assert order(BY_WORDS.rank("zebra", [Passage(each.text, -(each.score or 0)) for each in passages])) == [0, 2, 1]


def test_without_scores_equals_stay_in_the_hosts_order() -> None:
    assert order(BY_WORDS.rank("zebra", [Passage(text) for text in "dcba"])) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("scores", "scaled"),
    [
        ([], []),
        ([math.nan, math.nan], [0, 0]),
        ([0.3, 0.3], [0, 0]),
        ([-5.0, -1.0, -3.0], [0, 1, 0.5]),
        ([1.0, math.nan, 3.0], [0, 0.5, 1]),
        ([math.inf, 2.0, 4.0], [0.5, 0, 1]),
        ([-1.7e308, 1.7e308, 0.0], [0, 1, 0.5]),
        ([7.0], [0]),
    ],
)
def test_the_hosts_scores_are_scaled_whatever_they_are(scores: list[float], scaled: list[float]) -> None:
    assert prior(np.array(scores)).tolist() == pytest.approx(scaled)


@given(st.lists(st.floats() | st.none(), max_size=12))
def test_any_scores_rank_everything_once_and_the_same_again(scores: list[float | None]) -> None:
    passages = [Passage(f"text {number}", score) for number, score in enumerate(scores)]
    ranked = BY_WORDS.rank("text", passages)
    assert sorted(order(ranked)) == list(range(len(scores)))
    assert ranked == BY_WORDS.rank("text", passages)


def test_repeats_come_last_behind_the_one_the_host_likes_best() -> None:
    passages = [Passage("The  hotel", 0.2), Passage("a boat", 0.9), Passage("the hotel", 0.8), Passage("THE HOTEL")]
    ranked = BY_WORDS.rank("hotel", passages)
    assert order(ranked) == [2, 1, 0, 3]
    assert [each.front is None for each in ranked] == [False, False, True, True]
    assert ranked[2].reason == "says the same as passage 2"
    assert order(BY_WORDS.rank("hotel", passages, k=2)) == [2, 1]


def test_a_budget_is_a_hard_cap_and_skips_what_does_not_fit() -> None:
    long = "hotel hotel " * 60
    passages = [Passage(long), Passage("hotel here"), Passage("hotel there"), Passage("hotel  HERE")]
    sizes = [BY_WORDS.counter.count(passage.text) for passage in passages]
    assert order(BY_WORDS.rank("hotel", passages, budget=sizes[1] + sizes[2])) == [1, 2]
    assert 0 in order(BY_WORDS.rank("hotel", passages, budget=sum(sizes)))
    assert 3 not in order(BY_WORDS.rank("hotel", passages, budget=sum(sizes)))
    assert order(BY_WORDS.rank("hotel", passages, budget=sum(sizes), k=1)) == order(
        BY_WORDS.rank("hotel", passages, k=1)
    )
    assert BY_WORDS.rank("hotel", passages, budget=1) == []


def test_newer_comes_first_only_where_the_question_asks_for_what_holds_now() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    texts = ("The gate is A1.", "The gate is B2.", "The gate is C3.")
    passages = [Passage(text, time=start + timedelta(days=day)) for day, text in enumerate(texts)]
    current = BY_WORDS.rank("Which is the gate now?", passages)
    assert order(current) == [2, 1, 0]
    assert "recency" in current[0].objectives
    plain = BY_WORDS.rank("Which is the gate?", passages)
    assert order(plain) == [0, 1, 2]
    assert "recency" not in plain[0].objectives
    undated = BY_WORDS.rank("Which is the gate now?", [Passage("The gate is D4."), *passages])
    assert undated[-1].index == 0


def test_a_date_asked_for_is_found_by_name_and_by_when_it_was_said() -> None:
    day = datetime(2023, 5, 8, 12, tzinfo=UTC)
    passages = [
        Passage("We met the lawyer."),
        Passage("We met the lawyer.", time=day - timedelta(days=90)),
        Passage("We met the lawyer on 8 May 2023, at last."),
        Passage("We met the lawyer again.", time=day),
    ]
    assert order(BY_WORDS.rank("Whom did we meet on 8 May 2023?", passages))[:2] == [2, 3]


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(NaiveDatetimeError):
        BY_WORDS.rank("gate", [Passage("gate", time=datetime(2026, 1, 1))])


def test_nothing_to_rank_is_no_error_and_unusable_arguments_are() -> None:
    assert BY_WORDS.rank("hotel", []) == []
    assert len(BY_WORDS.rank("hotel", [Passage("hotel")], k=99)) == 1
    assert order(BY_WORDS.rank("hotel", [Passage(""), Passage("hotel")])) == [1, 0]
    for k in (0, -1, True):
        with pytest.raises(QueryError):
            BY_WORDS.rank("hotel", [], k=k)
    with pytest.raises(BudgetError):
        BY_WORDS.rank("hotel", [], budget=0)
    with pytest.raises(QueryError, match="ask something"):
        BY_WORDS.rank(" ", [Passage("hotel")])


class Short:
    """Prefers short texts, and what is not from 1970."""

    name = "short"

    def values(self, query: IntentQuery, units: Sequence[MemoryUnit]) -> Sequence[float]:
        return [1.0 if len(unit.text) < 10 else 0.0 for unit in units]


def test_objectives_of_ones_own_and_the_order_are_honoured() -> None:
    passages = [Passage("hotel by the sea in Porto"), Passage("inn")]
    assert order(BY_WORDS.rank("inexpensive", passages)) == [0, 1]
    ranked = Reranker(None, RankingOptions(objectives=(Short(),))).rank("inexpensive", passages)
    assert order(ranked) == [1, 0]
    assert ranked[0].objectives["short"] == 1.0


def test_weights_of_signals_that_passages_lack_are_left_out() -> None:
    options = RankingOptions(conversation={"context": {"session dense": 1.0}, "lexical": {"lexical": 0.0}})
    ranked = Reranker(None, options).rank("hotel", [Passage("inn", 0.1), Passage("hotel", 0.0)])
    assert order(ranked) == [0, 1]
    assert set(ranked[0].objectives) == {"lexical", "prior"}


class Failing:
    """An embedder whose service is down."""

    id = "down"
    dimension = 3

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        raise EmbeddingError(self.id, "connection refused")

    def embed_query(self, text: str) -> FloatArray:
        raise EmbeddingError(self.id, "connection refused")


def test_an_embedder_that_fails_is_done_without_and_that_is_said() -> None:
    passages = [Passage(NOISE[0]), Passage(HOTEL)]
    ranked = Reranker(Failing()).rank(QUESTION, passages)
    assert order(ranked) == order(BY_WORDS.rank(QUESTION, passages)) == [1, 0]
    assert all(each.reason.endswith("; without vectors: connection refused") for each in ranked)


def test_a_question_the_embedder_cannot_read_is_ranked_by_words(reranker: Reranker) -> None:
    passages = [Passage("会议在周五举行。"), Passage("航班从七号登机口出发。")]
    assert reranker.rank("航班从哪里出发？", passages)[0].index == 1
