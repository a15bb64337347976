"""The contract of an embedder."""

# ruff: noqa: D102  (a test's name says what it tests)
from __future__ import annotations

import numpy as np
import pytest

from prism_core.protocols import Embedder


class EmbedderContract:
    """What every `Embedder` keeps. Provide a fixture `embedder`."""

    def test_documents_are_rows_of_unit_length(self, embedder: Embedder) -> None:
        rows = embedder.embed_documents(["The flight to Seattle is full.", "She adopted a cat."])
        assert rows.shape == (2, embedder.dimension)
        assert rows.dtype == np.float32
        assert np.linalg.norm(rows, axis=1) == pytest.approx([1.0, 1.0], abs=1e-4)

    def test_no_documents_are_no_rows(self, embedder: Embedder) -> None:
        assert embedder.embed_documents([]).shape == (0, embedder.dimension)

    def test_a_query_is_one_row_of_unit_length(self, embedder: Embedder) -> None:
        row = embedder.embed_query("Which flight is full?")
        assert row.shape == (embedder.dimension,)
        assert row.dtype == np.float32
        assert float(np.linalg.norm(row)) == pytest.approx(1.0, abs=1e-4)

    def test_the_same_text_has_the_same_vector(self, embedder: Embedder) -> None:
        texts = ["alpha", "a much longer text about flights and hotels " * 5, "beta"]
        together = embedder.embed_documents(texts)
        alone = np.vstack([embedder.embed_documents([text]) for text in texts])
        assert together == pytest.approx(alone, abs=1e-3)

    def test_texts_of_any_length_and_script_are_finite(self, embedder: Embedder) -> None:
        rows = embedder.embed_documents(["", " \n", "東京", "👩‍🚀", "word " * 5000, "\x00"])
        assert rows.shape == (6, embedder.dimension)
        assert np.isfinite(rows).all()
        norms = np.linalg.norm(rows, axis=1)
        assert all(norm == pytest.approx(1.0, abs=1e-4) or norm == 0.0 for norm in norms)
        assert np.isfinite(embedder.embed_query("")).all()

    def test_the_end_of_a_long_text_counts(self, embedder: Embedder) -> None:
        filler = "The weather report lists temperatures for many towns. " * 200
        plain, ended = embedder.embed_documents([filler, filler + "The wedding is in Barcelona on Friday. " * 40])
        assert not np.allclose(plain, ended, atol=1e-4)

    def test_it_names_itself(self, embedder: Embedder) -> None:
        assert embedder.id
        assert embedder.dimension > 0
