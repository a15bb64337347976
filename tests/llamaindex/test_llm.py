"""LlamaIndex models read what is written, with their real clients on the wire."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from llama_index.core.llms import LLM
from llama_index.llms.ollama import Ollama
from llama_index.llms.openai_like import OpenAILike

from prism_core import EncodingOptions, PrismMemory, Receipt, ReceiptStatus, StructuredLLM
from prism_core.errors import LLMError
from prism_llamaindex import LlamaIndexLLM
from tests.openai_stub import Failure, OpenAIStub, text_of

SCOPE = ("acme", "ann")
FACT = {"entity": "user", "attribute": "home", "value": "Lisbon", "category": "identity"}
GOOD = json.dumps({"intents": ["identity"], "importance": 5, "facts": [FACT]})

Chat = Callable[[OpenAIStub], LLM]


def openai(stub: OpenAIStub, *, timeout: float = 5, max_retries: int = 0) -> LLM:
    return OpenAILike(
        model="local",
        api_base=stub.base_url,
        api_key="unused",
        is_chat_model=True,
        timeout=timeout,
        max_retries=max_retries,
    )


def ollama(stub: OpenAIStub) -> LLM:
    return Ollama(model="qwen3:4b", base_url=stub.url, request_timeout=5, context_window=8_000)


@pytest.fixture
def stub() -> Iterator[OpenAIStub]:
    with OpenAIStub() as running:
        yield running


def script(*replies: str | Failure) -> Callable[[Any], str | Failure]:
    left = list(replies)
    return lambda body: left.pop(0) if len(left) > 1 else left[0]


def write(model: LLM) -> tuple[Receipt, list[str], StructuredLLM]:
    reader = StructuredLLM(LlamaIndexLLM(model))
    with PrismMemory.open(embedder=None, encoding=EncodingOptions(llm=reader)) as memory:
        receipt = memory.write("I live in Lisbon these days, by the sea", scope=SCOPE)
        return receipt, [unit.text for unit in memory.facts(scope=SCOPE)], reader


@pytest.mark.parametrize("chat", [openai, ollama])
def test_a_good_reply_is_read(stub: OpenAIStub, chat: Chat) -> None:
    stub.responder = script(GOOD)
    receipt, facts, reader = write(chat(stub))
    assert (receipt.status, facts) == (ReceiptStatus.STORED, ["user: home is Lisbon"])
    usage = reader.meter.total()
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (1, 7, 3)
    assert "by the sea" in text_of(stub.chats[0]["messages"][-1])


@pytest.mark.parametrize("chat", [openai, ollama])
def test_a_malformed_reply_is_mended_once(stub: OpenAIStub, chat: Chat) -> None:
    stub.responder = script("<think>hm</think> identity, I would say", f"```json\n{GOOD}\n```")
    receipt, facts, reader = write(chat(stub))
    assert (receipt.status, facts) == (ReceiptStatus.STORED, ["user: home is Lisbon"])
    assert reader.meter.total().repairs == 1


@pytest.mark.parametrize("reply", ["identity, I would say", "", Failure(500), Failure(429)])
def test_what_cannot_be_used_leaves_the_work_to_rules(stub: OpenAIStub, reply: str | Failure) -> None:
    stub.responder = script(reply)
    receipt, facts, _ = write(openai(stub))
    assert (receipt.status, facts) == (ReceiptStatus.DEGRADED, ["user: home is Lisbon"])


def test_a_refusal_to_hurry_is_tried_again_by_the_client(stub: OpenAIStub) -> None:
    stub.responder = script(Failure(429, "slow down"), GOOD)
    assert write(openai(stub, max_retries=3))[0].status is ReceiptStatus.STORED
    assert len(stub.chats) == 2


def test_a_slow_reply_is_waited_for_as_long_as_the_client_says(stub: OpenAIStub) -> None:
    def slowly(body: Any) -> str:
        time.sleep(0.5)
        return GOOD

    stub.responder = slowly
    assert write(openai(stub))[0].status is ReceiptStatus.STORED
    assert write(openai(stub, timeout=0.1))[0].status is ReceiptStatus.DEGRADED


def test_a_model_is_named_and_so_is_what_it_raises(stub: OpenAIStub) -> None:
    stub.responder = script(Failure(500, "the stub is ill"))
    model = LlamaIndexLLM(openai(stub))
    assert model.id == "llamaindex:OpenAILike:local"
    with pytest.raises(LLMError, match="local"):
        model.complete("hi")
