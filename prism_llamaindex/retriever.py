"""The memory as a LlamaIndex retriever."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from prism_core import PrismMemory
from prism_llamaindex.convert import to_node


class PrismRetriever(BaseRetriever):
    """Recalls the memories of one scope as scored nodes, best first.

    With `k`, exactly k nodes are returned while the scope has that many, weak ones labelled `low` in
    `node.metadata["confidence"]`. With `budget` alone, as much is returned as is worth its tokens, possibly nothing,
    and a long memory that does not fit as an excerpt, marked `excerpt` in the metadata. With neither, the memory's
    own default applies. Only the question's text is used, not an embedding that comes with it.

    Args:
        memory: an open memory; the retriever never closes it.
        scope: whose memories, and nobody else's; required, there is no shared default.
        k: how many nodes.
        budget: tokens the answer may take when rendered as one context block, wrapper included.
        active: ids of the units the agent is working on, oldest first; what they lead to and rest on ranks higher. The
            attribute may be set between questions.
        task_id: restricts the answers to one task.
        session_id: restricts the answers to one session.
        callback_manager: LlamaIndex's callbacks.
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

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        retrieval = self.memory.search(
            query_bundle.query_str,
            scope=self.scope,
            k=self.k,
            budget=self.budget,
            active=self.active,
            task_id=self.task_id,
            session_id=self.session_id,
        )
        return [to_node(hit) for hit in retrieval]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        # LlamaIndex's default would search on the event loop and block it.
        return await asyncio.to_thread(self._retrieve, query_bundle)
