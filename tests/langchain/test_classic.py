"""The classic memory behind chains and executors as LangChain runs them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_classic.agents import AgentExecutor, create_react_agent, create_tool_calling_agent
from langchain_classic.base_memory import BaseMemory
from langchain_classic.chains import ConversationChain, LLMChain
from langchain_classic.memory import CombinedMemory, ReadOnlySharedMemory
from langchain_core._api import LangChainDeprecationWarning
from langchain_core.agents import AgentAction
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_core.tools import tool
from pydantic import ValidationError

from prism_core import Kind, PrismMemory
from prism_core.errors import PrismError, QueryError
from prism_langchain import PrismChatMessageHistory, PrismConversationMemory
from tests.langchain.scripted import Responder, ScriptedChatModel, tool_call

ALICE = ("acme", "alice")
FACT = "The booking reference of the hotel in Lisbon is QX7-4411."
QUESTION = "What is the booking reference of our hotel in Lisbon?"


def answer(messages: list[BaseMessage]) -> AIMessage:
    """Says the reference it is shown, else that it does not know."""
    shown = "\n".join(message.text for message in messages)
    found = re.search(r"QX7-\d{4}", shown)
    return AIMessage(found.group() if found else "I do not know.")


def model_of(responder: Responder = answer) -> ScriptedChatModel:
    return ScriptedChatModel(responder=responder)


def conversation(memory: PrismMemory, session_id: str = "s", **fields: Any) -> PrismConversationMemory:
    return PrismConversationMemory(memory=memory, scope=ALICE, session_id=session_id, **fields)


def said(memory: PrismMemory, session_id: str = "s") -> list[str]:
    return [message.text for message in PrismChatMessageHistory(memory, scope=ALICE, session_id=session_id).messages]


@pytest.fixture
def quiet() -> Iterator[None]:
    """Lets the chains LangChain deprecates say so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LangChainDeprecationWarning)
        yield


# -- chains ----------------------------------------------------------------------------------------------------------


def test_a_conversation_chain_remembers(memory: PrismMemory, quiet: None) -> None:
    model = model_of()
    held = conversation(memory)
    chain = ConversationChain(llm=model, memory=held)
    assert chain.memory is held
    assert chain.invoke({"input": QUESTION})["response"] == "I do not know."
    chain.invoke({"input": FACT})
    assert chain.invoke({"input": QUESTION})["response"] == "QX7-4411"
    assert said(memory) == [QUESTION, "I do not know.", FACT, "QX7-4411", QUESTION, "QX7-4411"]
    prompt = model.seen[-1][-1].text
    assert f"Human: {FACT}\nAI: QX7-4411" in prompt


def test_another_conversation_recalls_what_was_said_in_this_one(memory: PrismMemory, quiet: None) -> None:
    ConversationChain(llm=model_of(), memory=conversation(memory, "monday")).invoke({"input": FACT})
    tuesday = ConversationChain(llm=model_of(), memory=conversation(memory, "tuesday"))
    assert tuesday.invoke({"input": QUESTION})["response"] == "QX7-4411"
    assert said(memory, "tuesday") == [QUESTION, "QX7-4411"]


def test_what_was_recalled_is_not_stored_again(memory: PrismMemory, quiet: None) -> None:
    ConversationChain(llm=model_of(), memory=conversation(memory, "monday")).invoke({"input": FACT})
    ConversationChain(llm=model_of(), memory=conversation(memory, "tuesday")).invoke({"input": QUESTION})
    assert sum(FACT in unit.text for unit in memory.units(scope=ALICE)) == 1


async def test_it_works_asynchronously_in_chains(memory: PrismMemory, quiet: None) -> None:
    chain = ConversationChain(llm=model_of(), memory=conversation(memory))
    await chain.ainvoke({"input": FACT})
    assert (await chain.ainvoke({"input": QUESTION}))["response"] == "QX7-4411"


def test_a_chain_of_ones_own_with_several_inputs(memory: PrismMemory, quiet: None) -> None:
    prompt = PromptTemplate.from_template("{past}\nIn {language}: {question}")
    held = conversation(memory, memory_key="past", input_key="question")
    chain = LLMChain(llm=model_of(), prompt=prompt, memory=held)
    chain.invoke({"question": FACT, "language": "English"})
    assert chain.invoke({"question": QUESTION, "language": "English"})["text"] == "QX7-4411"
    assert said(memory)[0] == FACT


def test_several_inputs_without_a_key_are_refused(memory: PrismMemory, quiet: None) -> None:
    prompt = PromptTemplate.from_template("{history} {question} {language}")
    chain = LLMChain(llm=model_of(), prompt=prompt, memory=conversation(memory))
    with pytest.raises(QueryError, match="language, question"):
        chain.invoke({"question": FACT, "language": "English"})


def test_messages_for_a_placeholder_end_in_the_block_and_hold_no_system_message(
    memory: PrismMemory, quiet: None
) -> None:
    memory.write(FACT, scope=ALICE)
    prompt = ChatPromptTemplate.from_messages(
        [("system", "Be brief."), MessagesPlaceholder("history"), ("human", "{input}")]
    )
    model = model_of()
    chain = LLMChain(llm=model, prompt=prompt, memory=conversation(memory, return_messages=True))
    chain.invoke({"input": "Hello."})
    assert chain.invoke({"input": QUESTION})["text"] == "QX7-4411"
    system, hello, reply, block, asked = model.seen[-1]
    assert [type(message) for message in (system, hello, reply, block, asked)] == [
        SystemMessage,
        HumanMessage,
        AIMessage,
        HumanMessage,
        HumanMessage,
    ]
    assert (hello.text, asked.text) == ("Hello.", QUESTION)
    assert FACT in block.text
    assert FACT not in system.text


def test_the_block_may_have_a_variable_of_its_own(memory: PrismMemory, quiet: None) -> None:
    memory.write(FACT, scope=ALICE)
    held = conversation(memory, memories_key="memories")
    assert held.memory_variables == ["history", "memories"]
    prompt = PromptTemplate.from_template("{history}|{memories}|{input}")
    chain = LLMChain(llm=model_of(), prompt=prompt, memory=held)
    assert chain.invoke({"input": QUESTION})["text"] == "QX7-4411"
    filled = held.load_memory_variables({"input": QUESTION})
    assert FACT in filled["memories"]
    assert FACT not in filled["history"]


def test_a_failing_chain_stores_nothing(memory: PrismMemory, quiet: None) -> None:
    def fail(messages: list[BaseMessage]) -> AIMessage:
        raise TimeoutError("no answer")

    chain = ConversationChain(llm=model_of(fail), memory=conversation(memory))
    with pytest.raises(TimeoutError):
        chain.invoke({"input": FACT})
    assert said(memory) == []


def test_it_combines_with_other_memories(memory: PrismMemory, quiet: None) -> None:
    combined = CombinedMemory(memories=[ReadOnlySharedMemory(memory=conversation(memory, input_key="input"))])
    chain = ConversationChain(llm=model_of(), memory=combined)
    chain.invoke({"input": FACT})
    assert said(memory) == []


# -- LCEL ------------------------------------------------------------------------------------------------------------


async def test_it_stands_in_an_lcel_chain(memory: PrismMemory) -> None:
    held = conversation(memory, return_messages=True)
    held.save_context({"input": FACT}, {"output": "Noted."})
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{input}")])
    chain = (
        RunnablePassthrough.assign(history=lambda given: held.load_memory_variables(given)["history"])
        | prompt
        | model_of()
    )
    assert chain.invoke({"input": QUESTION}).text == "QX7-4411"
    assert (await chain.ainvoke({"input": QUESTION})).text == "QX7-4411"


# -- executors -------------------------------------------------------------------------------------------------------


@tool
def find_booking(city: str) -> str:
    """Looks up the booking of a city."""
    return f"the reference in {city} is QX7-4411"


def look_up(messages: list[BaseMessage]) -> AIMessage:
    """Calls the tool, unless the reference is known."""
    known = answer(messages)
    return known if known.text.startswith("QX7") else tool_call("find_booking", city="Lisbon")


AGENT_PROMPT = ChatPromptTemplate.from_messages(
    [MessagesPlaceholder("history"), ("human", "{input}"), MessagesPlaceholder("agent_scratchpad")]
)


def executor(memory: PrismMemory, *, steps: bool = True, session_id: str = "s") -> AgentExecutor:
    agent = create_tool_calling_agent(model_of(look_up), [find_booking], AGENT_PROMPT)
    held = conversation(memory, session_id, return_messages=True)
    return AgentExecutor(agent=agent, tools=[find_booking], memory=held, return_intermediate_steps=steps)


def check_steps(memory: PrismMemory) -> None:
    asked, step, answered = memory.units(scope=ALICE)
    assert (asked.observation, answered.observation) == (QUESTION, "QX7-4411")
    assert (step.kind, step.action_type, step.session_id) == (Kind.STEP, "find_booking", "s")
    assert step.action == 'find_booking({"city": "Lisbon"})'
    assert step.observation == "the reference in Lisbon is QX7-4411"
    assert step.thought is None


def test_an_executor_remembers_its_steps(memory: PrismMemory) -> None:
    result = executor(memory).invoke({"input": QUESTION})
    assert (result["output"], len(result["intermediate_steps"])) == ("QX7-4411", 1)
    check_steps(memory)
    assert said(memory) == [QUESTION, "QX7-4411"]
    assert executor(memory, session_id="later").invoke({"input": QUESTION})["intermediate_steps"] == []


async def test_an_executor_remembers_its_steps_asynchronously(memory: PrismMemory) -> None:
    await executor(memory).ainvoke({"input": QUESTION})
    check_steps(memory)


def test_a_streaming_executor_remembers(memory: PrismMemory) -> None:
    assert list(executor(memory).stream({"input": QUESTION}))[-1]["output"] == "QX7-4411"
    check_steps(memory)


def test_without_returned_steps_input_and_output_are_remembered(memory: PrismMemory) -> None:
    executor(memory, steps=False).invoke({"input": QUESTION})
    assert [unit.observation for unit in memory.units(scope=ALICE)] == [QUESTION, "QX7-4411"]


def test_a_failing_executor_stores_nothing(memory: PrismMemory) -> None:
    @tool
    def find_booking(city: str) -> str:
        """Looks up the booking of a city."""
        raise ConnectionError("down")

    agent = create_tool_calling_agent(model_of(look_up), [find_booking], AGENT_PROMPT)
    held = conversation(memory, return_messages=True)
    with pytest.raises(ConnectionError):
        AgentExecutor(agent=agent, tools=[find_booking], memory=held).invoke({"input": QUESTION})
    assert memory.units(scope=ALICE) == []


def test_a_react_agents_thought_is_kept(memory: PrismMemory) -> None:
    def react(messages: list[BaseMessage]) -> AIMessage:
        if "Observation:" in messages[-1].text:
            return AIMessage("Thought: I know it.\nFinal Answer: QX7-4411")
        return AIMessage("Thought: The booking will say.\nAction: find_booking\nAction Input: Lisbon")

    prompt = PromptTemplate.from_template("{history}\n{tools} {tool_names}\nQuestion: {input}\n{agent_scratchpad}")
    agent = create_react_agent(model_of(react), [find_booking], prompt)
    ran = AgentExecutor(agent=agent, tools=[find_booking], memory=conversation(memory), return_intermediate_steps=True)
    ran.invoke({"input": "Where do we stay?"})
    step = memory.units(scope=ALICE)[1]
    assert (step.action, step.thought) == ("find_booking(Lisbon)", "The booking will say.")


# -- the interface ---------------------------------------------------------------------------------------------------


def test_the_window_counts_messages_and_what_is_in_it_is_not_recalled_twice(memory: PrismMemory) -> None:
    held = conversation(memory, window=2, return_messages=True)
    for number in range(3):
        held.save_context(
            {"input": f"Fact {number}: the ferry to Bergen has deck {number}."}, {"output": f"ok {number}"}
        )
    *recent, block = held.load_memory_variables({"input": "Which decks has the ferry to Bergen?"})["history"]
    assert [message.text for message in recent] == ["Fact 2: the ferry to Bergen has deck 2.", "ok 2"]
    assert "deck 0" in block.text
    assert "deck 2" not in block.text
    assert held.load_memory_variables({}) == {"history": recent}
    assert conversation(memory, window=0).load_memory_variables({}) == {"history": ""}
    assert conversation(memory, budget=None).load_memory_variables({"input": "ferry"})["history"].count("deck") == 3


def test_outputs_are_chosen_by_key_by_name_or_by_being_alone(memory: PrismMemory) -> None:
    held = conversation(memory)
    held.save_context({"input": "1", "stop": ["x"], "history": "h"}, {"output": "a", "source": "b"})
    held.save_context({"input": "2"}, {"text": "c", "messages": [], "intermediate_steps": []})
    conversation(memory, output_key="source").save_context({"input": "3"}, {"output": "d", "source": "e"})
    assert said(memory) == ["1", "a", "2", "c", "3", "e"]
    for outputs in ({"x": "1", "y": "2"}, {}):
        with pytest.raises(QueryError, match="output_key"):
            held.save_context({"input": "4"}, outputs)
    with pytest.raises(QueryError, match="none of the inputs: input"):
        conversation(memory, input_key="question").save_context({"input": "4"}, {"output": "a"})


def test_messages_and_other_values_may_be_saved(memory: PrismMemory) -> None:
    held = conversation(memory)
    given = [HumanMessage("Look it up.", id="h"), AIMessage("", tool_calls=tool_call("f", x=1).tool_calls)]
    replied = [ToolMessage("42", tool_call_id="call-f"), AIMessage("It is 42.", id="a")]
    held.save_context({"input": given}, {"output": replied})
    held.save_context({"input": {"q": [1, None]}}, {"output": 42})
    assert PrismChatMessageHistory(memory, scope=ALICE, session_id="s").messages[:4] == [*given, *replied]
    assert said(memory)[4:] == ['{"q": [1, null]}', "42"]


def test_steps_with_odd_arguments_and_results_are_kept(memory: PrismMemory) -> None:
    steps = [
        (AgentAction(tool="f", tool_input="plain", log=""), {"rows": [1, 2]}),
        (AgentAction(tool="g", tool_input={}, log="Invoking: `g` with `{}`"), ""),
    ]
    conversation(memory).save_context({"input": "x"}, {"output": "y", "intermediate_steps": steps})
    first, second = memory.units(scope=ALICE)[1:3]
    assert (first.action, first.observation) == ("f(plain)", '{"rows": [1, 2]}')
    assert (second.action, second.observation, second.thought) == ("g({})", "", None)


def test_a_question_of_book_length_is_looked_up_by_its_end(memory: PrismMemory) -> None:
    memory.write(FACT, scope=ALICE)
    filled = conversation(memory).load_memory_variables({"input": "word " * 10_000 + QUESTION})
    assert FACT in filled["history"]


async def test_clearing_erases_the_session_only(memory: PrismMemory) -> None:
    monday, tuesday = conversation(memory, "monday"), conversation(memory, "tuesday")
    monday.save_context({"input": "a"}, {"output": "b"})
    await tuesday.asave_context({"input": "c"}, {"output": "d"})
    monday.clear()
    assert [unit.observation for unit in memory.units(scope=ALICE)] == ["c", "d"]
    await tuesday.aclear()
    assert (await tuesday.aload_memory_variables({}))["history"] == ""


def test_C3_an_object_belongs_to_one_user_and_one_session(memory: PrismMemory) -> None:
    bob = PrismConversationMemory(memory=memory, scope="bob", session_id="s")
    conversation(memory).save_context({"input": FACT}, {"output": "ok"})
    assert bob.load_memory_variables({"input": QUESTION}) == {"history": ""}
    for missing in (
        {"scope": "bob"},
        {"session_id": "s"},
        {"scope": "", "session_id": "s"},
        {"scope": "b", "session_id": ""},
    ):
        with pytest.raises((ValidationError, PrismError)):
            PrismConversationMemory(memory=memory, **missing)  # type: ignore[arg-type]


def test_it_is_a_base_memory_that_says_it_cannot_be_serialised(memory: PrismMemory) -> None:
    held = conversation(memory)
    assert isinstance(held, BaseMemory)
    assert dumpd(held)["type"] == "not_implemented"
    assert "PrismMemory object" not in repr(held)
