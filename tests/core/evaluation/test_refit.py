import numpy as np
import pytest

from prism_core.evaluation.refit import Choice, refitted

TRUE = np.array([2.0, -1.0, 0.0])


def choices(count: int, seed: int = 0) -> list[Choice]:
    """Questions whose evidence is drawn as `TRUE` has it."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        signals = rng.normal(size=(12, 3))
        chances = np.exp(signals @ TRUE)
        made.append(Choice(signals, np.eye(12)[rng.choice(12, p=chances / chances.sum())]))
    return made


def test_weights_are_recovered_from_what_was_chosen_up_to_their_scale() -> None:
    found = refitted(choices(3000), np.array([1.0, 1.0, 1.0]), pull=0.0)
    assert found * np.abs(TRUE).sum() / np.abs(found).sum() == pytest.approx(TRUE, abs=0.15)


def test_magnitudes_add_up_to_those_of_the_given_weights() -> None:
    given = np.array([0.5, 1.0, -0.25])
    assert np.abs(refitted(choices(50), given)).sum() == pytest.approx(np.abs(given).sum())


def test_a_strong_pull_keeps_the_given_weights_a_weak_one_moves_them() -> None:
    given = np.array([1.0, 1.0, 1.0])
    questions = choices(200)
    assert refitted(questions, given, pull=1e6) == pytest.approx(given, abs=1e-3)
    near = np.abs(refitted(questions, given, pull=1.0) - given).sum()
    assert 1e-2 < near < np.abs(refitted(questions, given, pull=0.01) - given).sum()


def test_a_signal_that_tells_nothing_apart_keeps_its_share_of_the_scale() -> None:
    flat = [Choice(np.column_stack([each.signals[:, 0], np.ones(12)]), each.share) for each in choices(100)]
    fitted = refitted(flat, np.array([1.0, 0.5]), pull=0.1)
    assert fitted[1] > 0


def test_the_fit_is_the_best_there_is_nearby() -> None:
    questions, given = choices(100), np.array([1.0, 0.0, 0.5])

    def likelihood(weights: np.ndarray) -> float:
        return max(
            sum(
                float(
                    each.share @ (scale * each.signals @ weights) - np.log(np.exp(scale * each.signals @ weights).sum())
                )
                for each in questions
            )
            for scale in np.geomspace(0.1, 10, 60)
        )

    assert likelihood(refitted(questions, given, pull=1e-6)) > likelihood(given)
