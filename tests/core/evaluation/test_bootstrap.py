import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_core.evaluation.bootstrap import RESAMPLES, interval, intervals, resamples
from prism_core.evaluation.outcomes import Outcome


def outcome(system: str, group: str, value: float, *, category: str = "plain", key: str = "R@5") -> Outcome:
    return Outcome(system, f"{group}/{value}", category, {key: value}, {"n": 1}, 0.0, group)


def conversations(system: str, values: dict[str, list[float]]) -> list[Outcome]:
    return [outcome(system, group, value) for group, each in values.items() for value in each]


def test_intervals_hold_the_figure_and_are_the_same_every_time() -> None:
    values = {str(group): [group / 10, group / 10 + 0.05] for group in range(8)}
    found = intervals(conversations("prism", values), ["prism"])
    assert found is not None
    low, high = found.systems["prism"]["R@5"]
    assert low < np.mean([value for each in values.values() for value in each]) < high
    assert found.groups == 8
    assert intervals(conversations("prism", values), ["prism"]) == found


def test_a_steady_lead_is_certain_however_much_conversations_differ() -> None:
    ours = {str(group): [group / 10] for group in range(8)}
    theirs = {group: [value - 0.02 for value in values] for group, values in ours.items()}
    outcomes = conversations("prism", ours) + conversations("bm25", theirs)
    found = intervals(outcomes, ["bm25", "prism"])
    assert found is not None
    assert found.reference == "prism"
    assert found.differences == {"bm25": {"R@5": (0.02, 0.02, 0.02)}}
    low, high = found.systems["bm25"]["R@5"]
    assert high - low > 0.2


def test_larger_conversations_count_for_more() -> None:
    found = intervals(conversations("prism", {"large": [1.0] * 30, "small": [0.0]}), ["prism"])
    assert found is not None
    # Half of the resamples hold both: 30 of 31 questions are answered.
    assert found.systems["prism"]["R@5"] == (0.0, 1.0)
    assert float(np.median(resamples(2) @ [30, 0] / (resamples(2) @ [30, 1]))) == pytest.approx(30 / 31)


def test_of_one_conversation_its_questions_are_drawn_and_that_is_said() -> None:
    figures = {"prism": [0.0, 1.0, 1.0], "bm25": [0.0, 0.9, 0.9]}
    outcomes = [
        Outcome(system, f"only/{number}", "plain", {"R@5": value}, {"n": 1}, 0.0, "only")
        for system, values in figures.items()
        for number, value in enumerate(values)
    ]
    found = intervals(outcomes, list(figures))
    assert found is not None
    assert (found.groups, found.of_questions, found.as_dict()["of_questions"]) == (3, True, True)
    assert found.systems["prism"]["R@5"] == (0.0, 1.0)
    assert found.differences["bm25"]["R@5"] == (0.0667, 0.0, 0.1)
    assert intervals(conversations("prism", {"only": [1.0]}), ["prism"]) is None


def test_adversarial_questions_and_figures_of_one_system_are_left_out_of_differences() -> None:
    outcomes = [
        *conversations("ours", {"a": [1.0], "b": [0.5]}),
        outcome("ours", "a", 0.0, category="adversarial"),
        *conversations("theirs", {"a": [1.0], "b": [0.5]}),
        outcome("theirs", "a", 1.0, key="old"),
    ]
    found = intervals(outcomes, ["ours", "theirs"])
    assert found is not None
    assert found.differences == {"theirs": {"R@5": (0.0, 0.0, 0.0)}}
    # Resamples without conversation a have no such figure, and the others agree.
    assert found.systems["theirs"]["old"] == (1.0, 1.0)


def test_resamples_draw_as_many_groups_as_there_are() -> None:
    draws = resamples(5)
    assert draws.shape == (RESAMPLES, 5)
    assert (draws.sum(axis=1) == 5).all()
    assert draws.mean() == pytest.approx(1.0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_an_interval_lies_within_the_figures(values: list[float]) -> None:
    low, high = interval(np.array([*values, math.nan]))
    assert min(values) - 1e-4 <= low <= high <= max(values) + 1e-4


def test_plain_values_say_how_they_were_computed() -> None:
    outcomes = conversations("a", {"x": [0.0], "y": [1.0]}) + conversations("b", {"x": [0.0], "y": [0.0]})
    found = intervals(outcomes, ["a", "b"])
    assert found is not None
    plain = found.as_dict()
    assert {"level", "resamples", "seed", "groups"} < set(plain)
    assert plain["reference"] == "a"
    assert plain["differences"] == {"b": {"R@5": [0.5, 0.0, 1.0]}}
