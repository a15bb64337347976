"""The memories inside LlamaIndex's chat engines, agents and workflows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Settings
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine, SimpleChatEngine
from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context, JsonSerializer

from prism_core import Outcome, PrismMemory
from prism_core.errors import ScopeError
from prism_llamaindex import PrismChatMemory, PrismMemoryBlock, PrismRetriever, PrismSerializer, PrismToolSpec
from tests.llamaindex.talking import ScriptedChat, assistant, call, calls, system, text_of, user

# LlamaIndex reads every attribute of its agents, those that pydantic has deprecated among them.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning"),
]

ALICE = ("acme", "alice")
FACT = "The hotel in Lisbon has the reference QX7-4411."
QUESTION = "What is the reference of the hotel in Lisbon?"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[PrismMemory]:
    with PrismMemory.open(tmp_path / "memory", embedder=None) as opened:
        opened.write(FACT, scope=ALICE)
        yield opened


def chat(memory: PrismMemory, session: str = "s", **settings: Any) -> PrismChatMemory:
    return PrismChatMemory.from_defaults(memory, ALICE, session_id=session, **settings)


def said(memory: PrismMemory, session: str = "s") -> list[str]:
    return [unit.text for unit in memory.units(scope=ALICE, session_id=session)]


def knows(messages: Sequence[ChatMessage]) -> str:
    return "QX7-4411" if "QX7-4411" in text_of(messages) else "I do not know."


TURN = [user(QUESTION), assistant("QX7-4411")]


# -- chat engines ------------------------------------------------------------------------------------------------------


def test_a_simple_chat_engine_recalls_and_stores(memory: PrismMemory) -> None:
    model, kept = ScriptedChat(knows), chat(memory)
    engine = SimpleChatEngine.from_defaults(memory=kept, llm=model.llm, system_prompt="Be brief.")
    assert str(engine.chat(QUESTION)) == "QX7-4411"
    [instructions, question] = model.asked[0]
    assert instructions == system("Be brief.")
    assert str(question.content).startswith(f"{QUESTION}\n\n\n<past_experience>")
    assert engine.chat_history == kept.get_all() == TURN
    assert "".join(engine.stream_chat("Thanks.").response_gen) == "QX7-4411"
    assert said(memory) == [f"user: {QUESTION}", "assistant: QX7-4411", "user: Thanks.", "assistant: QX7-4411"]
    engine.reset()
    assert said(memory) == []
    assert engine.chat_history == []


async def test_a_simple_chat_engine_answers_asynchronously(memory: PrismMemory) -> None:
    kept = chat(memory)
    engine = SimpleChatEngine.from_defaults(memory=kept, llm=ScriptedChat(knows).llm)
    assert str(await engine.achat(QUESTION)) == "QX7-4411"
    stream = await engine.astream_chat("Sure?")
    assert "".join([token async for token in stream.async_response_gen()]) == "QX7-4411"
    assert kept.get_all() == [*TURN, user("Sure?"), assistant("QX7-4411")]


def test_an_engine_that_makes_its_own_memory_has_to_be_told_whose(memory: PrismMemory) -> None:
    with pytest.raises(ScopeError):
        SimpleChatEngine.from_defaults(memory_cls=PrismChatMemory, llm=ScriptedChat(knows).llm)


def test_a_history_passed_with_every_question_is_stored_once(memory: PrismMemory) -> None:
    kept = chat(memory)
    engine = SimpleChatEngine.from_defaults(memory=kept, llm=ScriptedChat(lambda messages: "Yes.").llm)
    history: list[ChatMessage] = []
    for number in range(4):
        engine.chat(f"Question {number}?", chat_history=history)
        history = [*history, user(f"Question {number}?"), assistant("Yes.")]
    assert kept.get_all() == history
    assert len(said(memory)) == 8


@pytest.mark.parametrize("engine_class", [ContextChatEngine, CondensePlusContextChatEngine])
async def test_context_engines_get_the_block_right_before_the_question(
    memory: PrismMemory, engine_class: type[ContextChatEngine]
) -> None:
    # Engines read messages as templates; memories full of braces must come through.
    memory.write(
        'The reference of the hotel in Lisbon came as {"answer": "QX7-4411", "why": "{context_str}"}.', scope=ALICE
    )
    model, kept = ScriptedChat(knows), chat(memory)
    retriever = PrismRetriever(memory, ("acme", "docs"), k=1)
    memory.write("The museum in Lisbon is closed.", scope=("acme", "docs"))
    engine = engine_class.from_defaults(retriever=retriever, memory=kept, llm=model.llm)
    assert str(engine.chat(QUESTION)) == "QX7-4411"
    *_, block, question = model.asked[-1]
    assert block.role is MessageRole.USER
    assert str(block.content).startswith("<past_experience>")
    assert '{"answer": "QX7-4411"' in str(block.content)
    assert question.role is MessageRole.USER
    assert "past_experience" not in str(question.content)
    assert str(await engine.achat(QUESTION)) == "QX7-4411"
    assert kept.get_all() == [*TURN, *TURN]
    assert len(said(memory)) == 4


# -- agents ------------------------------------------------------------------------------------------------------------


def find_room(hotel: str) -> str:
    """Find a room."""
    if hotel == "QX7-4411":
        return "room 12"
    raise ValueError("Error: no such hotel")


def rooms(messages: Sequence[ChatMessage]) -> ChatMessage:
    """Looks for a room in the hotel the memory names, and says what was found."""
    if messages[-1].role is MessageRole.TOOL:
        return assistant(f"It is {messages[-1].content}.")
    return call("find_room", "c1", hotel="QX7-4411" if "QX7-4411" in text_of(messages) else "unknown")


async def test_a_function_agent_recalls_for_every_request_and_stores_its_steps(memory: PrismMemory) -> None:
    model, kept = ScriptedChat(rooms), chat(memory)
    agent = FunctionAgent(tools=[find_room], llm=model.llm, system_prompt="Be brief.")
    answer = await agent.run(QUESTION, memory=kept)
    assert str(answer) == "It is room 12."
    first, second = model.asked
    assert first[0] == system("Be brief.")
    assert "past_experience" in str(first[1].content)
    # What stood before the tool was called stands unchanged after it: a prompt cache holds.
    assert second[: len(first)] == first
    assert [message.role.value for message in kept.get_all()] == ["user", "assistant", "tool", "assistant"]
    assert chat(memory).get_all() == kept.get_all()
    assert said(memory) == [
        f"user: {QUESTION}",
        'find_room({"hotel": "QX7-4411"})\n-> room 12',
        "assistant: It is room 12.",
    ]
    [step] = [unit for unit in memory.units(scope=ALICE, session_id="s") if unit.action]
    assert step.action_type == "find_room"


async def test_an_agents_system_prompt_stays_apart_from_the_memory(memory: PrismMemory) -> None:
    model = ScriptedChat(knows)
    agent = FunctionAgent(llm=model.llm, system_prompt="Be brief.")
    assert str(await agent.run(QUESTION, memory=chat(memory, position="system"))) == "QX7-4411"
    prompt, recalled, question = model.asked[0]
    assert prompt == system("Be brief.")
    assert recalled.role is MessageRole.SYSTEM
    assert str(recalled.content).startswith("<past_experience>")
    assert question == user(QUESTION)


async def test_a_reply_returned_as_the_answer_is_remembered_with_its_call(memory: PrismMemory) -> None:
    tool = FunctionTool.from_defaults(find_room, return_direct=True)
    kept = chat(memory)
    agent = FunctionAgent(tools=[tool], llm=ScriptedChat(rooms).llm)
    assert str(await agent.run(QUESTION, memory=kept)) == "room 12"
    assert said(memory) == [f"user: {QUESTION}", 'find_room({"hotel": "QX7-4411"})\n-> room 12']
    assert [message.role.value for message in kept.get_all()] == ["user", "assistant", "tool", "assistant"]


async def test_nobodys_settings_are_touched(memory: PrismMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_llm", "_embed_model"):
        monkeypatch.setattr(Settings, name, None)
    kept = chat(memory)
    await FunctionAgent(llm=ScriptedChat(knows).llm).run(QUESTION, memory=kept)
    await PrismMemoryBlock(memory=memory, scope=ALICE).aget([user(QUESTION)], session_id="s")
    assert (Settings._llm, Settings._embed_model) == (None, None)


async def test_a_failed_call_is_remembered_as_failed(memory: PrismMemory) -> None:
    def script(messages: Sequence[ChatMessage]) -> ChatMessage:
        if messages[-1].role is MessageRole.TOOL:
            return assistant("There is none.")
        return call("find_room", "c1", hotel="ZZ9")

    agent = FunctionAgent(tools=[find_room], llm=ScriptedChat(script).llm)
    await agent.run("Find a room in ZZ9.", memory=chat(memory))
    [step] = [unit for unit in memory.units(scope=ALICE, session_id="s") if unit.action]
    assert "no such hotel" in step.observation
    assert step.outcome is Outcome.FAILURE


async def test_parallel_calls_and_a_second_turn(memory: PrismMemory) -> None:
    def script(messages: Sequence[ChatMessage]) -> ChatMessage:
        if messages[-1].role is MessageRole.TOOL:
            return assistant("Both found.")
        blocks = [
            ToolCallBlock(tool_call_id=f"c{len(messages)}{n}", tool_name="find_room", tool_kwargs={"hotel": "QX7-4411"})
            for n in range(2)
        ]
        return calls(*blocks)

    model, kept = ScriptedChat(script), chat(memory)
    agent = FunctionAgent(tools=[find_room], llm=model.llm)
    for _ in range(2):
        await agent.run("Find two rooms.", memory=kept)
    assert [message.role.value for message in kept.get_all()] == ["user", "assistant", "tool", "tool", "assistant"] * 2
    assert len([unit for unit in memory.units(scope=ALICE, session_id="s") if unit.action and unit.observation]) == 4
    assert chat(memory).get_all() == kept.get_all()


async def test_an_agent_without_a_call_and_with_an_empty_answer_stores_the_user(memory: PrismMemory) -> None:
    kept = chat(memory)
    await FunctionAgent(llm=ScriptedChat(lambda messages: ChatMessage(role="assistant")).llm).run("Hi.", memory=kept)
    assert kept.get_all()[0] == user("Hi.")
    assert said(memory) == ["user: Hi."]


async def test_a_react_agent_recalls_and_stores(memory: PrismMemory) -> None:
    def script(messages: Sequence[ChatMessage]) -> str:
        if "Observation: room 12" in text_of(messages):
            return "Thought: I know it.\nAnswer: It is room 12."
        if "QX7-4411" not in text_of(messages):
            return "Thought: I do not know.\nAnswer: No idea."
        return 'Thought: I look.\nAction: find_room\nAction Input: {"hotel": "QX7-4411"}'

    model, kept = ScriptedChat(script), chat(memory)
    agent = ReActAgent(tools=[find_room], llm=model.llm)
    assert str(await agent.run(QUESTION, memory=kept)) == "It is room 12."
    assert len(model.asked) == 2
    assert [message.role.value for message in kept.get_all()] == ["user", "assistant"]
    assert chat(memory).get_all() == kept.get_all()
    assert said(memory) == [
        f"user: {QUESTION}",
        'I look.\nfind_room({"hotel": "QX7-4411"})\n-> room 12',
        "assistant: It is room 12.",
    ]


async def test_agents_that_hand_over_share_one_memory(memory: PrismMemory) -> None:
    def front(messages: Sequence[ChatMessage]) -> ChatMessage:
        return call("handoff", "h1", to_agent="clerk", reason="rooms")

    desk, clerk = ScriptedChat(front), ScriptedChat(rooms_after_handoff)
    kept = chat(memory)
    workflow = AgentWorkflow(
        agents=[
            FunctionAgent(name="desk", description="asks", llm=desk.llm, can_handoff_to=["clerk"]),
            FunctionAgent(name="clerk", description="finds rooms", tools=[find_room], llm=clerk.llm),
        ],
        root_agent="desk",
    )
    assert str(await workflow.run(user_msg=QUESTION, memory=kept)) == "It is room 12."
    for messages in (desk.asked[0], clerk.asked[0], clerk.asked[1]):
        asked = [message for message in messages if message.role is MessageRole.USER]
        assert len(asked) == 1
        assert "QX7-4411" in str(asked[0].content)
    roles = [message.role.value for message in kept.get_all()]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert [text.partition("(")[0] for text in said(memory)[1:3]] == ["handoff", "find_room"]
    assert len(said(memory)) == 4


def rooms_after_handoff(messages: Sequence[ChatMessage]) -> ChatMessage:
    found = [str(message.content) for message in messages if message.role is MessageRole.TOOL]
    return assistant("It is room 12.") if "room 12" in found else call("find_room", "c1", hotel="QX7-4411")


async def test_a_run_with_a_history_sets_it(memory: PrismMemory) -> None:
    kept = chat(memory)
    agent = FunctionAgent(llm=ScriptedChat(knows).llm)
    history = [system("Be kind."), user("Hi."), assistant("Hello.")]
    for number in range(2):
        await agent.run(QUESTION, chat_history=history, memory=kept)
        assert kept.get_all() == [*history, *TURN]
        history = [*history, *TURN] if number else history
    turn = [f"user: {QUESTION}", "assistant: QX7-4411"]
    assert said(memory) == ["user: Hi.", "assistant: Hello.", *turn, *turn]


async def test_C16_the_next_session_knows_what_the_last_one_learned(memory: PrismMemory) -> None:
    agent = FunctionAgent(llm=ScriptedChat(lambda messages: "Noted.").llm)
    await agent.run("My room in the hotel is number 77.", memory=chat(memory, "monday"))
    model = ScriptedChat(lambda messages: "77" if "number 77" in text_of(messages) else "?")
    answer = await FunctionAgent(llm=model.llm).run("Which room in the hotel is mine?", memory=chat(memory, "tuesday"))
    assert str(answer) == "77"


async def test_a_context_comes_back_from_json_with_its_memory(tmp_path: Path, memory: PrismMemory) -> None:
    path = str(tmp_path / "other")
    kept = PrismChatMemory.from_defaults(None, ALICE, session_id="s", path=path)
    agent = FunctionAgent(llm=ScriptedChat(lambda messages: "Noted.").llm)
    ctx = Context(agent)
    await agent.run("The code of my safe is K77.", memory=kept, ctx=ctx)
    saved = ctx.to_dict(serializer=JsonSerializer())
    kept.close()

    model = ScriptedChat(lambda messages: "K77" if "K77" in text_of(messages) else "?")
    agent = FunctionAgent(llm=model.llm)
    back = Context.from_dict(agent, saved, serializer=JsonSerializer())
    assert str(await agent.run("What is the code of my safe?", ctx=back)) == "K77"
    restored = await back.store.get("memory")
    assert isinstance(restored, PrismChatMemory)
    assert [message.content for message in restored.get_all()] == [
        "The code of my safe is K77.",
        "Noted.",
        "What is the code of my safe?",
        "K77",
    ]
    restored.close()


async def test_a_context_takes_an_open_memory_back(memory: PrismMemory) -> None:
    agent = FunctionAgent(llm=ScriptedChat(knows).llm)
    ctx = Context(agent)
    await agent.run("Hi.", memory=chat(memory), ctx=ctx)
    saved = ctx.to_dict(serializer=JsonSerializer())
    back = Context.from_dict(agent, saved, serializer=PrismSerializer(memory))
    assert str(await agent.run(QUESTION, ctx=back)) == "QX7-4411"
    assert len(said(memory)) == 4


async def test_C18_an_agent_without_its_memory_still_answers(tmp_path: Path) -> None:
    opened = PrismMemory.open(tmp_path / "m", embedder=None)
    kept = PrismChatMemory.from_defaults(opened, ALICE)
    opened.close()
    agent = FunctionAgent(tools=[find_room], llm=ScriptedChat(rooms).llm)
    assert "no such hotel" in str(await agent.run(QUESTION, memory=kept))
    assert kept.last_failure is not None
    assert [message.role.value for message in kept.get_all()] == ["user", "assistant", "tool", "assistant"]


async def test_an_agent_uses_the_memory_as_tools_and_that_is_no_memory_itself(memory: PrismMemory) -> None:
    def script(messages: Sequence[ChatMessage]) -> ChatMessage:
        if messages[-1].role is MessageRole.TOOL:
            return assistant(knows(messages[-1:]))
        return call("recall_memory", "r1", query="hotel in Lisbon")

    kept = chat(memory, "s", budget=1)
    tools = [*PrismToolSpec(memory, ALICE).to_tool_list()]
    agent = FunctionAgent(tools=[*tools], llm=ScriptedChat(script).llm)
    assert str(await agent.run("Where do I stay?", memory=kept)) == "QX7-4411"
    assert said(memory) == ["user: Where do I stay?", "assistant: QX7-4411"]
    assert [message.role.value for message in kept.get_all()] == ["user", "assistant", "tool", "assistant"]
    assert chat(memory).get_all() == kept.get_all()
