"""Intent labels of a text: cue words first, similarity to the labels' descriptions where no cue speaks."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock

from prism_core.changes import FloatArray
from prism_core.encode.taxonomy import IntentTaxonomy
from prism_core.errors import EmbeddingError
from prism_core.protocols import Embedder, SelectiveEmbedder
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
        self._vectors: FloatArray | None = None
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
        return not isinstance(self._embedder, SelectiveEmbedder) or self._embedder.understands(text)

    def similarities(self, vector: FloatArray) -> Mapping[str, float]:
        """Cosine similarity of a vector to every label's description; empty without an embedder."""
        if self._embedder is None:
            return {}
        with self._lock:
            if self._vectors is None:
                try:
                    descriptions = [label.description for label in self._taxonomy.labels]
                    self._vectors = self._embedder.embed_documents(descriptions)
                except EmbeddingError:
                    return {}  # as without an embedder; the text that is tagged reports the failure itself
        names = [label.name for label in self._taxonomy.labels]
        return dict(zip(names, (self._vectors @ vector).tolist(), strict=True))
