from __future__ import annotations

import asyncio
import pickle
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import Document, ImageNode, IndexNode, MetadataMode, NodeWithScore, QueryBundle, TextNode
from pydantic import ValidationError

from prism_core import IntentQuery, MemoryUnit, PrismMemory, RankingOptions
from prism_core.testing import HashedEmbedder
from prism_llamaindex import ParetoPostprocessor, PrismRetriever
from tests.llamaindex.scripted import ScriptedLLM

ALICE = ("acme", "alice")
TEXTS = (
    "The museum is closed on Mondays.",
    "The booking reference of the hotel is QX7-4411.",
    "Alice prefers window seats.",
    "The conference starts on the 3rd of June.",
)
QUESTION = "What is the booking reference of the hotel?"


def nodes(*texts: str, scores: float | None = 0.5, **fields: Any) -> list[NodeWithScore]:
    return [
        NodeWithScore(node=TextNode(id_=f"n{place}", text=text, **fields), score=scores)
        for place, text in enumerate(texts or TEXTS)
    ]


@pytest.fixture
def processor() -> ParetoPostprocessor:
    return ParetoPostprocessor(embedder=HashedEmbedder(), top_n=2)


def test_the_node_that_answers_comes_first(processor: ParetoPostprocessor) -> None:
    given = nodes()
    found = processor.postprocess_nodes(given, query_str=QUESTION)
    assert found[0].node.node_id == "n1"
    assert len(found) == 2
    assert found[0].get_score() >= found[1].get_score()
    assert found[0].metadata["prism_front"] == 0
    assert found[0].metadata["prism_reason"]


async def test_async_answers_the_same_and_leaves_the_loop_free(processor: ParetoPostprocessor) -> None:
    question = QueryBundle(QUESTION)
    several = await asyncio.gather(*(processor.apostprocess_nodes(nodes(), question) for _ in range(3)))
    assert several == [processor.postprocess_nodes(nodes(), question)] * 3


def test_the_callers_nodes_are_not_changed(processor: ParetoPostprocessor) -> None:
    given = nodes(metadata={"file": "a.txt"}, excluded_llm_metadata_keys=["file"])
    before = [scored.model_copy(deep=True) for scored in given]
    found = processor.postprocess_nodes(given, query_str=QUESTION)
    assert given == before
    assert found[0].metadata["file"] == "a.txt"
    assert found[0].node.relationships == given[1].node.relationships


def test_what_is_noted_reaches_neither_prompts_nor_embeddings(processor: ParetoPostprocessor) -> None:
    given = nodes(metadata={"file": "a.txt"})
    twice = processor.postprocess_nodes(processor.postprocess_nodes(given, query_str=QUESTION), query_str=QUESTION)
    for scored in twice:
        original = next(each for each in given if each.node_id == scored.node_id)
        for mode in (MetadataMode.LLM, MetadataMode.EMBED):
            assert scored.node.get_content(mode) == original.node.get_content(mode)
        assert len(scored.node.excluded_llm_metadata_keys) == 3


def test_without_a_question_the_nodes_come_back_as_they_are(processor: ParetoPostprocessor) -> None:
    given = nodes()
    assert processor.postprocess_nodes(given) == given[:2]
    assert processor.postprocess_nodes(given, query_str=" ") == given[:2]
    assert processor.postprocess_nodes([], query_str=QUESTION) == []


def test_a_budget_skips_what_does_not_fit_and_repeats() -> None:
    long = "The booking reference of the hotel, as the hotel wrote about the booking reference. " * 30
    given = nodes(long, TEXTS[1], TEXTS[1].upper(), TEXTS[0])
    found = ParetoPostprocessor(embedder=None, budget=40).postprocess_nodes(given, query_str=QUESTION)
    assert [scored.node_id for scored in found] == ["n1", "n3"]


def test_the_retrievers_score_decides_between_equals_and_may_be_missing() -> None:
    first, second = nodes("The red door is open.", "The red door is shut.", scores=None)
    second.score = 0.9
    first.score = 0.1
    found = ParetoPostprocessor(embedder=None).postprocess_nodes([first, second], query_str="red door")
    assert [scored.node_id for scored in found] == ["n1", "n0"]
    assert len(ParetoPostprocessor(embedder=None).postprocess_nodes(nodes(scores=None), query_str="door")) == 4


def test_nodes_without_text_come_last_and_every_kind_of_node_is_taken() -> None:
    images = [NodeWithScore(node=ImageNode(image_url=f"https://example.com/{name}.png"), score=0.9) for name in "ab"]
    index_node = NodeWithScore(node=IndexNode(text=TEXTS[1], index_id="i", obj={"a": 1}))
    document = NodeWithScore(node=Document(text=TEXTS[0]))
    processor = ParetoPostprocessor(embedder=None)
    found = processor.postprocess_nodes([*images, document, index_node], query_str=QUESTION)
    assert [scored.node_id for scored in found] == [
        index_node.node_id,
        document.node_id,
        images[0].node_id,
        images[1].node_id,
    ]
    assert isinstance(found[0].node, IndexNode)
    assert found[0].node.obj == {"a": 1}
    assert found[2] is images[0]


@pytest.mark.parametrize("late", ["2026-05-20T09:00:00Z", datetime(2026, 5, 20, 9, tzinfo=UTC)])
def test_the_newer_wins_where_the_present_value_is_asked_for(late: Any) -> None:
    old, new = nodes("Alice lives in Rome.", "Alice lives in Oslo.")
    old.node.metadata["event_time"] = "2020-01-01T00:00:00Z"
    new.node.metadata["event_time"] = late
    for order in ([old, new], [new, old]):
        found = ParetoPostprocessor(embedder=None).postprocess_nodes(order, query_str="Where does Alice live now?")
        assert "Oslo" in found[0].text


@pytest.mark.parametrize("useless", ["yesterday", "2026-05-20T09:00:00", datetime(2026, 5, 20), 5, None])
def test_what_is_no_instant_is_no_time(useless: Any) -> None:
    [scored] = nodes("Alice lives in Rome.")
    scored.node.metadata["event_time"] = useless
    assert ParetoPostprocessor(embedder=None).postprocess_nodes([scored], query_str="Where does Alice live now?")


class Short:
    name = "short"

    def values(self, query: IntentQuery, units: Sequence[MemoryUnit]) -> Sequence[float]:
        return [1.0 if len(unit.text) < 30 else 0.0 for unit in units]


def test_objectives_of_your_own_take_part() -> None:
    ranking = RankingOptions(objectives=(Short(),))
    processor = ParetoPostprocessor(embedder=None, ranking=ranking)
    found = processor.postprocess_nodes(nodes(), query_str="inexpensive")
    assert found[0].text == TEXTS[2]
    assert found[0].metadata["prism_objectives"]["short"] == 1.0


def test_it_is_serialised_with_its_limits() -> None:
    processor = ParetoPostprocessor.from_defaults(top_n=3, budget=100, time_key="date")
    assert processor.to_dict()["class_name"] == "ParetoPostprocessor"
    for again in (
        ParetoPostprocessor.from_dict(processor.to_dict()),
        ParetoPostprocessor.from_json(processor.to_json()),
        pickle.loads(pickle.dumps(ParetoPostprocessor(top_n=3, budget=100, time_key="date", embedder=None))),
    ):
        assert (again.top_n, again.budget, again.time_key) == (3, 100, "date")
        assert again.postprocess_nodes(nodes(), query_str=QUESTION)[0].node_id == "n1"


@pytest.mark.parametrize("wrong", [{"top_n": 0}, {"budget": -1}])
def test_limits_are_checked_when_it_is_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ParetoPostprocessor(**wrong)


def test_a_model_of_llama_index_may_embed() -> None:
    processor = ParetoPostprocessor(embedder=MockEmbedding(embed_dim=4))
    assert processor.postprocess_nodes(nodes(), query_str=QUESTION)[0].node_id == "n1"


def test_in_the_query_engine_of_a_vector_store_index() -> None:
    index = VectorStoreIndex.from_documents(
        [Document(text=text, metadata={"file": "a.txt"}) for text in TEXTS], embed_model=MockEmbedding(embed_dim=4)
    )
    llm = ScriptedLLM(responder=lambda prompt: "QX7-4411" if "QX7-4411" in prompt else "unknown")
    engine = index.as_query_engine(
        llm=llm, similarity_top_k=4, node_postprocessors=[ParetoPostprocessor(embedder=None, top_n=1)]
    )
    response = engine.query(QUESTION)
    assert str(response) == "QX7-4411"
    [prompt] = llm.prompts
    assert "prism_" not in prompt
    assert TEXTS[0] not in prompt


async def test_behind_the_memorys_own_retriever(memory: PrismMemory) -> None:
    memory.write_many(TEXTS, scope=ALICE)
    engine = RetrieverQueryEngine.from_args(
        PrismRetriever(memory, ALICE, k=4),
        llm=ScriptedLLM(responder=lambda prompt: "QX7-4411" if "QX7-4411" in prompt else "unknown"),
        node_postprocessors=[ParetoPostprocessor(embedder=memory.embedder, top_n=1)],
    )
    response = await engine.aquery(QUESTION)
    assert (str(response), len(response.source_nodes)) == ("QX7-4411", 1)
