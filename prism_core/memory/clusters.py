"""Groups of units that are alike, each with the words that tell it from the others."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np

from prism_core.changes import FloatArray
from prism_core.text import STOP_WORDS, analyze

_WORD = re.compile(r"[A-Za-zÀ-ÿ][A-Za-zÀ-ÿ'-]+")
NEIGHBOURS = 8
LEAST_SIMILARITY = 0.3
LEAST_MEMBERS = 3
LEAST_LIFT = 1.5
"""How many times as usual a word has to be in a group to tell it from the others."""
MOST_WORDS = 5
SEED = 7


@dataclass(frozen=True, slots=True)
class Cluster:
    """Texts that are alike.

    Attributes:
        members: places of the texts, those nearest to the middle first.
        words: what tells them from the others, the strongest first, at most `MOST_WORDS`.
    """

    members: tuple[int, ...]
    words: tuple[str, ...]


def clusters(texts: Sequence[str], vectors: FloatArray | None) -> list[Cluster]:
    """Group texts: communities (Louvain) of the graph that joins each with its nearest neighbours.

    Args:
        texts: n texts.
        vectors: shape (n, d), rows L2-normalised; words make the vectors when None.

    Returns:
        Groups of at least `LEAST_MEMBERS`, the largest first; the same texts always give the same groups.
    """
    words = [_words(text) for text in texts]
    rows = _bags(words) if vectors is None else vectors
    if len(texts) < LEAST_MEMBERS or not rows.size:
        return []
    similarities = rows @ rows.T
    np.fill_diagonal(similarities, -1.0)
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(texts)))
    for place, row in enumerate(similarities):
        for other in np.argsort(-row, kind="stable")[:NEIGHBOURS].tolist():
            if row[other] >= LEAST_SIMILARITY:
                graph.add_edge(place, other, weight=float(row[other]))
    found = nx.community.louvain_communities(graph, weight="weight", seed=SEED)
    groups = sorted(
        (sorted(group) for group in found if len(group) >= LEAST_MEMBERS), key=lambda group: (-len(group), group)
    )
    return [Cluster(_central(group, rows), _telling(group, words)) for group in groups]


def _words(text: str) -> Counter[str]:
    spelled = (word.casefold() for word in _WORD.findall(text))
    pairs = (term for term in analyze(text) if len(term) == 2 and not term.isascii())
    return Counter(word for word in (*spelled, *pairs) if word not in STOP_WORDS)


def _bags(words: Sequence[Counter[str]]) -> FloatArray:
    spread = Counter(word for each in words for word in each)
    shared = {word: place for place, word in enumerate(word for word, count in spread.items() if count > 1)}
    rows = np.zeros((len(words), len(shared)), dtype=np.float32)
    for row, each in zip(rows, words, strict=True):
        for word in each:
            if word in shared:
                row[shared[word]] = math.log(1 + len(words) / spread[word])
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    bags: FloatArray = rows / np.maximum(lengths, 1e-9)
    return bags


def _central(group: Sequence[int], rows: FloatArray) -> tuple[int, ...]:
    middle = rows[group].mean(axis=0)
    return tuple(group[place] for place in np.argsort(-(rows[group] @ middle), kind="stable").tolist())


def _telling(group: Sequence[int], words: Sequence[Counter[str]]) -> tuple[str, ...]:
    """Words of many texts of the group and of few others; what all of them say, such as who is speaking, tells nothing.

    A word's weight is its part of the Kullback-Leibler divergence of the group from all texts, by shares of texts.
    """
    inside = Counter(word for place in group for word in words[place])
    everywhere = Counter(word for each in words for word in each)
    least = min(LEAST_LIFT, len(words) / len(group))

    def lift(word: str) -> float:
        return inside[word] / len(group) * len(words) / everywhere[word]

    def strength(word: str) -> float:
        return inside[word] / len(group) * math.log(lift(word))

    telling = [word for word in inside if inside[word] > 1 and lift(word) >= least - 1e-9]
    return tuple(sorted(telling, key=lambda word: (-strength(word), word))[:MOST_WORDS])
