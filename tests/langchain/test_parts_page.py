"""The code of docs/langchain.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.vectorstores import InMemoryVectorStore

from prism_core import PrismMemory, ReceiptStatus
from prism_core.testing.scripted import ALICE
from prism_langchain import UnitVectors
from tests.langchain.scripted import ScriptedChatModel
from tests.openai_stub import OpenAIStub

Snippet = Callable[[str, str], str]
PAGE = "langchain.md"


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(code: str, **names: Any) -> dict[str, Any]:
    exec(code, names)
    return names


def test_documents(snippet: Snippet) -> None:
    names = run(snippet(PAGE, "Documents"))
    with names["memory"] as memory:
        assert [document.metadata["document_id"] for document in names["ferry"]] == ["ferry"]
        assert memory.stats(ALICE).units == 2


def test_reranking(snippet: Snippet) -> None:
    documents = [Document("Lunch is at noon."), Document("The ferry leaves at 07:15.")]
    store = InMemoryVectorStore(UnitVectors(1))
    store.add_documents(documents)
    names = run(snippet(PAGE, "Re-ranking"), any_retriever=store.as_retriever())
    assert names["best"][0].page_content == documents[1].page_content
    assert names["chain"].invoke("When does the ferry leave?")[0].page_content == documents[1].page_content


def test_chat_history(snippet: Snippet) -> None:
    names = run(snippet(PAGE, "Chat history"))
    with names["memory"]:
        assert [message.text for message in names["later"].messages] == ["The client wants the blue variant.", "Noted."]


def test_classic(snippet: Snippet) -> None:
    prompt = ChatPromptTemplate.from_messages(
        [MessagesPlaceholder("history"), ("human", "{input}"), MessagesPlaceholder("agent_scratchpad")]
    )
    model = ScriptedChatModel(responder=lambda messages: AIMessage("Hi."))
    names = run(snippet(PAGE, "Classic chains and executors"), model=model, prompt=prompt, tools=[])
    with names["store"] as store:
        assert names["executor"].invoke({"input": "Hello."})["output"] == "Hi."
        assert [unit.observation for unit in store.units(scope=ALICE)] == ["Hello.", "Hi."]


def test_embeddings(snippet: Snippet) -> None:
    with OpenAIStub() as stub, run(snippet(PAGE, "Embeddings"), base_url=stub.base_url)["memory"] as memory:
        assert memory.stats(ALICE).pending == 0
        assert (
            memory.search("Which variant does the client want?", scope=ALICE, k=1).hits[0].candidate.signals["dense"]
            == 1.0
        )


def test_chat_models(snippet: Snippet) -> None:
    reading = '{"intents": ["identity"], "facts": [{"entity": "user", "attribute": "home", "value": "Lisbon"}]}'
    with OpenAIStub(lambda body: reading) as stub:
        names = run(snippet(PAGE, "Chat models"), base_url=stub.base_url)
    with names["memory"] as memory:
        assert names["receipt"].status is ReceiptStatus.STORED
        assert [fact.text for fact in memory.facts(scope=ALICE)] == ["user: home is Lisbon"]
    assert names["reader"].meter.total().calls == 1


def test_vector_stores(snippet: Snippet) -> None:
    names = run(snippet(PAGE, "Vector stores"))
    with names["memory"] as memory:
        memory.write("The client wants the blue variant.", scope=ALICE)
        memory.flush()
        assert names["index"].count(ALICE) == 1
    names["client"].close()


def test_qdrant(snippet: Snippet) -> None:
    names = run(snippet(PAGE, "Qdrant"))
    with PrismMemory.open(index=names["index"]) as memory:
        memory.write("The client wants the blue variant.", scope=ALICE)
        memory.flush()
        assert names["index"].count(ALICE) == 1
        memory.erase(scope=ALICE, whole_scope=True)
    assert not names["qdrant"].get_collections().collections
    names["qdrant"].close()


def test_retriever(snippet: Snippet) -> None:
    names = run(snippet(PAGE, "Retriever"))
    with names["memory"]:
        assert "blue variant" in names["recall"].invoke("Which variant does the client want?")


def test_store(snippet: Snippet) -> None:
    names = run(snippet(PAGE, "LangGraph store"))
    with names["memory"]:
        assert [item.key for item in names["found"]] == ["drink"]
        assert names["found"][0].namespace == ("users", "alice@example%2Ecom")
