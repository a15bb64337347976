from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import threading
from datetime import UTC, datetime

import pytest
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode, QueryBundle

import prism_llamaindex
from prism_core import Event, Kind, PrismMemory, Retrieval, Source
from prism_core.errors import QueryError, ScopeError
from prism_llamaindex import PrismRetriever
from tests.llamaindex.scripted import ScriptedLLM

ALICE = ("acme", "alice")
BOB = ("acme", "bob")
FACTS = (
    "The hotel in Lisbon confirmed the booking under reference QX7-4411.",
    "Alice prefers window seats on long flights.",
    "The conference starts on the 3rd of June in Lisbon.",
    "The museum is closed on Mondays.",
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


def reference_in(prompt: str) -> str:
    found = re.search(r"\b[A-Z]{2}\d-\d{4}\b", prompt)
    return found.group() if found else "I do not know."


def test_a_node_carries_the_unit_and_its_ranking_as_json(memory: PrismMemory) -> None:
    event = Event(
        observation="The visa costs 80 euros.",
        speaker="clerk",
        session_id="s1",
        event_time=datetime(2026, 5, 20, 9, 0, tzinfo=UTC),
        metadata={"page": 3},
    )
    receipt = memory.write(event, scope=ALICE)

    [scored] = PrismRetriever(memory, ALICE, k=1).retrieve("How much is the visa?")

    assert scored.node.node_id == receipt.unit_id
    assert scored.text == "clerk: The visa costs 80 euros."
    metadata = json.loads(json.dumps(scored.metadata))
    expected = {
        "unit_id": receipt.unit_id,
        "kind": "message",
        "speaker": "clerk",
        "session_id": "s1",
        "event_time": "2026-05-20T09:00:00Z",
        "metadata": {"page": 3},
        "score": scored.score,
    }
    assert expected.items() <= metadata.items()
    assert metadata["reason"]
    assert metadata["confidence"] in {"high", "medium", "low"}


def test_metadata_is_rendered_neither_for_the_model_nor_for_an_embedder(filled: PrismMemory) -> None:
    for scored in PrismRetriever(filled, ALICE, k=2).retrieve("hotel"):
        assert scored.node.get_content(MetadataMode.LLM) == scored.text
        assert scored.node.get_content(MetadataMode.EMBED) == scored.text


def test_nodes_come_in_the_order_of_the_search(filled: PrismMemory) -> None:
    question = "When does the conference start?"
    nodes = PrismRetriever(filled, ALICE, k=4).retrieve(question)
    assert [scored.node.node_id for scored in nodes] == [
        unit.id for unit in filled.search(question, scope=ALICE, k=4).units
    ]


def test_a_budget_limits_the_nodes(filled: PrismMemory) -> None:
    question = "the booking reference of the hotel"
    assert [scored.text for scored in PrismRetriever(filled, ALICE, budget=60).retrieve(question)] == [FACTS[0]]
    assert PrismRetriever(filled, ALICE, budget=5).retrieve(question) == []


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
    retriever = PrismRetriever(memory, ALICE, k=1)
    for city, offer in (("lyon", "HS-4471"), ("nice", "HV-2093")):
        steps = [step(city, "search_hotels", city, f"offer {offer}"), step(city, "weather", city, "sunny")]
        unit_id = memory.write_many(steps, scope=ALICE)[-1].unit_id or ""
        [scored] = PrismRetriever(memory, ALICE, k=1, active=[unit_id]).retrieve("book_hotel")
        assert offer in scored.text
        retriever.active = [unit_id]
        assert retriever.retrieve("book_hotel") == [scored]
        retriever.active = ()
        assert retriever.retrieve("book_hotel") != [scored]


def test_another_scope_is_never_returned(filled: PrismMemory) -> None:
    nodes = PrismRetriever(filled, BOB, k=5).retrieve("hotel booking reference in Lisbon")
    assert [scored.text for scored in nodes] == ["Bob's hotel in Porto has the reference ZZ9-0000."]


def test_an_empty_scope_and_an_unusable_k_are_refused(filled: PrismMemory) -> None:
    with pytest.raises(ScopeError):
        PrismRetriever(filled, ()).retrieve("hotel")
    with pytest.raises(QueryError, match="k=0"):
        PrismRetriever(filled, ALICE, k=0).retrieve("hotel")


def test_a_query_engine_answers_from_memory_and_shows_the_model_text_only(filled_chroma: PrismMemory) -> None:
    llm = ScriptedLLM(responder=reference_in)
    engine = RetrieverQueryEngine.from_args(PrismRetriever(filled_chroma, ALICE, k=3), llm=llm)

    response = engine.query("Under which reference is our hotel booked?")

    assert str(response) == "QX7-4411"
    [prompt] = llm.prompts
    assert FACTS[0] in prompt
    for scored in response.source_nodes:
        assert scored.node.node_id not in prompt
        assert not [key for key in scored.metadata if f"{key}:" in prompt]


async def test_a_query_engine_answers_asynchronously(filled_chroma: PrismMemory) -> None:
    engine = RetrieverQueryEngine.from_args(
        PrismRetriever(filled_chroma, BOB, k=3), llm=ScriptedLLM(responder=reference_in)
    )
    response = await engine.aquery("Under which reference is our hotel booked?")
    assert str(response) == "ZZ9-0000"


async def test_async_answers_the_same(filled: PrismMemory) -> None:
    retriever = PrismRetriever(filled, ALICE, k=3)
    question = QueryBundle("When does the conference start?")
    assert await retriever.aretrieve(question) == retriever.retrieve(question)


async def test_the_event_loop_runs_on_while_the_memory_is_searched(filled: PrismMemory) -> None:
    """The search waits for something only the loop can do; on the loop itself it would wait forever."""
    loop_ran = threading.Event()

    class WaitingMemory:
        def search(self, query: str, **arguments: object) -> Retrieval:
            assert loop_ran.wait(timeout=10)
            return filled.search(query, scope=ALICE)

    retriever = PrismRetriever(WaitingMemory(), ALICE)  # type: ignore[arg-type]
    retrieval = asyncio.create_task(retriever.aretrieve("hotel"))
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_soon(loop_ran.set)
    assert len(await retrieval) == len(FACTS)


def test_the_package_lists_its_names_and_refuses_others() -> None:
    assert {"PrismRetriever", "to_node"} <= set(dir(prism_llamaindex))
    with pytest.raises(AttributeError, match="PrismStroe"):
        prism_llamaindex.PrismStroe  # noqa: B018


def test_a_missing_extra_is_named() -> None:
    code = (
        "import sys\n"
        "sys.modules['llama_index'] = None\n"
        "import prism_core.errors, prism_llamaindex\n"
        "try:\n"
        "    prism_llamaindex.PrismRetriever\n"
        "except prism_core.errors.MissingExtraError as error:\n"
        "    print(error)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "llama-index-core is not installed; pip install 'prism-memory[llamaindex]'\n"


def test_a_budget_may_bring_an_excerpt_and_k_brings_the_whole_text(filled: PrismMemory) -> None:
    talk = "Then the guide spoke of other things that matter to nobody here. " * 20
    story = f"{talk}The old lighthouse keeper owned 41 geese. {talk}"
    filled.write(story, scope=ALICE)
    question = "How many geese did the lighthouse keeper own?"
    (found, *_) = PrismRetriever(filled, ALICE, budget=150).retrieve(question)
    assert "owned 41 geese" in found.text
    assert len(found.text) < len(story) / 3
    assert found.metadata["excerpt"] is True
    (whole,) = PrismRetriever(filled, ALICE, k=1).retrieve(question)
    assert (whole.text, whole.metadata["excerpt"]) == (story, False)
