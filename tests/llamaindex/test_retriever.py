from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Settings, VectorStoreIndex
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import Document, MetadataMode, QueryBundle
from llama_index.core.tools import RetrieverTool
from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

import prism_llamaindex
from prism_core import Event, Kind, PrismMemory, Retrieval, Source
from prism_core.errors import DimensionMismatchError, QueryError, ScopeError
from prism_core.testing import HashedEmbedder
from prism_llamaindex import PrismRetriever, remember_nodes
from prism_llamaindex.errors import UnsupportedFilterError
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


def dated(day: int, text: str, **metadata: Any) -> Event:
    return Event(observation=text, event_time=datetime(2026, 5, day, 9, tzinfo=UTC), metadata=metadata)


@pytest.fixture
def notes(memory: PrismMemory) -> PrismMemory:
    memory.write_many(
        [
            dated(1, "The red boat lies at berth 4.", page=1, colour="red"),
            dated(2, "The blue boat lies at berth 5.", page=2, colour="blue"),
            dated(3, "The green boat lies at berth 6.", page=3, colour="green"),
        ],
        scope=ALICE,
    )
    return memory


def colours(retriever: PrismRetriever) -> set[str]:
    return {str(scored.metadata["metadata"]["colour"]) for scored in retriever.retrieve("Where does the boat lie?")}


def only(key: str, value: Any, operator: str = "==") -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key=key, value=value, operator=FilterOperator(operator))])


def test_filters_restrict_the_answers_and_may_be_set_between_questions(notes: PrismMemory) -> None:
    retriever = PrismRetriever(notes, ALICE, filters=only("colour", "red"))
    assert colours(retriever) == {"red"}
    retriever.filters = only("page", 2, ">=")
    assert colours(retriever) == {"blue", "green"}
    retriever.filters = MetadataFilters(
        filters=[only("page", [1, 2], "in"), only("colour", "re", "text_match")], condition=FilterCondition.NOT
    )
    assert colours(retriever) == set()
    retriever.filters = None
    assert colours(retriever) == {"red", "blue", "green"}


def test_a_filter_that_cannot_work_is_refused_when_it_is_given(notes: PrismMemory) -> None:
    with pytest.raises(UnsupportedFilterError, match="list of values"):
        PrismRetriever(notes, ALICE, filters=only("page", 1, "in"))
    retriever = PrismRetriever(notes, ALICE)
    with pytest.raises(UnsupportedFilterError):
        retriever.filters = only("page", 1, "in")
    assert colours(retriever) == {"red", "blue", "green"}


def test_since_and_until_restrict_the_answers_to_a_time(notes: PrismMemory) -> None:
    second, third = (datetime(2026, 5, day, 9, tzinfo=UTC) for day in (2, 3))
    assert colours(PrismRetriever(notes, ALICE, since=second, until=third)) == {"blue"}
    retriever = PrismRetriever(notes, ALICE, since=second)
    assert colours(retriever) == {"blue", "green"}
    retriever.since = second.replace(tzinfo=None)
    with pytest.raises(QueryError, match="has no time zone"):
        retriever.retrieve("boat")


def test_session_and_task_restrict_the_answers(notes: PrismMemory) -> None:
    notes.write(Event(observation="The boat sails.", session_id="s1", task_id="t1"), scope=ALICE)
    for retriever in (PrismRetriever(notes, ALICE, session_id="s1"), PrismRetriever(notes, ALICE, task_id="t1")):
        assert [scored.text for scored in retriever.retrieve("boat")] == ["The boat sails."]


@pytest.fixture
def hashed(tmp_path: Path) -> Iterator[PrismMemory]:
    with PrismMemory.open(tmp_path / "hashed", embedder=HashedEmbedder()) as opened:
        opened.write_many(["gamma delta", "alpha beta", "epsilon zeta"], scope=ALICE)
        yield opened


def test_an_embedding_that_comes_with_the_question_is_searched_with(hashed: PrismMemory) -> None:
    retriever = PrismRetriever(hashed, ALICE, k=1)
    for wanted in ("alpha beta", "gamma delta"):
        vector = [7 * float(value) for value in HashedEmbedder().embed_query(wanted)]
        [scored] = retriever.retrieve(QueryBundle("something", embedding=vector))
        assert scored.text == wanted


def test_c7_an_embedding_of_another_model_is_refused_with_the_remedy(hashed: PrismMemory) -> None:
    with pytest.raises(DimensionMismatchError, match=r"1536 dimensions, 32 expected; use the embedder"):
        PrismRetriever(hashed, ALICE).retrieve(QueryBundle("alpha", embedding=[0.1] * 1536))
    assert len(PrismRetriever(hashed, ALICE).retrieve("alpha")) == 3


def test_c19_scores_order_best_first_and_confidence_is_on_one_scale(filled: PrismMemory) -> None:
    nodes = PrismRetriever(filled, ALICE, k=4).retrieve("the booking reference of the hotel")
    scores = [scored.get_score() for scored in nodes]
    assert scores == sorted(scores, reverse=True)
    assert nodes[0].metadata["confidence"] == "high"
    assert {scored.metadata["confidence"] for scored in nodes[1:]} <= {"low", "medium"}


@pytest.mark.parametrize("odd", ["7f3c9a1e-11d2-4b5e-9c3d-0a1b2c3d4e5f", "a@b.example/c d", 'NEAR("x") -y* ^z'])
def test_c24_odd_scopes_and_questions_are_only_text(memory: PrismMemory, odd: str) -> None:
    memory.write(f"The key {odd} is in the drawer.", scope=("acme", odd))
    [scored] = PrismRetriever(memory, ("acme", odd)).retrieve(f"Where is the key {odd}?")
    assert odd in scored.text


def test_the_names_llama_index_uses(notes: PrismMemory) -> None:
    retriever = PrismRetriever.from_defaults(notes, ALICE, similarity_top_k=2, filters=only("page", 3, "<"))
    assert (retriever.k, colours(retriever)) == (2, {"red", "blue"})
    assert PrismRetriever.from_defaults(notes, ALICE, budget=50).k is None


def test_from_documents_remembers_them(memory: PrismMemory) -> None:
    documents = [Document(text=text) for text in FACTS]
    retriever = PrismRetriever.from_documents(documents, ALICE, memory=memory, similarity_top_k=1)
    assert retriever.memory is memory
    assert retriever.retrieve("When does the conference start?")[0].text == FACTS[2]
    own = PrismRetriever.from_documents(documents, ALICE, embed_model=MockEmbedding(embed_dim=4), similarity_top_k=1)
    assert own.retrieve("When does the conference start?")[0].text == FACTS[2]
    assert own.memory.embedder is not None
    assert own.memory.embedder.dimension == 4
    own.memory.close()


# -- where LlamaIndex takes a retriever --------------------------------------------------------------------------------


def llm() -> ScriptedLLM:
    return ScriptedLLM(responder=reference_in)


QUESTION = "Under which reference is our hotel booked?"


@pytest.mark.parametrize("engine", [ContextChatEngine, CondensePlusContextChatEngine])
async def test_chat_engines_answer_from_memory(filled: PrismMemory, engine: Any) -> None:
    model = llm()
    # The default memory of one of them leaves a database connection open.
    history = ChatMemoryBuffer.from_defaults(token_limit=3000)
    chat = engine.from_defaults(retriever=PrismRetriever(filled, ALICE, k=2), llm=model, memory=history)
    assert str(chat.chat(QUESTION)) == "QX7-4411"
    assert "unit_id" not in model.prompts[-1]
    chat.reset()
    assert str(await chat.achat(QUESTION)) == "QX7-4411"
    assert chat.chat(QUESTION).source_nodes[0].text == FACTS[0]


async def test_as_a_tool(filled: PrismMemory) -> None:
    tool = RetrieverTool.from_defaults(PrismRetriever(filled, ALICE, k=1), name="recall", description="Looks it up.")
    for output in (tool.call(QUESTION), await tool.acall(QUESTION)):
        assert FACTS[0] in output.content
        assert "confidence" not in output.content


@pytest.mark.parametrize("mode", ["reciprocal_rerank", "relative_score", "simple"])
async def test_fused_with_another_retriever(filled: PrismMemory, mode: FUSION_MODES) -> None:
    index = VectorStoreIndex.from_documents(
        [Document(text="A hotel is a house.")], embed_model=MockEmbedding(embed_dim=4)
    )
    parts: list[BaseRetriever] = [PrismRetriever(filled, ALICE, k=2), index.as_retriever()]
    fusion = QueryFusionRetriever(parts, llm=llm(), mode=mode, num_queries=1, similarity_top_k=3, use_async=False)
    found = fusion.retrieve(QUESTION)
    assert {FACTS[0], "A hotel is a house."} <= {scored.get_content() for scored in found}
    assert len(await fusion.aretrieve(QUESTION)) == len(found) == 3


def test_a_summary_of_what_was_ingested_is_answered_by_a_query_engine(memory: PrismMemory) -> None:
    remember_nodes(memory, [Document(id_="mail", text=FACTS[0], metadata={"folder": "inbox"})], scope=ALICE)
    retriever = PrismRetriever(memory, ALICE, filters=only("folder", "inbox"))
    response = RetrieverQueryEngine.from_args(retriever, llm=llm()).query(QUESTION)
    assert str(response) == "QX7-4411"
    assert [scored.node.ref_doc_id for scored in response.source_nodes] == ["mail"]


def test_settings_are_never_asked_for_a_model(filled: PrismMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_llm", "_embed_model"):
        monkeypatch.setattr(Settings, name, None)
    PrismRetriever(filled, ALICE).retrieve(QUESTION)
    assert (Settings._llm, Settings._embed_model) == (None, None)
