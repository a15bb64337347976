from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.node_parser import HierarchicalNodeParser, SentenceSplitter
from llama_index.core.schema import (
    BaseNode,
    Document,
    ImageDocument,
    ImageNode,
    IndexNode,
    MediaResource,
    Node,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters

from prism_core import Kind, PrismMemory, Receipt, ReceiptStatus, Relation, Source
from prism_core.errors import InvalidEventError, NaiveDatetimeError, ScopeError
from prism_core.testing import CountingIds, HashedEmbedder, ScriptedClock
from prism_llamaindex import PrismIngestion, PrismRetriever, forget_nodes, remember_nodes
from prism_llamaindex.errors import DetachedError

ALICE = ("acme", "alice")
BOB = ("acme", "bob")
PARAGRAPHS = (
    "The harbour office opens at nine in the morning on every working day of the week.",
    "Boats longer than twelve metres need a permit from the harbour master before mooring.",
    "The fee for a night at the northern pier is forty euros, water included.",
)
MANUAL = Document(id_="manual", text=" ".join(PARAGRAPHS), metadata={"file_name": "manual.txt", "page": 3})


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[PrismMemory]:
    with PrismMemory.open(tmp_path / "memory", embedder=None, clock=ScriptedClock(), new_id=CountingIds()) as opened:
        yield opened


def split(*documents: Document) -> list[BaseNode]:
    """Chunks with new random ids, as at every run of a pipeline."""
    return SentenceSplitter(chunk_size=40, chunk_overlap=0).get_nodes_from_documents(documents)


def changed(text: str) -> Document:
    return Document(id_="manual", text=text, metadata=MANUAL.metadata)


def texts(memory: PrismMemory) -> list[str]:
    return [unit.text for unit in memory.units(scope=ALICE)]


def statuses(receipts: list[Receipt]) -> list[ReceiptStatus]:
    return [receipt.status for receipt in receipts]


def test_chunks_become_documents_of_their_source_in_order(memory: PrismMemory) -> None:
    chunks = split(MANUAL)
    receipts = remember_nodes(memory, chunks, scope=ALICE)
    units = memory.units(scope=ALICE)
    assert statuses(receipts) == [ReceiptStatus.STORED] * 3
    assert [receipt.unit_id for receipt in receipts] == [unit.id for unit in units]
    assert [unit.text for unit in units] == list(PARAGRAPHS)
    first = units[0]
    assert (first.kind, first.source, first.session_id) == (Kind.DOCUMENT, Source.EXTERNAL, "manual")
    assert {"file_name": "manual.txt", "page": 3}.items() <= first.metadata.items()
    record = first.metadata["llama_index"]
    assert isinstance(record, dict)
    assert (record["node_id"], record["source_id"], record["start_char_idx"]) == (chunks[0].node_id, "manual", 0)
    follows = [(link.source, link.target) for link in memory.links(scope=ALICE) if link.relation is Relation.FOLLOWS]
    assert follows == [(units[0].id, units[1].id), (units[1].id, units[2].id)]


def test_previous_nodes_come_first_whatever_the_order_given(memory: PrismMemory) -> None:
    chunks = split(MANUAL)
    receipts = remember_nodes(memory, chunks[::-1], scope=ALICE)
    assert texts(memory) == list(PARAGRAPHS)
    assert [memory.get(str(receipt.unit_id), scope=ALICE).text for receipt in receipts] == list(PARAGRAPHS[::-1])


def test_a_retrieved_chunk_names_its_document(memory: PrismMemory) -> None:
    remember_nodes(memory, split(MANUAL), scope=ALICE)
    [scored] = PrismRetriever(memory, ALICE, k=1).retrieve("fee for a night at the pier")
    assert (scored.text, scored.node.ref_doc_id) == (PARAGRAPHS[2], "manual")


def test_again_is_a_duplicate_and_writes_nothing(memory: PrismMemory) -> None:
    before = remember_nodes(memory, split(MANUAL), scope=ALICE)
    position = memory.stats(ALICE).position
    again = remember_nodes(memory, split(MANUAL), scope=ALICE)
    assert statuses(again) == [ReceiptStatus.DUPLICATE] * 3
    assert [receipt.unit_id for receipt in again] == [receipt.unit_id for receipt in before]
    assert memory.stats(ALICE).position == position


def test_a_changed_document_takes_the_place_of_its_older_version(memory: PrismMemory) -> None:
    other = Document(id_="other", text=PARAGRAPHS[0])
    remember_nodes(memory, [*split(MANUAL), other], scope=ALICE)
    lamp = "The lamp at the northern pier is lit from dusk until six in the morning, and all night in fog."
    remember_nodes(memory, split(changed(f"{PARAGRAPHS[0]} {PARAGRAPHS[2]} {lamp}")), scope=ALICE)
    assert sorted(texts(memory)) == sorted([PARAGRAPHS[0], PARAGRAPHS[0], PARAGRAPHS[2], lamp])
    sources = {unit.session_id for unit in memory.units(scope=ALICE)}
    assert sources == {"manual", "other"}
    old = changed(" ".join(PARAGRAPHS))
    assert statuses(remember_nodes(memory, split(old), scope=ALICE)) == [ReceiptStatus.STORED] * 3


def test_the_nodes_of_one_version_may_come_in_several_calls(memory: PrismMemory) -> None:
    for chunk in split(MANUAL):
        remember_nodes(memory, [chunk], scope=ALICE)
    assert texts(memory) == list(PARAGRAPHS)


def test_changed_text_under_the_same_node_id_takes_the_place_of_the_old(memory: PrismMemory) -> None:
    for text in ("The office opens at nine.", "The office opens at ten."):
        [receipt] = remember_nodes(memory, [TextNode(id_="n1", text=text)], scope=ALICE)
    assert texts(memory) == ["The office opens at ten."]
    assert receipt.status is ReceiptStatus.STORED
    assert all("nine" not in str(entry) for entry in memory.history(str(receipt.unit_id), scope=ALICE))


def test_many_documents_at_once_are_told_the_same_way(memory: PrismMemory) -> None:
    documents = [Document(id_=f"d{number}", text=f"Text {number}.") for number in range(100)]
    remember_nodes(memory, documents, scope=ALICE)
    again = remember_nodes(memory, [*documents[1:], Document(id_="d0", text="Changed.")], scope=ALICE)
    assert statuses(again) == [ReceiptStatus.DUPLICATE] * 99 + [ReceiptStatus.STORED]
    assert texts(memory) == [f"Text {number}." for number in range(1, 100)] + ["Changed."]


def test_answers_may_be_restricted_to_a_document(memory: PrismMemory) -> None:
    remember_nodes(memory, [*split(MANUAL), Document(id_="other", text="The fee is waived.")], scope=ALICE)
    of_manual = MetadataFilters(filters=[MetadataFilter(key="ref_doc_id", value="manual")])
    found = PrismRetriever(memory, ALICE, filters=of_manual).retrieve("Is the fee waived?")
    assert {scored.node.ref_doc_id for scored in found} == {"manual"}


def test_what_two_documents_say_outlives_either(memory: PrismMemory) -> None:
    for name in ("a", "b"):
        remember_nodes(memory, [Document(id_=name, text=PARAGRAPHS[0])], scope=ALICE)
    remember_nodes(memory, [Document(id_="a", text="Something else.")], scope=ALICE)
    assert sorted(texts(memory)) == ["Something else.", PARAGRAPHS[0]]


def test_documents_with_made_up_ids_are_told_by_their_content(memory: PrismMemory) -> None:
    for text in (MANUAL.text, MANUAL.text, "Something else."):
        document = Document(text=text, metadata=MANUAL.metadata)
        remember_nodes(memory, split(document), scope=ALICE)
    assert texts(memory) == [*PARAGRAPHS, "Something else."]
    for _ in range(2):
        remember_nodes(memory, [TextNode(text="A note.")], scope=ALICE)
    assert texts(memory)[4:] == ["A note."]


def test_nodes_whose_source_has_no_hash_are_told_by_their_content(memory: PrismMemory) -> None:
    for text in ("One.", "One.", "Two."):
        source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="book")}
        [receipt] = remember_nodes(memory, [TextNode(text=text, relationships=source)], scope=ALICE)
    assert texts(memory) == ["One.", "Two."]
    assert memory.get(str(receipt.unit_id), scope=ALICE).session_id == "book"


def test_forgetting_reaches_nodes_documents_and_nothing_else(memory: PrismMemory) -> None:
    remember_nodes(
        memory, [*split(MANUAL), TextNode(id_="n1", text="A note."), TextNode(id_="n2", text="Two.")], scope=ALICE
    )
    memory.write("A message that no node was.", scope=ALICE)
    remember_nodes(memory, [TextNode(id_="n1", text="Bob's note.")], scope=BOB)
    erasure = forget_nodes(memory, scope=ALICE, node_ids=["n1"], ref_doc_ids=["manual"])
    assert erasure is not None
    assert len(erasure.unit_ids) == 4
    assert texts(memory) == ["Two.", "A message that no node was."]
    assert forget_nodes(memory, scope=ALICE, node_ids=["n1"]) is None
    assert len(memory.units(scope=BOB)) == 1


def test_parts_elaborate_the_node_they_are_of(memory: PrismMemory) -> None:
    nodes = HierarchicalNodeParser.from_defaults(chunk_sizes=[128, 40], chunk_overlap=0).get_nodes_from_documents(
        [MANUAL]
    )
    receipts = remember_nodes(memory, nodes, scope=ALICE)
    units = {node.node_id: receipt.unit_id for node, receipt in zip(nodes, receipts, strict=True)}
    expected = {
        (units[node.parent_node.node_id], units[node.node_id]) for node in nodes if node.parent_node is not None
    }
    assert len(expected) == 3
    found = {(link.source, link.target) for link in memory.links(scope=ALICE) if link.relation is Relation.ELABORATES}
    assert found == expected
    chain = memory.why(str(receipts[-1].unit_id), scope=ALICE)
    assert MANUAL.text in [unit.text for unit in chain.units]


def test_images_are_attached_and_never_stored(memory: PrismMemory) -> None:
    nodes: list[BaseNode] = [
        ImageNode(text="A map of the harbour.", image_path="/pictures/map.png"),
        ImageNode(image_url="https://example.com/pier.jpg", image_mimetype="image/jpeg"),
        ImageDocument(image="aGVsbG8=", image_mimetype="image/png"),
        Node(audio_resource=MediaResource(data=b"RIFF", mimetype="audio/wav")),
        IndexNode(text="About moorings.", index_id="moorings"),
        TextNode(text=" "),
    ]
    receipts = remember_nodes(memory, nodes, scope=ALICE)
    units = memory.units(scope=ALICE)
    assert texts(memory) == ["A map of the harbour.", "[pier.jpg]", "[image/png]", "[audio/wav]", "About moorings."]
    assert [unit.attachments[0].uri.partition(":")[0] for unit in units[:4]] == [
        "/pictures/map.png",
        "https",
        "sha256",
        "sha256",
    ]
    assert "aGVsbG8=" not in str(units)
    assert (receipts[5].status, receipts[5].reason) == (ReceiptStatus.REJECTED, "it has no text")


def test_metadata_of_any_type_is_kept_as_json(memory: PrismMemory) -> None:
    metadata = {"at": datetime(2026, 5, 20, tzinfo=UTC), "path": Path("a/b"), "nan": float("nan"), "tags": {"x"}}
    remember_nodes(memory, [TextNode(text="A note.", metadata=metadata)], scope=ALICE)
    [unit] = memory.units(scope=ALICE)
    assert unit.metadata["at"] == "2026-05-20T00:00:00Z"
    assert (unit.metadata["path"], unit.metadata["nan"], unit.metadata["tags"]) == ("a/b", None, ["x"])


def test_the_callers_time_counts_and_needs_a_zone(memory: PrismMemory) -> None:
    when = datetime(2024, 2, 1, 9, tzinfo=UTC)
    remember_nodes(memory, [TextNode(text="Old."), TextNode(text="New.")], scope=ALICE, time_of=lambda node: when)
    assert {unit.event_time for unit in memory.units(scope=ALICE)} == {when}
    with pytest.raises(NaiveDatetimeError):
        remember_nodes(memory, [TextNode(text="x")], scope=ALICE, time_of=lambda node: datetime(2024, 2, 1))


def test_what_cannot_be_stored_is_refused_with_nothing_stored(memory: PrismMemory) -> None:
    circle: dict[str, Any] = {}
    circle["circle"] = circle
    with pytest.raises(InvalidEventError, match="metadata"):
        remember_nodes(memory, [TextNode(text="fine"), TextNode(text="round", metadata=circle)], scope=ALICE)
    with pytest.raises(ScopeError):
        remember_nodes(memory, [TextNode(text="fine")], scope=())
    assert texts(memory) == []
    assert remember_nodes(memory, [], scope=ALICE) == []


def test_what_other_libraries_hand_over_is_stored_as_far_as_it_can_be(memory: PrismMemory) -> None:
    metadata = {"title": "\ud800", "raw": b"\xff", "large": 2**80, "list": [{"\udfff": b"ok"}]}
    [receipt] = remember_nodes(memory, [TextNode(text="page \ud800 one", metadata=metadata)], scope=ALICE)
    unit = memory.get(str(receipt.unit_id), scope=ALICE)
    assert unit.text == "page ? one"
    assert {key: unit.metadata[key] for key in ("title", "large")} == {"title": "?", "large": str(2**80)}


def test_an_ingestion_without_a_scope_is_refused_when_it_is_made(memory: PrismMemory) -> None:
    for scope in (None, 7, "", ("acme", 7)):
        with pytest.raises(ScopeError):
            PrismIngestion(memory, scope)


def test_c21_any_number_of_nodes_goes_in(tmp_path: Path) -> None:
    nodes = [TextNode(id_=f"n{number}", text=f"berth {number}") for number in range(5_600)]
    with PrismMemory.open(tmp_path / "m", embedder=HashedEmbedder(dimension=8), index="chroma") as memory:
        receipts = remember_nodes(memory, nodes, scope=ALICE)
        assert statuses(receipts) == [ReceiptStatus.STORED] * len(nodes)
        memory.flush()
        [scored] = PrismRetriever(memory, ALICE, k=1).retrieve("berth 5599")
        assert scored.text == "berth 5599"


@pytest.mark.parametrize(
    "odd",
    ["7f3c9a1e-11d2-4b5e-9c3d-0a1b2c3d4e5f", "C:\\docs\\file-1.txt", "a/b/c.md", 'say "when" AND (where)', "x-*:y"],
)
def test_c24_ids_paths_and_query_syntax_break_nothing(memory: PrismMemory, odd: str) -> None:
    scope = ("acme", odd)
    document = Document(id_=odd, text=f"The key is under {odd} as always.", metadata={"path": odd})
    [receipt] = remember_nodes(memory, [document], scope=scope)
    assert receipt.status is ReceiptStatus.STORED
    [scored] = PrismRetriever(memory, scope, k=1, session_id=odd).retrieve(f"where is the key {odd}")
    assert scored.text == document.text
    assert forget_nodes(memory, scope=scope, ref_doc_ids=[odd]) is not None


# -- in a pipeline -----------------------------------------------------------------------------------------------------


def pipeline(memory: PrismMemory, **more: Any) -> IngestionPipeline:
    splitter = SentenceSplitter(chunk_size=40, chunk_overlap=0)
    return IngestionPipeline(transformations=[splitter, PrismIngestion(memory, ALICE)], **more)


def test_a_pipeline_stores_and_answers_the_nodes(memory: PrismMemory) -> None:
    made = pipeline(memory)
    nodes = made.run(documents=[MANUAL])
    assert [node.get_content() for node in nodes] == texts(memory) == list(PARAGRAPHS)
    step = made.transformations[-1]
    assert isinstance(step, PrismIngestion)
    assert statuses(step.receipts) == [ReceiptStatus.STORED] * 3


async def test_a_pipeline_runs_asynchronously(memory: PrismMemory) -> None:
    await pipeline(memory).arun(documents=[MANUAL])
    assert texts(memory) == list(PARAGRAPHS)


def with_docstore(memory: PrismMemory) -> IngestionPipeline:
    return pipeline(memory, docstore=SimpleDocumentStore(), docstore_strategy=DocstoreStrategy.DUPLICATES_ONLY)


@pytest.mark.parametrize("make", [pipeline, with_docstore, lambda memory: pipeline(memory, disable_cache=True)])
def test_running_it_again_adds_nothing_and_a_changed_document_is_replaced(
    memory: PrismMemory, make: Callable[[PrismMemory], IngestionPipeline]
) -> None:
    made = make(memory)
    for _ in range(3):
        made.run(documents=[MANUAL])
        assert texts(memory) == list(PARAGRAPHS)
    made.run(documents=[changed("The office is closed.")])
    assert texts(memory) == ["The office is closed."]


def test_the_cache_never_hides_that_the_memory_lacks_something(memory: PrismMemory, tmp_path: Path) -> None:
    made = pipeline(memory)
    made.run(documents=[MANUAL])
    memory.erase(scope=ALICE, whole_scope=True)
    made.run(documents=[MANUAL])
    assert texts(memory) == list(PARAGRAPHS)
    made.persist(str(tmp_path / "pipeline"))
    with PrismMemory.open(tmp_path / "another", embedder=None) as another:
        loaded = pipeline(another)
        loaded.load(str(tmp_path / "pipeline"))
        loaded.run(documents=[MANUAL])
        assert texts(another) == list(PARAGRAPHS)


def test_without_its_memory_it_says_so(memory: PrismMemory) -> None:
    step = PrismIngestion(memory, ALICE)
    assert step.to_dict()["class_name"] == "PrismIngestion"
    for copy in (PrismIngestion.from_dict(step.to_dict()), pickle.loads(pickle.dumps(PrismIngestion(None, ALICE)))):
        with pytest.raises(DetachedError, match="num_workers"):
            copy([MANUAL])


def test_relationships_survive_as_given(memory: PrismMemory) -> None:
    chunks = split(MANUAL)
    before = [chunk.model_copy(deep=True) for chunk in chunks]
    remember_nodes(memory, chunks, scope=ALICE)
    assert chunks == before
    assert NodeRelationship.NEXT in chunks[0].relationships
