from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from prism_langchain import with_memory
from prism_langchain.injection import with_system_memory

BLOCK = "<past_experience>\n- blue\n</past_experience>"


def test_the_block_ends_the_last_message_of_the_user() -> None:
    messages: list[BaseMessage] = [
        HumanMessage("a", id="1"),
        AIMessage("b"),
        HumanMessage("c", id="3"),
        AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c1"}]),
        ToolMessage("d", tool_call_id="c1"),
    ]
    added = with_memory(messages, BLOCK)
    assert [message.text for message in added] == ["a", "b", f"c\n\n{BLOCK}", "", "d"]
    assert messages[2].content == "c"
    assert [one is other for one, other in zip(added, messages, strict=True)] == [True, True, False, True, True]


parts = st.lists(
    st.one_of(
        st.text(max_size=5).map(lambda text: {"type": "text", "text": text}),
        st.just({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}),
        st.text(max_size=5),
    ),
    max_size=3,
)


@given(st.one_of(st.text(max_size=9), parts), st.text(max_size=3), st.text(max_size=3))
def test_only_the_content_changes_and_only_at_its_end(content: Any, message_id: str, name: str) -> None:
    message = HumanMessage(content, id=message_id, name=name, additional_kwargs={"a": 1})
    [added] = with_memory([message], BLOCK)
    assert added.model_dump(exclude={"content"}) == message.model_dump(exclude={"content"})
    if isinstance(content, str):
        assert added.content == (f"{content}\n\n{BLOCK}" if content else BLOCK)
    else:
        assert added.content == [*content, {"type": "text", "text": BLOCK}]


@pytest.mark.parametrize("messages", [[], [AIMessage("a")], [SystemMessage("a")]])
def test_without_a_user_nothing_is_added(messages: list[BaseMessage]) -> None:
    assert with_memory(messages, BLOCK) == messages


def test_an_empty_block_changes_nothing() -> None:
    message, system = HumanMessage("a"), SystemMessage("b")
    assert with_memory([message], "")[0] is message
    assert with_system_memory(system, "") is system
    assert with_system_memory(None, "") is None


def test_the_system_message_keeps_its_parts() -> None:
    cached: list[str | dict[str, Any]] = [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]
    added = with_system_memory(SystemMessage(cached), BLOCK)
    assert added is not None
    assert added.content == [*cached, {"type": "text", "text": BLOCK}]
    alone = with_system_memory(None, BLOCK)
    assert alone is not None
    assert alone.content == BLOCK
