from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_core.changes import FloatArray
from prism_core.evaluation.answerability import Gauge, Ground, answerability
from prism_core.evaluation.datasets import Item
from prism_core.types import Event


def floats(*values: float) -> FloatArray:
    return np.array(values, dtype=np.float32)


def item(key: str, text: str, speaker: str | None = None) -> Item:
    event = Event(observation=text, speaker=speaker)
    return Item(key, (event,), event)


GROUND = Ground(0.15, 0.1)


def test_more_of_the_question_and_more_similarity_speak_for_a_candidate() -> None:
    found = answerability(floats(0, 4, 8), 8, 6, floats(0.2, 0.2, 0.2), GROUND)
    assert list(found) == sorted(set(found))
    assert answerability(floats(4), 8, 6, floats(0.6), GROUND) > answerability(floats(4), 8, 6, floats(0.3), GROUND)


def test_one_word_in_common_proves_less_than_many() -> None:
    whole_short, whole_long = (answerability(floats(wanted), wanted, 6)[0] for wanted in (2, 20))
    assert whole_short < whole_long


def test_a_question_without_terms_is_covered_by_nothing() -> None:
    assert answerability(floats(0), 0, 6)[0] == 0.0


@given(st.floats(0, 50), st.floats(0, 1), st.floats(1, 12), st.floats(-1, 1), st.floats(-1, 1), st.floats(0, 1))
def test_it_lies_between_nothing_and_all(
    wanted: float, share: float, unseen: float, similarity: float, mean: float, spread: float
) -> None:
    for value in (None, floats(similarity)):
        (found,) = answerability(floats(share * wanted), wanted, unseen, value, Ground(mean, spread))
        assert 0.0 <= found <= 1.0


@given(st.floats(-1, 1), st.floats(0, 10))
def test_a_part_that_all_vectors_share_changes_nothing(similarity: float, shared: float) -> None:
    # With a common component of squared length `shared`, every cosine moves towards 1 and closer to the others.
    plain = answerability(floats(3), 8, 6, floats(similarity), GROUND)
    ground = Ground((GROUND.mean + shared) / (1 + shared), GROUND.spread / (1 + shared))
    moved = answerability(floats(3), 8, 6, floats((similarity + shared) / (1 + shared)), ground)
    assert moved == pytest.approx(plain, abs=1e-3)


def test_the_ground_is_what_different_texts_have_in_common() -> None:
    vectors = np.array([[1, 0], [0, 1], [1, 0]], dtype=np.float32)
    ground = Ground.of(vectors, vectors)
    assert ground.mean == pytest.approx(1 / 3)
    assert ground.spread == pytest.approx(np.std([0, 1, 0]))


def test_an_embedder_that_finds_all_texts_equal_says_nothing() -> None:
    alike = answerability(floats(0, 4), 8, 6, floats(1, 1), Ground(1.0, 0.0))
    assert alike[0] == 0.0
    assert alike[1] > 0.0


class Words:
    """A dimension for each of three words and one for all else."""

    id = "words"
    dimension = 4

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        rows = [[float(word in text) for word in ("cat", "boat", "snow")] + [0.5] for text in texts]
        counts = np.array(rows, dtype=np.float32)
        return np.asarray(counts / np.linalg.norm(counts, axis=1, keepdims=True), dtype=np.float32)

    def embed_query(self, text: str) -> FloatArray:
        return np.asarray(self.embed_documents([text])[0], dtype=np.float32)


ITEMS = [item("a", "My cat sleeps on the boat.", "Ann"), item("b", "Ann, it snows again.", "Bob")]


@pytest.mark.parametrize("embedder", [None, Words()])
def test_the_best_of_what_was_found_decides(embedder: Words | None) -> None:
    gauge = Gauge(ITEMS, embedder)
    question = "Where does the cat sleep?"
    assert gauge.confidence(question, ["a", "b"]) == gauge.confidence(question, ["a"])
    assert gauge.confidence(question, ["a"]) > gauge.confidence(question, ["b"])
    assert gauge.confidence(question, []) == 0.0


def test_names_of_speakers_prove_nothing() -> None:
    gauge = Gauge(ITEMS)
    assert gauge.confidence("Ann Bob", ["a", "b"]) == 0.0
    assert gauge.confidence("Does Ann's cat sleep?", ["a"]) == gauge.confidence("Does the cat sleep?", ["a"])
