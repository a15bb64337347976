"""What an embedder gives to texts that have nothing to do with each other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from threading import Lock

import numpy as np

from prism_core.changes import FloatArray
from prism_core.errors import EmbeddingError
from prism_core.protocols import Embedder


class GroundSentences:
    """Fixed sentences, unrelated to each other: whatever becomes of the labels, what counts as an answer stays."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._similarities: FloatArray | None = None
        self._lock = Lock()

    @staticmethod
    def texts() -> Sequence[str]:
        """The sentences."""
        texts: list[str] = json.loads(files("prism_core.encode").joinpath("ground.json").read_text(encoding="utf-8"))
        return texts

    def similarities(self) -> FloatArray:
        """Cosine similarity of every sentence, asked as a question, to every other one.

        Returns:
            Shape (n * (n - 1),) for n sentences, computed once; empty without an embedder, and while it is down.
        """
        if self._embedder is None:
            return np.empty(0, dtype=np.float32)
        with self._lock:
            if self._similarities is None:
                texts = self.texts()
                try:
                    vectors = self._embedder.embed_documents(texts)
                    questions = np.stack([self._embedder.embed_query(text) for text in texts])
                except EmbeddingError:
                    return np.empty(0, dtype=np.float32)
                self._similarities = (questions @ vectors.T)[~np.eye(len(texts), dtype=np.bool_)]
            return self._similarities
