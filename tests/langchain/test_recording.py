from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage

from prism_core import PrismMemory
from prism_langchain import MemoryProblem
from prism_langchain.messages import Keyed
from prism_langchain.places import Place
from prism_langchain.problems import Watch
from prism_langchain.recalling import unseen
from prism_langchain.recording import MessageRecorder
from tests.langchain.agents import ALICE, plain_memory, steps, texts

PLACE = Place(ALICE, "t1")
CALL = ToolCall(name="stock", args={"variant": "blue"}, id="c1", type="tool_call")
ASKS = AIMessage("", id="a1", tool_calls=[CALL])


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[PrismMemory]:
    with plain_memory(tmp_path) as opened:
        yield opened


def reply(text: str) -> ToolMessage:
    return ToolMessage(text, tool_call_id="c1", id="r1")


def test_a_call_is_stored_once_and_again_when_it_ends_otherwise(memory: PrismMemory) -> None:
    recorder = MessageRecorder(memory, Watch())
    key = Keyed.of([ASKS], PLACE).keys[0]
    for ended in ("timed out", "timed out", "12", "12", "timed out"):
        recorder.record_call(ASKS, key, CALL, reply(ended), PLACE)
    assert [step.observation for step in steps(memory)] == ["timed out", "12"]
    # The thread shows one of them, and that one is what the model sees anyway.
    hidden = unseen(Keyed.of([ASKS, reply("12")], PLACE))
    assert [step.observation for step in steps(memory) if hidden(step)] == []


def test_what_was_worded_otherwise_since_is_no_news(memory: PrismMemory) -> None:
    problems: list[MemoryProblem] = []
    recorder = MessageRecorder(memory, Watch(problems.append))
    turn: list[BaseMessage] = [HumanMessage("Is it?", id="h1"), ASKS]
    recorder.record(Keyed.of([*turn, reply("12 in stock")], PLACE), PLACE)
    recorder.record(Keyed.of([*turn, reply("[redacted]")], PLACE), PLACE)
    assert [step.observation for step in steps(memory)] == ["12 in stock"]
    assert not problems


def test_what_cannot_be_stored_is_told(memory: PrismMemory) -> None:
    problems: list[MemoryProblem] = []
    recorder = MessageRecorder(memory, Watch(problems.append))
    recorder.record_said(Keyed.of([HumanMessage("\ud800", id="h1")], PLACE), PLACE)
    assert [problem.operation for problem in problems] == ["record"]
    assert texts(memory) == []


def test_messages_without_words_are_left_out_silently(memory: PrismMemory) -> None:
    problems: list[MemoryProblem] = []
    recorder = MessageRecorder(memory, Watch(problems.append))
    recorder.record(Keyed.of([HumanMessage("", id="h1"), AIMessage("", id="a1")], PLACE), PLACE)
    assert texts(memory) == []
    assert not problems
