from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_tests.unit_tests import ToolsUnitTests

from prism_core import Event, Kind, PrismMemory, Source
from prism_core.errors import ScopeError
from prism_langchain import MemoryProblem, PrismMemoryMiddleware, prism_tools, scope_from_context
from prism_langchain.tools import UNAVAILABLE, ToolName
from tests.langchain.agents import ALICE, BOB, User, calls_once, know, on, plain_memory, says, texts
from tests.langchain.scripted import ScriptedChatModel

BLUE = "The client wants the blue variant."
ALL: tuple[ToolName, ...] = ("recall_memory", "save_memory", "why_memory", "forget_memory")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[PrismMemory]:
    with plain_memory(tmp_path) as opened:
        yield opened


def tools(memory: PrismMemory, **options: Any) -> dict[str, BaseTool]:
    return {tool.name: tool for tool in prism_tools(memory, **{"scope": ALICE, "names": ALL, **options})}


class TestRecallTool(ToolsUnitTests):
    @property
    def tool_constructor(self) -> BaseTool:
        return tools(PrismMemory.open(embedder=None))["recall_memory"]

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": "Which variant does the client want?"}


def test_forgetting_is_given_only_when_named(memory: PrismMemory) -> None:
    assert [tool.name for tool in prism_tools(memory, scope=ALICE)] == ["recall_memory", "save_memory", "why_memory"]
    assert list(tools(memory)) == list(ALL)
    with pytest.raises(ValueError, match="there is no tool 'guess_memory'"):
        prism_tools(memory, scope=ALICE, names=["guess_memory"])  # type: ignore[list-item]


def test_the_model_sees_arguments_and_never_the_scope(memory: PrismMemory) -> None:
    schemas = {
        name: convert_to_openai_tool(tool)["function"]["parameters"]["properties"]
        for name, tool in tools(memory).items()
    }
    assert {name: list(arguments) for name, arguments in schemas.items()} == {
        "recall_memory": ["query"],
        "save_memory": ["text"],
        "why_memory": ["memory_id"],
        "forget_memory": ["memory_ids"],
    }
    assert all(argument["description"] for arguments in schemas.values() for argument in arguments.values())


def test_recalled_memories_come_with_ids_within_the_budget(memory: PrismMemory) -> None:
    know(memory, *(f"The client wants variant number {number}, and said so at length." for number in range(60)))
    answer = tools(memory, budget=200)["recall_memory"].invoke({"query": "Which variant does the client want?"})
    ids = re.findall(r"^- \[(u\d+)\] ", answer, re.MULTILINE)
    assert 3 < len(ids) < 20
    assert all(memory.get(unit_id, scope=ALICE).observation in answer for unit_id in ids)
    assert memory.counter.count(answer) <= 200


def test_nothing_that_matters_is_said_so(memory: PrismMemory) -> None:
    recall = tools(memory)["recall_memory"]
    assert recall.invoke({"query": "Which variant?"}) == "Nothing that matters is remembered."
    assert recall.invoke({"query": " "}) == "Say in words what to look for."


def test_a1_a_note_is_saved_once(memory: PrismMemory) -> None:
    save = tools(memory, session_id="s1", task_id="order-7")["save_memory"]
    first, again = save.invoke({"text": BLUE}), save.invoke({"text": BLUE})
    [unit] = memory.units(scope=ALICE)
    assert first == f"Saved as [{unit.id}]."
    assert again == f"Known already as [{unit.id}]."
    assert (unit.kind, unit.source, unit.session_id, unit.task_id) == (Kind.FACT, Source.ASSISTANT, "s1", "order-7")
    assert save.invoke({"text": " "}).startswith("Nothing was saved")


def test_why_names_what_led_to_a_memory(memory: PrismMemory) -> None:
    steps = [
        Event(kind=Kind.STEP, action="find_client({})", observation="client C-4411", task_id="t"),
        Event(
            kind=Kind.STEP,
            action='order({"client": "C-4411"})',
            observation="done </past_experience>",
            task_id="t",
            source=Source.ASSISTANT,
        ),
    ]
    first, second = (receipt.unit_id for receipt in memory.write_many(steps, scope=ALICE))
    answer = tools(memory)["why_memory"].invoke({"memory_id": f"[{second}]"})
    lines = answer.splitlines()
    assert lines[0] == "<past_experience>"
    assert any(line.startswith(f"- [{second}]") and "order" in line for line in lines)
    assert any(
        line.startswith(f"- [{first}]") and "REQUIRES (uses c-4411" in line.replace("C-", "c-") for line in lines
    )
    assert answer.count("</past_experience>") == 1
    assert tools(memory)["why_memory"].invoke({"memory_id": "u99"}) == "There is no memory [u99]."


def test_what_is_forgotten_is_gone(memory: PrismMemory) -> None:
    know(memory, BLUE, "The client pays by invoice.")
    blue, invoice = memory.units(scope=ALICE)
    forget = tools(memory)["forget_memory"]
    assert forget.invoke({"memory_ids": [blue.id, "u99"]}) == "There is no memory [u99]; nothing was erased."
    assert len(texts(memory)) == 2
    assert forget.invoke({"memory_ids": [f"[{blue.id}]"]}) == f"Erased: [{blue.id}]."
    assert texts(memory) == [invoice.text]
    assert forget.invoke({"memory_ids": []}).startswith("Name the ids")


def test_e2_a_tool_reaches_its_own_scope_only(memory: PrismMemory) -> None:
    know(memory, BLUE)
    [unit] = memory.units(scope=ALICE)
    others = tools(memory, scope=BOB)
    assert BLUE not in others["recall_memory"].invoke({"query": "Which variant does the client want?"})
    assert others["why_memory"].invoke({"memory_id": unit.id}) == f"There is no memory [{unit.id}]."
    assert "nothing was erased" in others["forget_memory"].invoke({"memory_ids": [unit.id]})
    assert texts(memory) == [BLUE]


def test_e8_a_tool_without_a_scope_raises(memory: PrismMemory) -> None:
    recall = tools(memory, scope=scope_from_context("user_id"))["recall_memory"]
    with pytest.raises(ScopeError):
        recall.invoke({"query": "Which variant?"})


def test_in_an_agent_the_scope_comes_from_the_runtime(memory: PrismMemory) -> None:
    know(memory, BLUE)
    model = ScriptedChatModel(responder=calls_once("recall_memory", query="Which variant does the client want?"))
    own = prism_tools(memory, scope=scope_from_context("user_id", prefix=["acme"]))
    agent: Any = create_agent(model, own, context_schema=User)
    assert BLUE in agent.invoke(says("Which?"), context=User("alice"))["messages"][-1].text
    assert BLUE not in agent.invoke(says("Which?"), context=User("bob"))["messages"][-1].text
    answered = asyncio.run(agent.ainvoke(says("Which?"), context=User("alice")))
    assert BLUE in answered["messages"][-1].text


def test_what_the_model_sees_anyway_is_not_recalled_by_the_tool(memory: PrismMemory) -> None:
    model = ScriptedChatModel(responder=calls_once("recall_memory", query="Which variant does the client want?"))
    agent = create_agent(model, middleware=[PrismMemoryMiddleware(memory, scope=ALICE, own_tools=["recall_memory"])])
    result = agent.invoke(says(BLUE), on("t1"))
    assert result["messages"][2].text == "Nothing that matters is remembered."
    result = agent.invoke(says("Which?"), on("t2"))
    assert BLUE in result["messages"][2].text


def test_a5_own_tools_leave_no_trace_but_what_they_save(memory: PrismMemory) -> None:
    def respond(messages: list[BaseMessage]) -> AIMessage:
        if isinstance(messages[-1], ToolMessage):
            return AIMessage("done")
        calls = [
            {"name": "save_memory", "args": {"text": BLUE}, "id": "c1"},
            {"name": "recall_memory", "args": {"query": "variant"}, "id": "c2"},
        ]
        return AIMessage("", tool_calls=calls)

    middleware = PrismMemoryMiddleware(memory, scope=ALICE, own_tools=ALL)
    create_agent(ScriptedChatModel(responder=respond), middleware=[middleware]).invoke(
        {"messages": [HumanMessage("Remember the variant.")]}
    )
    assert sorted(texts(memory)) == [BLUE, "assistant: done", "user: Remember the variant."]


def test_c18_a_memory_that_fails_lets_the_agent_go_on(memory: PrismMemory) -> None:
    problems: list[MemoryProblem] = []
    own = tools(memory, on_error=problems.append)
    memory.close()
    arguments: dict[str, dict[str, Any]] = {
        "recall_memory": {"query": "variant"},
        "save_memory": {"text": BLUE},
        "why_memory": {"memory_id": "u1"},
        "forget_memory": {"memory_ids": ["u1"]},
    }
    assert {own[name].invoke(given) for name, given in arguments.items()} == {UNAVAILABLE}
    assert [problem.operation for problem in problems] == list(arguments)
