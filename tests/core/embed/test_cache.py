from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from prism_core.changes import FloatArray
from prism_core.embed import CachedEmbedder
from prism_core.errors import EmbeddingError
from prism_core.protocols import Embedder


class LetterEmbedder:
    """A small real embedder: letter counts, normalised. Keeps a list of what it was asked; may be switched off."""

    id = "letters@1"
    dimension = 26

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.down = False

    def embed_query(self, text: str) -> FloatArray:
        if self.down:
            raise EmbeddingError(self.id, "switched off")
        self.asked.append(text)
        counts = np.array([text.count(chr(97 + i)) for i in range(26)], np.float32)
        length = np.linalg.norm(counts)
        return np.asarray(counts / length if length else counts, np.float32)

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        return np.stack([self.embed_query(text) for text in texts])


@pytest.fixture
def inner() -> LetterEmbedder:
    return LetterEmbedder()


def test_it_stands_in_for_the_embedder_it_wraps(inner: LetterEmbedder) -> None:
    cached = CachedEmbedder(inner)
    assert isinstance(cached, Embedder)
    assert (cached.id, cached.dimension) == ("letters@1", 26)
    texts = ["abc", "", "cab", "abc"]
    assert np.array_equal(cached.embed_documents(texts), LetterEmbedder().embed_documents(texts))
    assert cached.embed_documents([]).shape == (0, 26)


def test_a_repeated_question_is_embedded_once(inner: LetterEmbedder) -> None:
    cached = CachedEmbedder(inner)
    first = cached.embed_query("abc")
    assert np.array_equal(cached.embed_query("abc"), first)
    assert inner.asked == ["abc"]


def test_a_cached_vector_cannot_be_spoilt(inner: LetterEmbedder) -> None:
    cached = CachedEmbedder(inner, documents=4)
    with pytest.raises(ValueError, match="read-only"):
        cached.embed_query("abc")[0] = 9
    rows = cached.embed_documents(["abc"])
    rows[:] = 9
    assert cached.embed_documents(["abc"])[0, 0] == pytest.approx(3**-0.5)


def test_the_least_recently_used_question_is_forgotten_first(inner: LetterEmbedder) -> None:
    cached = CachedEmbedder(inner, queries=2)
    for text in ["a", "b", "a", "c", "a", "b"]:
        cached.embed_query(text)
    assert inner.asked == ["a", "b", "c", "b"]


def test_a_capacity_of_zero_remembers_nothing(inner: LetterEmbedder) -> None:
    cached = CachedEmbedder(inner, queries=0)
    cached.embed_query("a")
    cached.embed_query("a")
    assert inner.asked == ["a", "a"]


def test_equal_documents_of_one_call_are_embedded_once(inner: LetterEmbedder) -> None:
    cached = CachedEmbedder(inner)
    cached.embed_documents(["a", "b", "a"])
    cached.embed_documents(["a"])
    assert inner.asked == ["a", "b", "a"]


def test_documents_are_remembered_when_wanted(inner: LetterEmbedder) -> None:
    cached = CachedEmbedder(inner, documents=2)
    cached.embed_documents(["a", "b"])
    assert cached.embed_documents(["c", "a", "b"]).shape == (3, 26)
    assert inner.asked == ["a", "b", "c"]


def test_a_failure_is_not_remembered(inner: LetterEmbedder) -> None:
    cached = CachedEmbedder(inner, documents=2)
    inner.down = True
    with pytest.raises(EmbeddingError):
        cached.embed_query("a")
    with pytest.raises(EmbeddingError):
        cached.embed_documents(["a"])
    inner.down = False
    assert cached.embed_query("a")[0] == 1
    assert cached.embed_documents(["a"])[0, 0] == 1


def test_many_threads_may_ask(inner: LetterEmbedder) -> None:
    cached = CachedEmbedder(inner, queries=3)
    texts = [letter * 2 for letter in "abcdefgh"] * 20
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(cached.embed_query, texts))
    for text, answer in zip(texts, answers, strict=True):
        assert answer[ord(text[0]) - 97] == 1


def test_clearing_forgets_questions_and_documents(inner: LetterEmbedder) -> None:
    cached = CachedEmbedder(inner, documents=4)
    for _ in range(2):
        cached.embed_query("a")
        cached.embed_documents(["b"])
    assert inner.asked == ["a", "b"]
    cached.clear()
    cached.embed_query("a")
    cached.embed_documents(["b"])
    assert inner.asked == ["a", "b", "a", "b"]
