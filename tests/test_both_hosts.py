"""One memory, both hosts: what is written through one is recalled through the other, as the same unit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prism_core import PrismMemory

pytest.importorskip("langchain", reason="LangChain is not installed: pip install 'prism-memory[agent]'")
pytest.importorskip("llama_index.core", reason="LlamaIndex is not installed: pip install 'prism-memory[llamaindex]'")

from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage
from llama_index.core.llms import ChatMessage
from llama_index.core.schema import TextNode

import prism_langchain
import prism_llamaindex
from tests.langchain.agents import says
from tests.langchain.scripted import ScriptedChatModel
from tests.llamaindex.talking import assistant, text_of, user

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

SCOPE, OTHER = ("acme", "alice"), ("acme", "bob")
FACT = "The client wants the blue variant, delivered by Friday."
QUESTION = "Which variant does the client want?"


def answer(messages: Sequence[BaseMessage]) -> AIMessage:
    return AIMessage("blue" if "blue variant" in messages[-1].text else "Noted.")


def langchain_agent(memory: PrismMemory, session_id: str) -> CompiledStateGraph[Any, Any, Any, Any]:
    middleware = prism_langchain.PrismMemoryMiddleware(memory, scope=SCOPE, session_id=session_id)
    return create_agent(ScriptedChatModel(responder=answer), middleware=[middleware])


def llamaindex_memory(memory: PrismMemory, session_id: str) -> prism_llamaindex.PrismChatMemory:
    return prism_llamaindex.PrismChatMemory.from_defaults(memory, scope=SCOPE, session_id=session_id)


def only_id(memory: PrismMemory) -> str:
    """The id of the unit that holds the fact; there is one and no second."""
    [unit] = [unit for unit in memory.units(scope=SCOPE) if unit.observation == FACT]
    return unit.id


def in_langchain(memory: PrismMemory) -> list[str | None]:
    retriever = prism_langchain.PrismRetriever(memory=memory, scope=SCOPE, k=1)
    return [document.id for document in retriever.invoke(QUESTION)]


def in_llamaindex(memory: PrismMemory) -> list[str]:
    retriever = prism_llamaindex.PrismRetriever(memory, SCOPE, k=1)
    return [node.node_id for node in retriever.retrieve(QUESTION)]


def test_a_document_of_langchain_is_a_node_of_llamaindex(memory: PrismMemory) -> None:
    retriever = prism_langchain.PrismRetriever(memory=memory, scope=SCOPE)
    ids = retriever.add_documents([Document(FACT, metadata={"page": 3}), Document("The office opens at nine.")])
    [node] = prism_llamaindex.PrismRetriever(memory, SCOPE, k=1).retrieve(QUESTION)
    assert node.node_id == ids[0] == only_id(memory)
    assert node.text == FACT
    assert node.metadata["metadata"]["page"] == 3
    assert prism_llamaindex.PrismRetriever(memory, OTHER, k=1).retrieve(QUESTION) == []


def test_a_node_of_llamaindex_is_a_document_of_langchain(memory: PrismMemory) -> None:
    nodes = [TextNode(text=FACT, metadata={"page": 3}), TextNode(text="The office opens at nine.")]
    receipts = prism_llamaindex.remember_nodes(memory, nodes, scope=SCOPE)
    [document] = prism_langchain.PrismRetriever(memory=memory, scope=SCOPE, k=1).invoke(QUESTION)
    assert document.id == receipts[0].unit_id == only_id(memory)
    assert document.page_content == FACT
    assert document.metadata["metadata"]["page"] == 3
    assert prism_langchain.PrismRetriever(memory=memory, scope=OTHER, k=1).invoke(QUESTION) == []


def test_what_a_langchain_agent_heard_a_llamaindex_agent_recalls(memory: PrismMemory) -> None:
    langchain_agent(memory, "monday").invoke(says(FACT))
    assert in_llamaindex(memory) == in_langchain(memory) == [only_id(memory)]
    conversation = llamaindex_memory(memory, "tuesday")
    conversation.put(user(QUESTION))
    assert "blue variant" in text_of(conversation.get())


def test_what_a_llamaindex_agent_heard_a_langchain_agent_recalls(memory: PrismMemory) -> None:
    conversation = llamaindex_memory(memory, "monday")
    said: list[ChatMessage] = [user(FACT), assistant("Noted.")]
    conversation.put_messages(said)
    assert in_langchain(memory) == in_llamaindex(memory) == [only_id(memory)]
    result = langchain_agent(memory, "tuesday").invoke(says(QUESTION))
    assert result["messages"][-1].text == "blue"


def test_another_process_sees_both(tmp_path: Path) -> None:
    """Nothing of a host is kept beside the ledger."""
    with PrismMemory.open(tmp_path / "memory", embedder=None) as written:
        langchain_agent(written, "monday").invoke(says(FACT))
        unit_id = only_id(written)
    with PrismMemory.open(tmp_path / "memory", embedder=None) as opened:
        assert in_llamaindex(opened) == in_langchain(opened) == [unit_id]
