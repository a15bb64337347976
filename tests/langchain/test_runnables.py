from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate

from prism_core import PrismMemory
from prism_core.errors import ScopeError
from prism_langchain import prism_recall_runnable, prism_remember_runnable, scope_from_config
from tests.langchain.agents import ALICE, answers, blocks, know, on, plain_memory, texts
from tests.langchain.scripted import ScriptedChatModel

BLUE = "The client wants the blue variant."
QUESTION = "Which variant does the client want?"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[PrismMemory]:
    with plain_memory(tmp_path) as opened:
        know(opened, BLUE)
        yield opened


def test_it_stands_between_prompt_and_model(memory: PrismMemory) -> None:
    model = ScriptedChatModel(responder=answers("blue"))
    prompt = ChatPromptTemplate.from_messages([("system", "Be brief."), ("user", "{question}")])
    chain = prompt | prism_recall_runnable(memory, scope=ALICE) | model
    assert chain.invoke({"question": QUESTION}).text == "blue"
    assert asyncio.run(chain.ainvoke({"question": QUESTION})).text == "blue"
    for shown in model.seen:
        assert [message.type for message in shown] == ["system", "human"]
        assert BLUE in blocks(shown)[0]


def test_it_takes_text_and_messages_of_any_form(memory: PrismMemory) -> None:
    recall = prism_recall_runnable(memory, scope=ALICE)
    for given in (QUESTION, [("user", QUESTION)], [{"role": "user", "content": QUESTION}], [HumanMessage(QUESTION)]):
        [message] = recall.invoke(given)
        assert BLUE in message.text


def test_what_is_said_later_is_recalled_for_the_same_words(memory: PrismMemory) -> None:
    recall = prism_recall_runnable(memory, scope=ALICE)
    recall.invoke(QUESTION)
    know(memory, "The client now wants the red variant.")
    assert "red variant" in recall.invoke(QUESTION)[0].text


def test_the_last_turn_is_stored_once(memory: PrismMemory) -> None:
    remember = prism_remember_runnable(memory, scope=ALICE, task_id="order-7")
    thread: list[BaseMessage] = []
    for said, replied in (("yes", "Noted."), ("yes", "Again?"), ("no", "Fine.")):
        thread += [HumanMessage(said), AIMessage(replied)]
        assert remember.invoke(thread, on("t1")) == thread
        asyncio.run(remember.ainvoke(thread, on("t1")))
    assert texts(memory)[1:] == [
        "user: yes",
        "assistant: Noted.",
        "user: yes",
        "assistant: Again?",
        "user: no",
        "assistant: Fine.",
    ]


def test_what_the_chain_is_shown_is_not_stored(memory: PrismMemory) -> None:
    shown = prism_recall_runnable(memory, scope=ALICE).invoke(QUESTION)
    prism_remember_runnable(memory, scope=ALICE).invoke([*shown, AIMessage("blue")], on("t1"))
    assert texts(memory) == [BLUE, f"user: {QUESTION}", "assistant: blue"]


def test_the_scope_comes_from_the_config(memory: PrismMemory) -> None:
    recall = prism_recall_runnable(memory, scope=scope_from_config("tenant", "user_id"))
    [message] = recall.invoke(QUESTION, {"configurable": {"tenant": "acme", "user_id": "alice"}})
    assert BLUE in message.text
    [message] = recall.invoke(QUESTION, {"configurable": {"tenant": "acme", "user_id": "bob"}})
    assert message.text == QUESTION
    with pytest.raises(ScopeError):
        recall.invoke(QUESTION)
