"""Intent labels of a text: cue words first, similarity to the labels' descriptions where no cue speaks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from threading import Lock
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, BeforeValidator

from prism_core.changes import FloatArray
from prism_core.encode.taxonomy import IntentLabel, IntentTaxonomy
from prism_core.errors import EmbeddingError, LLMError
from prism_core.llm import StructuredLLM
from prism_core.protocols import Embedder, understands
from prism_core.text import analyze, normalize

MAX_LABELS = 3
MIN_SIMILARITY = 0.2
ACTION_WEIGHT = 3
"""Cues in the name of an action count this many times."""


@dataclass(frozen=True, slots=True)
class Tagged:
    """Labels and how far they deserve to be believed.

    Attributes:
        labels: the best supported first, at most `MAX_LABELS`.
        confidence: in [0, 1].
        reason: what speaks for them.
        degraded: why rules did the work of a language model; empty where they did not.
    """

    labels: tuple[str, ...]
    confidence: float
    reason: str
    degraded: str = ""


class RuleTagger:
    """Tags by cues and, given a vector, by similarity. Implements `protocols.IntentTagger`.

    The description of every label at the top is embedded once and shared by all units that carry the label. A label
    under it is chosen by its own cues.
    """

    def __init__(self, taxonomy: IntentTaxonomy, embedder: Embedder | None = None) -> None:
        self.taxonomy = taxonomy
        self._embedder = embedder
        self._top = taxonomy.children()
        self._under = {label.name: taxonomy.children(label.name) for label in taxonomy.labels}
        self._ground: Sequence[str] = json.loads(
            files("prism_core.encode").joinpath("ground.json").read_text(encoding="utf-8")
        )
        self._vectors: dict[str, FloatArray] = {}
        self._unrelated: FloatArray | None = None
        self._lock = Lock()

    def tag(self, text: str, *, action_type: str | None = None, vector: FloatArray | None = None) -> tuple[str, ...]:
        """The labels of a text, the best supported first, at most `MAX_LABELS`."""
        return self.judge(text, action_type=action_type, vector=vector).labels

    def judge(self, text: str, *, action_type: str | None = None, vector: FloatArray | None = None) -> Tagged:
        """The labels of a text with a confidence: a half by one cue, more by several, less by similarity alone."""
        terms = frozenset(analyze(text))
        action = frozenset(analyze(action_type)) if action_type else frozenset()
        support = {label.name: self._support(label, terms, action) for label in self._top}
        ranked = sorted((name for name, count in support.items() if count), key=lambda name: -support[name])
        if ranked:
            best = support[ranked[0]]
            labels = tuple(self._refined(name, terms, action) for name in ranked[:MAX_LABELS])
            return Tagged(labels, best / (best + 1), f"{best} cues for {ranked[0]}")
        if vector is None or not self._readable(text):
            return Tagged((), 0.0, "no cue")
        name, similarity = max(self.similarities(vector).items(), key=lambda item: item[1], default=("", 0.0))
        if similarity < MIN_SIMILARITY:
            return Tagged((), 0.0, "no cue, and near to no label")
        return Tagged((name,), min(similarity, 0.5), f"nearest to what {name} means ({similarity:.2f})")

    def similarities(self, vector: FloatArray) -> Mapping[str, float]:
        """Cosine similarity of a vector to every top label's description; empty without an embedder."""
        vectors = self._embedded("labels", [label.description for label in self._top])
        if vectors is None:
            return {}
        return dict(zip((label.name for label in self._top), (vectors @ vector).tolist(), strict=True))

    def unrelated(self) -> FloatArray:
        """Cosine similarity of sentences that have nothing to do with each other, each asked as a question.

        The sentences are fixed, so that what counts as an answer does not depend on the taxonomy.
        """
        vectors = self._embedded("ground", self._ground)
        if vectors is None or self._embedder is None:
            return np.empty(0, dtype=np.float32)
        with self._lock:
            if self._unrelated is None:
                try:
                    questions = np.stack([self._embedder.embed_query(text) for text in self._ground])
                except EmbeddingError:
                    return np.empty(0, dtype=np.float32)
                self._unrelated = (questions @ vectors.T)[~np.eye(len(vectors), dtype=np.bool_)]
            return self._unrelated

    def _support(self, label: IntentLabel, terms: frozenset[str], action: frozenset[str]) -> int:
        if not label.cues:
            # A label without cues of its own stands for those under it.
            return max((self._support(under, terms, action) for under in self._under[label.name]), default=0)
        said = sum(cue <= terms for cue in label.cue_terms)
        return said + ACTION_WEIGHT * sum(cue <= action for cue in label.cue_terms)

    def _refined(self, name: str, terms: frozenset[str], action: frozenset[str]) -> str:
        """The label under this one that most cues speak for; the label itself where none does."""
        while under := self._under[name]:
            best = max(under, key=lambda label: self._support(label, terms, action))
            if not self._support(best, terms, action):
                break
            name = best.name
        return name

    def _readable(self, text: str) -> bool:
        return self._embedder is None or understands(self._embedder, text)

    def _embedded(self, what: str, texts: Sequence[str]) -> FloatArray | None:
        """Vectors of texts, shape (n, d), computed once; None where there are none."""
        if self._embedder is None or not texts:
            return None
        with self._lock:
            if what not in self._vectors:
                try:
                    self._vectors[what] = self._embedder.embed_documents(texts)
                except EmbeddingError:
                    return None  # as without an embedder; the text that is tagged reports the failure itself
            return self._vectors[what]


def _texts(value: Any) -> Any:
    return [value] if isinstance(value, str) else [] if value is None else value


class _Answer(BaseModel):
    labels: Annotated[list[str], BeforeValidator(_texts)]
    confidence: float = 0.7
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LLMTagger:
    """Tags by a language model that reasons first; by rules where it fails. Implements `protocols.IntentTagger`.

    Attributes:
        model: asks and checks.
        rules: the twin, whose taxonomy the model chooses from.
    """

    model: StructuredLLM
    rules: RuleTagger

    def tag(self, text: str, *, action_type: str | None = None, vector: FloatArray | None = None) -> tuple[str, ...]:
        """The labels of a text."""
        return self.judge(text, action_type=action_type, vector=vector).labels

    def judge(self, text: str, *, action_type: str | None = None, vector: FloatArray | None = None) -> Tagged:
        """The labels of a text, with the model's reason and confidence; `degraded` says why rules gave them."""
        taxonomy = self.rules.taxonomy
        try:
            answer = self.model.ask("tag", _Answer, {"text": text}, {"labels": taxonomy.listing()})
        except LLMError as error:
            ruled = self.rules.judge(text, action_type=action_type, vector=vector)
            return Tagged(ruled.labels, ruled.confidence, ruled.reason, str(error))
        found = [taxonomy.find(name) for name in answer.labels]
        labels = tuple(dict.fromkeys(label.name for label in found if label is not None))[:MAX_LABELS]
        return Tagged(labels, min(max(answer.confidence, 0.0), 1.0), answer.reason)

    def similarities(self, vector: FloatArray) -> Mapping[str, float]:
        """Cosine similarity of a vector to every top label."""
        return self.rules.similarities(vector)

    def unrelated(self) -> FloatArray:
        """Cosine similarities of what is unrelated."""
        return self.rules.unrelated()


@dataclass(frozen=True, slots=True)
class CascadeTagger:
    """Tags by rules, and asks a language model where they are unsure. Implements `protocols.IntentTagger`.

    Attributes:
        rules: asked first.
        llm: asked under the threshold; what it said of a text is remembered for texts that differ by case and space.
        threshold: confidence of the rules from which the model is not asked, in [0, 1].
    """

    rules: RuleTagger
    llm: LLMTagger
    threshold: float = 0.6
    _known: dict[str, Tagged] = field(default_factory=dict, init=False, repr=False, compare=False)

    def tag(self, text: str, *, action_type: str | None = None, vector: FloatArray | None = None) -> tuple[str, ...]:
        """The labels of a text."""
        return self.judge(text, action_type=action_type, vector=vector).labels

    def judge(self, text: str, *, action_type: str | None = None, vector: FloatArray | None = None) -> Tagged:
        """The labels of a text; those of the rules where they are sure enough."""
        ruled = self.rules.judge(text, action_type=action_type, vector=vector)
        if ruled.confidence >= self.threshold:
            return ruled
        key = normalize(text)
        if key not in self._known:
            found = self.llm.judge(text, action_type=action_type, vector=vector)
            if found.degraded:
                return found
            self._known[key] = found
        return self._known[key]

    def similarities(self, vector: FloatArray) -> Mapping[str, float]:
        """Cosine similarity of a vector to every top label."""
        return self.rules.similarities(vector)

    def unrelated(self) -> FloatArray:
        """Cosine similarities of what is unrelated."""
        return self.rules.unrelated()
