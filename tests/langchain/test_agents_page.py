"""The snippets of the page run one after another, as a reader would run them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage

from tests.langchain.agents import calls_once, says, texts
from tests.langchain.scripted import ScriptedChatModel

PAGE = "langchain.md"
QUESTION = "Which variant does the client want?"


def respond(messages: list[BaseMessage]) -> AIMessage:
    return AIMessage("blue" if "blue variant" in messages[-1].text else "noted")


def run(code: str, names: dict[str, Any]) -> None:
    """Run a snippet as a file of its own would be run."""
    exec(compile(code, PAGE, "exec", dont_inherit=True), names)


@pytest.fixture
def names(
    snippet: Callable[[str, str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, Any]]:
    """What the first snippet leaves behind."""
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {
        "model": ScriptedChatModel(responder=lambda messages: respond(messages)),
        "__name__": "page",
    }
    run(snippet(PAGE, "An agent with a memory"), found)
    with found["memory"]:
        yield found


def test_the_agent_remembers_across_threads(names: dict[str, Any]) -> None:
    assert names["answer"] == "blue"
    assert len(texts(names["memory"], ("alice",))) == 4


def test_the_memory_stands_last(names: dict[str, Any], snippet: Callable[[str, str], str]) -> None:
    run(snippet(PAGE, "Beside other middleware"), names)
    agent = names["create_agent"](names["model"], middleware=names["middleware"], context_schema=names["Context"])
    result = agent.invoke(says(f"ann@example.org asks: {QUESTION}"), context=names["Context"]("alice"))
    assert result["messages"][-1].text == "blue"
    assert "user: [REDACTED_EMAIL] asks: Which variant does the client want?" in texts(names["memory"], ("alice",))


def test_the_tools_answer(names: dict[str, Any], snippet: Callable[[str, str], str]) -> None:
    names["model"] = ScriptedChatModel(responder=calls_once("recall_memory", query=QUESTION))
    run(snippet(PAGE, "Tools for the agent"), names)
    result = names["helper"].invoke(says("Which?"), context=names["Context"]("alice"))
    assert "blue variant" in result["messages"][-1].text


def test_the_graph_answers_and_remembers(names: dict[str, Any], snippet: Callable[[str, str], str]) -> None:
    run(snippet(PAGE, "A graph of your own"), names)
    config = {"configurable": {"thread_id": "friday"}}
    result = names["app"].invoke(says(QUESTION), config, context=names["Context"]("alice"))
    assert result["messages"][-1].text == "blue"
    assert len(texts(names["memory"], ("alice",))) == 6


def test_the_chain_answers_and_remembers(names: dict[str, Any], snippet: Callable[[str, str], str]) -> None:
    run(snippet(PAGE, "A chain without a graph"), names)
    assert names["thread"][-1].text == "blue"
    assert texts(names["memory"], ("alice",))[-2:] == [f"user: {QUESTION}", "assistant: blue"]
