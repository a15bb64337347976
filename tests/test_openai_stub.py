"""The stub speaks what the real clients expect."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from langchain_ollama import ChatOllama, OllamaEmbeddings
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from openai import InternalServerError
from pydantic import SecretStr

from tests.openai_stub import Body, Call, Failure, OpenAIStub, Reply

CALLS = Reply("Let me look.", [Call("weather", {"town": "Zürich", "days": 3}), Call("time", {})])


@pytest.fixture
def stub() -> Iterator[OpenAIStub]:
    with OpenAIStub() as running:
        yield running


def openai(stub: OpenAIStub, **options: Any) -> ChatOpenAI:
    return ChatOpenAI(model="stub", base_url=stub.base_url, api_key=SecretStr("unused"), max_retries=0, **options)


def ollama(stub: OpenAIStub) -> ChatOllama:
    return ChatOllama(model="stub", base_url=stub.url)


def test_a_chat_is_answered_and_recorded(stub: OpenAIStub) -> None:
    assert openai(stub).invoke("hello").content == "echo: hello"
    assert stub.chats[0]["messages"] == [{"content": "hello", "role": "user"}]
    assert b'"hello"' in stub.requests[0].raw


def test_it_answers_async_clients_side_by_side(stub: OpenAIStub) -> None:
    async def ask() -> list[Any]:
        return await asyncio.gather(*(openai(stub).ainvoke(str(number)) for number in range(8)))

    assert [reply.content for reply in asyncio.run(ask())] == [f"echo: {number}" for number in range(8)]


@pytest.mark.parametrize("model", [openai, ollama])
def test_a_streamed_text_arrives_in_pieces(stub: OpenAIStub, model: Any) -> None:
    stub.responder = lambda body: "one two  three\nfour"
    pieces = [piece.text for piece in model(stub).stream("count")]
    assert "".join(pieces) == "one two  three\nfour"
    assert sum(map(bool, pieces)) == 4


@pytest.mark.parametrize("model", [openai, ollama])
@pytest.mark.parametrize("streaming", [False, True])
def test_tool_calls_arrive_whole(stub: OpenAIStub, model: Any, streaming: bool) -> None:
    stub.responder = lambda body: CALLS
    if streaming:
        chunks: list[AIMessageChunk] = list(model(stub).stream("look"))
        message = chunks[0]
        for chunk in chunks[1:]:
            message += chunk
    else:
        message = model(stub).invoke("look")
    assert message.content == "Let me look."
    assert [(call["name"], call["args"]) for call in message.tool_calls] == [
        ("weather", {"town": "Zürich", "days": 3}),
        ("time", {}),
    ]
    assert len({call["id"] for call in message.tool_calls}) == 2


def test_a_failure_is_the_clients_error(stub: OpenAIStub) -> None:
    stub.responder = lambda body: Failure(503, "out of order")
    with pytest.raises(InternalServerError, match="out of order"):
        openai(stub).invoke("hello")


def test_embeddings_of_both_apis_agree(stub: OpenAIStub) -> None:
    texts = ["the blue variant", "a red one"]
    by_openai = OpenAIEmbeddings(
        model="stub", base_url=stub.base_url, api_key=SecretStr("unused"), check_embedding_ctx_length=False
    ).embed_documents(texts)
    by_ollama = OllamaEmbeddings(model="stub", base_url=stub.url).embed_documents(texts)
    assert by_openai == [pytest.approx(vector, abs=1e-6) for vector in by_ollama]
    assert by_openai[0] != by_openai[1]


def test_the_script_sees_the_request() -> None:
    def responder(body: Body) -> str:
        return f"{len(body['messages'])} messages, {len(body['tools'])} tools"

    tool = {"type": "function", "function": {"name": "weather", "description": "d", "parameters": {}}}
    with OpenAIStub(responder) as stub:
        reply = openai(stub).bind_tools([tool]).invoke([("system", "be brief"), ("user", "hi")])
    assert reply.content == "2 messages, 1 tools"
