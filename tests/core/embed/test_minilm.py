from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from prism_core.embed import MiniLMEmbedder
from prism_core.embed.minilm import MODEL_DIRECTORY, MODEL_FILES
from prism_core.errors import ModelFileError
from prism_core.protocols import Embedder

TEXTS = [
    "The flight to Barcelona is fully booked.",
    "No seats are left on the plane to Barcelona.",
    "My cat sleeps on the warm laptop.",
    "ok",
]


@pytest.fixture(scope="module")
def embedder() -> MiniLMEmbedder:
    return MiniLMEmbedder()


def test_rows_are_normalised_and_alike_where_meanings_are(embedder: MiniLMEmbedder) -> None:
    assert isinstance(embedder, Embedder)
    vectors = embedder.embed_documents(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimension)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    likeness = vectors @ vectors[0]
    assert likeness[1] > 0.6 > 0.3 > likeness[2]


def test_a_vector_does_not_depend_on_company(embedder: MiniLMEmbedder) -> None:
    company = [*TEXTS, "word " * 200, "!", "an unusual 0x7f3a token soup ÆØÅ 漢字"]
    together = embedder.embed_documents(company)
    backwards = MiniLMEmbedder(threads=1).embed_documents(company[::-1])[::-1]
    for text, row, other in zip(company, together, backwards, strict=True):
        alone = embedder.embed_query(text)
        assert np.array_equal(alone, row)
        assert np.array_equal(alone, other)


def test_texts_without_content_have_zero_rows(embedder: MiniLMEmbedder) -> None:
    assert not embedder.embed_documents(["", " \n\t"]).any()
    assert not embedder.embed_query("").any()
    assert embedder.embed_documents([]).shape == (0, embedder.dimension)


def test_the_end_of_a_long_text_counts(embedder: MiniLMEmbedder) -> None:
    filler = "the report lists ordinary figures about the weather of last year . " * 60
    question = embedder.embed_query("When does the violin concert begin?")
    tail = " The violin concert begins at nine in the old opera house." * 30
    with_tail, without = embedder.embed_documents([filler + tail, filler]) @ question
    assert with_tail > without + 0.1
    assert np.linalg.norm(embedder.embed_query(filler + tail)) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("text", ["\ud800 half a surrogate pair", "[SEP][CLS]", "\x00", "a" * 5000])
def test_odd_texts_have_vectors(embedder: MiniLMEmbedder, text: str) -> None:
    vector = embedder.embed_query(text)
    assert np.isfinite(vector).all()


def test_names_of_special_tokens_are_plain_text(embedder: MiniLMEmbedder) -> None:
    assert embedder.embed_query("[SEP]") @ embedder.embed_query("sep") > 0.5


def test_several_threads_share_one_embedder(embedder: MiniLMEmbedder) -> None:
    expected = embedder.embed_documents(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(lambda _: embedder.embed_documents(TEXTS), range(8)):
            assert np.array_equal(vectors, expected)


def test_a_missing_model_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"onnx.*cannot be read.*reinstall") as caught:
        MiniLMEmbedder(directory=tmp_path).embed_query("hello")
    assert Path(caught.value.path).parent == tmp_path


@pytest.mark.parametrize("name", list(MODEL_FILES))
def test_a_changed_model_file_is_refused(tmp_path: Path, name: str) -> None:
    for original in MODEL_FILES:
        shutil.copy(MODEL_DIRECTORY / original, tmp_path / original)
    with (tmp_path / name).open("ab") as file:
        file.write(b" ")
    with pytest.raises(ModelFileError, match="sha256 differs"):
        MiniLMEmbedder(directory=tmp_path).embed_documents(["hello"])


def test_the_licence_and_origin_of_the_model_are_shipped() -> None:
    assert "Apache License" in (MODEL_DIRECTORY / "LICENSE").read_text()
    notice = (MODEL_DIRECTORY / "NOTICE").read_text()
    for name, digest in MODEL_FILES.items():
        assert name in notice
        assert digest in notice
