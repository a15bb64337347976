"""The bundled embedder: all-MiniLM-L6-v2, int8, on onnxruntime; no network, no torch."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from prism_core.changes import FloatArray
from prism_core.embed.singly import USUAL_THREADS, embed_singly
from prism_core.errors import EmbeddingError, ModelFileError

MODEL_DIRECTORY = Path(__file__).with_name("model")
MODEL_FILES = {
    "minilm-l6-v2-int8.onnx": "f4ddf582389bb3b255cb574e156bd3a87c0c562acfc58021abd222be3899ac1d",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""The shipped files and their sha256."""

_ID = "all-MiniLM-L6-v2-int8@1"
_DIMENSION = 384
_WINDOW = 254  # The model reads 256 tokens, two of which mark the beginning and the end.
_AFTER_LATIN = "\u0250"
_loading = threading.Lock()


@dataclass(frozen=True, slots=True)
class MiniLMEmbedder:
    """all-MiniLM-L6-v2 (Reimers & Gurevych 2019), quantised to int8; English.

    Every text is run by itself. Dynamic int8 quantisation scales activations over the whole input tensor, so a text
    in a batch gets another vector than alone (cosine down to .976), and padding makes batches slower than single
    texts besides. Run singly, equal texts have equal vectors, bit for bit, and threads share the work instead.

    A text longer than the model reads is cut into windows of nearly equal length without overlap; its vector is
    their mean, weighted by tokens. Nothing is left out.

    Attributes:
        threads: how many texts are embedded at the same time; by default one per core, four at most.
        directory: where the model's files lie.
    """

    threads: int = USUAL_THREADS
    directory: Path = MODEL_DIRECTORY

    @property
    def id(self) -> str:
        """Model and version."""
        return _ID

    @property
    def dimension(self) -> int:
        """384."""
        return _DIMENSION

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """Embed texts.

        Args:
            texts: n texts of any length.

        Returns:
            Shape (n, 384), float32, rows L2-normalised; a zero row for a text without a token.

        Raises:
            ModelFileError: on first use, if a model file is missing or not the one shipped.
            EmbeddingError: if the model cannot be loaded or run.
        """
        if not texts:
            return np.zeros((0, _DIMENSION), np.float32)
        embed = _load(self.directory).embed
        return embed_singly(embed, texts, self.threads)

    def embed_query(self, text: str) -> FloatArray:
        """Embed a question, as `embed_documents` does; shape (384,).

        Raises:
            ModelFileError: on first use, if a model file is missing or not the one shipped.
            EmbeddingError: if the model cannot be loaded or run.
        """
        return _load(self.directory).embed(text)

    def understands(self, text: str) -> bool:
        """Whether most letters are Latin; on other scripts its vectors are noise."""
        letters = [letter for letter in text if letter.isalpha()]
        return 2 * sum(map(_is_latin, letters)) >= len(letters)


def _is_latin(letter: str) -> bool:
    return letter.isascii() or letter < _AFTER_LATIN


@dataclass(frozen=True, slots=True)
class _Model:
    """A loaded model; used by any number of threads at once."""

    tokenizer: Any
    session: Any
    errors: tuple[type[Exception], ...]
    first: int
    last: int

    def embed(self, text: str) -> FloatArray:
        """The vector of a text of any length; shape (384,)."""
        # The tokenizer refuses lone surrogates; they carry no meaning.
        readable = text.encode("utf-8", "replace").decode("utf-8")
        tokens = self.tokenizer.encode(readable, add_special_tokens=False).ids
        if not tokens:
            return np.zeros(_DIMENSION, np.float32)
        windows = np.array_split(np.array(tokens, np.int64), -(-len(tokens) // _WINDOW))
        if len(windows) == 1:
            return self.run(windows[0])
        pooled = sum(len(window) * self.run(window).astype(np.float64) for window in windows)
        return np.asarray(pooled / np.linalg.norm(pooled), np.float32)

    def run(self, tokens: np.ndarray[Any, np.dtype[np.int64]]) -> FloatArray:
        """The vector of up to 254 tokens; shape (384,)."""
        ids = np.concatenate(([self.first], tokens, [self.last]))[None, :]
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        try:
            vector: FloatArray = self.session.run(None, feed)[0][0]
        except self.errors as error:
            raise EmbeddingError(_ID, str(error)) from error
        return vector


def _load(directory: Path) -> _Model:
    # One model per process, however many embedders and threads there are.
    with _loading:
        return _load_once(directory)


@cache
def _load_once(directory: Path) -> _Model:
    paths = [_checked(directory / name, digest) for name, digest in MODEL_FILES.items()]
    import onnxruntime  # noqa: PLC0415 - heavy; a store without vectors never needs it
    import tokenizers  # noqa: PLC0415 - as above
    from onnxruntime.capi import onnxruntime_pybind11_state as state  # noqa: PLC0415 - as above

    # Its errors share no base class of their own.
    found = (getattr(state, name) for name in dir(state))
    errors = tuple(kind for kind in found if isinstance(kind, type) and issubclass(kind, Exception))
    tokenizer: Any = tokenizers.Tokenizer.from_file(str(paths[1]))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text.
    session = _session(onnxruntime, paths[0], errors)
    return _Model(tokenizer, session, errors, tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]"))


def _session(onnxruntime: Any, path: Path, errors: tuple[type[Exception], ...]) -> Any:
    options = onnxruntime.SessionOptions()
    # Without threads of its own the session survives a fork, and texts side by side use the cores better.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # What goes wrong is raised.
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except errors as error:
        raise EmbeddingError(_ID, str(error)) from error


def _checked(path: Path, digest: str) -> Path:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelFileError(str(path), f"cannot be read ({error.strerror})") from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise ModelFileError(str(path), "is not the file this version was built with (sha256 differs)")
    return path
