"""Input that nobody planned for: odd ids, broken text, long messages, edited ones, and a memory that is gone."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import ValidationError

from prism_core import PrismMemory, Reranker
from prism_core.errors import BudgetError, InvalidEventError, LedgerError, PrismError, QueryError, ScopeError
from prism_langchain import (
    MemoryProblem,
    PrismChatMessageHistory,
    PrismConversationMemory,
    PrismDocumentCompressor,
    PrismMemoryMiddleware,
    PrismRetriever,
    prism_remember_runnable,
    prism_tools,
)
from tests.langchain.agents import ALICE, OPENING, answers, calls_once, know, on, plain_memory, says, texts
from tests.langchain.scripted import Responder, ScriptedChatModel

BLUE = "The client wants the blue variant."
LONG = f"{'Lorem ipsum. ' * 3000} Which variant does the client want?"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[PrismMemory]:
    with plain_memory(tmp_path) as opened:
        yield opened


@tool
def book(offer: str) -> str:
    """Book an offer."""
    return f"booked {offer} \udc80"


class Run:
    """An agent with the memory, and what the memory could not do."""

    def __init__(self, memory: PrismMemory, respond: Responder, **options: Any) -> None:
        self.problems: list[MemoryProblem] = []
        self.model = ScriptedChatModel(responder=respond)
        middleware = PrismMemoryMiddleware(memory, scope=ALICE, on_error=self.problems.append, **options)
        self.agent = create_agent(self.model, [book], middleware=[middleware], checkpointer=InMemorySaver())

    def say(self, text: str, thread: object = "t") -> str:
        found = self.agent.invoke(says(text), {"configurable": {"thread_id": thread}})
        return str(found["messages"][-1].text)


def test_half_a_surrogate_pair_does_not_cost_the_memory_of_a_turn(memory: PrismMemory) -> None:
    run = Run(memory, calls_once("book", offer="A\ud800"))
    run.say("Book \ud800 it.")
    assert not run.problems
    assert texts(memory) == [
        "user: Book ? it.",
        'book({"offer": "A?"})\n-> booked A? ?',
        "assistant: It says: booked A? ?",
    ]


def test_a_message_of_book_length_is_asked_about_by_its_end(memory: PrismMemory) -> None:
    know(memory, BLUE)
    run = Run(memory, answers("ok"))
    run.say(LONG)
    assert not run.problems
    assert BLUE in run.model.seen[-1][-1].text.partition(OPENING)[2]


@pytest.mark.parametrize("name", [7, uuid.UUID(int=3)])
def test_threads_may_be_named_by_numbers(memory: PrismMemory, name: object) -> None:
    run = Run(memory, answers("ok"), session_id=lambda runtime: name)
    run.say("hello")
    assert not run.problems
    assert {unit.session_id for unit in memory.units(scope=ALICE)} == {str(name)}


def test_a_message_edited_in_its_place_is_stored_beside_what_it_said(memory: PrismMemory) -> None:
    run = Run(memory, answers("ok"))
    for words in ("The red one.", "The blue one."):
        run.agent.invoke({"messages": [HumanMessage(words, id="h1")]}, on("t"))
    assert [text for text in texts(memory) if "one" in text] == ["user: The red one.", "user: The blue one."]


def test_parallel_calls_under_one_id_keep_their_results_apart(memory: PrismMemory) -> None:
    calls = [{"name": "book", "args": {"offer": offer}, "id": "c", "type": "tool_call"} for offer in "AB"]

    def respond(messages: list[BaseMessage]) -> AIMessage:
        done = isinstance(messages[-1], ToolMessage)
        return AIMessage("done") if done else AIMessage("", tool_calls=calls)

    Run(memory, respond).say("Book both.")
    told = [unit.text for unit in memory.units(scope=ALICE) if unit.action]
    assert sorted(told) == [f'book({{"offer": "{offer}"}})\n-> booked {offer} ?' for offer in "AB"]


def test_tools_answer_in_few_words_whatever_the_model_asks(memory: PrismMemory) -> None:
    know(memory, BLUE)
    recall, save, why, forget = prism_tools(
        memory, scope=ALICE, names=("recall_memory", "save_memory", "why_memory", "forget_memory")
    )
    assert BLUE in recall.invoke({"query": LONG})
    assert save.invoke({"text": "half a \ud800"}).startswith("Saved as [")
    assert "nothing" in save.invoke({"text": "\x00"}).lower()
    for answer in (why.invoke({"memory_id": "\ud800" * 5000}), forget.invoke({"memory_ids": ["x" * 5000]})):
        assert len(answer.encode()) < 200
    with pytest.raises(BudgetError):
        prism_tools(memory, scope=ALICE, budget=0)


def test_a_history_belongs_to_one_session(memory: PrismMemory) -> None:
    know(memory, BLUE)
    for missing in (None, "", " "):
        with pytest.raises(QueryError, match="session_id"):
            PrismChatMessageHistory(memory, scope=ALICE, session_id=missing)
    history = PrismChatMessageHistory(memory, scope=ALICE, session_id=42)
    history.add_messages([HumanMessage("\x00"), HumanMessage("Room \ud800 4.")])
    again = PrismChatMessageHistory(memory, scope=ALICE, session_id="42")
    assert [message.text for message in again.messages] == ["\x00", "Room ? 4."]
    assert texts(memory)[1:] == ["[human message]", "user: Room ? 4."]


@pytest.mark.parametrize("history_first", [True, False])
def test_what_the_middleware_stored_comes_back_from_a_history_and_is_remembered_once(
    memory: PrismMemory, history_first: bool
) -> None:
    run = Run(memory, calls_once("book", offer="A"))
    asked = HumanMessage("Book it.", id="h1")
    history = PrismChatMessageHistory(memory, scope=ALICE, session_id="t")
    if history_first:
        history.add_messages([asked])
    done = run.agent.invoke({"messages": [asked]}, on("t"))["messages"]
    history.add_messages(done[1:] if history_first else done)
    spoken = ["user: Book it.", 'book({"offer": "A"})\n-> booked A ?', "assistant: It says: booked A ?"]
    assert [text for text in texts(memory) if not text.startswith("[")] == spoken
    assert [message.id for message in history.messages] == [message.id for message in done]
    history.add_messages([HumanMessage("Cancel it.", id="h1")])
    assert history.messages[-1].text == "Cancel it."
    assert texts(memory)[-1] == "user: Cancel it."


def test_C18_a_classic_chain_goes_on_without_its_memory(memory: PrismMemory, tmp_path: Path) -> None:
    problems: list[MemoryProblem] = []
    held = PrismConversationMemory(memory=memory, scope=ALICE, session_id="s", on_error=problems.append)
    held.save_context({"input": BLUE}, {"output": "half \ud800"})
    assert not problems
    with sqlite3.connect(next((tmp_path / "memory").rglob("*.db"))) as connection:
        connection.execute("ALTER TABLE units RENAME TO lost")
    assert held.load_memory_variables({"input": "Which variant?"}) == {"history": ""}
    held.save_context({"input": "hi"}, {"output": "hello"})
    assert {problem.operation for problem in problems} == {"recall", "record"}
    assert all(isinstance(problem.error, LedgerError) for problem in problems)
    with pytest.raises(QueryError, match="input_key"):
        held.save_context({"a": "hi", "b": "ho"}, {"output": "hello"})
    memory.close()
    assert held.load_memory_variables({"input": "Which variant?"}) == {"history": ""}
    with pytest.raises(PrismError):
        held.clear()


def test_arguments_of_other_retrievers_are_not_passed_over(memory: PrismMemory) -> None:
    with pytest.raises(ValidationError, match="search_kwargs"):
        PrismRetriever(memory=memory, scope=ALICE, search_kwargs={"k": 3})  # type: ignore[call-arg]
    for scope in (None, 7, ("acme", 7)):
        with pytest.raises(ScopeError):
            PrismRetriever(memory=memory, scope=scope)  # type: ignore[arg-type]


def test_documents_of_other_libraries_are_stored_as_far_as_they_can_be(memory: PrismMemory) -> None:
    retriever = PrismRetriever(memory=memory, scope=ALICE)
    retriever.add_documents([Document("page \ud800 one", metadata={"title\udfff": "\ud800"}, id="\ud800")])
    [unit] = memory.units(scope=ALICE)
    assert (unit.text, unit.metadata) == ("page ? one", {"title?": "?"})
    circle: dict[str, Any] = {}
    circle["circle"] = circle
    with pytest.raises(InvalidEventError, match="nested"):
        retriever.add_documents([Document("round", metadata=circle)])


def test_a_score_beyond_all_numbers_says_nothing() -> None:
    compressor = PrismDocumentCompressor(reranker=Reranker(None))
    documents = [Document("tea", metadata={"score": 10**400}), Document("coffee", metadata={"score": 0.5})]
    assert compressor.compress_documents(documents, "tea")[0].page_content == "tea"


def test_a_remembered_turn_without_a_session_may_hold_anything(memory: PrismMemory) -> None:
    calls = [{"name": "book", "args": {}, "id": "", "type": "tool_call"}]
    turn = [HumanMessage("\ud800"), AIMessage("", tool_calls=calls), ToolMessage("yes", tool_call_id="")]
    prism_remember_runnable(memory, scope=ALICE).invoke(turn)
    assert texts(memory) == ["user: ?", "book({})\n-> yes"]
