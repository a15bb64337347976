"""mem0 without an LLM: what is said is stored as it is."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import llama_index.core
from fastembed import SparseTextEmbedding
from mem0 import Memory  # type: ignore[import-untyped]
from mem0.utils import spacy_models  # type: ignore[import-untyped]

from benchmarks.peers.base import Peer
from benchmarks.peers.embedding import LangChainEmbeddings
from prism_core.protocols import Embedder
from prism_core.types import MemoryUnit

_USER = "evaluation"
_STOP_WORDS = Path(llama_index.core.__file__).parent / "_static" / "nltk_cache" / "corpora" / "stopwords" / "english"
"""The NLTK list that `Qdrant/bm25` consists of; that one would have to be downloaded."""


class Mem0(Peer):
    """Hybrid search over a local Qdrant: cosine and BM25, added up by mem0."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        self._folder = TemporaryDirectory(prefix="peer-mem0-")
        _stay_offline()
        self._memory = Memory.from_config(_config(embedder, Path(self._folder.name)))
        self._memory.vector_store._bm25_encoder = _bm25(Path(self._folder.name))

    def store(self, units: Sequence[MemoryUnit]) -> None:
        """Add messages one by one, with speaker, time and session."""
        self.embedder.embed_documents([unit.text for unit in units])
        for unit in units:
            message = {"role": "user", "content": unit.text, **({"name": unit.speaker} if unit.speaker else {})}
            about = {"unit": unit.id, "session": unit.session_id, "created_at": unit.event_time.isoformat()}
            self._memory.add([message], user_id=_USER, metadata=about, infer=False)

    def rank(self, text: str, depth: int) -> Sequence[str]:
        """By mem0's sum; it leaves out what has a cosine below .1."""
        found = self._memory.search(text, top_k=depth, filters={"user_id": _USER})["results"]
        return [result["metadata"]["unit"] for result in found]

    def close(self) -> None:
        """Close the databases and remove their files."""
        self._memory.vector_store.client.close()
        self._memory.close()
        self._folder.cleanup()


def _config(embedder: Embedder, folder: Path) -> dict[str, object]:
    store = {"path": str(folder / "qdrant"), "embedding_model_dims": embedder.dimension, "on_disk": True}
    return {
        "vector_store": {"provider": "qdrant", "config": store},
        "embedder": {"provider": "langchain", "config": {"model": LangChainEmbeddings(embedder)}},
        # Has to be named, and is never asked.
        "llm": {"provider": "openai", "config": {"api_key": "none"}},
        "history_db_path": str(folder / "history.db"),
    }


def _bm25(folder: Path) -> SparseTextEmbedding:
    words = set(_STOP_WORDS.read_text(encoding="utf-8").split())
    return SparseTextEmbedding("Qdrant/bm25", specific_model_path=str(folder), stopwords=words)


def _stay_offline() -> None:
    """Where spaCy's model is not installed, go on as after its download failed: with words as they are."""
    if find_spec("en_core_web_sm") is None:
        spacy_models._load_failed_full = spacy_models._load_failed_lemma = True
