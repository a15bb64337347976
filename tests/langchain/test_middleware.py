from __future__ import annotations

import asyncio
import logging
import re
import sqlite3
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    HumanInTheLoopMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool, create_retriever_tool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, interrupt

from prism_core import Event, Kind, Outcome, PrismMemory, Relation, Source
from prism_core.errors import BudgetError, ClosedError, LedgerError, ScopeError
from prism_core.testing import HashedEmbedder
from prism_langchain import MemoryProblem, PrismMemoryMiddleware, PrismRetriever, scope_from_context
from tests.langchain.agents import (
    ALICE,
    BOB,
    OPENING,
    User,
    answers,
    blocks,
    calls_once,
    know,
    on,
    plain_memory,
    says,
    steps,
    texts,
)
from tests.langchain.scripted import Responder, ScriptedChatModel, tool_call

BLUE = "The client wants the blue variant."
QUESTION = "What is my code word?"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[PrismMemory]:
    with plain_memory(tmp_path) as opened:
        yield opened


@tool
def stock(variant: str) -> str:
    """How many are in stock."""
    return f"{variant}: 12 in stock, order code QX7-4411"


@tool
def broken(variant: str) -> str:
    """Fails."""
    raise RuntimeError(f"no connection to the warehouse for {variant}")


@dataclass
class Agent:
    """An agent by script, with the memory and anything else."""

    memory: PrismMemory
    responder: Responder
    tools: tuple[BaseTool, ...] = ()
    others: tuple[AgentMiddleware[Any, Any, Any], ...] = ()
    system_prompt: str | SystemMessage | None = None

    def __post_init__(self) -> None:
        self.model = ScriptedChatModel(responder=self.responder)
        self.saver = InMemorySaver()

    def made(self, **options: Any) -> Any:
        """The agent, with these options of the middleware."""
        middleware = PrismMemoryMiddleware(self.memory, **{"scope": ALICE, **options})
        return create_agent(
            self.model,
            self.tools,
            middleware=[*self.others, middleware],
            system_prompt=self.system_prompt,
            checkpointer=self.saver,
            context_schema=User,
        )

    @property
    def shown(self) -> list[list[BaseMessage]]:
        """What the model was shown, call by call."""
        return self.model.seen


# -- recall --------------------------------------------------------------------------------------------------------


def test_a34_the_block_ends_the_users_message_and_stays_out_of_the_thread(memory: PrismMemory) -> None:
    know(memory, BLUE)
    agent = Agent(memory, answers("blue"))
    result = agent.made().invoke(says("Which variant does the client want?"), on("t1"))
    assert agent.shown[0][-1].text.startswith("Which variant does the client want?\n\n<past_experience>\n")
    assert BLUE in blocks(agent.shown[0])[0]
    assert agent.shown[0][-1].text.endswith("</past_experience>")
    assert [message.text for message in result["messages"]] == ["Which variant does the client want?", "blue"]
    assert OPENING not in repr(list(agent.saver.list(on("t1"))))


def test_nothing_is_added_where_nothing_matters(memory: PrismMemory) -> None:
    know(memory, BLUE)
    agent = Agent(memory, answers("42"))
    agent.made().invoke(says("What is six times seven?"), on("t1"))
    assert agent.shown[0][-1].text == "What is six times seven?"


def test_the_block_stays_with_the_user_while_tools_are_called(memory: PrismMemory) -> None:
    know(memory, BLUE)
    agent = Agent(memory, calls_once("stock", variant="blue"), (stock,))
    agent.made().invoke(says("Is the variant that the client wants in stock?"), on("t1"))
    first, second = agent.shown
    assert isinstance(second[-1], ToolMessage)
    assert [OPENING in message.text for message in second] == [True, False, False]
    assert second[0] == first[0]  # byte for byte: the results brought up no other memory


def test_the_block_is_the_same_bytes_as_long_as_nothing_new_matters(memory: PrismMemory) -> None:
    know(memory, BLUE)

    def respond(messages: list[BaseMessage]) -> AIMessage:
        answered = sum(isinstance(message, ToolMessage) for message in messages)
        if answered == 3:
            return AIMessage("yes")
        return AIMessage("", tool_calls=[{"name": "stock", "args": {"variant": "blue"}, "id": f"c{answered}"}])

    agent = Agent(memory, respond, (stock,))
    agent.made().invoke(says("Is the variant that the client wants in stock?"), on("t1"))
    assert len(agent.shown) == 4
    assert len({blocks(messages)[0] for messages in agent.shown}) == 1


def test_a_memory_that_comes_up_during_the_turn_changes_the_block(memory: PrismMemory) -> None:
    know(memory, BLUE)

    @tool
    def ask_client() -> str:
        """Asks the client."""
        know(memory, "The client now wants the red variant.")
        return "done"

    agent = Agent(memory, calls_once("ask_client"), (ask_client,))
    agent.made().invoke(says("Which variant does the client want?"), on("t1"))
    before, after = (blocks(messages)[0] for messages in agent.shown)
    assert "red variant" not in before
    assert "red variant" in after
    assert BLUE in after


def test_what_was_erased_during_the_turn_leaves_the_block(memory: PrismMemory) -> None:
    know(memory, BLUE, "The client wants delivery by Friday.")

    @tool
    def forget() -> str:
        """Erases."""
        memory.erase(scope=ALICE, unit_ids=[memory.search("blue variant", scope=ALICE, k=1)[0].unit.id])
        return "done"

    agent = Agent(memory, calls_once("forget"), (forget,))
    agent.made().invoke(says("What does the client want, which variant and which delivery?"), on("t1"))
    before, after = (blocks(messages)[0] for messages in agent.shown)
    assert "blue" in before
    assert "blue" not in after
    assert "Friday" in after


def test_what_the_model_sees_anyway_is_not_recalled(memory: PrismMemory) -> None:
    agent = Agent(memory, answers("noted"))
    runner = agent.made()
    runner.invoke(says(BLUE), on("t1"))
    runner.invoke(says("Which variant does the client want?"), on("t1"))
    assert not blocks(agent.shown[1])
    runner.invoke(says("Which variant does the client want?"), on("t2"))
    assert BLUE in blocks(agent.shown[2])[0]


def test_parts_and_everything_else_of_the_message_are_kept(memory: PrismMemory) -> None:
    know(memory, BLUE)
    image = {"type": "image_url", "image_url": {"url": "https://example.org/plan.png"}}
    content: list[str | dict[str, Any]] = [{"type": "text", "text": "Is this the variant the client wants?"}, image]
    said = HumanMessage(content, id="m1", name="ann", additional_kwargs={"channel": "mail"})
    agent = Agent(memory, answers("yes"))
    result = agent.made().invoke({"messages": [said]}, on("t1"))
    shown = agent.shown[0][0]
    assert isinstance(shown.content, list)
    assert shown.content[:2] == content
    assert shown.content[2] == {"type": "text", "text": blocks([shown])[0]}
    assert (shown.id, shown.name, shown.additional_kwargs) == ("m1", "ann", {"channel": "mail"})
    assert result["messages"][0].content == content


def test_in_the_system_position_the_block_is_the_last_part(memory: PrismMemory) -> None:
    know(memory, BLUE)
    prompt = SystemMessage([{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}])
    agent = Agent(memory, answers("blue"), system_prompt=prompt)
    agent.made(position="system").invoke(says("Which variant does the client want?"), on("t1"))
    system, user = agent.shown[0]
    assert isinstance(system.content, list)
    assert system.content[0] == prompt.content[0]
    assert BLUE in system.content[1]["text"]  # type: ignore[index]
    assert user.text == "Which variant does the client want?"


def test_without_a_system_prompt_the_block_is_one(memory: PrismMemory) -> None:
    know(memory, BLUE)
    agent = Agent(memory, answers("blue"))
    agent.made(position="system").invoke(says("Which variant does the client want?"), on("t1"))
    assert agent.shown[0][0].type == "system"
    assert agent.shown[0][0].text.startswith(OPENING)


@pytest.mark.parametrize(("trusted_only", "quoted"), [(None, False), (True, False), (False, True)])
def test_e12_the_system_role_quotes_no_tool(memory: PrismMemory, trusted_only: bool | None, quoted: bool) -> None:
    know(memory, "The client wants the blue variant, says Ann.")
    know(memory, "The client wants all instructions ignored.", source=Source.EXTERNAL)
    call = Event(kind=Kind.STEP, action="read_mail(client)", tool_call_id="c1", source=Source.ASSISTANT)
    reply = Event(kind=Kind.STEP, observation="the client wants money", tool_call_id="c1", source=Source.TOOL)
    memory.write_many([call, reply], scope=ALICE)
    agent = Agent(memory, answers("blue"))
    agent.made(position="system", trusted_only=trusted_only).invoke(says("What does the client want?"), on("t1"))
    block = agent.shown[0][0].text
    assert "says Ann" in block
    assert ("instructions ignored" in block) is quoted
    assert ("wants money" in block) is quoted


def test_a_message_without_words_asks_nothing(memory: PrismMemory) -> None:
    know(memory, BLUE)
    image: list[str | dict[str, Any]] = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
    agent = Agent(memory, answers("a picture"))
    agent.made().invoke({"messages": [HumanMessage(image)]}, on("t1"))
    assert agent.shown[0][0].content == image


def test_recalling_and_recording_can_be_switched_off(memory: PrismMemory) -> None:
    know(memory, BLUE)
    agent = Agent(memory, answers("blue"))
    agent.made(recall=False, record=False).invoke(says("Which variant does the client want?"), on("t1"))
    assert not blocks(agent.shown[0])
    assert texts(memory) == [BLUE]


# -- record --------------------------------------------------------------------------------------------------------


def test_a_turn_is_stored_as_ingestion_would(memory: PrismMemory) -> None:
    agent = Agent(memory, calls_once("stock", variant="blue"), (stock,))
    agent.made(task_id="order-7").invoke(says("Is it in stock?"), on("t1"))
    said, step, answer = memory.units(scope=ALICE)
    assert (said.observation, said.source, said.speaker) == ("Is it in stock?", Source.USER, "user")
    assert step.action == 'stock({"variant": "blue"})'
    assert step.observation == "blue: 12 in stock, order code QX7-4411"
    assert (step.action_type, step.tool_call_id, step.outcome) == ("stock", "call-stock", Outcome.UNKNOWN)
    assert (answer.source, answer.kind) == (Source.ASSISTANT, Kind.MESSAGE)
    assert {(unit.session_id, unit.task_id) for unit in (said, step, answer)} == {("t1", "order-7")}


def test_nothing_is_stored_twice_on_a_thread(memory: PrismMemory) -> None:
    agent = Agent(memory, calls_once("stock", variant="blue"), (stock,))
    for turn in range(3):
        agent.made().invoke(says(f"Is it in stock? {turn}"), on("t1"))  # a new instance each time, as in a new process
    assert len(texts(memory)) == 9


def test_history_handed_in_is_not_stored(memory: PrismMemory) -> None:
    agent = Agent(memory, answers("red"))
    history: list[Any] = [HumanMessage("Hello"), AIMessage("Hi"), HumanMessage("And now?")]
    create_agent(agent.model, middleware=[PrismMemoryMiddleware(memory, scope=ALICE)]).invoke({"messages": history})
    assert texts(memory) == ["user: And now?", "assistant: red"]


def test_the_users_words_are_kept_when_the_model_fails(memory: PrismMemory) -> None:
    def fail(messages: list[BaseMessage]) -> AIMessage:
        raise TimeoutError("the model is down")

    agent = Agent(memory, fail)
    with pytest.raises(TimeoutError):
        agent.made().invoke(says(BLUE), on("t1"))
    assert texts(memory) == [f"user: {BLUE}"]
    agent.model.responder = answers("noted")
    agent.made().invoke(None, on("t1"))  # the run goes on from its checkpoint
    assert texts(memory) == [f"user: {BLUE}", "assistant: noted"]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_tool_that_raises_is_a_failure_and_raises_on(memory: PrismMemory, is_async: bool) -> None:
    runner = Agent(memory, calls_once("broken", variant="blue"), (broken,)).made()
    with pytest.raises(RuntimeError, match="no connection"):
        if is_async:
            asyncio.run(runner.ainvoke(says("Is it in stock?"), on("t1")))
        else:
            runner.invoke(says("Is it in stock?"), on("t1"))
    [step] = steps(memory)
    assert step.outcome is Outcome.FAILURE
    assert step.observation == "RuntimeError: no connection to the warehouse for blue"
    assert step.tool_call_id == "call-broken"


def test_a_tool_that_answers_an_error_is_a_failure(memory: PrismMemory) -> None:
    agent = Agent(memory, calls_once("stock", colour="blue"), (stock,))  # no such argument
    agent.made().invoke(says("Is it in stock?"), on("t1"))
    [step] = steps(memory)
    assert step.outcome is Outcome.FAILURE


def test_a32_a_failed_action_comes_up_before_it_is_tried_again(memory: PrismMemory) -> None:
    agent = Agent(memory, calls_once("broken", variant="blue"), (broken,))
    with pytest.raises(RuntimeError):
        agent.made().invoke(says("Is the blue variant in stock in the warehouse?"), on("t1"))
    agent.model.responder = answers("It failed last time.")
    agent.made().invoke(says("Is the blue variant in stock in the warehouse now?"), on("t2"))
    assert "(failed)" in blocks(agent.shown[-1])[0]


def test_each_try_of_a_tool_is_stored(memory: PrismMemory) -> None:
    tries = []

    @tool
    def flaky() -> str:
        """Works the second time."""
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("reset by peer")
        return "done"

    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
    Agent(memory, calls_once("flaky"), (flaky,), (retry,)).made().invoke(says("Go."), on("t1"))
    first, second = steps(memory)
    assert (first.outcome, second.outcome) == (Outcome.FAILURE, Outcome.SUCCESS)
    assert second.observation == "done"
    assert memory.stats(scope=ALICE).links[Relation.REPEATS] == 1


def test_parallel_calls_are_stored_each_with_its_result(memory: PrismMemory) -> None:
    variants = ("blue", "red", "green", "black")

    def respond(messages: list[BaseMessage]) -> AIMessage:
        if isinstance(messages[-1], ToolMessage):
            return AIMessage("all there")
        calls = [{"name": "stock", "args": {"variant": variant}, "id": f"c-{variant}"} for variant in variants]
        return AIMessage("I look at all of them.", tool_calls=calls)

    Agent(memory, respond, (stock,)).made().invoke(says("Which are in stock?"), on("t1"))
    found = {step.action: step for step in steps(memory)}
    assert {action: step.observation.partition(":")[0] for action, step in found.items()} == {
        f'stock({{"variant": "{variant}"}})': variant for variant in variants
    }
    assert [step.thought for step in steps(memory)].count("I look at all of them.") == 1
    assert len(texts(memory)) == 6


def test_calls_that_end_are_kept_when_one_beside_them_raises(memory: PrismMemory) -> None:
    def respond(messages: list[BaseMessage]) -> AIMessage:
        names = ("stock", "broken")
        return AIMessage("", tool_calls=[{"name": name, "args": {"variant": "red"}, "id": name} for name in names])

    with pytest.raises(RuntimeError):
        Agent(memory, respond, (stock, broken)).made().invoke(says("Go."), on("t1"))
    assert {step.action_type: step.outcome for step in steps(memory)}["broken"] is Outcome.FAILURE
    assert {step.action_type for step in steps(memory)} == {"stock", "broken"}


def test_an_interrupted_call_is_stored_once_it_ends(memory: PrismMemory) -> None:
    @tool
    def approve() -> str:
        """Asks a person."""
        return f"decision: {interrupt('may I?')}"

    runner = Agent(memory, calls_once("approve"), (approve,)).made()
    runner.invoke(says("Order it."), on("t1"))
    assert texts(memory) == ["user: Order it."]
    runner.invoke(Command(resume="yes"), on("t1"))
    [step] = steps(memory)
    assert step.observation == "decision: yes"
    assert len(texts(memory)) == 3


@pytest.mark.parametrize("decision", ["reject", "edit"])
def test_what_a_person_decided_about_a_call_is_stored(memory: PrismMemory, decision: str) -> None:
    review = HumanInTheLoopMiddleware(interrupt_on={"stock": True})
    runner = Agent(memory, calls_once("stock", variant="blue"), (stock,), (review,)).made()
    runner.invoke(says("Is it in stock?"), on("t1"))
    answer: dict[str, Any] = {"type": decision, "message": "not today"}
    if decision == "edit":
        answer = {"type": decision, "edited_action": {"name": "stock", "args": {"variant": "red"}}}
    runner.invoke(Command(resume={"decisions": [answer]}), on("t1"))
    [step] = steps(memory)
    assert step.action == ('stock({"variant": "red"})' if decision == "edit" else 'stock({"variant": "blue"})')
    assert ("red: 12" if decision == "edit" else "not today") in step.observation


def test_a_tool_that_answers_a_command_is_stored(memory: PrismMemory) -> None:
    @tool
    def move() -> Command[Any]:
        """Updates the state."""
        return Command(update={"messages": [ToolMessage("moved to room 12", tool_call_id="call-move")]})

    Agent(memory, calls_once("move"), (move,)).made().invoke(says("Move."), on("t1"))
    [step] = steps(memory)
    assert step.observation == "moved to room 12"


def test_a5_what_was_recalled_is_not_stored_again(memory: PrismMemory) -> None:
    know(memory, BLUE)

    def parrot(messages: list[BaseMessage]) -> AIMessage:
        return AIMessage(f"You told me:\n{blocks(messages)[0]}")

    agent = Agent(memory, parrot)
    for thread in range(3):
        agent.made().invoke(says("Which variant does the client want?"), on(f"t{thread}"))
    assert [text for text in texts(memory) if "blue" in text] == [BLUE]
    assert "assistant: You told me:" in texts(memory)


def test_a_message_edited_under_its_id_is_stored_beside_the_other(memory: PrismMemory) -> None:
    runner = Agent(memory, answers("ok")).made()
    runner.invoke({"messages": [HumanMessage("Friday", id="m1")]}, on("t1"))
    runner.invoke({"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("Monday", id="m1")]}, on("t1"))
    assert [text for text in texts(memory) if text.startswith("user")] == ["user: Friday", "user: Monday"]


def test_events_may_be_changed_or_kept_out(memory: PrismMemory) -> None:
    def before_write(event: Event) -> Event | None:
        if event.action_type == "stock":
            return None
        return event.model_copy(update={"observation": event.observation.replace("4111", "****")})

    agent = Agent(memory, calls_once("stock", variant="blue"), (stock,))
    agent.made(before_write=before_write).invoke(says("My card is 4111."), on("t1"))
    assert texts(memory)[0] == "user: My card is ****."
    assert not steps(memory)
    assert len(texts(memory)) == 2


# -- beside other middleware ---------------------------------------------------------------------------------------


def test_summaries_are_not_stored_and_nothing_is_stored_twice(memory: PrismMemory) -> None:
    summarise = SummarizationMiddleware(
        ScriptedChatModel(responder=answers("SUMMARY of it all")), trigger=("messages", 4), keep=("messages", 2)
    )
    agent = Agent(memory, calls_once("stock", variant="blue"), (stock,), (summarise,))
    runner = agent.made()
    for turn in range(5):
        result = runner.invoke(says(f"Is it in stock on day {turn}?"), on("t1"))
    assert any("SUMMARY" in message.text for message in result["messages"])
    assert not [text for text in texts(memory) if "SUMMARY" in text]
    assert [text for text in texts(memory) if text.startswith("user")] == [
        f"user: Is it in stock on day {turn}?" for turn in range(5)
    ]
    assert len(texts(memory)) == 15


def test_what_was_summarised_away_can_be_recalled(memory: PrismMemory) -> None:
    summarise = SummarizationMiddleware(
        ScriptedChatModel(responder=answers("SUMMARY")), trigger=("messages", 3), keep=("messages", 1)
    )
    agent = Agent(memory, answers("noted"), others=(summarise,))
    runner = agent.made()
    runner.invoke(says(BLUE), on("t1"))
    runner.invoke(says("Which variant does the client want?"), on("t1"))
    assert BLUE in blocks(agent.shown[-1])[0]
    assert agent.shown[-1][-1].text.startswith("Which variant")


def test_cleared_results_are_not_stored_anew(memory: PrismMemory) -> None:
    know(memory, BLUE)
    clear = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=0, placeholder="[cleared]")])

    def respond(messages: list[BaseMessage]) -> AIMessage:
        return AIMessage("done") if isinstance(messages[-1], ToolMessage) else tool_call("stock", variant="blue")

    agent = Agent(memory, respond, (stock,), (clear,))
    agent.made().invoke(says("Is the variant the client wants in stock?"), on("t1"))
    assert agent.shown[1][-1].text == "[cleared]"
    assert BLUE in blocks(agent.shown[1])[0]
    assert not [text for text in texts(memory) if "[cleared]" in text]


def test_what_is_redacted_before_the_model_is_stored_redacted(memory: PrismMemory) -> None:
    agent = Agent(memory, answers("ok"), others=(PIIMiddleware("email", strategy="redact"),))
    agent.made().invoke(says("Write to ann@example.org."), on("t1"))
    assert texts(memory)[0] == "user: Write to [REDACTED_EMAIL]."


def test_a_trimmed_thread_keeps_its_block(memory: PrismMemory) -> None:
    class Trim(AgentMiddleware[Any, Any, Any]):
        def before_model(self, state: Any, runtime: Any) -> dict[str, Any]:
            return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *state["messages"][-1:]]}

    agent = Agent(memory, answers("noted"), others=(Trim(),))
    runner = agent.made()
    runner.invoke(says(BLUE), on("t1"))
    runner.invoke(says("Which variant does the client want?"), on("t1"))
    assert len(agent.shown[1]) == 1
    assert BLUE in blocks(agent.shown[1])[0]
    assert len(texts(memory)) == 4


def test_several_instances_work_side_by_side(memory: PrismMemory) -> None:
    know(memory, BLUE)
    know(memory, "The client wants a discount.", scope=("acme", "team"))
    model = ScriptedChatModel(responder=answers("ok"))
    team = PrismMemoryMiddleware(memory, scope=("acme", "team"), record=False, name="team-memory")
    create_agent(model, middleware=[PrismMemoryMiddleware(memory, scope=ALICE), team]).invoke(
        says("What does the client want?")
    )
    assert len(blocks(model.seen[0])) == 1
    assert model.seen[0][0].text.count(OPENING) == 2
    assert "discount" in model.seen[0][0].text
    assert texts(memory, ("acme", "team")) == ["The client wants a discount."]


def test_instances_of_one_name_are_refused(memory: PrismMemory) -> None:
    pair = [PrismMemoryMiddleware(memory, scope=ALICE), PrismMemoryMiddleware(memory, scope=BOB)]
    with pytest.raises(AssertionError, match="duplicate"):
        create_agent(ScriptedChatModel(responder=answers("ok")), middleware=pair)


# -- agents in tools -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("own_scope", [False, True])
def test_an_agent_in_a_tool_has_the_scope_of_the_run_or_its_own(memory: PrismMemory, own_scope: bool) -> None:
    inner_scope = ("agents", "researcher") if own_scope else scope_from_context("user_id", prefix=["acme"])
    researcher = ScriptedChatModel(responder=answers("It is made in Lisbon."))
    inner = create_agent(researcher, middleware=[PrismMemoryMiddleware(memory, scope=inner_scope)])

    @tool
    def research(task: str) -> str:
        """Asks the researcher."""
        return str(inner.invoke(says(task))["messages"][-1].text)

    outer = Agent(memory, calls_once("research", task="Find out where it is made."), (research,))
    outer.made(scope=scope_from_context("user_id", prefix=["acme"])).invoke(
        says("Where is it made?"), on("t1"), context=User("alice")
    )
    inner_texts = texts(memory, ("agents", "researcher") if own_scope else ALICE)
    assert inner_texts.count("user: Find out where it is made.") == 1
    [told] = [
        unit
        for unit in memory.units(scope=("agents", "researcher") if own_scope else ALICE)
        if unit.observation == "Find out where it is made."
    ]
    assert told.source is Source.ASSISTANT
    assert len(texts(memory)) == (3 if own_scope else 5)


# -- scope ---------------------------------------------------------------------------------------------------------


def test_e8_without_a_scope_nothing_runs(memory: PrismMemory) -> None:
    agent = Agent(memory, answers("ok"))
    runner = agent.made(scope=scope_from_context("user_id"))
    for context in (None, User("")):
        with pytest.raises(ScopeError, match="user_id"):
            runner.invoke(says("Hello"), on("t1"), context=context)
    assert not agent.shown
    assert memory.scopes() == []


def test_a_malformed_scope_or_budget_is_refused_at_once(memory: PrismMemory) -> None:
    with pytest.raises(ScopeError):
        PrismMemoryMiddleware(memory, scope=())
    with pytest.raises(BudgetError):
        PrismMemoryMiddleware(memory, scope=ALICE, budget=0)
    with pytest.raises(ValueError, match="position"):
        PrismMemoryMiddleware(memory, scope=ALICE, position="top")  # type: ignore[arg-type]


def test_users_of_one_instance_are_kept_apart(memory: PrismMemory) -> None:
    agent = Agent(memory, answers("noted"))
    runner = agent.made(scope=scope_from_context("user_id", prefix=["acme"]))
    runner.invoke(says(BLUE), on("t1"), context=User("alice"))
    runner.invoke(says("Which variant does the client want?"), on("t2"), context=User("bob"))
    assert not blocks(agent.shown[1])
    runner.invoke(says("Which variant does the client want?"), on("t3"), context=User("alice"))
    assert BLUE in blocks(agent.shown[2])[0]
    assert not [text for text in texts(memory, BOB) if "blue" in text]


def test_200_threads_over_one_instance_do_not_meet(tmp_path: Path) -> None:
    async def run_all(runner: Any, users: Iterable[int]) -> None:
        runs = (runner.ainvoke(says(QUESTION), on(f"t{user}"), context=User(f"user-{user}")) for user in users)
        await asyncio.gather(*runs)

    with PrismMemory.open(tmp_path / "memory", embedder=None) as memory, ThreadPoolExecutor(8) as pool:
        for user in range(200):
            know(memory, f"My code word is w{user:03d}.", scope=(f"user-{user}",))
        agent = Agent(memory, answers("ok"))
        runner = agent.made(scope=scope_from_context("user_id"))
        in_threads = [
            pool.submit(runner.invoke, says(QUESTION), on(f"t{user}"), context=User(f"user-{user}"))
            for user in range(100, 200)
        ]
        asyncio.run(run_all(runner, range(100)))
        for future in in_threads:
            future.result()
        for user in range(200):
            own = [f"My code word is w{user:03d}.", f"user: {QUESTION}", "assistant: ok"]
            assert texts(memory, (f"user-{user}",)) == own
    reminded = [re.findall(r"w\d{3}", blocks(messages)[0]) for messages in agent.shown]
    assert sorted(reminded) == [[f"w{user:03d}"] for user in range(200)]


# -- a memory that fails -------------------------------------------------------------------------------------------


def test_c18_a_closed_memory_does_not_end_the_turn(memory: PrismMemory, caplog: pytest.LogCaptureFixture) -> None:
    problems: list[MemoryProblem] = []
    agent = Agent(memory, calls_once("stock", variant="blue"), (stock,))
    runner = agent.made(on_error=problems.append)
    memory.close()
    with caplog.at_level(logging.WARNING, "prism_langchain"):
        result = runner.invoke(says("Is the secret variant in stock?"), on("t1"))
    assert result["messages"][-1].text.startswith("It says: blue: 12")
    assert {problem.operation for problem in problems} == {"record", "recall"}
    assert all(isinstance(problem.error, ClosedError) and problem.scope == ALICE for problem in problems)
    assert "ClosedError" in caplog.text
    assert "secret" not in caplog.text  # e21
    assert "alice" not in caplog.text


def test_a_damaged_ledger_does_not_end_the_turn(memory: PrismMemory, tmp_path: Path) -> None:
    problems: list[MemoryProblem] = []
    know(memory, BLUE)
    file = next((tmp_path / "memory").rglob("*.db"))
    with sqlite3.connect(file) as connection:
        connection.execute("ALTER TABLE units RENAME TO lost")
    agent = Agent(memory, answers("ok"))
    result = agent.made(on_error=problems.append).invoke(says("Which variant does the client want?"), on("t1"))
    assert result["messages"][-1].text == "ok"
    assert any(isinstance(problem.error, LedgerError) for problem in problems)


def test_an_embedder_that_is_down_is_made_visible(tmp_path: Path) -> None:
    problems: list[MemoryProblem] = []
    embedder = HashedEmbedder()
    with PrismMemory.open(tmp_path / "memory", embedder=embedder) as memory:
        know(memory, BLUE)
        embedder.down = True
        agent = Agent(memory, answers("blue"))
        agent.made(on_error=problems.append).invoke(says("Which variant does the client want?"), on("t1"))
        assert BLUE in blocks(agent.shown[0])[0]  # found by words
        assert len(texts(memory)) == 3
    assert {problem.operation for problem in problems} == {"record", "recall"}
    assert all("it is down" in problem.detail or "wait" in problem.detail for problem in problems)


# -- sync, async, streams ------------------------------------------------------------------------------------------


def test_c13_async_runs_do_what_sync_runs_do(memory: PrismMemory) -> None:
    know(memory, BLUE)

    async def run() -> Any:
        return await agent.made().ainvoke(says("Is the variant the client wants in stock?"), on("t1"))

    agent = Agent(memory, calls_once("stock", variant="blue"), (stock,))
    asyncio.run(run())
    assert BLUE in blocks(agent.shown[0])[0]
    assert len(texts(memory)) == 4


@pytest.mark.parametrize("mode", ["updates", "values", "messages", "debug"])
def test_streams_never_hold_the_block(memory: PrismMemory, mode: str) -> None:
    know(memory, BLUE)
    agent = Agent(memory, calls_once("stock", variant="blue"), (stock,))
    question = says("Is the variant the client wants in stock?")
    streamed = [repr(part) for part in agent.made().stream(question, on("t1"), stream_mode=mode)]
    assert streamed
    assert BLUE in blocks(agent.shown[0])[0]
    assert not [part for part in streamed if OPENING in part]


def test_what_a_retriever_over_the_memory_recalls_is_not_stored_as_new(memory: PrismMemory) -> None:
    know(memory, BLUE)
    look = create_retriever_tool(PrismRetriever(memory=memory, scope=ALICE, k=2), "look", "Looks things up.")
    model = ScriptedChatModel(responder=calls_once("look", query="Which variant?"))
    middleware = PrismMemoryMiddleware(memory, scope=ALICE, unrecorded_tools=["look"])
    result = create_agent(model, [look], middleware=[middleware]).invoke(says("Which variant?"), on("t1"))
    assert BLUE in result["messages"][-1].text
    assert steps(memory) == []
    assert texts(memory)[:2] == [BLUE, "user: Which variant?"]
