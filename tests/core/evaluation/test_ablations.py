from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from prism_core.changes import FloatArray
from prism_core.evaluation.ablations import (
    REORDERS,
    Reorder,
    literal,
    literal_crowding,
    literal_first_front,
    maximal_marginal_relevance,
    reciprocal_rank_fusion,
    reordered,
)
from prism_core.evaluation.systems import Pool, Ranking
from prism_core.results import Candidate
from prism_core.types import IntentQuery, MemoryUnit

NOON = datetime(2026, 5, 20, 12, tzinfo=UTC)


class FirstLetters:
    """Texts with the same first letter are alike, others have nothing in common."""

    id = "letters"
    dimension = 26

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        return np.stack([np.eye(26, dtype=np.float32)[ord(text[0]) - ord("a")] for text in texts])

    def embed_query(self, text: str) -> FloatArray:
        return np.asarray(self.embed_documents([text])[0], dtype=np.float32)


def candidate(name: str, score: float, **signals: float) -> Candidate:
    # Built field by field, so that fields this test does not care about may come and go.
    values = {field: None for field in Candidate.__dataclass_fields__}
    if "dense" not in signals:
        signals.setdefault("lexical", score)
    given = {"unit_id": name, "score": score, "signals": signals, "objectives": {}}
    return Candidate(**{**values, **given})  # type: ignore[arg-type]


def ranking(*candidates: Candidate, embed: bool = True, ages: Sequence[int] = ()) -> Ranking:
    hours = ages or [0] * len(candidates)
    units = [
        MemoryUnit.model_construct(id=each.unit_id, observation=each.unit_id, event_time=NOON - timedelta(hours=age))
        for each, age in zip(candidates, hours, strict=True)
    ]
    pool = Pool(IntentQuery(text="?"), candidates, FirstLetters() if embed else None)
    return Ranking(units, 0.0, pool=pool)


def order(reorder: Reorder, asked: Ranking) -> list[str]:
    return [unit.id for unit in reordered(reorder)(asked).units]


def test_fusion_goes_by_ranks_and_leaves_out_what_a_signal_does_not_find() -> None:
    both = candidate("both", 0.0, lexical=0.5, dense=0.5)
    words = candidate("words", 0.0, lexical=1.0, dense=0.0)
    neither = candidate("neither", 9.0, lexical=0.0, dense=0.0)
    assert order(reciprocal_rank_fusion, ranking(neither, words, both)) == ["both", "words", "neither"]


def test_marginal_relevance_puts_a_repetition_behind_something_new() -> None:
    asked = ranking(candidate("aa", 1.0), candidate("ab", 0.9), candidate("b", 0.6), candidate("c", 0.0))
    assert order(maximal_marginal_relevance, asked) == ["aa", "b", "ab", "c"]


def test_marginal_relevance_needs_vectors() -> None:
    asked = ranking(candidate("aa", 1.0), candidate("ab", 0.9), candidate("b", 0.6), embed=False)
    assert order(maximal_marginal_relevance, asked) == ["aa", "ab", "b"]


def test_the_literal_recipe_puts_what_is_new_beside_what_is_relevant() -> None:
    relevant, new, worse = (candidate(name, score) for name, score in (("relevant", 1.0), ("new", 0.0), ("worse", 0.9)))
    asked = ranking(relevant, worse, new, ages=[5, 9, 0])
    # The new one says nothing, and still nothing is better at being new.
    assert order(literal, asked) == ["relevant", "new", "worse"]


def test_coherence_is_an_objective_where_something_is_being_worked_on() -> None:
    fitting = candidate("fitting", 0.5, coherence=1.0)
    asked = ranking(candidate("a", 1.0, coherence=0.0), fitting, candidate("c", 0.0, coherence=0.0))
    assert order(literal, asked) == ["fitting", "a", "c"]


def test_the_first_front_alone_counts_in_its_variant() -> None:
    # Of those behind "best", "even" has the larger sum, but "middle" dominates it, and nothing dominates "new".
    relevance = {"best": 1.0, "middle": 0.6, "new": 0.0, "even": 0.5, "old": 0.0}
    asked = ranking(*(candidate(name, value) for name, value in relevance.items()), ages=[0, 18, 4, 25, 100])
    assert order(literal, asked) == ["best", "middle", "new", "even", "old"]
    assert order(literal_first_front, asked) == ["best", "middle", "even", "new", "old"]


def test_crowding_prefers_the_ends_of_a_front() -> None:
    candidates = [candidate(name, score) for name, score in (("a", 1.0), ("b", 0.95), ("c", 0.5), ("d", 0.0))]
    asked = ranking(*candidates, ages=[9, 6, 3, 0])
    assert set(order(literal_crowding, asked)[:2]) == {"a", "d"}


@pytest.mark.parametrize("name", list(REORDERS))
def test_every_order_shows_everything_once_and_its_pool_with_it(name: str) -> None:
    asked = ranking(*(candidate(letter * 2, 1 / (place + 1)) for place, letter in enumerate("xaybzc")))
    shown = reordered(REORDERS[name])(asked)
    assert sorted(unit.id for unit in shown.units) == ["aa", "bb", "cc", "xx", "yy", "zz"]
    assert shown.pool is not None
    assert [each.unit_id for each in shown.pool.candidates] == [unit.id for unit in shown.units]


def test_answers_of_other_systems_stay_as_they_are() -> None:
    asked = Ranking(ranking(candidate("a", 1.0)).units, 0.0)
    assert reordered(literal)(asked) is asked
    assert reordered(literal)(Ranking((), 0.0, pool=Pool(IntentQuery(text="?"), ()))).units == ()
