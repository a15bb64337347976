"""The shared embedder as LangChain's."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings

from prism_core.protocols import Embedder


class LangChainEmbeddings(Embeddings):
    """An embedder in LangChain's form.

    Attributes:
        inner: what embeds.
    """

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors of texts."""
        vectors: list[list[float]] = self.inner.embed_documents(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        vector: list[float] = self.inner.embed_query(text).tolist()
        return vector
