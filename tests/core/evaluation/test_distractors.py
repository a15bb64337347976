from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from prism_core.changes import FloatArray
from prism_core.errors import DatasetError
from prism_core.evaluation.distractors import SEED, WORDS, distractor_items, distractor_vectors, distractors, drawn
from prism_core.evaluation.qa import run_qa
from prism_core.testing.scripted import HashedEmbedder


class CountingEmbedder(HashedEmbedder):
    """Remembers what it was asked."""

    def __init__(self, name: str, dimension: int) -> None:
        super().__init__(name, dimension)
        self.asked: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        self.asked += texts
        return super().embed_documents(texts)


@pytest.fixture
def prose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A cache that already holds three units: going through every installed package takes a minute."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    texts = [f"Unit {number} is about nothing that anybody asked." for number in range(3)]
    cached = tmp_path / "prism-memory" / f"distractors-{SEED}-3.jsonl"
    cached.parent.mkdir()
    cached.write_text("".join(json.dumps(text) + "\n" for text in texts), encoding="utf-8")
    return texts


def test_cached_texts_become_items_of_their_own(prose: list[str]) -> None:
    assert distractors(3) == prose
    items = distractor_items(3)
    assert [item.whole.observation for item in items] == prose
    assert len({item.key for item in items}) == 3


def test_their_vectors_are_computed_once_per_embedder(prose: list[str]) -> None:
    embedder = CountingEmbedder("a", 8)
    first = distractor_vectors(3, embedder)
    again = distractor_vectors(3, embedder)
    assert embedder.asked == prose == list(first)
    assert all(np.array_equal(first[text], again[text]) for text in prose)
    assert distractor_vectors(3, CountingEmbedder("b", 16))[prose[0]].shape == (16,)


def test_they_are_in_the_store_and_no_evidence(prose: list[str], tmp_path: Path) -> None:
    row = {
        "id": "r",
        "units": [{"id": "u", "text": "The kettle is red.", "speaker": "Ann"}],
        "questions": [{"id": "q", "text": "Which colour is the kettle?", "evidence": ["u"], "category": "c"}],
    }
    file = tmp_path / "qa.jsonl"
    file.write_text(json.dumps(row), encoding="utf-8")
    report = run_qa(file, systems=["prism-lexical"], distractors=3)
    assert json.loads(report.to_json())["systems"]["prism-lexical"]["overall"]["R@5"] == 1.0
    assert any("4 units" in note for note in report.notes)


def test_what_is_drawn_is_prose_of_the_right_length() -> None:
    documentation = [
        "A first sentence that says a little bit. Then another one follows it at once. A third of eight words ends it."
        "\n\n>>> no(prose) at all in here either"
    ]
    units = drawn(5, documentation)
    assert len(set(units)) == 5
    assert all(len(text.split()) in WORDS and ">>>" not in text for text in units)
    assert drawn(5, documentation) == units
    with pytest.raises(DatasetError):
        drawn(5, [">>> no(prose)"])
