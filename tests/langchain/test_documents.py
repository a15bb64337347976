"""Documents taken in, filtered, and found through LangChain's own retrievers and chains."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_classic.chains import create_retrieval_chain
from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever, MergerRetriever
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import ConfigurableField, RunnablePassthrough
from langchain_core.tools import create_retriever_tool

from prism_core import Event, PrismMemory
from prism_core.errors import InvalidEventError, NaiveDatetimeError, QueryError, ScopeError
from prism_core.testing import HashedEmbedder
from prism_langchain import PrismDocumentCompressor, PrismRetriever
from tests.langchain.scripted import ScriptedChatModel

ALICE = ("acme", "alice")
TEXTS = (
    "The ferry to Bergen leaves at 07:15 from pier 4.",
    "Alice prefers window seats on long flights.",
    "The museum is closed on Mondays.",
    "The hotel in Lisbon has the reference QX7-4411.",
)
QUESTION = "When does the ferry to Bergen leave?"


@pytest.fixture
def retriever(memory: PrismMemory) -> PrismRetriever:
    metadatas = [{"page": number, "kind": "even" if number % 2 == 0 else "odd"} for number in range(len(TEXTS))]
    return PrismRetriever.from_texts(
        TEXTS, metadatas, [f"doc-{n}" for n in range(len(TEXTS))], scope=ALICE, memory=memory
    )


def texts(documents: list[Document]) -> list[str]:
    return [document.page_content for document in documents]


def test_documents_come_back_with_id_metadata_and_ranking(retriever: PrismRetriever) -> None:
    best = retriever.invoke(QUESTION, k=2)[0]
    assert best.page_content == TEXTS[0]
    assert best.id == best.metadata["unit_id"]
    assert best.metadata["document_id"] == "doc-0"
    assert best.metadata["metadata"] == {"page": 0, "kind": "even"}
    assert best.metadata["kind"] == "document"
    assert best.metadata["objectives"]["lexical"] > 0
    assert {"score", "front", "reason", "confidence", "excerpt"} <= set(best.metadata)
    assert json.loads(json.dumps(best.metadata)) == best.metadata


def test_adding_again_stores_nothing_new(retriever: PrismRetriever) -> None:
    documents = [Document(TEXTS[0], id="doc-0"), Document(TEXTS[1]), Document("Something new.", id="doc-9")]
    ids = retriever.add_documents(documents)
    assert ids[:2] == [retriever.invoke(text, k=1)[0].id for text in TEXTS[:2]]
    assert retriever.memory.stats(ALICE).units == len(TEXTS) + 1
    assert retriever.add_documents(documents) == ids
    assert retriever.add_documents([]) == []


def test_another_text_under_a_known_id_is_refused_and_said(retriever: PrismRetriever) -> None:
    with pytest.raises(InvalidEventError, match=r"doc-0.*refused: 1 of 2"):
        retriever.add_documents([Document("The ferry leaves at 09:00.", id="doc-0"), Document("Kept all the same.")])
    assert retriever.memory.stats(ALICE).units == len(TEXTS) + 1


def test_a_document_without_text_is_refused(retriever: PrismRetriever) -> None:
    with pytest.raises(InvalidEventError, match="no text"):
        retriever.add_documents([Document("  ")])


def test_ids_and_metadata_must_match_the_texts(memory: PrismMemory) -> None:
    every: list[dict[str, Any]] = [{"metadatas": [{}]}, {"ids": ["1"]}]
    for given in every:
        with pytest.raises(ValueError, match="shorter"):
            PrismRetriever.from_texts(TEXTS, scope=ALICE, memory=memory, **given)
    retriever = PrismRetriever(memory=memory, scope=ALICE)
    with pytest.raises(ValueError, match="shorter"):
        retriever.add_documents([Document("one"), Document("two")], ids=["1"])


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, {}),
        ({"tags": [], "none": None}, {"tags": [], "none": None}),
        ({"mixed": [1, "a", None, 2.5]}, {"mixed": [1, "a", None, 2.5]}),
        ({"nested": {"a": {"b": [{}]}}}, {"nested": {"a": {"b": [{}]}}}),
        ({"when": datetime(2026, 5, 1, tzinfo=UTC)}, {"when": "2026-05-01T00:00:00+00:00"}),
        ({"set": {1}, "tuple": (1, 2), 3: Path("a/b")}, {"set": [1], "tuple": [1, 2], "3": "a/b"}),
        ({"nan": float("nan"), "big": 1 << 70}, {"nan": "nan", "big": str(1 << 70)}),
    ],
)
def test_C4_C6_any_metadata_is_kept(given: dict[Any, Any], kept: dict[str, Any], memory: PrismMemory) -> None:
    retriever = PrismRetriever.from_documents([Document("A note.", metadata=given)], scope=ALICE, memory=memory)
    assert retriever.invoke("note")[0].metadata["metadata"] == kept


def test_C21_any_number_of_documents_at_once(tmp_path: Path) -> None:
    with PrismMemory.open(tmp_path / "memory", embedder=HashedEmbedder(dimension=8), index="chroma") as memory:
        documents = [Document(f"Note {number} about item {number}.", id=str(number)) for number in range(5_500)]
        retriever = PrismRetriever(memory=memory, scope=ALICE, k=1)
        assert len(set(retriever.add_documents(documents))) == 5_500
        memory.flush()
        assert retriever.invoke("item 5499")[0].metadata["document_id"] == "5499"


@pytest.mark.parametrize(
    "name", ["550e8400-e29b-41d4-a716-446655440000", "a-b", "/srv/notes/x.txt", "alice@example.com"]
)
def test_C24_odd_characters_in_scopes_texts_and_questions_lose_nothing(name: str, memory: PrismMemory) -> None:
    retriever = PrismRetriever.from_texts([f"The token is kept in {name}."], scope=(name,), memory=memory, ids=[name])
    [found] = retriever.invoke(f"What is in {name}? AND (\"*' OR NEAR")
    assert name in found.page_content
    assert found.metadata["document_id"] == name


def test_C25_a_single_scope_of_one_segment_is_found(memory: PrismMemory) -> None:
    retriever = PrismRetriever.from_texts(TEXTS, scope="alice", memory=memory, k=1)
    assert texts(retriever.invoke(QUESTION)) == [TEXTS[0]]


def test_a_retriever_may_open_its_own_memory(tmp_path: Path) -> None:
    with pytest.raises(ScopeError):
        PrismRetriever.from_texts(TEXTS, scope=(), memory=tmp_path / "memory")
    retriever = PrismRetriever.from_documents([Document(TEXTS[0])], scope=ALICE, memory=tmp_path / "memory", k=1)
    retriever.memory.close()
    with PrismMemory.open(tmp_path / "memory") as memory:
        assert texts(PrismRetriever(memory=memory, scope=ALICE).invoke(QUESTION)) == [TEXTS[0]]


async def test_documents_may_be_added_asynchronously(memory: PrismMemory) -> None:
    retriever = PrismRetriever(memory=memory, scope=ALICE, k=1)
    [unit_id] = await retriever.aadd_documents([Document(TEXTS[0])], ids=["x"])
    [found] = await retriever.ainvoke(QUESTION)
    assert (found.id, found.metadata["document_id"]) == (unit_id, "x")


async def test_answers_may_be_restricted_by_metadata_and_time(memory: PrismMemory) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    events = [
        Event(observation=f"The gate is {gate}.", event_time=start + timedelta(days=day), metadata={"day": day})
        for day, gate in enumerate(("A1", "B2", "C3"))
    ]
    memory.write_many(events, scope=ALICE)
    question = "Which gate?"

    def days(documents: list[Document]) -> set[int]:
        return {document.metadata["metadata"]["day"] for document in documents}

    every: list[tuple[dict[str, Any], set[int]]] = [
        ({"where": {"day": 1}}, {1}),
        ({"where": lambda unit: unit.metadata["day"] > 0}, {1, 2}),
        ({"since": start + timedelta(days=1)}, {1, 2}),
        ({"until": start + timedelta(days=1)}, {0}),
        ({"since": start + timedelta(days=1), "until": start + timedelta(days=2)}, {1}),
    ]
    plain = PrismRetriever(memory=memory, scope=ALICE)
    for limits, wanted in every:
        fixed = PrismRetriever(memory=memory, scope=ALICE, **limits)
        assert days(fixed.invoke(question)) == days(plain.invoke(question, **limits)) == wanted
        assert days(await plain.ainvoke(question, **limits)) == days(await fixed.ainvoke(question)) == wanted
    fixed = PrismRetriever(memory=memory, scope=ALICE, where={"day": 1})
    assert days(fixed.invoke(question, where={"day": 2})) == {2}
    with pytest.raises((QueryError, NaiveDatetimeError)):
        plain.invoke(question, since=datetime(2026, 1, 1))


def test_a_call_with_an_unknown_argument_is_refused(retriever: PrismRetriever) -> None:
    with pytest.raises(QueryError, match="top_k"):
        retriever.invoke(QUESTION, top_k=3)


def test_k_may_be_configured_for_a_run(retriever: PrismRetriever) -> None:
    configurable = retriever.configurable_fields(k=ConfigurableField(id="k"))
    assert len(configurable.invoke(QUESTION, config={"configurable": {"k": 3}})) == 3
    assert len(configurable.with_config(configurable={"k": 1}).invoke(QUESTION)) == 1


def answering() -> ScriptedChatModel:
    return ScriptedChatModel(responder=lambda messages: AIMessage("07:15" if "07:15" in messages[-1].text else "?"))


PROMPT = ChatPromptTemplate.from_template("Context: {context}\n\nQuestion: {input}")


def test_it_stands_in_an_lcel_chain(retriever: PrismRetriever) -> None:
    chain = {"context": retriever.with_config(run_name="memory"), "input": RunnablePassthrough()} | PROMPT | answering()
    assert chain.invoke(QUESTION).text == "07:15"


def test_it_stands_in_a_retrieval_chain(retriever: PrismRetriever) -> None:
    result = create_retrieval_chain(retriever, PROMPT | answering()).invoke({"input": QUESTION})
    assert result["answer"].text == "07:15"
    assert result["context"][0].page_content == TEXTS[0]


def test_it_is_a_tool(retriever: PrismRetriever) -> None:
    tool = create_retriever_tool(retriever, "recall", "Looks up.", response_format="content_and_artifact")
    called = tool.invoke({"type": "tool_call", "name": "recall", "id": "1", "args": {"query": QUESTION}})
    assert TEXTS[0] in called.content
    assert called.artifact[0].metadata["document_id"] == "doc-0"


async def test_it_stands_in_ensembles_and_under_compression(retriever: PrismRetriever) -> None:
    other = PrismRetriever(memory=retriever.memory, scope=ALICE, k=1)
    for retrievers in (
        EnsembleRetriever(retrievers=[retriever, other], weights=[0.5, 0.5]),
        MergerRetriever(retrievers=[retriever, other]),
    ):
        assert retrievers.invoke(QUESTION)[0].page_content == TEXTS[0]
        assert (await retrievers.ainvoke(QUESTION))[0].page_content == TEXTS[0]
    compressing = ContextualCompressionRetriever(base_compressor=PrismDocumentCompressor(k=1), base_retriever=retriever)
    [found] = compressing.invoke(QUESTION)
    assert found == (await compressing.ainvoke(QUESTION))[0]
    assert (found.page_content, found.metadata["prism_front"]) == (TEXTS[0], 0)
