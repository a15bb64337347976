"""Agents through real clients: what really goes to the model, byte for byte."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, HumanMessage
from langchain_core.tools import tool
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from prism_core import Outcome, PrismMemory
from prism_langchain import PrismMemoryMiddleware
from tests.langchain.agents import ALICE, OPENING, know, on, plain_memory, says, steps, texts
from tests.openai_stub import Body, Call, Failure, OpenAIStub, Reply, text_of

FACTS = (
    "The client wants the blue variant.",
    "The client pays by invoice within 30 days.",
    "Deliveries to the client go to the warehouse in Lisbon.",
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[PrismMemory]:
    with plain_memory(tmp_path) as opened:
        know(opened, *FACTS)
        yield opened


@pytest.fixture
def stub() -> Iterator[OpenAIStub]:
    with OpenAIStub(lambda body: "noted") as running:
        yield running


@tool
def stock(variant: str) -> str:
    """How many are in stock."""
    return f"{variant}: 12 in stock"


def openai(stub: OpenAIStub, **options: Any) -> BaseChatModel:
    return ChatOpenAI(model="stub", base_url=stub.base_url, api_key=SecretStr("unused"), max_retries=0, **options)


def ollama(stub: OpenAIStub) -> BaseChatModel:
    return ChatOllama(model="stub", base_url=stub.url)


def agent(memory: PrismMemory, model: BaseChatModel, **options: Any) -> Any:
    middleware = PrismMemoryMiddleware(memory, scope=ALICE, **options)
    return create_agent(
        model, [stock], system_prompt="Be brief.", middleware=[middleware], checkpointer=InMemorySaver()
    )


def looks_first(body: Body) -> Reply:
    """Looks for two variants, then answers."""
    if body["messages"][-1]["role"] == "tool":
        return Reply("Both are in stock.")
    return Reply("I look.", [Call("stock", {"variant": "blue"}), Call("stock", {"variant": "red"})])


def block_of(body: Body) -> str:
    [text] = [text_of(message) for message in body["messages"] if OPENING in text_of(message)]
    return text[text.index(OPENING) :]


@pytest.mark.parametrize("model", [openai, ollama])
def test_an_agent_recalls_calls_tools_and_remembers(stub: OpenAIStub, memory: PrismMemory, model: Any) -> None:
    stub.responder = looks_first
    result = agent(memory, model(stub)).invoke(says("Is the variant the client wants in stock?"), on("t1"))
    assert result["messages"][-1].text == "Both are in stock."
    first, second = stub.chats
    assert FACTS[0] in block_of(first)
    assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "tool", "tool"]
    assert second["messages"][1] == first["messages"][1]
    assert text_of(first["messages"][1]).endswith("</past_experience>")
    assert [(step.action_type, step.outcome) for step in steps(memory)] == [("stock", Outcome.UNKNOWN)] * 2
    assert len(texts(memory)) == len(FACTS) + 4


def test_a_streamed_run_is_stored_as_any_other(stub: OpenAIStub, memory: PrismMemory) -> None:
    stub.responder = looks_first
    runner = agent(memory, openai(stub, stream_usage=True))
    pieces = []
    for message, _ in runner.stream(says("Is the blue variant in stock?"), on("t1"), stream_mode="messages"):
        assert OPENING not in message.text
        pieces += [message.text] if isinstance(message, AIMessageChunk) else []
    assert "".join(pieces) == "I look.Both are in stock."
    assert all(body["stream"] for body in stub.chats)
    assert {step.observation for step in steps(memory)} == {"blue: 12 in stock", "red: 12 in stock"}
    assert texts(memory)[-1] == "assistant: Both are in stock."


def test_an_async_streamed_run_is_stored_as_any_other(stub: OpenAIStub, memory: PrismMemory) -> None:
    async def run() -> list[Any]:
        stream = agent(memory, openai(stub)).astream(says("Is the blue variant in stock?"), on("t1"))
        return [part async for part in stream]

    stub.responder = looks_first
    assert len(asyncio.run(run())) > 3
    assert len(texts(memory)) == len(FACTS) + 4


def test_over_ten_turns_the_block_is_the_same_and_what_went_before_is_sent_as_before(
    stub: OpenAIStub, memory: PrismMemory
) -> None:
    """What a provider's prompt cache keeps: all that was sent in the turn before, up to the end of the user's words."""
    runner = agent(memory, openai(stub))
    for turn in range(10):
        runner.invoke(says(f"Turn {turn}: which variant does the client want?"), on("t1"))
    bodies = stub.chats
    assert len({block_of(body) for body in bodies}) == 1
    assert FACTS[0] in block_of(bodies[0])
    for turn, (before, after) in enumerate(pairwise(bodies)):
        # Whole messages: everything before the user's last words.
        kept = len(before["messages"]) - 1
        assert after["messages"][:kept] == before["messages"][:kept]
        # Within the last one: the words themselves, without the block.
        words = f"Turn {turn}: which variant does the client want?"
        assert before["messages"][kept]["content"] == f"{words}\n\n{block_of(before)}"
        assert after["messages"][kept]["content"] == words
        # Only the last message carries a block.
        assert [OPENING in text_of(message) for message in after["messages"][:-1]] == [False] * (kept + 2)
    raw = [request.raw for request in stub.requests]
    for turn, (one, next_one) in enumerate(pairwise(raw)):
        shared = next(place for place, (a, b) in enumerate(zip(one, next_one, strict=False)) if a != b)
        assert one[:shared].endswith(f"Turn {turn}: which variant does the client want?".encode())


def test_in_the_system_position_the_prefix_is_the_same_as_long_as_the_memories_are(
    stub: OpenAIStub, memory: PrismMemory
) -> None:
    runner = agent(memory, openai(stub), position="system")
    for turn in range(10):
        runner.invoke(says(f"Turn {turn}: which variant does the client want?"), on("t1"))
    bodies = stub.chats
    for before, after in pairwise(bodies):
        assert after["messages"][: len(before["messages"])] == before["messages"]
    assert bodies[0]["messages"][0]["content"].startswith(f"Be brief.\n\n{OPENING}")
    assert FACTS[0] in bodies[0]["messages"][0]["content"]


def test_images_go_out_beside_the_block(stub: OpenAIStub, memory: PrismMemory) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    content: list[str | dict[str, Any]] = [
        {"type": "text", "text": "Is this the variant that the client wants?"},
        image,
    ]
    agent(memory, openai(stub)).invoke({"messages": [HumanMessage(content)]}, on("t1"))
    sent = stub.chats[0]["messages"][-1]["content"]
    assert [part["type"] for part in sent] == ["text", "image_url", "text"]
    assert sent[1] == image
    assert FACTS[0] in sent[2]["text"]
    assert "iVBOR" not in json.dumps(texts(memory))


def test_a_model_that_is_down_costs_no_memory(stub: OpenAIStub, memory: PrismMemory) -> None:
    stub.responder = lambda body: Failure(503)
    runner = agent(memory, openai(stub))
    with pytest.raises(Exception, match="told to fail"):
        runner.invoke(says("The client now pays in advance."), on("t1"))
    assert texts(memory)[-1] == "user: The client now pays in advance."
    stub.responder = lambda body: "noted"
    runner.invoke(says("Did you get that?"), on("t1"))
    assert texts(memory)[len(FACTS) :] == [
        "user: The client now pays in advance.",
        "user: Did you get that?",
        "assistant: noted",
    ]


@pytest.mark.parametrize("model", [openai, ollama])
def test_the_memorys_own_tools_work_over_the_wire(stub: OpenAIStub, memory: PrismMemory, model: Any) -> None:
    def respond(body: Body) -> Reply:
        if body["messages"][-1]["role"] == "tool":
            return Reply(text_of(body["messages"][-1]))
        return Reply("", [Call("recall_memory", {"query": "Where do deliveries to the client go?"})])

    stub.responder = respond
    runner = agent(memory, model(stub), recall=False, own_tools=["recall_memory", "save_memory"])
    result = runner.invoke(says("Where to?"), on("t1"))
    assert FACTS[2] in result["messages"][-1].text
    offered = {each["function"]["name"]: each["function"]["parameters"] for each in stub.chats[0]["tools"]}
    assert set(offered) == {"stock", "recall_memory", "save_memory"}
    assert set(offered["recall_memory"]["properties"]) == {"query"}
    # Neither the call nor what it brought is stored; the reply that repeats the block says nothing new.
    assert texts(memory)[len(FACTS) :] == ["user: Where to?"]
