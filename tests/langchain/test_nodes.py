from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import BaseMessage
from langchain_core.tools import tool
from langgraph.channels import UntrackedValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from prism_core import PrismMemory
from prism_core.errors import ScopeError
from prism_langchain import prism_recall_node, prism_remember_node, scope_from_context, with_memory
from tests.langchain.agents import (
    ALICE,
    OPENING,
    User,
    answers,
    blocks,
    calls_once,
    know,
    on,
    plain_memory,
    says,
    texts,
)
from tests.langchain.scripted import Responder, ScriptedChatModel

BLUE = "The client wants the blue variant."


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[PrismMemory]:
    with plain_memory(tmp_path) as opened:
        yield opened


class State(MessagesState):
    memory: Annotated[str, UntrackedValue]


@tool
def stock(variant: str) -> str:
    """How many are in stock."""
    return f"{variant}: 12 in stock"


def graph(memory: PrismMemory, responder: Responder, seen: list[list[BaseMessage]], saver: InMemorySaver) -> Any:
    scope = scope_from_context("user_id", prefix=["acme"])
    model = ScriptedChatModel(responder=responder, seen=seen)
    model.seen = seen

    def call_model(state: State) -> dict[str, Any]:
        return {"messages": [model.invoke(with_memory(state["messages"], state["memory"]))]}

    built = StateGraph(State, context_schema=User)
    built.add_node("recall", prism_recall_node(memory, scope=scope))
    built.add_node("model", call_model)
    built.add_node("tools", ToolNode([stock]))
    built.add_node("remember", prism_remember_node(memory, scope=scope))
    built.add_edge(START, "recall")
    built.add_edge("recall", "model")
    built.add_conditional_edges("model", tools_condition, {"tools": "tools", "__end__": "remember"})
    built.add_edge("tools", "recall")
    return built.compile(checkpointer=saver)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_graph_recalls_and_remembers(memory: PrismMemory, is_async: bool) -> None:
    know(memory, BLUE)
    seen: list[list[BaseMessage]] = []
    saver = InMemorySaver()
    runner = graph(memory, calls_once("stock", variant="blue"), seen, saver)
    question = says("Is the variant that the client wants in stock?")
    if is_async:
        asyncio.run(runner.ainvoke(question, on("t1"), context=User("alice")))
    else:
        runner.invoke(question, on("t1"), context=User("alice"))
    assert BLUE in blocks(seen[0])[0]
    assert seen[1][0] == seen[0][0]
    assert [text.partition("\n")[0] for text in texts(memory)[1:]] == [
        "user: Is the variant that the client wants in stock?",
        'stock({"variant": "blue"})',
        "assistant: It says: blue: 12 in stock",
    ]
    assert OPENING not in repr(list(saver.list(on("t1"))))


def test_nothing_is_stored_twice_wherever_the_node_stands(memory: PrismMemory) -> None:
    remember = prism_remember_node(memory, scope=ALICE, task_id="order-7")
    model = ScriptedChatModel(responder=answers("noted"))
    built = StateGraph(MessagesState)
    built.add_node("before", remember)
    built.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    built.add_node("after", remember)
    built.add_edge(START, "before")
    built.add_edge("before", "model")
    built.add_edge("model", "after")
    runner = built.compile(checkpointer=InMemorySaver())
    for turn in range(2):
        runner.invoke(says(f"Turn {turn}"), on("t1"))
    assert texts(memory) == ["user: Turn 0", "assistant: noted", "user: Turn 1", "assistant: noted"]
    assert {(unit.session_id, unit.task_id) for unit in memory.units(scope=ALICE)} == {("t1", "order-7")}


def test_e8_a_node_without_a_scope_raises(memory: PrismMemory) -> None:
    runner = graph(memory, answers("ok"), [], InMemorySaver())
    with pytest.raises(ScopeError):
        runner.invoke(says("Hello"), on("t1"), context=User(""))
    with pytest.raises(ScopeError):
        prism_recall_node(memory, scope="")
