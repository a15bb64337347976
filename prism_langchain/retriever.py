"""The memory as a LangChain retriever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, field_validator

from prism_core import MemoryUnit, PrismMemory, ReceiptStatus, scope_of
from prism_core.errors import InvalidEventError, QueryError
from prism_langchain.convert import document_event, to_document

PER_CALL = frozenset({"k", "budget", "active", "where", "since", "until"})
BATCH = 5_000
"""Documents stored in one transaction."""


class PrismRetriever(BaseRetriever):
    """Recalls the memories of one scope as documents, best first, and takes documents in.

    `k`, `budget`, `active`, `where`, `since` and `until` may also be given per call, `retriever.invoke(question, k=2)`,
    and then take the place of the retriever's own. With `k`, exactly k documents are returned while the scope has that
    many, weak ones labelled `low` in `metadata["confidence"]`. With `budget` alone, as much is returned as is worth its
    tokens, possibly nothing, and a long memory that does not fit as an excerpt, marked `excerpt` in the metadata. With
    neither, the memory's own default applies.

    Attributes:
        memory: an open memory; the retriever never closes it.
        scope: whose memories, and nobody else's; required, there is no shared default.
        k: how many documents.
        budget: tokens the answer may take when rendered as one context block, wrapper included.
        active: ids of the units the agent is working on, oldest first; what they lead to and rest on ranks higher.
        task_id: restricts the answers to one task.
        session_id: restricts the answers to one session.
        where: restricts the answers to units whose metadata have these values, or that this function takes.
        since: restricts the answers to what happened at or after this instant; aware.
        until: restricts the answers to what happened before this instant; aware.
    """

    memory: PrismMemory = Field(repr=False)
    scope: str | tuple[str, ...]
    k: int | None = None
    budget: int | None = None
    active: Sequence[str] = ()
    task_id: str | None = None
    session_id: str | None = None
    where: Mapping[str, Any] | Callable[[MemoryUnit], bool] | None = None
    since: datetime | None = None
    until: datetime | None = None

    # An argument of another retriever's, such as search_kwargs, would else be passed over in silence.
    model_config = ConfigDict(extra="forbid")

    @field_validator("scope", mode="before")
    @classmethod
    def _checked_scope(cls, value: object) -> object:
        scope_of(value)
        return tuple(value) if isinstance(value, list) else value

    @classmethod
    def from_documents(
        cls,
        documents: Sequence[Document],
        *,
        scope: str | tuple[str, ...],
        memory: PrismMemory | str | Path = ":memory:",
        **fields: Any,
    ) -> Self:
        """A retriever over documents.

        Args:
            documents: added to what the scope holds.
            scope: whose memory.
            memory: an open memory, or where to open one; `retriever.memory.close()` closes it then.
            fields: of the retriever, such as `k`.

        Raises:
            InvalidEventError: if a document cannot be stored, or its id is taken by another text.
        """
        opened = memory if isinstance(memory, PrismMemory) else PrismMemory.open(memory)
        retriever = cls(memory=opened, scope=scope, **fields)
        retriever.add_documents(documents)
        return retriever

    @classmethod
    def from_texts(
        cls,
        texts: Sequence[str],
        metadatas: Sequence[Mapping[str, Any]] | None = None,
        ids: Sequence[str] | None = None,
        **fields: Any,
    ) -> Self:
        """A retriever over texts.

        Args:
            texts: added to what the scope holds.
            metadatas: one per text.
            ids: one per text.
            fields: `scope`, `memory`, and fields of the retriever, as for `from_documents`.

        Raises:
            ValueError: if there is not one of the metadata and ids for each text.
            InvalidEventError: if a text cannot be stored, or its id is taken by another text.
        """
        named: Sequence[str | None] = ids or [None] * len(texts)
        given = zip(texts, metadatas or [{} for _ in texts], named, strict=True)
        documents = [Document(page_content=text, metadata=dict(of), id=name) for text, of, name in given]
        return cls.from_documents(documents, **fields)

    def add_documents(self, documents: Sequence[Document], ids: Sequence[str] | None = None) -> list[str]:
        """Remember documents, in the retriever's session and task if it has one.

        A document that was added before, by its id or by its text, is not stored again. Metadata are kept as JSON and
        come back under `metadata` in the metadata of the documents found, ids as `document_id`.

        Args:
            documents: any number.
            ids: one per document, in place of its own id.

        Returns:
            The id of the unit that holds each document.

        Raises:
            ValueError: if there is not one id for each document.
            InvalidEventError: if a document has no text or cannot be stored, or its id is taken by another text. The
                other documents are stored where it says so.
        """
        named = ids if ids is not None else [document.id for document in documents]
        place = {"session_id": self.session_id, "task_id": self.task_id}
        events = [
            document_event(document, document_id, **place)
            for document, document_id in zip(documents, named, strict=True)
        ]
        receipts = []
        for start in range(0, len(events), BATCH):
            receipts += self.memory.write_many(events[start : start + BATCH], scope=self.scope)
        refused = [place for place, receipt in enumerate(receipts) if receipt.status is ReceiptStatus.REJECTED]
        if refused:
            first = refused[0]
            told = f"{receipts[first].reason} (refused: {len(refused)} of {len(receipts)}; the others are stored)"
            raise InvalidEventError("document", named[first] or documents[first].page_content[:80], told)
        return [receipt.unit_id or "" for receipt in receipts]

    async def aadd_documents(self, documents: Sequence[Document], ids: Sequence[str] | None = None) -> list[str]:
        """As `add_documents`, in a worker thread."""
        return await asyncio.to_thread(self.add_documents, documents, ids)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        return self._search(query, given)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        # LangChain's default would not forward the arguments of the call.
        return await asyncio.to_thread(self._search, query, given)

    def _search(self, query: str, given: Mapping[str, Any]) -> list[Document]:
        unknown = sorted(set(given) - PER_CALL)
        if unknown:
            raise QueryError(unknown[0], given[unknown[0]], f"a call takes {', '.join(sorted(PER_CALL))}")
        asked = {name: getattr(self, name) if given.get(name) is None else given[name] for name in PER_CALL}
        retrieval = self.memory.search(
            query, scope=self.scope, task_id=self.task_id, session_id=self.session_id, **asked
        )
        return [to_document(hit) for hit in retrieval]
