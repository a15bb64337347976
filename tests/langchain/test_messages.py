from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    messages_to_dict,
)

from prism_core import Event, Kind, Outcome, Source
from prism_core.ingest import read_chat
from prism_langchain.messages import Keyed, call_events, is_user, last_user, turn_start
from prism_langchain.places import Place

PLACE = Place(("acme", "alice"), "t1", "order-7")
SUMMARY = HumanMessage("Here is a summary", id="s", additional_kwargs={"lc_source": "summarization"})


def call(name: str, call_id: str, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, args=arguments, id=call_id, type="tool_call")


TURN: list[BaseMessage] = [
    SystemMessage("Be brief.", id="sys"),
    HumanMessage("Is it in stock?", id="h1"),
    AIMessage("I look.", id="a1", tool_calls=[call("stock", "c1", variant="blue"), call("price", "c2")]),
    ToolMessage("12", tool_call_id="c1", id="r1"),
    ToolMessage("no price list", tool_call_id="c2", id="r2", status="error"),
    AIMessage("Yes.", id="a2", name="clerk"),
]


def events(messages: list[BaseMessage], **options: Any) -> list[Event]:
    return Keyed.of(messages, PLACE).events(PLACE, **options)


def test_events_are_those_of_ingestion() -> None:
    [run] = read_chat(messages_to_dict(TURN), run_id="t1")
    unkeyed = {"idempotency_key", "task_id"}
    live = [event.model_dump(exclude=unkeyed) for event in events(TURN)]
    assert live == [event.model_dump(exclude=unkeyed) for event in run.events]


def test_each_event_has_a_key_made_of_thread_and_ids() -> None:
    assert [event.idempotency_key for event in events(TURN)] == [
        "langchain:t1:h1",
        "langchain:t1:a1",
        "langchain:t1:a1.1",
        "langchain:t1:a1:reply",
        "langchain:t1:a1.1:reply",
        "langchain:t1:a2",
    ]


def test_errors_are_failures() -> None:
    assert [event.outcome for event in events(TURN) if event.source is Source.TOOL] == [
        Outcome.UNKNOWN,
        Outcome.FAILURE,
    ]


def test_without_ids_words_and_their_repetition_make_the_key() -> None:
    said: list[BaseMessage] = [HumanMessage("yes"), AIMessage("sure?"), HumanMessage("yes")]
    keys = Keyed.of(said, PLACE).keys
    assert len(set(keys)) == 3
    assert Keyed.of([*said, HumanMessage("no")], PLACE).keys[:3] == keys
    assert Keyed.of(said, Place(("alice",))).keys == [None] * 3


def test_calls_of_the_memorys_own_tools_are_no_events() -> None:
    messages = [
        AIMessage("", id="a", tool_calls=[call("recall_memory", "c1", query="q"), call("stock", "c2")]),
        ToolMessage("[u1] blue", tool_call_id="c1", id="r1"),
        ToolMessage("12", tool_call_id="c2", id="r2"),
    ]
    assert [event.text for event in events(messages)] == ["stock({})", "12"]


def test_summaries_and_system_prompts_are_no_events() -> None:
    assert events([SystemMessage("Be brief."), SUMMARY, HumanMessage("Hi", id="h")])[0].observation == "Hi"
    assert not is_user(SUMMARY)


def test_a_delegated_turn_is_no_users() -> None:
    assert events([HumanMessage("Find out.", id="h")], delegated=True)[0].source is Source.ASSISTANT


def test_a5_blocks_of_memories_are_no_news() -> None:
    block = "<past_experience>\n- blue\n</past_experience>"
    parts: list[str | dict[str, Any]] = [{"type": "text", "text": "Which?"}, {"type": "text", "text": block}]
    messages = [HumanMessage(parts, id="h"), AIMessage(f"As I said:\n{block}", id="a")]
    assert [event.observation for event in events(messages)] == ["Which?", "As I said:"]


def test_chunks_are_messages() -> None:
    [event] = events([AIMessageChunk(content="Yes.", id="a")])
    assert (event.observation, event.kind) == ("Yes.", Kind.MESSAGE)


def test_what_was_said_beside_calls_is_kept_with_the_first() -> None:
    message = TURN[2]
    assert isinstance(message, AIMessage)
    first, second = (call_events(message, "k", each, None, PLACE) for each in message.tool_calls)
    assert [(event.thought, event.idempotency_key) for event in first + second] == [("I look.", "k"), (None, "k.1")]


def test_a_call_is_stored_as_it_was_made() -> None:
    message = TURN[2]
    assert isinstance(message, AIMessage)
    [event, reply] = call_events(
        message, "k", call("stock", "c1", variant="red"), ToolMessage("3", tool_call_id="c1"), PLACE
    )
    assert (event.action, reply.observation) == ('stock({"variant": "red"})', "3")
    assert reply.idempotency_key == "k:reply"
    assert not call_events(message, "k", call("save_memory", "c1", text="x"), None, PLACE)


@pytest.mark.parametrize(
    ("messages", "last", "start"),
    [
        ([], None, 0),
        ([HumanMessage("a")], 0, 0),
        ([HumanMessage("a"), HumanMessage("b")], 1, 0),
        ([HumanMessage("a"), AIMessage("b"), HumanMessage("c"), AIMessage("d")], 2, 2),
        ([SUMMARY, HumanMessage("c"), AIMessage("d")], 1, 1),
        ([SUMMARY, AIMessage("d")], 0, 1),
        ([AIMessage("d")], None, 0),
    ],
)
def test_turns_begin_with_the_users_words(messages: list[BaseMessage], last: int | None, start: int) -> None:
    assert last_user(messages) == last
    assert turn_start(messages) == start


def test_what_the_model_sees_is_known_by_key() -> None:
    keyed = Keyed.of(TURN, PLACE)
    assert {"langchain:t1:h1", "langchain:t1:a1", "langchain:t1:a1.1", "langchain:t1:a2"} <= keyed.visible
    assert keyed.answered == {"langchain:t1:a1", "langchain:t1:a1.1"}
    assert keyed.since(3).answered == frozenset()
