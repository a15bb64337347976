"""The chat memory behind real clients, as its requests stand on the wire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import InsertMethod, Memory
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from llama_index.llms.ollama import Ollama
from llama_index.llms.openai_like import OpenAILike

from prism_core import PrismMemory
from prism_llamaindex import PrismChatMemory, PrismMemoryBlock, PrismToolSpec
from tests.openai_stub import Body, Call, OpenAIStub, Reply, text_of

# LlamaIndex reads every attribute of its agents, those that pydantic has deprecated among them.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")

ALICE = ("acme", "alice")
BLOCK = "\n\n<past_experience>"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[PrismMemory]:
    with PrismMemory.open(tmp_path / "memory", embedder=None) as opened:
        opened.write("The hotel in Lisbon has the reference QX7-4411.", scope=ALICE)
        yield opened


@pytest.fixture
def stub() -> Iterator[OpenAIStub]:
    with OpenAIStub() as running:
        yield running


def openai(stub: OpenAIStub) -> OpenAILike:
    return OpenAILike(
        model="stub",
        api_base=stub.base_url,
        api_key="unused",
        is_chat_model=True,
        is_function_calling_model=True,
        context_window=8000,
        max_retries=0,
    )


def chat(memory: PrismMemory, **settings: Any) -> PrismChatMemory:
    return PrismChatMemory.from_defaults(memory, ALICE, session_id="s", **settings)


def bare(message: Body) -> Body:
    """A message without its block."""
    return {**message, "content": text_of(message).partition(BLOCK)[0]}


def test_over_ten_turns_the_block_is_the_same_bytes_and_trails_a_stable_prefix(
    memory: PrismMemory, stub: OpenAIStub
) -> None:
    stub.responder = lambda body: "It is QX7-4411."
    engine = SimpleChatEngine.from_defaults(memory=chat(memory), llm=openai(stub), system_prompt="Be brief.")
    for turn in range(10):
        engine.chat(f"What is the reference of the hotel in Lisbon? ({turn})")
    requests = [body["messages"] for body in stub.chats]
    assert len({text_of(messages[-1]).partition(BLOCK)[2] for messages in requests}) == 1
    for turn, messages in enumerate(requests):
        assert len(messages) == 2 + 2 * turn
        assert text_of(messages[-1]).endswith("QX7-4411.\n</past_experience>")
        assert BLOCK not in json.dumps(messages[:-1])
    for before, after in pairwise(requests):
        assert after[: len(before)] == [*before[:-1], bare(before[-1])]
    for before, after in pairwise(stub.requests):
        # The very bytes: everything up to the block of the earlier request begins the later one.
        prefix = before.raw[before.raw.index(b'"messages"') :].partition(rb"\n\n<past_experience>")[0]
        assert len(prefix) > 100
        assert after.raw[after.raw.index(b'"messages"') :].startswith(prefix)


def dumps(kept: PrismChatMemory) -> list[Body]:
    """The conversation, with the client's own objects as what they hold."""
    return [message.model_dump() for message in kept.get_all()]


def find_room(hotel: str) -> str:
    """Find a room."""
    return f"room 12 of {hotel}"


def rooms(body: Body) -> str | Reply:
    *_, last = body["messages"]
    if last["role"] == "tool":
        return f"It is {text_of(last)}."
    found = "QX7-4411" if "QX7-4411" in text_of(last) else "unknown"
    return Reply("I look.", [Call("find_room", {"hotel": found})])


@pytest.mark.parametrize("streaming", [True, False])
async def test_an_agent_calls_tools_with_what_was_recalled(
    memory: PrismMemory, stub: OpenAIStub, streaming: bool
) -> None:
    stub.responder = rooms
    kept = chat(memory)
    agent = FunctionAgent(tools=[find_room], llm=openai(stub), system_prompt="Be brief.", streaming=streaming)
    for turn in range(2):
        assert str(await agent.run(f"Find me a room in the hotel in Lisbon. ({turn})", memory=kept)) == (
            "It is room 12 of QX7-4411."
        )
    first, second, third, fourth = [body["messages"] for body in stub.chats]
    assert [message["role"] for message in fourth] == [
        "system",
        *["user", "assistant", "tool", "assistant"],
        *("user", "assistant", "tool"),
    ]
    assert second[: len(first)] == first
    assert third[: len(second)] == [first[0], bare(first[1]), *second[2:]]
    assert fourth[: len(third)] == third
    steps = [unit for unit in memory.units(scope=ALICE, session_id="s") if unit.action]
    assert [unit.text for unit in steps] == ['I look.\nfind_room({"hotel": "QX7-4411"})\n-> room 12 of QX7-4411'] * 2
    assert dumps(chat(memory)) == dumps(kept)


async def test_a_restored_conversation_goes_over_the_wire_as_the_first_did(
    memory: PrismMemory, stub: OpenAIStub
) -> None:
    stub.responder = rooms
    agent = FunctionAgent(tools=[find_room], llm=openai(stub))
    await agent.run("Find me a room in the hotel in Lisbon.", memory=chat(memory))
    stub.responder = lambda body: "You are welcome."
    await agent.run("Thanks.", memory=chat(memory))
    before, after = stub.chats[-2]["messages"], stub.chats[-1]["messages"]
    assert after[: len(before)] == [bare(before[0]), *before[1:]]
    assert [message["role"] for message in after] == ["user", "assistant", "tool", "assistant", "user"]


async def test_what_is_cut_off_leaves_no_call_without_its_reply(memory: PrismMemory, stub: OpenAIStub) -> None:
    stub.responder = rooms
    kept = chat(memory, token_limit=260, budget=60)
    agent = FunctionAgent(tools=[find_room], llm=openai(stub))
    for turn in range(8):
        await agent.run(f"Find me a room in the hotel in Lisbon. ({turn})", memory=kept)
    assert len(kept.get_all()) == 32
    for body in stub.chats:
        messages = body["messages"]
        assert len(messages) < 20
        assert messages[0]["role"] == "user"
        called = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
        assert called == [message["tool_call_id"] for message in messages if message["role"] == "tool"]


async def test_memory_tools_over_the_wire(memory: PrismMemory, stub: OpenAIStub) -> None:
    def script(body: Body) -> str | Reply:
        *_, last = body["messages"]
        if last["role"] == "tool":
            return text_of(last)
        return Reply("", [Call("recall_memory", {"query": "hotel in Lisbon"})])

    stub.responder = script
    agent = FunctionAgent(tools=[*PrismToolSpec(memory, ALICE).to_tool_list()], llm=openai(stub))
    assert "QX7-4411" in str(await agent.run("Where do I stay?"))
    offered = [tool["function"]["name"] for tool in stub.chats[0]["tools"]]
    assert offered == ["recall_memory", "save_memory", "why_memory", "forget_memory"]


@pytest.mark.parametrize("insert_method", InsertMethod)
async def test_a_block_of_memory_over_the_wire(
    memory: PrismMemory, stub: OpenAIStub, insert_method: InsertMethod
) -> None:
    stub.responder = rooms
    block = PrismMemoryBlock(memory=memory, scope=ALICE)
    kept = Memory.from_defaults(session_id="s", memory_blocks=[block], insert_method=insert_method)
    agent = FunctionAgent(tools=[find_room], llm=openai(stub), system_prompt="Be brief.")
    await agent.run("Find me a room in the hotel in Lisbon.", memory=kept)
    messages = stub.chats[0]["messages"]
    place = next(message for message in messages if "past_experience" in text_of(message))
    assert place["role"] == ("system" if insert_method is InsertMethod.SYSTEM else "user")
    assert "QX7-4411" in text_of(place)
    stored = [unit.observation for unit in memory.units(scope=ALICE, session_id="s")]
    assert stored == ["Find me a room in the hotel in Lisbon.", *stored[1:]]
    assert len(stored) == 3
    assert isinstance(kept.sql_store, SQLAlchemyChatStore)
    assert kept.sql_store._async_engine is not None
    await kept.sql_store._async_engine.dispose()


async def test_ollama_gives_calls_no_ids_and_they_are_joined_all_the_same(
    memory: PrismMemory, stub: OpenAIStub
) -> None:
    stub.responder = rooms
    kept = chat(memory)
    agent = FunctionAgent(tools=[find_room], llm=Ollama(model="stub", base_url=stub.url, context_window=8000))
    assert str(await agent.run("Find me a room in the hotel in Lisbon.", memory=kept)) == "It is room 12 of QX7-4411."
    assert stub.requests[0].path == "/api/chat"
    [step] = [unit for unit in memory.units(scope=ALICE, session_id="s") if unit.action]
    assert step.text == 'I look.\nfind_room({"hotel": "QX7-4411"})\n-> room 12 of QX7-4411'
    assert [message.role.value for message in kept.get()] == ["user", "assistant", "tool", "assistant"]
    assert chat(memory).get_all() == kept.get_all()
