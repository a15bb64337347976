from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import create_retriever_tool
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

import prism_langchain
from prism_core import Event, Kind, PrismMemory, Source
from prism_core.errors import QueryError, ScopeError
from prism_langchain import PrismRetriever
from tests.langchain.scripted import ScriptedChatModel, tool_call

ALICE = ("acme", "alice")
BOB = ("acme", "bob")
FACTS = (
    "The hotel in Lisbon confirmed the booking under reference QX7-4411.",
    "Alice prefers window seats on long flights.",
    "The conference starts on the 3rd of June in Lisbon.",
    "The museum is closed on Mondays.",
    "The return flight leaves at 18:40 from terminal 2.",
)


def fill(memory: PrismMemory) -> PrismMemory:
    memory.write_many(FACTS, scope=ALICE)
    memory.write("Bob's hotel in Porto has the reference ZZ9-0000.", scope=BOB)
    memory.flush()
    return memory


@pytest.fixture
def filled(memory: PrismMemory) -> PrismMemory:
    return fill(memory)


@pytest.fixture
def filled_chroma(chroma_memory: PrismMemory) -> PrismMemory:
    return fill(chroma_memory)


class TestStandard(RetrieversIntegrationTests):
    """LangChain's own suite for retrievers, unchanged."""

    @pytest.fixture(autouse=True)
    def _attach(self, filled: PrismMemory) -> None:
        self.memory = filled

    @property
    def retriever_constructor(self) -> type[PrismRetriever]:
        return PrismRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.memory, "scope": ALICE}

    @property
    def retriever_query_example(self) -> str:
        return "What is the booking reference of the hotel in Lisbon?"


def test_a_document_carries_the_unit_and_its_ranking_as_json(memory: PrismMemory) -> None:
    event = Event(
        observation="The visa costs 80 euros.",
        speaker="clerk",
        session_id="s1",
        task_id="visa",
        event_time=datetime(2026, 5, 20, 9, 0, tzinfo=UTC),
        metadata={"page": 3},
    )
    receipt = memory.write(event, scope=ALICE)

    [document] = PrismRetriever(memory=memory, scope=ALICE, k=1).invoke("How much is the visa?")

    assert document.id == receipt.unit_id
    assert document.page_content == "clerk: The visa costs 80 euros."
    metadata = json.loads(json.dumps(document.metadata))
    expected = {
        "unit_id": receipt.unit_id,
        "kind": "message",
        "source": "user",
        "speaker": "clerk",
        "session_id": "s1",
        "task_id": "visa",
        "event_time": "2026-05-20T09:00:00Z",
        "metadata": {"page": 3},
    }
    assert expected.items() <= metadata.items()
    assert metadata["reason"]
    assert metadata["confidence"] in {"high", "medium", "low"}
    assert isinstance(metadata["score"], float)
    assert isinstance(metadata["front"], int | None)


def test_documents_come_in_the_order_of_the_search(filled: PrismMemory) -> None:
    question = "Which flight leaves from which terminal?"
    documents = PrismRetriever(memory=filled, scope=ALICE, k=4).invoke(question)
    assert [document.id for document in documents] == [
        unit.id for unit in filled.search(question, scope=ALICE, k=4).units
    ]
    assert "terminal 2" in documents[0].page_content


def test_a_call_may_override_k_and_budget(filled: PrismMemory) -> None:
    retriever = PrismRetriever(memory=filled, scope=ALICE, k=4)
    question = "the booking reference of the hotel"
    assert len(retriever.invoke(question, k=2)) == 2
    assert [document.page_content for document in retriever.invoke(question, budget=60)] == [FACTS[0]]
    assert retriever.invoke(question, budget=5) == []


async def test_async_answers_the_same_and_takes_the_same_arguments(filled: PrismMemory) -> None:
    retriever = PrismRetriever(memory=filled, scope=ALICE, k=3)
    question = "When does the conference start?"
    assert await retriever.ainvoke(question) == retriever.invoke(question)
    assert await retriever.ainvoke(question, k=1) == retriever.invoke(question, k=1)
    active = [document.id for document in retriever.invoke("museum", k=1) if document.id]
    assert await retriever.ainvoke(question, active=active) == retriever.invoke(question, active=active)


def step(task: str, action_type: str, argument: str, observation: str) -> Event:
    action = f"{action_type}({json.dumps(argument)})"
    return Event(
        kind=Kind.STEP,
        task_id=task,
        action=action,
        action_type=action_type,
        observation=observation,
        source=Source.ASSISTANT,
    )


def test_the_active_units_say_which_values_the_next_action_needs(memory: PrismMemory) -> None:
    memory.write(step("rome", "book_hotel", "HP-1046", "booked"), scope=ALICE)
    latest: dict[str, str] = {}
    for city, offer in (("lyon", "HS-4471"), ("nice", "HV-2093")):
        steps = [step(city, "search_hotels", city, f"offer {offer}"), step(city, "weather", city, "sunny")]
        latest[offer] = memory.write_many(steps, scope=ALICE)[-1].unit_id or ""
    retriever = PrismRetriever(memory=memory, scope=ALICE, k=1)
    for offer, unit_id in latest.items():
        [document] = retriever.invoke("book_hotel", active=[unit_id])
        assert offer in document.page_content
        fixed = PrismRetriever(memory=memory, scope=ALICE, k=1, active=[unit_id])
        assert fixed.invoke("book_hotel") == [document]
        assert fixed.invoke("book_hotel", active=[]) == retriever.invoke("book_hotel") != [document]


def test_a_session_restricts_the_answers(memory: PrismMemory) -> None:
    for session in ("monday", "tuesday"):
        memory.write(Event(observation=f"We chose the {session} train.", session_id=session), scope=ALICE)
    documents = PrismRetriever(memory=memory, scope=ALICE, session_id="tuesday").invoke("Which train did we choose?")
    assert [document.metadata["session_id"] for document in documents] == ["tuesday"]


def test_another_scope_is_never_returned(filled: PrismMemory) -> None:
    documents = PrismRetriever(memory=filled, scope=BOB, k=5).invoke("hotel booking reference in Lisbon")
    assert [document.page_content for document in documents] == ["Bob's hotel in Porto has the reference ZZ9-0000."]


def test_a_missing_or_empty_scope_is_refused(filled: PrismMemory) -> None:
    with pytest.raises(ValidationError, match="scope"):
        PrismRetriever(memory=filled)  # type: ignore[call-arg]
    with pytest.raises(ScopeError):
        PrismRetriever(memory=filled, scope=()).invoke("hotel")


def test_an_unusable_k_is_reported(filled: PrismMemory) -> None:
    with pytest.raises(QueryError, match="k=0"):
        PrismRetriever(memory=filled, scope=ALICE, k=0).invoke("hotel")


def look_up_then_answer(messages: list[BaseMessage]) -> AIMessage:
    """Calls the recall tool, then answers with the booking reference the tool handed back, if any."""
    last = messages[-1]
    if not isinstance(last, ToolMessage):
        return tool_call("recall", query=last.text)
    reference = re.search(r"\b[A-Z]{2}\d-\d{4}\b", last.text)
    return AIMessage(reference.group() if reference else "I do not know.")


def agent_over(memory: PrismMemory, scope: tuple[str, ...], model: ScriptedChatModel) -> Any:
    retriever = PrismRetriever(memory=memory, scope=scope, k=3)
    recall = create_retriever_tool(retriever, "recall", "Looks up what happened earlier.")
    return create_agent(model, tools=[recall])


def test_an_agent_answers_from_memory(filled_chroma: PrismMemory) -> None:
    model = ScriptedChatModel(responder=look_up_then_answer)
    agent = agent_over(filled_chroma, ALICE, model)
    question = "Under which reference is our hotel booked?"

    state = agent.invoke({"messages": [HumanMessage(question)]})

    assert state["messages"][-1].text == "QX7-4411"
    assert model.tools == ["recall"]
    assert [message.text for message in model.seen[0]] == [question]
    assert FACTS[0] in model.seen[1][-1].text


async def test_an_agent_answers_from_memory_asynchronously(filled_chroma: PrismMemory) -> None:
    agent = agent_over(filled_chroma, BOB, ScriptedChatModel(responder=look_up_then_answer))
    state = await agent.ainvoke({"messages": [HumanMessage("Under which reference is our hotel booked?")]})
    assert state["messages"][-1].text == "ZZ9-0000"


def test_an_agent_without_the_memory_does_not_know(memory: PrismMemory) -> None:
    agent = agent_over(memory, ALICE, ScriptedChatModel(responder=look_up_then_answer))
    state = agent.invoke({"messages": [HumanMessage("Under which reference is our hotel booked?")]})
    assert state["messages"][-1].text == "I do not know."


def test_the_package_lists_its_names_and_refuses_others() -> None:
    assert {"PrismRetriever", "to_document"} <= set(dir(prism_langchain))
    with pytest.raises(AttributeError, match="PrismStroe"):
        prism_langchain.PrismStroe  # noqa: B018


def test_a_missing_extra_is_named() -> None:
    code = (
        "import sys\n"
        "sys.modules['langchain_core'] = None\n"
        "import prism_core.errors, prism_langchain\n"
        "try:\n"
        "    prism_langchain.PrismRetriever\n"
        "except prism_core.errors.MissingExtraError as error:\n"
        "    print(error)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "langchain-core is not installed; pip install 'prism-memory[langchain]'\n"


def test_a_budget_may_bring_an_excerpt_and_k_brings_the_whole_text(filled: PrismMemory) -> None:
    talk = "Then the guide spoke of other things that matter to nobody here. " * 20
    story = f"{talk}The old lighthouse keeper owned 41 geese. {talk}"
    filled.write(story, scope=ALICE)
    question = "How many geese did the lighthouse keeper own?"
    (found, *_) = PrismRetriever(memory=filled, scope=ALICE, budget=150).invoke(question)
    assert "owned 41 geese" in found.page_content
    assert len(found.page_content) < len(story) / 3
    assert found.metadata["excerpt"] is True
    (whole,) = PrismRetriever(memory=filled, scope=ALICE, k=1).invoke(question)
    assert (whole.page_content, whole.metadata["excerpt"]) == (story, False)
