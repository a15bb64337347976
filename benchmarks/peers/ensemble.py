"""LangChain's EnsembleRetriever over BM25 and Chroma."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_chroma import Chroma
from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.retrievers import BM25Retriever

from benchmarks.peers.base import Peer
from benchmarks.peers.chroma import HNSW, client, collection_name, said
from benchmarks.peers.embedding import LangChainEmbeddings
from benchmarks.peers.lexical import terms
from prism_core.protocols import Embedder
from prism_core.types import MemoryUnit


class LangChainEnsemble(Peer):
    """Reciprocal rank fusion of two retrievers with equal weights, as LangChain's guides set it up."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        self._store = Chroma(
            collection_name(), LangChainEmbeddings(embedder), client=client(), collection_configuration=HNSW
        )
        self._lexical: BM25Retriever | None = None

    def store(self, units: Sequence[MemoryUnit]) -> None:
        """Add to Chroma and build BM25 anew: it takes no additions."""
        self._store.add_texts([unit.text for unit in units], [_about(unit) for unit in units])
        everything = self.shelf.units
        self._lexical = BM25Retriever.from_texts(
            [unit.text for unit in everything], [_about(unit) for unit in everything], preprocess_func=_terms
        )

    def rank(self, text: str, depth: int) -> Sequence[str]:
        """Fused; units are told apart by id, so that equal texts stay two units."""
        if self._lexical is None:
            return ()
        self._lexical.k = depth
        dense = self._store.as_retriever(search_kwargs={"k": depth})
        ensemble = EnsembleRetriever(retrievers=[self._lexical, dense], weights=[0.5, 0.5], id_key="unit")
        return [document.metadata["unit"] for document in ensemble.invoke(text)[:depth]]

    def close(self) -> None:
        """Remove the collection."""
        self._store.delete_collection()


def _about(unit: MemoryUnit) -> dict[str, str]:
    return {"unit": unit.id, **said(unit)}


def _terms(text: str) -> list[str]:
    # The retriever's own default splits at white space: "Hiking?" and "hiking" would be two words.
    return terms([text])[0]
