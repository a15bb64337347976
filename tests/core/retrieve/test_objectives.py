from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from prism_core import Event, IntentQuery, MemoryUnit, PrismMemory, RankingOptions, Source
from prism_core.errors import QueryError
from prism_core.retrieve.objectives import weigh
from prism_core.retrieve.options import Floor
from prism_core.retrieve.recall import Recall

SCOPE = "s"


class Trust:
    """Prefers what the user said to what was read elsewhere."""

    name = "trust"

    def values(self, query: IntentQuery, units: Sequence[MemoryUnit]) -> Sequence[float]:
        return [1.0 if unit.source is Source.USER else 0.2 for unit in units]


class Broken:
    name = "broken"

    def __init__(self, values: Sequence[float]) -> None:
        self.answer = values

    def values(self, query: IntentQuery, units: Sequence[MemoryUnit]) -> Sequence[float]:
        return self.answer


def memory(**options: object) -> PrismMemory:
    opened = PrismMemory.open(embedder=None, ranking=RankingOptions(**options))  # type: ignore[arg-type]
    opened.write_many(
        [
            Event(observation="The port is 22, the port is 22.", source=Source.EXTERNAL),
            Event(observation="I moved the port to 49222.", source=Source.USER),
            Event(observation="Nothing about it."),
        ],
        scope=SCOPE,
    )
    return opened


def test_an_objective_of_your_own_is_one_of_those_that_decide() -> None:
    assert memory().search("which port?", scope=SCOPE)[0].unit.source is Source.EXTERNAL
    found = memory(objectives=(Trust(),), order="sum").search("which port?", scope=SCOPE)
    assert found[0].unit.source is Source.USER
    assert "trust" in found.objectives
    assert found[0].candidate.objectives["trust"] == 1.0


def test_with_an_objective_of_your_own_fronts_come_strictly_first() -> None:
    found = memory(objectives=(Trust(),)).search("which port?", scope=SCOPE)
    fronts = [candidate.front or 0 for candidate in found.candidates]
    assert fronts == sorted(fronts)


@pytest.mark.parametrize(
    "answer",
    [
        [1.0],
        [0.5, 0.5, 2.0],
        [0.5, 0.5, float("nan")],
        [-0.1, 0.0, 0.0],
        ["high", "low", "low"],
        ["1", "0", "0"],
        [1j, 0j, 0j],
        [[1.0], [1.0, 0.0], []],
        (value for value in (1.0, 0.0, 0.0)),
        None,
    ],
)
def test_an_objective_that_answers_nonsense_is_named(answer: Any) -> None:
    with pytest.raises(QueryError, match="broken"):
        memory(objectives=(Broken(answer),)).search("which port?", scope=SCOPE)


def test_an_objective_that_raises_is_named() -> None:
    class Failing(Trust):
        def values(self, query: IntentQuery, units: Sequence[MemoryUnit]) -> Sequence[float]:
            raise ZeroDivisionError("no units of mine")

    with pytest.raises(QueryError, match=r"trust.*ZeroDivisionError: no units of mine"):
        memory(objectives=(Failing(),)).search("which port?", scope=SCOPE)
    with pytest.raises(QueryError, match="objectives"):
        RankingOptions(objectives=5)  # type: ignore[arg-type]  # a wrong value is the point


def test_weights_are_replaceable_and_unknown_signals_are_named() -> None:
    only_words = memory(conversation={"relevance": {"lexical": 1.0}}, order="sum")
    scores = [hit.score for hit in only_words.search("which port?", scope=SCOPE)]
    assert scores[0] == 1.0
    assert scores == sorted(scores, reverse=True)
    with pytest.raises(QueryError, match="charm"):
        memory(conversation={"relevance": {"charm": 1.0}}).search("port", scope=SCOPE)


def test_an_objective_without_weight_tells_nobody_apart() -> None:
    found = memory(conversation={"lexical": {"lexical": 1.0}, "dense": {"dense": 0.0}}).search(
        "which port?", scope=SCOPE
    )
    assert {candidate.objectives["dense"] for candidate in found.candidates} == {0.0}


def test_recency_takes_part_only_where_the_present_state_is_asked_for() -> None:
    assert "recency" not in memory().search("which port?", scope=SCOPE).objectives
    assert "recency" in memory().search("which port is it now?", scope=SCOPE).objectives


def test_signals_are_weighed_into_objectives_and_a_sum() -> None:
    signals = {
        "lexical": np.array([1.0, 0.5], dtype=np.float32),
        "length": np.array([0.0, 1.0], dtype=np.float32),
        "time": np.array([1.0, 1.0], dtype=np.float32),
    }
    found = weigh({"relevance": {"lexical": 2.0, "time": 0.5}, "cost": {"length": -0.5}}, signals)
    assert found.score.tolist() == [2.5, 1.0]
    assert found.objectives["relevance"].tolist() == pytest.approx([1.0, 0.6])
    assert found.objectives["cost"].tolist() == [1.0, 0.0]
    # All have the same time, so that its weight tells nothing apart.
    assert found.weight == 2.5


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"front_penalty": float("nan")}, "front_penalty=nan"),
        ({"front_penalty": 5}, "front_penalty=5"),
        ({"grain": 0}, "grain=0"),
        ({"stop": "a"}, "stop='a'"),
        ({"order": "x"}, "order='x'"),
        ({"conversation": {}}, "weights={}"),
        ({"conversation": {"lexical": 1.0}}, "weights of lexical=1.0"),
        ({"conversation": {"lexical": {"lexical": float("inf")}}}, "weight of lexical=inf"),
        ({"objectives": (Trust(), Trust())}, "objectives='trust'"),
    ],
)
def test_an_option_out_of_range_is_named(options: dict[str, Any], named: str) -> None:
    with pytest.raises(QueryError, match=re.escape(named)):
        RankingOptions(**options)


def test_limits_and_floors_out_of_range_are_named() -> None:
    with pytest.raises(QueryError, match=r"limits\.lexical=0"):
        Recall(lexical=0)
    with pytest.raises(QueryError, match=r"floor\.nothing=5"):
        Floor(nothing=5)
