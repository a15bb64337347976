"""A call that failed before is told of before it is made again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver

from prism_core import Outcome, PrismMemory
from prism_langchain import PrismMemoryMiddleware
from tests.langchain.agents import ALICE, BOB, calls_once, on, plain_memory, says, steps
from tests.langchain.scripted import Responder, ScriptedChatModel, tool_call

OFFER = "HS-4471"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[PrismMemory]:
    with plain_memory(tmp_path) as opened:
        yield opened


class Desk:
    """A hotel desk whose answer may change."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.asked = 0

    def tool(self) -> BaseTool:
        @tool
        def book(offer: str) -> str:
            """Book an offer."""
            self.asked += 1
            return self.answer

        return book


def agent(memory: PrismMemory, desk: Desk, respond: Responder, scope: tuple[str, ...] = ALICE, **options: Any) -> Any:
    middleware = PrismMemoryMiddleware(memory, scope=scope, warn=True, **options)
    model = ScriptedChatModel(responder=respond)
    return create_agent(model, [desk.tool()], middleware=[middleware], checkpointer=InMemorySaver())


def insists(messages: list[BaseMessage]) -> AIMessage:
    """Makes the same call again after a warning."""
    replies = [message for message in messages if isinstance(message, ToolMessage)]
    last = messages[-1]
    if isinstance(last, HumanMessage) or "It was not made now" in last.text:
        return tool_call("book", offer=OFFER).model_copy(update={"id": f"m{len(replies)}-{len(messages)}"})
    return AIMessage(f"It says: {last.text}")


def test_A32_the_model_is_told_before_the_tool_runs_again(memory: PrismMemory) -> None:
    desk = Desk(f"Error: {OFFER} is sold out")
    first = agent(memory, desk, calls_once("book", offer=OFFER))
    first.invoke(says("Book it."), on("monday"))
    again = agent(memory, desk, calls_once("book", offer=OFFER)).invoke(says("Book it."), on("tuesday"))
    assert desk.asked == 1
    reply = again["messages"][-2]
    assert f"and failed: Error: {OFFER} is sold out" in reply.text
    assert reply.status == "error"
    assert [unit.outcome for unit in steps(memory)] == [Outcome.FAILURE]


async def test_whoever_insists_is_let_through_and_a_success_ends_the_warnings(memory: PrismMemory) -> None:
    desk = Desk(f"Error: {OFFER} is sold out")
    agent(memory, desk, calls_once("book", offer=OFFER)).invoke(says("Book it."), on("monday"))
    desk.answer = "booked successfully"
    found = await agent(memory, desk, insists).ainvoke(says("Book it, somebody cancelled."), on("tuesday"))
    assert desk.asked == 2
    assert found["messages"][-1].text == "It says: booked successfully"
    assert [unit.outcome for unit in steps(memory)] == [Outcome.FAILURE, Outcome.SUCCESS]
    agent(memory, desk, calls_once("book", offer=OFFER)).invoke(says("And once more."), on("wednesday"))
    assert desk.asked == 3


def test_others_failures_and_other_arguments_hold_nothing_back(memory: PrismMemory) -> None:
    desk = Desk("Error: no rooms")
    agent(memory, desk, calls_once("book", offer=OFFER)).invoke(says("Book it."), on("monday"))
    agent(memory, desk, calls_once("book", offer=OFFER), scope=BOB).invoke(says("Book it."), on("monday"))
    agent(memory, desk, calls_once("book", offer="HS-9")).invoke(says("Book it."), on("tuesday"))
    assert desk.asked == 3


def test_nothing_is_held_back_unless_asked_for(memory: PrismMemory) -> None:
    desk = Desk("Error: no rooms")
    model = ScriptedChatModel(responder=calls_once("book", offer=OFFER))
    plain = create_agent(model, [desk.tool()], middleware=[PrismMemoryMiddleware(memory, scope=ALICE)])
    for thread in ("monday", "tuesday"):
        plain.invoke(says("Book it."), on(thread))
    assert desk.asked == 2
