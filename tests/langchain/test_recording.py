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
    broken = MessageRecorder(
        memory, Watch(problems.append), lambda event: event.model_copy(update={"speaker": "\ud800"})
    )
    broken.record_said(Keyed.of([HumanMessage("hello", id="h1")], PLACE), PLACE)
    assert [problem.operation for problem in problems] == ["record"]
    assert texts(memory) == []


def test_half_a_surrogate_pair_costs_a_character_and_not_the_turn(memory: PrismMemory) -> None:
    problems: list[MemoryProblem] = []
    recorder = MessageRecorder(memory, Watch(problems.append))
    turn = [HumanMessage("Is \ud800 in?", id="h1"), ASKS, reply("12 \udfff"), AIMessage("Yes \ud800.", id="a2")]
    recorder.record(Keyed.of(turn, PLACE), PLACE)
    assert not problems
    assert [text for text in texts(memory) if "?" in text] == texts(memory)


CALLS = [{"name": "book", "args": {"n": n}, "type": "tool_call"} for n in (1, 2, 2)]


@pytest.mark.parametrize("same_id", ["c", ""])
@pytest.mark.parametrize("message_id", ["a1", None])
def test_calls_of_one_message_under_one_id_keep_their_own_replies(
    memory: PrismMemory, same_id: str, message_id: str | None
) -> None:
    problems: list[MemoryProblem] = []
    recorder = MessageRecorder(memory, Watch(problems.append))
    asks = AIMessage("", id=message_id, tool_calls=[ToolCall(**call, id=same_id) for call in CALLS])  # type: ignore[typeddict-item]
    replies = [ToolMessage(f"booked {n}", tool_call_id=same_id) for n in (1, 2, 2)]
    turn = Keyed.of([HumanMessage("Book them.", id="h1"), asks, *replies], PLACE)
    asked, key = next(pair for pair in zip(turn.messages, turn.keys, strict=True) if isinstance(pair[0], AIMessage))
    assert isinstance(asked, AIMessage)
    # The second one ends first.
    for number in (1, 0):
        recorder.record_call(asked, key, asks.tool_calls[number], replies[number], PLACE)
    recorder.record(turn, PLACE)
    recorder.record(turn, PLACE)
    told = sorted(f"{step.action} {step.observation}" for step in steps(memory))
    assert told == ['book({"n": 1}) booked 1', *['book({"n": 2}) booked 2'] * 2]
    assert len(texts(memory)) == 4
    assert len(turn.answered) == 3
    assert not problems
    hidden = unseen(turn)
    assert [unit.text for unit in memory.units(scope=PLACE.scope) if hidden(unit)] == []


def test_messages_without_words_are_left_out_silently(memory: PrismMemory) -> None:
    problems: list[MemoryProblem] = []
    recorder = MessageRecorder(memory, Watch(problems.append))
    recorder.record(Keyed.of([HumanMessage("", id="h1"), AIMessage("", id="a1")], PLACE), PLACE)
    assert texts(memory) == []
    assert not problems
