"""Intent labels of a text: cue words first, similarity to the labels' descriptions where no cue speaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, BeforeValidator

from prism_core.changes import FloatArray
from prism_core.encode.cues import CueIndex
from prism_core.encode.ground import GroundSentences
from prism_core.encode.taxonomy import IntentTaxonomy
from prism_core.errors import EmbeddingError, LLMError
from prism_core.llm import StructuredLLM
from prism_core.protocols import Embedder, understands
from prism_core.text import normalize

MAX_LABELS = 3
MIN_SIMILARITY = 0.25
LEAST_SHARE = 0.5
"""Of the cues of the first label: what a further one has to have more of."""
KNOWN = 4096
"""Texts whose labels by a language model are remembered."""


@dataclass(frozen=True, slots=True)
class Tagged:
    """Labels and how far they deserve to be believed.

    Attributes:
        labels: the best supported first, at most `MAX_LABELS`.
        confidences: of each label, in [0, 1].
        reason: what speaks for them.
        degraded: why rules did the work of a language model; empty where they did not.
    """

    labels: tuple[str, ...]
    confidences: tuple[float, ...]
    reason: str
    degraded: str = ""

    @property
    def confidence(self) -> float:
        """That of the first label; 0 without one."""
        return self.confidences[0] if self.confidences else 0.0


class RuleTagger:
    """Tags by cues and, given a vector, by similarity. Implements `protocols.IntentTagger`.

    Labels are embedded once, by their descriptions and examples, and shared by all units that carry them.
    """

    def __init__(self, taxonomy: IntentTaxonomy, embedder: Embedder | None = None) -> None:
        self.taxonomy = taxonomy
        self._embedder = embedder
        self._top = taxonomy.children()
        self._under = {label.name: taxonomy.children(label.name) for label in taxonomy.labels}
        self._cues = CueIndex(taxonomy.labels)
        self._ground = GroundSentences(embedder)
        self._vectors: dict[str, FloatArray] = {}
        self._lock = Lock()

    def tag(self, text: str, *, action_type: str | None = None, vector: FloatArray | None = None) -> tuple[str, ...]:
        """The labels of a text, the best supported first, at most `MAX_LABELS`."""
        return self.judge(text, action_type=action_type, vector=vector).labels

    def judge(self, text: str, *, action_type: str | None = None, vector: FloatArray | None = None) -> Tagged:
        """The labels of a text with their confidence.

        A label has a half by one cue; more by several, less where cues speak for another one as well, or where it is
        only the nearest by meaning.
        """
        support = self._cues.support(text, action_type)
        ranked = sorted((label.name for label in self._top if label.name in support), key=lambda name: -support[name])
        if ranked:
            return self._by_cues(support, ranked)
        if vector is None or not self._readable(text):
            return Tagged((), (), "no cue")
        name, similarity = self._nearest(vector)
        if similarity < MIN_SIMILARITY:
            return Tagged((), (), "no cue, and near to no label")
        return Tagged((name,), (min(similarity, 0.5),), f"nearest to what {name} means ({similarity:.2f})")

    def similarities(self, vector: FloatArray) -> Mapping[str, float]:
        """Cosine similarity of a vector to every top label's description; empty without an embedder."""
        vectors = self._embedded("labels", [label.description for label in self._top])
        if vectors is None:
            return {}
        return dict(zip((label.name for label in self._top), (vectors @ vector).tolist(), strict=True))

    def unrelated(self) -> FloatArray:
        """Cosine similarity of sentences that have nothing to do with each other, whatever the labels are."""
        return self._ground.similarities()

    def _by_cues(self, support: Mapping[str, int], ranked: Sequence[str]) -> Tagged:
        first, second = support[ranked[0]], support[ranked[1]] if len(ranked) > 1 else 0
        best = [name for name in ranked[:MAX_LABELS] if support[name] > LEAST_SHARE * first]
        rivals = [second if name == best[0] else first for name in best]
        confidences = [support[name] / (support[name] + rival + 1) for name, rival in zip(best, rivals, strict=True)]
        labels = tuple(self._refined(name, support) for name in best)
        return Tagged(labels, tuple(confidences), f"cues for {', '.join(f'{name} ({support[name]})' for name in best)}")

    def _refined(self, name: str, support: Mapping[str, int]) -> str:
        """The label under this one that most cues speak for; the label itself where none does."""
        while under := [label.name for label in self._under[name] if label.name in support]:
            name = max(under, key=lambda each: support[each])
        return name

    def _nearest(self, vector: FloatArray) -> tuple[str, float]:
        """The label whose meaning is nearest to a vector, and its cosine similarity; those furthest down stand for all.

        A label means the mean of its description and its examples (a prototype, as in Snell et al. 2017).
        """
        meanings = {
            label.name: [label.description, *filter(self._readable, label.examples)]
            for label in self.taxonomy.labels
            if not self._under[label.name]
        }
        vectors = self._embedded("meanings", [text for texts in meanings.values() for text in texts])
        if vectors is None:
            return "", 0.0
        starts = np.cumsum([0, *map(len, meanings.values())])[:-1]
        sums = np.add.reduceat(vectors, starts, axis=0)
        similarities = (sums @ vector) / np.maximum(np.linalg.norm(sums, axis=1), 1e-9)
        best = int(similarities.argmax())
        return list(meanings)[best], float(similarities[best])

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
            answer = self.model.ask("tag", _Answer, {"text": text}, {"labels": taxonomy.listing(examples=True)})
        except LLMError as error:
            ruled = self.rules.judge(text, action_type=action_type, vector=vector)
            return replace(ruled, degraded=str(error))
        found = [taxonomy.find(name) for name in answer.labels]
        labels = tuple(dict.fromkeys(label.name for label in found if label is not None))[:MAX_LABELS]
        return Tagged(labels, (min(max(answer.confidence, 0.0), 1.0),) * len(labels), answer.reason)

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
        llm: asked under the threshold; what it said of the last `KNOWN` texts counts for texts that are the same but
            for case and space.
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
        known = self._known.get(key)
        if known is not None:
            return known
        found = self.llm.judge(text, action_type=action_type, vector=vector)
        if not found.degraded:
            while len(self._known) >= KNOWN:
                self._known.pop(next(iter(self._known)), None)
            self._known[key] = found
        return found

    def similarities(self, vector: FloatArray) -> Mapping[str, float]:
        """Cosine similarity of a vector to every top label."""
        return self.rules.similarities(vector)

    def unrelated(self) -> FloatArray:
        """Cosine similarities of what is unrelated."""
        return self.rules.unrelated()
