"""A cache around any embedder."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np

from prism_core.changes import FloatArray
from prism_core.errors import EmbeddingError, ModelFileError
from prism_core.protocols import Embedder, understands
from prism_core.vectors import normalised


class CachedEmbedder:
    """Remembers the vectors of recent texts, so that asking twice costs once; otherwise the embedder it wraps.

    Equal texts within one `embed_documents` call are embedded once, cache or not. Failures are not remembered. What the
    inner embedder answers is checked: another shape, NaN, or an error of its own becomes an `EmbeddingError`, and rows
    that are not of length 1 are normalised.

    Args:
        inner: the embedder that does the work.
        queries: how many questions to remember, the most recently used ones; 0 turns it off.
        documents: the same for documents, whose vectors are usually stored elsewhere.
    """

    def __init__(self, inner: Embedder, *, queries: int = 1024, documents: int = 0) -> None:
        self.inner = inner
        self._queries = _LruVectors(queries)
        self._documents = _LruVectors(documents)

    @property
    def id(self) -> str:
        """The id of the embedder wrapped."""
        return self.inner.id

    @property
    def dimension(self) -> int:
        """The dimension of the embedder wrapped."""
        return self.inner.dimension

    def understands(self, text: str) -> bool:
        """What the embedder wrapped says of it; True where it does not say."""
        return understands(self.inner, text)

    def embed_query(self, text: str) -> FloatArray:
        """Embed a question; shape (dimension,), L2-normalised, read-only.

        Raises:
            EmbeddingError: if it cannot be computed now.
        """
        known = self._queries.get(text)
        if known is not None:
            return known
        (vector,) = self._checked(lambda: np.asarray(self.inner.embed_query(text))[None, :], 1)
        return self._queries.put(text, vector)

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """Embed texts; shape (n, dimension), float32, rows L2-normalised.

        Raises:
            EmbeddingError: if it cannot be computed now.
        """
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        vectors = {text: self._documents.get(text) for text in texts}
        missing = [text for text, vector in vectors.items() if vector is None]
        if missing:
            rows = self._checked(lambda: self.inner.embed_documents(missing), len(missing))
            for text, vector in zip(missing, rows, strict=True):
                vectors[text] = self._documents.put(text, vector)
        return np.stack([vector for vector in map(vectors.get, texts) if vector is not None])

    def clear(self) -> None:
        """Forget every text."""
        self._queries.clear()
        self._documents.clear()

    def _checked(self, embed: Callable[[], object], count: int) -> FloatArray:
        """Rows of the right shape, finite and normalised; whatever else an embedder does is a failure of it."""
        try:
            rows = np.asarray(embed(), dtype=np.float32)
        except (OSError, RuntimeError, ValueError, TypeError, IndexError) as error:
            if isinstance(error, EmbeddingError | ModelFileError):
                raise
            raise EmbeddingError(self.id, f"{type(error).__name__}: {error}") from error
        return normalised(rows, embedder=self.id, count=count, dimension=self.dimension)


class _LruVectors:
    """The vectors of the `capacity` most recently used texts."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._vectors: OrderedDict[str, FloatArray] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, text: str) -> FloatArray | None:
        with self._lock:
            if text in self._vectors:
                self._vectors.move_to_end(text)
            return self._vectors.get(text)

    def clear(self) -> None:
        with self._lock:
            self._vectors.clear()

    def put(self, text: str, vector: FloatArray) -> FloatArray:
        """Remember a copy nobody can write to, and answer it."""
        kept = np.array(vector, np.float32)
        kept.flags.writeable = False
        with self._lock:
            self._vectors[text] = kept
            self._vectors.move_to_end(text)
            while len(self._vectors) > self._capacity:
                self._vectors.popitem(last=False)
        return kept
