"""Small parts: clock, ids, embedders, token counters, vector indexes, taggers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

from prism_core.changes import FloatArray
from prism_core.types import Claim, Entity, Event, Scope

Clock = Callable[[], datetime]
"""Answers the present instant; aware."""

IdFactory = Callable[[], str]
"""Answers a new id; unique among all it ever answered."""


@runtime_checkable
class Embedder(Protocol):
    """Turns text into vectors.

    Attributes:
        id: names model and version; stored with every vector.
        dimension: length of a vector.
    """

    @property
    def id(self) -> str:
        """Names model and version."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """Embed texts.

        Args:
            texts: any number, each of any length; nothing is cut silently.

        Returns:
            Shape (n, dimension), float32, rows L2-normalised (a zero row for a text without content).

        Raises:
            EmbeddingError: if it cannot be computed now.
        """
        ...

    def embed_query(self, text: str) -> FloatArray:
        """Embed a question; shape (dimension,), L2-normalised.

        Raises:
            EmbeddingError: if it cannot be computed now.
        """
        ...


@runtime_checkable
class SelectiveEmbedder(Embedder, Protocol):
    """An embedder that knows what it cannot read. Implementing it is optional."""

    def understands(self, text: str) -> bool:
        """Whether vectors say anything about texts like this one; a model of one language may not know another."""
        ...


def understands(embedder: Embedder, text: str) -> bool:
    """Whether an embedder can read a text; True for one that does not say."""
    # Not isinstance: before Python 3.12 that reads every property, and a dimension may be asked for over a network.
    asked = getattr(embedder, "understands", None)
    return asked is None or bool(asked(text))


@dataclass(frozen=True, slots=True)
class Completion:
    """What a language model answered.

    Attributes:
        text: the answer.
        prompt_tokens: tokens of the question as the model counted them; None where it does not say.
        completion_tokens: tokens of the answer; None where it does not say.
    """

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@runtime_checkable
class LLM(Protocol):
    """A language model. Always optional: whatever asks one has a twin that works by rules.

    Attributes:
        id: names the model; part of the keys under which answers are cached.
    """

    @property
    def id(self) -> str:
        """Names the model."""
        ...

    def complete(self, prompt: str) -> Completion:
        """Answer a prompt.

        Raises:
            LLMError: if there is no answer now: the service is down, refuses, or takes too long.
        """
        ...


@runtime_checkable
class TokenCounter(Protocol):
    """Counts tokens the way the model that reads the context does."""

    def count(self, text: str) -> int:
        """The number of tokens of `text`."""
        ...


@runtime_checkable
class VectorIndex(Protocol):
    """Finds the nearest vectors. A cache over the ledger: it may forget everything and be filled again.

    Attributes:
        id: changes whenever the index starts empty, so that remembered positions of a lost index are not believed.
    """

    @property
    def id(self) -> str:
        """Names this filling of the index."""
        ...

    def upsert(self, scope: Scope, ids: Sequence[str], vectors: FloatArray) -> None:
        """Insert or replace vectors.

        Args:
            scope: whose vectors.
            ids: n unit ids, any number of them.
            vectors: shape (n, d), rows L2-normalised.

        Raises:
            DimensionMismatchError: if d differs from what the scope holds.
        """
        ...

    def search(self, scope: Scope, vector: FloatArray, k: int) -> list[tuple[str, float]]:
        """The nearest vectors of a scope.

        Args:
            scope: whose vectors; a scope that was never written has none.
            vector: shape (d,), L2-normalised.
            k: how many at most.

        Returns:
            Pairs of unit id and cosine similarity in [-1, 1], best first.

        Raises:
            DimensionMismatchError: if d differs from what the scope holds.
        """
        ...

    def count(self, scope: Scope) -> int:
        """How many vectors the scope holds."""
        ...

    def drop(self, scope: Scope) -> None:
        """Forget the scope; dropping an unknown scope is no error."""
        ...

    def close(self) -> None:
        """Release files and locks; closing twice is no error."""
        ...


class Distiller(Protocol):
    """Finds what an event states about people and things."""

    def distil(self, event: Event) -> Sequence[Claim]:
        """The claims an event makes, in order; none where it asks, supposes or quotes, or is not worth it."""
        ...


class EntityExtractor(Protocol):
    """Finds what a text names."""

    def extract(self, text: str) -> Sequence[Entity]:
        """The entities of a text, in order; none overlaps another."""
        ...


class IntentTagger(Protocol):
    """Labels texts with what they are for."""

    def tag(self, text: str, *, action_type: str | None = None, vector: FloatArray | None = None) -> tuple[str, ...]:
        """The labels of a text, the best supported first.

        Args:
            text: what was said or done.
            action_type: the action's name, for a step.
            vector: the text's embedding, shape (d,), where there is one.
        """
        ...

    def similarities(self, vector: FloatArray) -> Mapping[str, float]:
        """Cosine similarity of a vector to every label, in [-1, 1]; empty where labels have no vectors."""
        ...

    def unrelated(self) -> FloatArray:
        """Cosine similarities that the embedder gives to texts that have nothing to do with each other.

        Returns:
            Shape (m,), each of some fixed sentences asked as a question with every other one; empty without vectors.
        """
        ...
