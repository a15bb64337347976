from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage, MessageRole

from tests.llamaindex.talking import ScriptedChat, assistant, call, text_of, user

# LlamaIndex reads every attribute of its agents, those that pydantic has deprecated among them.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")

Snippet = Callable[[str, str], str]
PAGE = "llamaindex.md"


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def colour(messages: Sequence[ChatMessage]) -> str:
    return "blue" if "blue variant" in text_of(messages) else "Noted."


def ran(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {"llm": ScriptedChat(colour).llm}
    exec(code, names)
    return names


async def test_the_agents_snippet_runs(snippet: Snippet) -> None:
    names = ran(snippet(PAGE, "Agents and chat engines"))
    with names["store"] as store:
        store.write("The client wants the blue variant.", scope=("acme", "alice"))
        assert await names["ask"]("Which variant does the client want?") == "blue"
        assert len(store.units(scope=("acme", "alice"), session_id="tuesday")) == 2


async def test_the_block_snippet_runs(snippet: Snippet) -> None:
    names = ran(snippet(PAGE, "A block of Memory"))
    with names["store"] as store:
        store.write("The client wants the blue variant.", scope=("acme", "alice"))
        memory = names["memory"]
        await memory.aput(user("Which variant does the client want?"))
        assert "blue variant" in text_of(await memory.aget())
        await memory.aput(assistant("blue"))
        await names["block"].aput(await memory.aget_all(), session_id=memory.session_id)
        assert len(store.units(scope=("acme", "alice"), session_id="alice")) == 2
        await memory.sql_store._async_engine.dispose()


async def test_the_tools_snippet_runs(snippet: Snippet) -> None:
    names = ran(snippet(PAGE, "Tools"))
    with names["store"] as store:
        store.write("The client wants the blue variant.", scope=("acme", "alice"))

        def script(messages: Sequence[ChatMessage]) -> ChatMessage:
            if messages[-1].role is MessageRole.TOOL:
                return assistant(colour(messages[-1:]))
            return call("recall_memory", "r1", query="variant")

        agent = FunctionAgent(tools=names["agent"].tools, llm=ScriptedChat(script).llm)
        assert str(await agent.run("Which variant?")) == "blue"


async def test_the_warning_snippet_runs(snippet: Snippet) -> None:
    def script(messages: Sequence[ChatMessage]) -> ChatMessage:
        last = messages[-1]
        booking = call("book", "b1", offer="HS-4471")
        return assistant(str(last.content)) if last.role is MessageRole.TOOL else booking

    names: dict[str, Any] = {"llm": ScriptedChat(script).llm}
    exec(snippet(PAGE, "Not the same failure twice"), names)
    with names["store"]:
        assert await names["booked"]("monday") == "Error: ValueError: HS-4471 is sold out"
        assert "was tried before" in await names["booked"]("tuesday")


async def test_the_contexts_snippet_runs(snippet: Snippet) -> None:
    names = ran(snippet(PAGE, "Contexts as JSON"))
    with names["store"]:
        saved = await names["first"]("The client wants the blue variant.")
        assert await names["later"](saved, "Which variant does the client want?") == "blue"
