from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from prism_core import Reranker
from prism_core.errors import BudgetError, QueryError
from prism_langchain import PrismDocumentCompressor

QUESTION = "Which gate does the flight leave from?"
DOCUMENTS = [
    Document("Lunch is at noon.", id="a", metadata={"score": 0.9, "page": 1}),
    Document("The flight leaves from gate B7.", id="b", metadata={"score": 0.2, "own": {"nested": []}}),
    Document("Gates open an hour before.", id="c", metadata={}),
]


def by_words(**fields: Any) -> PrismDocumentCompressor:
    return PrismDocumentCompressor(reranker=Reranker(None), **fields)


def test_documents_keep_everything_and_gain_their_ranking() -> None:
    before = [document.model_copy(deep=True) for document in DOCUMENTS]
    ranked = by_words().compress_documents(DOCUMENTS, QUESTION)
    assert ranked[0].id == "b"
    assert {document.id for document in ranked} == {"a", "b", "c"}
    assert before == DOCUMENTS
    for document in ranked:
        original = next(each for each in DOCUMENTS if each.id == document.id)
        added = {key: value for key, value in document.metadata.items() if key not in original.metadata}
        assert document.page_content == original.page_content
        assert original.metadata.items() <= document.metadata.items()
        assert set(added) == {"prism_score", "prism_front", "prism_objectives", "prism_reason"}
    assert ranked[0].metadata["prism_objectives"]["lexical"] > 0


def test_k_and_budget_cut() -> None:
    assert len(by_words(k=1).compress_documents(DOCUMENTS, QUESTION)) == 1
    [kept] = by_words(budget=9).compress_documents(DOCUMENTS, QUESTION)
    assert kept.id == "b"
    assert by_words(k=2).compress_documents([], QUESTION) == []
    with pytest.raises(QueryError):
        by_words(k=0).compress_documents(DOCUMENTS, QUESTION)
    with pytest.raises(BudgetError):
        by_words(budget=0).compress_documents(DOCUMENTS, QUESTION)


def test_the_retrievers_score_is_read_where_it_is_named() -> None:
    def first(compressor: PrismDocumentCompressor, **scores: object) -> str:
        documents = [Document(text, metadata={"mine": value}) for text, value in scores.items()]
        return compressor.compress_documents(documents, "zebra")[0].page_content

    assert first(by_words(score_key="mine"), one=0.1, two=0.9) == "two"
    assert first(by_words(), one=0.1, two=0.9) == "one"
    assert first(by_words(score_key=None), one=0.1, two=0.9) == "one"
    assert first(by_words(score_key="mine"), one="high", two=True) == "one"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"),
        ("2026-01-01", "2026-02-01"),
        (datetime(2026, 1, 1), datetime(2026, 2, 1, tzinfo=UTC)),
        ("long ago", "2026-02-01"),
        (None, "2026-02-01"),
    ],
)
def test_times_in_the_metadata_order_versions(old: object, new: object) -> None:
    documents = [
        Document("The gate is A1.", metadata={"event_time": old}),
        Document("The gate is B2.", metadata={"event_time": new}),
    ]
    assert by_words().compress_documents(documents, "Which is the gate now?")[0].page_content == "The gate is B2."


async def test_it_is_a_step_of_a_chain() -> None:
    found: RunnableLambda[str, dict[str, Any]] = RunnableLambda(lambda query: {"documents": DOCUMENTS, "query": query})
    chain = found | by_words(k=1).as_runnable()
    assert chain.invoke(QUESTION)[0].id == "b"
    assert (await chain.ainvoke(QUESTION))[0].id == "b"
