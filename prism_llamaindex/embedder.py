"""Any LlamaIndex embedding model as the memory's embedder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, TypeVar

from llama_index.core.base.embeddings.base import BaseEmbedding

from prism_core import FloatArray, normalised
from prism_core.errors import EmbeddingError, QueryError

_T = TypeVar("_T")

PROBE = "dimension"
"""Embedded once to learn how long a vector is, where nothing else says so."""


class LlamaIndexEmbedder:
    """Embeds with a LlamaIndex model; `Settings` is neither read nor written.

    Texts without content get a row of zeros and are not sent: hosted models refuse them. What the model raises becomes
    an `EmbeddingError`, so that the memory stores the unit all the same and embeds it later.

    Args:
        embed_model: any `BaseEmbedding`; its `embed_batch_size` is kept to.
        dimension: length of a vector; measured with one short text at first need when None.
        id: names the model, and must change when its vectors do; class and model name when None, with the number of
            dimensions where the model was asked for a certain one.
        failures: what counts as the model not answering; providers raise errors of their own, with no root in common.

    Raises:
        QueryError: if neither the model nor the caller names it.
    """

    def __init__(
        self,
        embed_model: BaseEmbedding,
        *,
        dimension: int | None = None,
        id: str | None = None,
        failures: tuple[type[Exception], ...] = (Exception,),
    ) -> None:
        self.embed_model = embed_model
        self.id = id or _name(embed_model)
        self._dimension = dimension
        self._failures = failures
        self._lock = Lock()

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex's own parts answer here."""
        return "LlamaIndexEmbedder"

    @property
    def dimension(self) -> int:
        """Length of a vector.

        Raises:
            EmbeddingError: if it has to be measured and the model cannot be asked now.
        """
        with self._lock:
            if self._dimension is None:
                vector = self._ask(lambda: self.embed_model.get_text_embedding(PROBE))
                self._dimension = normalised([vector], embedder=self.id, count=1).shape[1]
            return self._dimension

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """Embed texts; shape (n, dimension), float32, rows L2-normalised.

        Raises:
            EmbeddingError: if the model failed, or answered something else.
        """
        said = [text for text in texts if text.strip()]
        rows = self._ask(lambda: self.embed_model.get_text_embedding_batch(said)) if said else []
        if len(rows) != len(said):
            raise EmbeddingError(self.id, f"it answered {len(rows)} vectors to {len(said)} texts")
        answered = iter(rows)
        nothing = [0.0] * self.dimension
        every = [next(answered) if text.strip() else nothing for text in texts]
        return normalised(every, embedder=self.id, count=len(texts), dimension=self.dimension)

    def embed_query(self, text: str) -> FloatArray:
        """Embed a question the way the model embeds questions; shape (dimension,), L2-normalised.

        Raises:
            EmbeddingError: if the model failed, or answered something else.
        """
        row = self._ask(lambda: self.embed_model.get_query_embedding(text)) if text.strip() else [0.0] * self.dimension
        vector: FloatArray = normalised([row], embedder=self.id, count=1, dimension=self.dimension)[0]
        return vector

    def _ask(self, call: Callable[[], _T]) -> _T:
        try:
            return call()
        except self._failures as error:
            raise EmbeddingError(self.id, f"{type(error).__name__}: {error}") from error


def _name(embed_model: BaseEmbedding) -> str:
    if embed_model.model_name in ("", "unknown"):
        kind = type(embed_model).__name__
        raise QueryError(
            "id", None, f"this {kind} does not name its model, so vectors of two could be mixed; pass an id"
        )
    asked: Any = getattr(embed_model, "dimensions", None)
    # `class_name()` is inherited where a model does not set it, so two kinds of models may share it.
    parts = ["llama-index", type(embed_model).__name__, embed_model.model_name, *([str(asked)] if asked else [])]
    return "/".join(parts)
