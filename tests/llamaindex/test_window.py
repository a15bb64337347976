from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage, MessageRole

from prism_llamaindex.messages import reply_to, tool_calls
from prism_llamaindex.window import groups_of, trimmed
from tests.llamaindex.talking import assistant, call, calls, reply, system, user


def size(messages: list[ChatMessage]) -> list[int]:
    return [10] * len(messages)


def test_everything_stays_while_it_fits() -> None:
    messages = [system("s"), user("a"), assistant("b"), user("c")]
    assert trimmed(messages, size(messages), 40) == [0, 1, 2, 3]


def test_whole_turns_go_and_instructions_stay() -> None:
    messages = [system("s"), user("a"), assistant("b"), user("c"), assistant("d"), user("e")]
    assert trimmed(messages, size(messages), 55) == [0, 3, 4, 5]


def test_a_cut_leaves_room_so_that_the_next_turns_only_append() -> None:
    messages = [user("a"), assistant("b")] * 6
    kept = trimmed(messages, size(messages), 100)
    assert kept == [6, 7, 8, 9, 10, 11]
    longer = [*messages, user("c"), assistant("d")]
    assert trimmed(longer, size(longer), 100, start=kept[0]) == [*kept, 12, 13]


def test_the_steps_of_a_turn_too_long_go_before_what_was_said() -> None:
    steps = [[call("f", f"c{n}"), reply(f"c{n}", "done")] for n in range(5)]
    messages = [user("old"), user("do it"), *(message for step in steps for message in step)]
    assert trimmed(messages, size(messages), 55) == [1, 8, 9, 10, 11]
    assert trimmed(messages, size(messages), 1) == [1, 10, 11]


def test_calls_and_replies_that_lost_each_other_are_left_out() -> None:
    messages = [user("a"), call("f", "1"), reply("0", "of nobody"), assistant("b"), call("f", "2")]
    assert groups_of(messages) == [[0], [3], [4]]


def test_parallel_calls_stay_together_with_all_their_replies() -> None:
    two = calls(*(ToolCallBlock(tool_call_id=key, tool_name="f") for key in "ab"))
    messages = [user("a"), two, reply("b", "2"), reply("a", "1"), assistant("done")]
    assert groups_of(messages) == [[0], [1, 2, 3], [4]]


MESSAGE = st.one_of(
    st.builds(user, st.just("u")),
    st.builds(assistant, st.just("a")),
    st.builds(call, st.just("f"), st.sampled_from("xyz")),
    st.builds(reply, st.sampled_from("xyz"), st.just("r")),
    st.builds(system, st.just("s")),
)


@given(st.lists(MESSAGE, max_size=14), st.integers(-20, 160), st.integers(0, 14))
def test_whatever_is_cut_every_reply_has_its_call_and_every_call_its_reply(
    messages: list[ChatMessage], limit: int, start: int
) -> None:
    kept = [messages[index] for index in trimmed(messages, size(messages), limit, start)]
    waiting: list[str] = []
    for message in kept:
        answered = reply_to(message)
        if answered is None:
            assert not waiting
            waiting = [key for key, _, _ in tool_calls(message)]
        else:
            waiting.remove(answered)
    assert [message for message in kept if message.role is MessageRole.SYSTEM] == [
        message for message in messages if message.role is MessageRole.SYSTEM
    ]
