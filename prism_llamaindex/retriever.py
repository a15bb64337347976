"""The memory as a LlamaIndex retriever."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Self

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle
from llama_index.core.vector_stores import MetadataFilters

from prism_core import Embedder, PrismMemory
from prism_llamaindex.convert import to_node
from prism_llamaindex.embedder import LlamaIndexEmbedder
from prism_llamaindex.errors import UnsupportedFilterError
from prism_llamaindex.filters import where_of
from prism_llamaindex.ingestion import remember_nodes


class PrismRetriever(BaseRetriever):
    """Recalls the memories of one scope as scored nodes, best first.

    With `k`, exactly k nodes are returned while the scope has that many, weak ones labelled `low` in
    `node.metadata["confidence"]`. With `budget` alone, as much is returned as is worth its tokens, possibly nothing,
    and a long memory that does not fit as an excerpt, marked `excerpt` in the metadata. With neither, the memory's
    own default applies.

    A question that comes with an embedding (`QueryBundle.embedding`) is searched with that one, which has to be made by
    the memory's own embedder: one of another length raises `DimensionMismatchError`. Every argument is an attribute
    too, and may be set between questions.

    Args:
        memory: an open memory; the retriever never closes it.
        scope: whose memories, and nobody else's; required, there is no shared default.
        k: how many nodes.
        budget: tokens the answer may take when rendered as one context block, wrapper included.
        active: ids of the units the agent is working on, oldest first; what they lead to and rest on ranks higher.
        task_id: restricts the answers to one task.
        session_id: restricts the answers to one session.
        filters: restricts the answers by metadata and fields, with any operator and nested conditions.
        since: only what happened at or after this instant; aware.
        until: only what happened before this instant; aware.
        callback_manager: LlamaIndex's callbacks.

    Raises:
        UnsupportedFilterError: if a filter cannot be applied; also when `filters` is set later.
    """

    def __init__(
        self,
        memory: PrismMemory,
        scope: str | tuple[str, ...],
        *,
        k: int | None = None,
        budget: int | None = None,
        active: Sequence[str] = (),
        task_id: str | None = None,
        session_id: str | None = None,
        filters: MetadataFilters | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        super().__init__(callback_manager=callback_manager)
        self.memory = memory
        self.scope = scope
        self.k = k
        self.budget = budget
        self.active = active
        self.task_id = task_id
        self.session_id = session_id
        self.filters = filters
        self.since = since
        self.until = until

    @classmethod
    def from_defaults(
        cls, memory: PrismMemory, scope: str | tuple[str, ...], *, similarity_top_k: int | None = None, **arguments: Any
    ) -> Self:
        """A retriever by the argument names of LlamaIndex's own.

        Args:
            memory: an open memory.
            scope: whose memories.
            similarity_top_k: the same as `k`.
            **arguments: any other argument of the constructor.
        """
        return cls(memory, scope, **({"k": similarity_top_k} | arguments))

    @classmethod
    def from_documents(
        cls,
        documents: Sequence[BaseNode],
        scope: str | tuple[str, ...],
        *,
        memory: PrismMemory | None = None,
        embed_model: BaseEmbedding | Embedder | None = None,
        **arguments: Any,
    ) -> Self:
        """A retriever over documents or nodes, which are remembered first, as `remember_nodes` does.

        Args:
            documents: whole documents, or the nodes a parser made of them.
            scope: whose memories they become.
            memory: an open memory; one that lives as long as the process when None.
            embed_model: embeds in such a memory of its own; the bundled model when None. `Settings` is not consulted.
            **arguments: any argument of `from_defaults`.
        """
        if memory is None:
            kind = type(embed_model).__name__
            used = LlamaIndexEmbedder(embed_model, id=kind) if isinstance(embed_model, BaseEmbedding) else embed_model
            memory = PrismMemory.open(embedder=used or "default")
        remember_nodes(memory, documents, scope=scope)
        return cls.from_defaults(memory, scope, **arguments)

    @property
    def filters(self) -> MetadataFilters | None:
        """What the answers are restricted by."""
        return self._filters

    @filters.setter
    def filters(self, filters: MetadataFilters | None) -> None:
        if not isinstance(filters, MetadataFilters | None):
            raise UnsupportedFilterError(filters, "is none of LlamaIndex's MetadataFilters")
        self._where = where_of(filters) if filters is not None else None
        self._filters = filters

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        retrieval = self.memory.search(
            query_bundle.query_str,
            scope=self.scope,
            k=self.k,
            budget=self.budget,
            active=self.active,
            task_id=self.task_id,
            session_id=self.session_id,
            where=self._where,
            since=self.since,
            until=self.until,
            vector=query_bundle.embedding,
        )
        return [to_node(hit) for hit in retrieval]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        # LlamaIndex's default would search on the event loop and block it.
        return await asyncio.to_thread(self._retrieve, query_bundle)
