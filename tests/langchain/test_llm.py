"""LangChain chat models read what is written, with their real clients on the wire."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

from prism_core import EncodingOptions, PrismMemory, Receipt, ReceiptStatus, StructuredLLM
from prism_core.errors import LLMError, QueryError
from prism_langchain import LangChainEmbedder, LangChainLLM
from tests.openai_stub import Failure, OpenAIStub, text_of

SCOPE = ("acme", "ann")
FACT = {"entity": "user", "attribute": "home", "value": "Lisbon", "category": "identity"}
GOOD = json.dumps({"intents": ["identity"], "importance": 5, "facts": [FACT]})

Chat = Callable[[OpenAIStub], BaseChatModel]


def openai(stub: OpenAIStub, *, timeout: float = 5, max_retries: int = 0) -> ChatOpenAI:
    return ChatOpenAI(
        model="gpt-4o-mini",
        base_url=stub.base_url,
        api_key="unused",  # type: ignore[arg-type]
        timeout=timeout,
        max_retries=max_retries,
    )


def ollama(stub: OpenAIStub) -> ChatOllama:
    return ChatOllama(model="qwen3:4b", base_url=stub.url)


@pytest.fixture
def stub() -> Iterator[OpenAIStub]:
    with OpenAIStub() as running:
        yield running


def script(*replies: str | Failure) -> Callable[[Any], str | Failure]:
    left = list(replies)
    return lambda body: left.pop(0) if len(left) > 1 else left[0]


def write(
    model: BaseChatModel, text: str = "I live in Lisbon these days, by the sea"
) -> tuple[Receipt, list[str], StructuredLLM]:
    reader = StructuredLLM(LangChainLLM(model))
    with PrismMemory.open(embedder=None, encoding=EncodingOptions(llm=reader)) as memory:
        receipt = memory.write(text, scope=SCOPE)
        return receipt, [unit.text for unit in memory.facts(scope=SCOPE)], reader


@pytest.mark.parametrize("chat", [openai, ollama])
def test_a_good_reply_is_read(stub: OpenAIStub, chat: Chat) -> None:
    stub.responder = script(GOOD)
    receipt, facts, reader = write(chat(stub))
    assert receipt.status is ReceiptStatus.STORED
    assert facts == ["user: home is Lisbon"]
    usage = reader.meter.total()
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (1, 7, 3)
    assert "by the sea" in text_of(stub.chats[0]["messages"][-1])


@pytest.mark.parametrize("chat", [openai, ollama])
@pytest.mark.parametrize(
    "reply", [f"<think>hm</think>{GOOD}", f"```json\n{GOOD}\n```", f"[{GOOD}]", GOOD.replace("intents", "Intents")]
)
def test_c22_what_small_models_wrap_around_it_is_taken_off(stub: OpenAIStub, chat: Chat, reply: str) -> None:
    stub.responder = script(reply)
    receipt, facts, reader = write(chat(stub))
    assert (receipt.status, facts) == (ReceiptStatus.STORED, ["user: home is Lisbon"])
    assert reader.meter.total().calls == 1


@pytest.mark.parametrize("chat", [openai, ollama])
def test_a_malformed_reply_is_mended_once(stub: OpenAIStub, chat: Chat) -> None:
    stub.responder = script("I would say identity.", GOOD)
    receipt, facts, reader = write(chat(stub))
    assert (receipt.status, facts) == (ReceiptStatus.STORED, ["user: home is Lisbon"])
    assert reader.meter.total().repairs == 1
    assert "I would say identity." in text_of(stub.chats[1]["messages"][-1])


@pytest.mark.parametrize("reply", ["I would say identity.", "", "{}"])
def test_two_malformed_replies_leave_the_work_to_rules(stub: OpenAIStub, reply: str) -> None:
    stub.responder = script(reply)
    receipt, facts, reader = write(openai(stub))
    assert receipt.status is ReceiptStatus.DEGRADED
    assert facts == ["user: home is Lisbon"]
    assert len(stub.chats) == reader.meter.total().calls == 2


def test_a_refusal_to_hurry_is_tried_again_by_the_client(stub: OpenAIStub) -> None:
    stub.responder = script(Failure(429, "slow down"), GOOD)
    receipt, facts, _ = write(openai(stub, max_retries=2))
    assert (receipt.status, facts) == (ReceiptStatus.STORED, ["user: home is Lisbon"])
    assert len(stub.chats) == 2


@pytest.mark.parametrize("status", [401, 429, 500])
def test_a_refusal_leaves_the_work_to_rules(stub: OpenAIStub, status: int) -> None:
    stub.responder = script(Failure(status, "no"))
    receipt, facts, _ = write(openai(stub))
    assert receipt.status is ReceiptStatus.DEGRADED
    assert facts == ["user: home is Lisbon"]


def test_a_slow_reply_is_waited_for_as_long_as_the_client_says(stub: OpenAIStub) -> None:
    def slowly(body: Any) -> str:
        time.sleep(0.5)
        return GOOD

    stub.responder = slowly
    assert write(openai(stub))[0].status is ReceiptStatus.STORED
    late, facts, _ = write(openai(stub, timeout=0.1))
    assert late.status is ReceiptStatus.DEGRADED
    assert "Timeout" in late.reason
    assert facts == ["user: home is Lisbon"]


def test_nobody_listening_leaves_the_work_to_rules() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        model = ChatOpenAI(
            model="gpt-4o-mini",
            base_url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1",
            api_key="unused",  # type: ignore[arg-type]
            max_retries=0,
        )
        receipt, facts, _ = write(model)
    assert receipt.status is ReceiptStatus.DEGRADED
    assert facts == ["user: home is Lisbon"]


def test_b3_numbers_and_names_that_were_never_shown_are_dropped(stub: OpenAIStub) -> None:
    odd = {"candidate": "12", "relation": "premise", "reason": "no such unit"}
    reply = json.dumps({"intents": ["no such label", "identity"], "relations": [odd], "facts": [FACT]})
    stub.responder = script(reply)
    receipt, facts, _ = write(openai(stub))
    assert (receipt.status, facts) == (ReceiptStatus.STORED, ["user: home is Lisbon"])


def test_model_and_embeddings_of_one_provider_work_together(stub: OpenAIStub) -> None:
    stub.responder = script(GOOD)
    embeddings = OpenAIEmbeddings(
        model="text-embedding-3-small",
        base_url=stub.base_url,
        api_key="unused",  # type: ignore[arg-type]
        check_embedding_ctx_length=False,
    )
    encoding = EncodingOptions(llm=StructuredLLM(LangChainLLM(openai(stub))))
    with PrismMemory.open(embedder=LangChainEmbedder(embeddings), encoding=encoding) as memory:
        assert memory.write("I live in Lisbon these days", scope=SCOPE).status is ReceiptStatus.STORED
        assert memory.stats(SCOPE).pending == 0
        assert memory.search("Where do I live?", scope=SCOPE, k=1)[0].unit.observation.startswith("I live")


def test_a_model_is_named_by_itself_or_by_the_caller(stub: OpenAIStub) -> None:
    assert LangChainLLM(openai(stub)).id == "langchain:ChatOpenAI:gpt-4o-mini"
    assert LangChainLLM(ollama(stub)).id == "langchain:ChatOllama:qwen3:4b"
    nameless = FakeListChatModel(responses=["hello"])
    with pytest.raises(QueryError, match="FakeListChatModel"):
        LangChainLLM(nameless)
    named = LangChainLLM(nameless, id="fake:v1")
    assert named.complete("hi").text == "hello"
    assert named.complete("hi").prompt_tokens is None


def test_what_a_client_raises_names_model_and_cause(stub: OpenAIStub) -> None:
    stub.responder = script(Failure(500, "the stub is ill"))
    with pytest.raises(LLMError, match=r"gpt-4o-mini.*ill"):
        LangChainLLM(openai(stub)).complete("hi")
