from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core._api import LangChainDeprecationWarning
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables.history import RunnableWithMessageHistory

from prism_core import Kind, Outcome, PrismMemory, Source
from prism_core.errors import ScopeError
from prism_core.testing import HashedEmbedder
from prism_langchain import PrismChatMessageHistory, PrismRetriever
from tests.langchain.scripted import ScriptedChatModel

ALICE = ("acme", "alice")

CALLS = [
    {"name": "search", "args": {"q": "ferry", "n": 3}, "id": "call-1", "type": "tool_call"},
    {"name": "weather", "args": {"city": "Bergen"}, "id": "call-2", "type": "tool_call"},
]
CONVERSATION: list[BaseMessage] = [
    SystemMessage("You are a travel agent. Never mention Oslo.", id="s1"),
    HumanMessage("When does the ferry leave?", id="h1", name="Alice", additional_kwargs={"a": {"b": [1]}}),
    AIMessage("Let me look.", id="a1", tool_calls=CALLS, usage_metadata=None, response_metadata={"model": "m"}),
    ToolMessage("07:15 from pier 4", tool_call_id="call-1", id="t1", artifact={"rows": [1, 2]}),
    ToolMessage("no such city", tool_call_id="call-2", id="t2", status="error"),
    AIMessage([{"type": "text", "text": "At 07:15."}, {"type": "text", "text": "Weather unknown."}], id="a2"),
    HumanMessage(
        [{"type": "text", "text": "Like this?"}, {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}]
    ),
    AIMessage(""),
    ChatMessage(content="A remark.", role="moderator"),
    FunctionMessage(content="42", name="answer"),
]


@pytest.fixture
def history(memory: PrismMemory) -> PrismChatMessageHistory:
    return PrismChatMessageHistory(memory, scope=ALICE, session_id="s")


def test_messages_come_back_as_they_were_added(history: PrismChatMessageHistory) -> None:
    history.add_messages(CONVERSATION)
    assert history.messages == CONVERSATION
    assert [type(message) for message in history.messages] == [type(message) for message in CONVERSATION]


def test_one_by_one_they_come_back_the_same(history: PrismChatMessageHistory) -> None:
    for message in CONVERSATION:
        history.add_message(message)
    assert history.messages == CONVERSATION
    history.add_messages([])
    history.add_user_message("Thanks!")
    history.add_ai_message("Welcome.")
    assert [message.text for message in history.messages[-2:]] == ["Thanks!", "Welcome."]
    assert "Human: Thanks!" in str(history)


def test_what_was_said_and_done_is_remembered(history: PrismChatMessageHistory, memory: PrismMemory) -> None:
    history.add_messages(CONVERSATION)
    units = {unit.tool_call_id or unit.observation: unit for unit in memory.units(scope=ALICE)}
    asked, called, failed = units["When does the ferry leave?"], units["call-1"], units["call-2"]
    assert (asked.kind, asked.source, asked.speaker, asked.session_id) == (Kind.MESSAGE, Source.USER, "Alice", "s")
    assert called.action == 'search({"q": "ferry", "n": 3})'
    assert (called.kind, called.action_type, called.thought) == (Kind.STEP, "search", "Let me look.")
    assert called.observation == "07:15 from pier 4"
    assert (failed.observation, failed.outcome) == ("no such city", Outcome.FAILURE)
    found = PrismRetriever(memory=memory, scope=ALICE, k=1).invoke("From which pier does the ferry leave?")
    assert "pier 4" in found[0].page_content
    assert found[0].metadata["metadata"] == {}


def test_system_prompts_come_back_but_are_no_memories(history: PrismChatMessageHistory, memory: PrismMemory) -> None:
    history.add_messages(CONVERSATION[:2])
    assert not any("Oslo" in unit.text for unit in memory.units(scope=ALICE))
    assert "Oslo" not in memory.context("Never mention Oslo", scope=ALICE).text
    assert history.messages[0].text == CONVERSATION[0].text


def test_saying_it_twice_makes_two_messages(history: PrismChatMessageHistory) -> None:
    history.add_messages([HumanMessage("Yes."), AIMessage("Really?"), HumanMessage("Yes.")])
    history.add_message(HumanMessage("Yes."))
    assert [message.text for message in history.messages] == ["Yes.", "Really?", "Yes.", "Yes."]


def test_a_reply_without_words_or_without_its_call_comes_back(history: PrismChatMessageHistory) -> None:
    lone = [
        ToolMessage("", tool_call_id="gone"),
        AIMessage("", tool_calls=CALLS[:1]),
        ToolMessage("", tool_call_id="call-1"),
    ]
    history.add_messages(lone)
    assert history.messages == lone


def test_a_streamed_message_is_stored_whole(history: PrismChatMessageHistory, memory: PrismMemory) -> None:
    history.add_messages([AIMessageChunk(content="Half "), AIMessageChunk(content="done.", id="x")])
    assert [unit.observation for unit in memory.units(scope=ALICE)] == ["Half ", "done."]
    assert [message.text for message in history.messages] == ["Half ", "done."]


def test_C16_another_object_and_another_process_see_the_same(tmp_path: Path) -> None:
    def opened() -> PrismMemory:
        return PrismMemory.open(tmp_path / "memory", embedder=HashedEmbedder())

    with opened() as memory:
        one, two = (PrismChatMessageHistory(memory, scope=ALICE, session_id="s") for _ in range(2))
        one.add_messages(CONVERSATION)
        assert two.messages == one.messages == CONVERSATION
        two.add_user_message("More.")
        assert one.messages[-1].text == "More."
    with opened() as memory:
        again = PrismChatMessageHistory(memory, scope=ALICE, session_id="s")
        assert again.messages[:-1] == CONVERSATION
        assert PrismChatMessageHistory(memory, scope=ALICE, session_id="t").messages == []
        assert PrismChatMessageHistory(memory, scope="bob", session_id="s").messages == []


def test_clearing_erases_the_session_and_nothing_else(memory: PrismMemory, history: PrismChatMessageHistory) -> None:
    other = PrismChatMessageHistory(memory, scope=ALICE, session_id="other")
    other.add_user_message("The museum is closed on Mondays.")
    history.add_messages(CONVERSATION)
    history.clear()
    assert history.messages == []
    assert [unit.observation for unit in memory.units(scope=ALICE)] == ["The museum is closed on Mondays."]
    history.clear()
    history.add_user_message("Anew.")
    assert [message.text for message in history.messages] == ["Anew."]


def test_a_scope_is_needed(memory: PrismMemory) -> None:
    with pytest.raises(ScopeError):
        PrismChatMessageHistory(memory, scope=(), session_id="s")


async def test_it_works_asynchronously(history: PrismChatMessageHistory) -> None:
    await history.aadd_messages(CONVERSATION)
    assert await history.aget_messages() == CONVERSATION
    await history.aclear()
    assert await history.aget_messages() == []


def chat_with_history(memory: PrismMemory) -> Any:
    def history_of(session_id: str) -> BaseChatMessageHistory:
        return PrismChatMessageHistory(memory, scope=ALICE, session_id=session_id)

    prompt = ChatPromptTemplate.from_messages(
        [("system", "Be brief."), MessagesPlaceholder("history"), ("human", "{input}")]
    )
    model = ScriptedChatModel(responder=lambda messages: AIMessage(f"{len(messages)} messages"))
    with pytest.warns(LangChainDeprecationWarning, match="RunnableWithMessageHistory"):
        return RunnableWithMessageHistory(
            prompt | model, history_of, input_messages_key="input", history_messages_key="history"
        )


async def test_it_stands_behind_a_runnable_with_message_history(memory: PrismMemory) -> None:
    chat = chat_with_history(memory)

    def config(session: str) -> dict[str, Any]:
        return {"configurable": {"session_id": session}}

    assert chat.invoke({"input": "one"}, config=config("a")).text == "2 messages"
    assert chat.invoke({"input": "two"}, config=config("a")).text == "4 messages"
    assert (await chat.ainvoke({"input": "three"}, config=config("a"))).text == "6 messages"
    assert [chunk.text async for chunk in chat.astream({"input": "one"}, config=config("b"))] == ["2 messages"]
    said = PrismChatMessageHistory(memory, scope=ALICE, session_id="a").messages
    assert [message.text for message in said] == ["one", "2 messages", "two", "4 messages", "three", "6 messages"]


async def test_many_may_add_at_once(memory: PrismMemory) -> None:
    def say(text: str) -> None:
        PrismChatMessageHistory(memory, scope=ALICE, session_id="s").add_user_message(text)

    await asyncio.gather(*(asyncio.to_thread(say, str(number)) for number in range(20)))
    said = PrismChatMessageHistory(memory, scope=ALICE, session_id="s").messages
    assert sorted(int(message.text) for message in said) == list(range(20))
