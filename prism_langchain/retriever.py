"""The memory as a LangChain retriever."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from prism_core import PrismMemory
from prism_langchain.convert import to_document


class PrismRetriever(BaseRetriever):
    """Recalls the memories of one scope as documents, best first.

    `k`, `budget` and `active` may also be given per call, `retriever.invoke(question, k=2)`, and then take the place
    of the retriever's own. With `k`, exactly k documents are returned while the scope has that many, weak ones labelled
    `low` in `metadata["confidence"]`. With `budget` alone, as much is returned as is worth its tokens, possibly
    nothing, and a long memory that does not fit as an excerpt, marked `excerpt` in the metadata. With neither, the
    memory's own default applies.

    Attributes:
        memory: an open memory; the retriever never closes it.
        scope: whose memories, and nobody else's; required, there is no shared default.
        k: how many documents.
        budget: tokens the answer may take when rendered as one context block, wrapper included.
        active: ids of the units the agent is working on, oldest first; what they lead to and rest on ranks higher.
        task_id: restricts the answers to one task.
        session_id: restricts the answers to one session.
    """

    memory: PrismMemory = Field(repr=False)
    scope: str | tuple[str, ...]
    k: int | None = None
    budget: int | None = None
    active: Sequence[str] = ()
    task_id: str | None = None
    session_id: str | None = None

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        budget: int | None = None,
        active: Sequence[str] | None = None,
    ) -> list[Document]:
        return self._search(query, k, budget, active)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        budget: int | None = None,
        active: Sequence[str] | None = None,
    ) -> list[Document]:
        # LangChain's default would not forward the arguments of the call.
        return await asyncio.to_thread(self._search, query, k, budget, active)

    def _search(self, query: str, k: int | None, budget: int | None, active: Sequence[str] | None) -> list[Document]:
        retrieval = self.memory.search(
            query,
            scope=self.scope,
            k=self.k if k is None else k,
            budget=self.budget if budget is None else budget,
            active=self.active if active is None else active,
            task_id=self.task_id,
            session_id=self.session_id,
        )
        return [to_document(hit) for hit in retrieval]
