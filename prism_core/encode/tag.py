"""Intent labels of a text: cue words first, similarity to the labels' descriptions where no cue speaks."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock

import numpy as np

from prism_core.changes import FloatArray
from prism_core.encode.taxonomy import IntentTaxonomy
from prism_core.errors import EmbeddingError
from prism_core.protocols import Embedder, understands
from prism_core.text import analyze

MAX_LABELS = 3
MIN_SIMILARITY = 0.2


class RuleTagger:
    """Tags by cues and, given a vector, by similarity. Implements `protocols.IntentTagger`.

    The description of every label is embedded once and shared by all units that carry the label.
    """

    def __init__(self, taxonomy: IntentTaxonomy, embedder: Embedder | None = None) -> None:
        self._taxonomy = taxonomy
        self._embedder = embedder
        self._descriptions = [label.description for label in taxonomy.labels]
        self._vectors: FloatArray | None = None
        self._unrelated: FloatArray | None = None
        self._lock = Lock()

    def tag(self, text: str, *, action_type: str | None = None, vector: FloatArray | None = None) -> tuple[str, ...]:
        """The labels of a text, the best supported first, at most `MAX_LABELS`."""
        terms = set(analyze(text))
        action = set(analyze(action_type)) if action_type else set()
        support = {
            label.name: sum(cue <= terms for cue in label.cue_terms) + 3 * sum(cue <= action for cue in label.cue_terms)
            for label in self._taxonomy.labels
        }
        ranked = sorted((name for name, count in support.items() if count), key=lambda name: -support[name])
        if ranked or vector is None or not self._readable(text):
            return tuple(ranked[:MAX_LABELS])
        name, similarity = max(self.similarities(vector).items(), key=lambda item: item[1], default=("", 0.0))
        return (name,) if similarity >= MIN_SIMILARITY else ()

    def _readable(self, text: str) -> bool:
        return self._embedder is None or understands(self._embedder, text)

    def similarities(self, vector: FloatArray) -> Mapping[str, float]:
        """Cosine similarity of a vector to every label's description; empty without an embedder."""
        vectors = self._described()
        if vectors is None:
            return {}
        names = [label.name for label in self._taxonomy.labels]
        return dict(zip(names, (vectors @ vector).tolist(), strict=True))

    def unrelated(self) -> FloatArray:
        """Cosine similarity of every label's description, asked as a question, to every other one's."""
        vectors = self._described()
        if vectors is None or self._embedder is None:
            return np.empty(0, dtype=np.float32)
        with self._lock:
            if self._unrelated is None:
                try:
                    questions = np.stack([self._embedder.embed_query(text) for text in self._descriptions])
                except EmbeddingError:
                    return np.empty(0, dtype=np.float32)
                self._unrelated = (questions @ vectors.T)[~np.eye(len(vectors), dtype=np.bool_)]
            return self._unrelated

    def _described(self) -> FloatArray | None:
        """The vectors of the labels' descriptions, shape (labels, d); None where there are none."""
        if self._embedder is None:
            return None
        with self._lock:
            if self._vectors is None:
                try:
                    self._vectors = self._embedder.embed_documents(self._descriptions)
                except EmbeddingError:
                    return None  # as without an embedder; the text that is tagged reports the failure itself
            return self._vectors
