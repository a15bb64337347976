from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import ImageBlock, TextBlock
from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import JsonSerializer

from prism_core import Event, Kind, MemoryUnit, PrismMemory, Source
from prism_core.errors import ClosedError, LedgerError, ScopeError
from prism_core.testing import CountingIds, ScriptedClock
from prism_llamaindex import PrismChatMemory
from prism_llamaindex.failures import DetachedError
from tests.llamaindex.talking import assistant, call, reply, system, text_of, user

ALICE = ("acme", "alice")
BOB = ("acme", "bob")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[PrismMemory]:
    with PrismMemory.open(tmp_path / "memory", embedder=None, clock=ScriptedClock(), new_id=CountingIds()) as opened:
        yield opened


def chat(memory: PrismMemory, session: str = "s", **settings: Any) -> PrismChatMemory:
    return PrismChatMemory.from_defaults(memory, ALICE, session_id=session, **settings)


def units(memory: PrismMemory, session: str | None = None) -> list[MemoryUnit]:
    return [unit for unit in memory.units(scope=ALICE, session_id=session) if unit.fact is None]


CONVERSATION = [
    system("Be brief."),
    user("Book the hotel QX7-4411 in Lisbon."),
    call("book", "c1", hotel="QX7-4411"),
    reply("c1", "confirmed, room 12"),
    assistant(""),
    ChatMessage(role="user", blocks=[TextBlock(text="Like this one:"), ImageBlock(url="https://example.org/a.png")]),
    assistant("Booked."),
    user("Thanks."),
    user("Thanks."),
]


# -- storing -----------------------------------------------------------------------------------------------------------


def test_C16_another_object_of_the_session_sees_every_message_word_for_word(memory: PrismMemory) -> None:
    first = chat(memory)
    for message in CONVERSATION:
        first.put(message)
    assert first.get_all() == CONVERSATION
    assert chat(memory).get_all() == CONVERSATION
    assert chat(memory, "another").get_all() == []


def test_C16_another_process_sees_them_too(tmp_path: Path) -> None:
    with PrismMemory.open(tmp_path / "m", embedder=None) as opened:
        chat(opened).put_messages(CONVERSATION)
    with PrismMemory.open(tmp_path / "m", embedder=None) as opened:
        assert chat(opened).get_all() == CONVERSATION


def test_two_objects_of_one_session_take_turns(memory: PrismMemory) -> None:
    one, two = chat(memory), chat(memory)
    for number in range(4):
        (one, two)[number % 2].put(user(f"message {number}"))
    expected = [user(f"message {number}") for number in range(4)]
    assert one.get_all() == two.get_all() == expected


def test_everything_said_and_done_becomes_a_unit_and_nothing_else_does(memory: PrismMemory) -> None:
    chat(memory).put_messages(CONVERSATION)
    stored = [(unit.kind, unit.source, unit.text) for unit in units(memory, "s")]
    assert stored == [
        (Kind.MESSAGE, Source.USER, "user: Book the hotel QX7-4411 in Lisbon."),
        (Kind.STEP, Source.ASSISTANT, 'book({"hotel": "QX7-4411"})\n-> confirmed, room 12'),
        (Kind.MESSAGE, Source.USER, "user: Like this one:"),
        (Kind.MESSAGE, Source.ASSISTANT, "assistant: Booked."),
        (Kind.MESSAGE, Source.USER, "user: Thanks."),
        (Kind.MESSAGE, Source.USER, "user: Thanks."),
    ]


def test_a_message_is_the_hosts_to_change_after_it_was_put(memory: PrismMemory) -> None:
    kept = chat(memory)
    message = user("one")
    kept.put(message)
    message.blocks.append(TextBlock(text="two"))
    kept.get_all()[0].blocks.append(TextBlock(text="three"))
    assert kept.get_all() == [user("one")]


# -- replacing ---------------------------------------------------------------------------------------------------------


def talk(*texts: str) -> list[ChatMessage]:
    return [assistant(text) if number % 2 else user(text) for number, text in enumerate(texts)]


HISTORY = talk("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("given", "new"),
    [
        (HISTORY, []),
        ([*HISTORY, user("e")], ["e"]),
        (HISTORY[2:], []),
        ([*HISTORY[2:], user("e")], ["e"]),
        ([user("summary"), *HISTORY[2:], user("e")], ["summary", "e"]),
        ([*HISTORY[:2], user("C"), assistant("d"), user("e")], ["C", "e"]),
        ([*HISTORY, user("c"), assistant("d")], ["c", "d"]),
        ([], []),
        ([system("s"), *HISTORY], []),
    ],
    ids=["same", "longer", "cut", "cut and longer", "summed up", "edited", "repeated", "empty", "instructed"],
)
def test_a_history_handed_in_again_is_not_stored_again(
    memory: PrismMemory, given: list[ChatMessage], new: list[str]
) -> None:
    kept = chat(memory)
    kept.put_messages(HISTORY)
    kept.set(given)
    assert kept.get_all() == given
    assert [unit.observation for unit in units(memory)] == ["a", "b", "c", "d", *new]
    kept.set(given)
    kept.put(user("next"))
    assert kept.get_all() == chat(memory).get_all() == [*given, user("next")]
    assert [unit.observation for unit in units(memory)] == ["a", "b", "c", "d", *new, "next"]


def test_a_client_that_hands_back_what_it_was_shown_says_nothing_new(memory: PrismMemory) -> None:
    memory.write("The hotel in Lisbon has the reference QX7-4411.", scope=ALICE)
    kept = chat(memory)
    kept.put(user(QUESTION))
    shown = kept.get()
    assert "past_experience" in text_of(shown)
    kept.set([*shown, assistant("QX7-4411.")])
    assert kept.get_all() == [user(QUESTION), assistant("QX7-4411.")]
    assert [unit.observation for unit in units(memory, "s")] == [QUESTION, "QX7-4411."]


def test_the_same_words_after_a_fresh_start_are_said_again(memory: PrismMemory) -> None:
    kept = chat(memory)
    kept.put(user("hello"))
    kept.set([])
    kept.put(user("hello"))
    assert kept.get_all() == [user("hello")]
    assert [unit.observation for unit in units(memory)] == ["hello", "hello"]


def test_a_reset_erases_the_session_and_leaves_the_others(memory: PrismMemory) -> None:
    kept, other = chat(memory), chat(memory, "other")
    kept.put(user("The code of the safe is 4711."))
    other.put(user("The safe is green."))
    kept.reset()
    assert kept.get_all() == chat(memory).get_all() == []
    assert [unit.observation for unit in units(memory)] == ["The safe is green."]
    other.put(user("What is the code of the safe?"))
    assert "4711" not in text_of(other.get())
    kept.put(user("hello"))
    assert kept.get_all() == [user("hello")]


def test_a_memory_that_is_erased_leaves_the_conversation_too(memory: PrismMemory) -> None:
    kept = chat(memory)
    kept.put_messages([user("My PIN is 4711."), assistant("Noted."), user("What is new?")])
    memory.erase(scope=ALICE, unit_ids=[units(memory)[0].id])
    kept.get()
    assert "4711" not in text_of(kept.get())
    assert kept.get_all() == [assistant("Noted."), user("What is new?")]


# -- recalling ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def knowing(memory: PrismMemory) -> PrismMemory:
    memory.write("The hotel in Lisbon has the reference QX7-4411.", scope=ALICE)
    memory.write("The hotel in Porto has the reference ZZ9-0000.", scope=BOB)
    return memory


QUESTION = "What is the reference of the hotel?"


def test_the_block_ends_the_last_user_message_and_is_never_stored(knowing: PrismMemory) -> None:
    kept = chat(knowing)
    kept.put_messages([user("Hi."), assistant("Hello."), user(QUESTION)])
    shown = kept.get()
    assert shown[:2] == [user("Hi."), assistant("Hello.")]
    question, block = shown[2].blocks
    assert isinstance(question, TextBlock)
    assert isinstance(block, TextBlock)
    assert question.text == QUESTION
    assert block.text.startswith("\n\n<past_experience>\n")
    assert block.text.endswith("QX7-4411.\n</past_experience>")
    assert "ZZ9-0000" not in block.text
    assert kept.get_all() == [user("Hi."), assistant("Hello."), user(QUESTION)]
    assert "past_experience" not in str([unit.model_dump() for unit in units(knowing)])


def test_without_input_the_question_is_the_last_user_message(knowing: PrismMemory) -> None:
    kept = chat(knowing)
    kept.put(user(QUESTION))
    assert kept.get() == kept.get(input=QUESTION)
    assert "QX7-4411" in text_of(kept.get())


def test_an_input_that_was_not_put_is_answered_by_a_block_of_its_own(knowing: PrismMemory) -> None:
    kept = chat(knowing)
    kept.put_messages([user(QUESTION), assistant("QX7-4411")])
    for asked in (QUESTION, user(QUESTION), "hotel in Lisbon"):
        *before, block = kept.get(input=asked)
        assert before == [user(QUESTION), assistant("QX7-4411")]
        assert block.role is MessageRole.USER
        assert str(block.content).startswith("<past_experience>")


def test_nothing_to_recall_adds_nothing(memory: PrismMemory) -> None:
    kept = chat(memory)
    assert kept.get() == []
    kept.put_messages([system("s"), assistant("Hello.")])
    assert kept.get() == kept.get_all()
    kept.put(user("   "))
    assert kept.get() == kept.get_all()


def test_what_the_prompt_shows_is_not_recalled_again(memory: PrismMemory) -> None:
    kept = chat(memory)
    kept.put_messages([user("The hotel has the reference QX7-4411."), assistant("Noted."), user(QUESTION)])
    assert kept.get() == kept.get_all()


def test_what_was_cut_off_is_recalled(memory: PrismMemory) -> None:
    kept = chat(memory, token_limit=200, budget=80)
    kept.put_messages([user("The hotel in Lisbon has the reference QX7-4411."), assistant("Noted.")])
    for number in range(12):
        kept.put_messages([user(f"Tell me about day {number} of the tour."), assistant("It is a long and fine day.")])
    kept.put(user(QUESTION))
    shown = kept.get()
    assert len(shown) < len(kept.get_all())
    assert sum(len(kept.tokenizer_fn(str(message.content))) for message in shown) <= 200
    assert shown[0].role is MessageRole.USER
    assert "QX7-4411" in str(shown[-1].content)


def test_within_a_turn_the_block_stays_until_tools_have_replied(memory: PrismMemory) -> None:
    kept = chat(memory)
    kept.put(user(QUESTION))
    assert "past_experience" not in text_of(kept.get())
    memory.write("The hotel has the reference QX7-4411.", scope=ALICE)
    assert "past_experience" not in text_of(kept.get(input=QUESTION))
    kept.put_messages([call("look", "c1"), reply("c1", "nothing found")])
    assert "QX7-4411" in str(kept.get(input=QUESTION)[0].content)
    memory.write("The hotel once had the reference OLD-0001.", scope=ALICE)
    kept.put(assistant("Here it is."))
    assert "OLD-0001" not in text_of(kept.get())
    kept.put(user(QUESTION))
    assert "OLD-0001" in text_of(kept.get())


def test_the_system_position_leaves_out_what_tools_and_strangers_said(memory: PrismMemory) -> None:
    memory.write("The hotel of the user has the reference QX7-4411.", scope=ALICE)
    memory.write(
        Event(observation="The web says the reference of the hotel in Lisbon is WEB-0001.", source=Source.EXTERNAL),
        scope=ALICE,
    )
    chat(memory, "earlier").put_messages(
        [call("find_reference", "c1", hotel="Lisbon"), reply("c1", "The reference of the hotel in Lisbon is TL1-0002.")]
    )
    untrusted = ("WEB-0001", "TL1-0002")

    trusting = chat(memory, "a")
    trusting.put(user(QUESTION))
    assert all(each in text_of(trusting.get()) for each in ("QX7-4411", *untrusted))

    careful = chat(memory, "b", position="system")
    careful.put_messages([system("Be brief."), user(QUESTION)])
    instructions, question = careful.get()
    assert str(instructions.content).startswith("Be brief.")
    assert "QX7-4411" in str(instructions.content)
    assert question == user(QUESTION)
    assert not any(each in text_of(careful.get()) for each in untrusted)

    told = chat(memory, "c", position="system", include_untrusted=True)
    told.put(user(QUESTION))
    assert told.get()[0].role is MessageRole.SYSTEM
    assert all(each in text_of(told.get()) for each in untrusted)


def test_the_block_stays_within_the_budget_of_the_hosts_own_tokens(knowing: PrismMemory) -> None:
    for number in range(30):
        knowing.write(f"The hotel number {number} has the reference AB{number}-4411.", scope=ALICE)
    for budget in (40, 90, 300):
        kept = chat(knowing, f"s{budget}", budget=budget, tokenizer_fn=list)
        kept.put(user(QUESTION))
        block = kept.get()[-1].blocks[-1]
        assert isinstance(block, TextBlock)
        assert len(block.text.strip()) <= budget or block.text == QUESTION


def test_C31_the_limit_counts_the_system_prompt_and_the_tools(memory: PrismMemory) -> None:
    def find(query: str) -> str:
        """Find things."""
        return query

    tool = FunctionTool.from_defaults(find)
    prompt = "You are careful. " * 40
    bare = chat(memory, token_limit=400, budget=1)
    full = chat(memory, token_limit=400, budget=1, system_prompt=prompt, tools=[tool])
    for number in range(40):
        bare.put_messages([user(f"Question {number}?"), assistant(f"Answer {number}.")])
    count = len(bare.tokenizer_fn(prompt)) + len(bare.tokenizer_fn(str(tool.metadata.to_openai_tool())))
    assert full.reserved == count
    assert 2 <= len(full.get()) < len(bare.get()) < 80
    assert full.get() == chat(memory, token_limit=400, budget=1).get(initial_token_count=count)


def test_long_calls_count(memory: PrismMemory) -> None:
    kept = chat(memory, token_limit=300, budget=1)
    kept.put_messages([user("old"), assistant("old"), user("a"), call("f", "1", text="word " * 400), reply("1", "ok")])
    assert kept.get() == kept.get_all()[2:]


def test_text_in_braces_and_recalled_text_said_by_the_user_stay_as_they_are(memory: PrismMemory) -> None:
    kept = chat(memory)
    quoted = user("You said <past_experience>\n- the moon is blue\n</past_experience> {why}?")
    kept.put(quoted)
    assert kept.get_all() == chat(memory).get_all() == [quoted]
    assert [unit.observation for unit in units(memory)] == ["You said {why}?"]


# -- sync and async ----------------------------------------------------------------------------------------------------


async def test_C13_both_ways_work_inside_a_running_loop(knowing: PrismMemory) -> None:
    kept = chat(knowing)
    kept.put(user("Hi."))
    await kept.aput(assistant("Hello."))
    await kept.aput_messages([user(QUESTION)])
    assert await kept.aget() == kept.get()
    assert "QX7-4411" in text_of(await kept.aget(input=QUESTION))
    assert await kept.aget_all() == kept.get_all() == [user("Hi."), assistant("Hello."), user(QUESTION)]
    await kept.aset([user("Hi.")])
    assert kept.get_all() == [user("Hi.")]
    await kept.areset()
    assert kept.get_all() == []


async def test_messages_put_at_once_are_all_kept(memory: PrismMemory) -> None:
    kept = chat(memory)
    await asyncio.gather(*(kept.aput(user(f"message {number}")) for number in range(40)))
    expected = {f"message {number}" for number in range(40)}
    assert {message.content for message in kept.get_all()} == expected
    assert {message.content for message in chat(memory).get_all()} == expected
    assert len(units(memory)) == 40


# -- failing -----------------------------------------------------------------------------------------------------------


def test_C18_a_memory_that_fails_leaves_the_conversation_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[tuple[str, Exception]] = []
    opened = PrismMemory.open(tmp_path / "m", embedder=None)
    kept = chat(opened, on_failure=lambda *failure: told.append(failure))
    kept.put(user("before"))
    opened.close()
    with caplog.at_level(logging.WARNING):
        kept.put(user("my secret"))
        assert kept.get() == kept.get_all() == [user("before"), user("my secret")]
    assert isinstance(kept.last_failure, ClosedError)
    assert {operation for operation, _ in told} == {"read the conversation", "store messages", "recall"}
    assert "could not store messages (ClosedError)" in caplog.text
    assert "secret" not in caplog.text

    with PrismMemory.open(tmp_path / "m", embedder=None) as again:
        kept.memory = again
        kept.put(user("after"))
        assert kept.pending == []
        assert kept.last_failure is None
        assert kept.get_all() == chat(again).get_all() == [user("before"), user("my secret"), user("after")]


def test_C18_errors_of_the_users_own_parts_do_not_fail_the_turn() -> None:
    stopped = False

    def clock() -> datetime:
        if stopped:
            raise RuntimeError("the time server does not answer")
        return datetime.now(UTC)

    with PrismMemory.open(embedder=None, clock=clock) as opened:
        kept = chat(opened)
        kept.put(user("a"))
        stopped = True
        kept.put_messages([assistant("b"), user("c")])
        assert isinstance(kept.last_failure, RuntimeError)
        assert kept.get() == [user("a"), assistant("b"), user("c")]
        stopped = False
        kept.put(assistant("d"))
        assert chat(opened).get_all() == [user("a"), assistant("b"), user("c"), assistant("d")]


def test_C18_a_scope_that_is_missing_fails_closed(memory: PrismMemory) -> None:
    for scope in (None, "", (), ("acme", "")):
        with pytest.raises(ScopeError):
            PrismChatMemory.from_defaults(memory, scope)
    kept = chat(memory)
    kept.scope = ()
    with pytest.raises(ScopeError):
        kept.put(user("whose?"))


def test_a_reset_that_fails_is_not_passed_over(tmp_path: Path) -> None:
    opened = PrismMemory.open(tmp_path / "m", embedder=None)
    kept = chat(opened)
    kept.put(user("private"))
    opened.close()
    with pytest.raises(ClosedError):
        kept.reset()


def test_unusable_settings_are_refused(memory: PrismMemory) -> None:
    with pytest.raises(ValueError, match="leaves nothing of token_limit=100"):
        chat(memory, token_limit=100, budget=100)
    assert chat(memory, token_limit=100).get() == []


# -- serialised --------------------------------------------------------------------------------------------------------


def restored(kept: PrismChatMemory) -> PrismChatMemory:
    serializer = JsonSerializer()
    back = serializer.deserialize(serializer.serialize(kept))
    assert isinstance(back, PrismChatMemory)
    return back


def test_a_memory_by_path_comes_back_working(tmp_path: Path) -> None:
    kept = PrismChatMemory.from_defaults(None, ALICE, session_id="s", path=str(tmp_path / "m"), budget=300)
    kept.put_messages([user("The hotel has the reference QX7-4411."), assistant("")])
    assert len(kept.pending) == 1
    kept.close()
    back = restored(kept)
    assert (back.scope, back.session_id, back.budget) == (ALICE, "s", 300)
    assert back.get_all() == [user("The hotel has the reference QX7-4411."), assistant("")]
    back.put(user("Thanks."))
    assert back.get_all() == [user("The hotel has the reference QX7-4411."), assistant(""), user("Thanks.")]
    assert back.pending == []
    back.close()


def test_a_memory_given_open_comes_back_when_it_is_handed_over(memory: PrismMemory) -> None:
    kept = chat(memory)
    kept.put(user("before"))
    back = restored(kept)
    back.put(user("meanwhile"))
    assert isinstance(back.last_failure, DetachedError)
    assert back.get() == [user("meanwhile")]
    again = restored(back)
    again.memory = memory
    assert again.get_all() == [user("before"), user("meanwhile")]
    again.put(user("after"))
    assert again.last_failure is None
    assert chat(memory).get_all() == [user("before"), user("meanwhile"), user("after")]


def test_what_waits_to_be_stored_is_not_stored_twice(memory: PrismMemory) -> None:
    kept = chat(memory)
    kept.put(assistant(""))
    back = restored(kept)
    back.memory = memory
    kept.put(user("one"))
    assert back.get_all() == [assistant(""), user("one")]


def test_a_ledger_that_refuses_keeps_messages_for_later(memory: PrismMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = chat(memory)
    kept.put(user("one"))
    write = memory.write_many

    def refusing(*args: object, **kwargs: object) -> object:
        raise LedgerError("store", "disk full")

    monkeypatch.setattr(memory, "write_many", refusing)
    kept.put_messages([user("two"), call("f", "c1"), reply("c1", "ok")])
    assert len(kept.pending) == 3
    monkeypatch.setattr(memory, "write_many", write)
    kept.put(assistant("three"))
    expected = [user("one"), user("two"), call("f", "c1"), reply("c1", "ok"), assistant("three")]
    assert kept.get_all() == chat(memory).get_all() == expected
    assert [unit.observation for unit in units(memory)] == ["one", "two", "ok", "three"]
