"""Input that nobody planned for: calls that share an id or have none, other people's filters and graphs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import ChunkNode
from llama_index.core.llms import ChatMessage, MessageRole

from prism_core import PrismMemory
from prism_core.errors import InvalidEventError
from prism_llamaindex import PrismChatMemory, PrismRetriever, export_graph, import_graph
from prism_llamaindex.errors import UnsupportedFilterError
from tests.llamaindex.talking import assistant, calls, reply, user

ALICE = ("acme", "alice")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[PrismMemory]:
    with PrismMemory.open(tmp_path / "memory", embedder=None) as opened:
        yield opened


def booking(key: str | None, offer: str) -> ToolCallBlock:
    return ToolCallBlock(tool_call_id=key, tool_name="book", tool_kwargs={"offer": offer})


@pytest.mark.parametrize("key", ["c", "", None])
@pytest.mark.parametrize("together", [True, False])
def test_calls_that_share_an_id_or_have_none_keep_their_own_replies(
    memory: PrismMemory, key: str | None, together: bool
) -> None:
    turn = [
        user("Book three."),
        calls(*(booking(key, offer) for offer in "ABA")),
        *(reply(key or "", f"booked {offer}") for offer in "ABA"),
        assistant("Done."),
    ]
    kept = PrismChatMemory.from_defaults(memory, ALICE, session_id="s")
    for batch in [turn] if together else [[message] for message in turn]:
        kept.put_messages(batch)
    again = PrismChatMemory.from_defaults(memory, ALICE, session_id="s")
    again.set(turn)
    told = [unit.text for unit in memory.units(scope=ALICE)]
    booked = [f'book({{"offer": "{offer}"}})\n-> booked {offer}' for offer in "ABA"]
    assert told == ["user: Book three.", *booked, "assistant: Done."]
    # A model has to be shown what its calls brought.
    assert [message.role for message in again.get()].count(MessageRole.TOOL) == 3


def test_where_messages_are_kept_is_not_shown_to_who_reads_a_memory(memory: PrismMemory) -> None:
    kept = PrismChatMemory.from_defaults(memory, ALICE, session_id="s")
    kept.put_messages(
        [
            ChatMessage(role="user", content="The room is 12.", additional_kwargs={"mood": "calm"}),
            calls(booking("1", "A"), booking("2", "B")),
            reply("1", "booked A"),
        ]
    )
    nodes = PrismRetriever(memory, ALICE, k=3).retrieve("room 12")
    assert [node.metadata["metadata"] for node in nodes] == [{}, {}, {}]
    assert "llamaindex_message" in memory.units(scope=ALICE)[0].metadata


@pytest.mark.parametrize("filters", [{"page": 3}, 3, "page == 3"])
def test_filters_of_another_kind_are_refused_when_they_are_given(memory: PrismMemory, filters: object) -> None:
    with pytest.raises(UnsupportedFilterError, match="MetadataFilters"):
        PrismRetriever(memory, ALICE, filters=filters)  # type: ignore[arg-type]


@pytest.mark.parametrize("broken", ["{", "{}", '{"id": 5}'])
def test_a_graph_that_was_tampered_with_is_refused_with_nothing_stored(memory: PrismMemory, broken: str) -> None:
    memory.write("The room is 12.", scope=ALICE)
    store = SimplePropertyGraphStore()
    export_graph(memory, ALICE, store)
    scope = next(iter(store.get())).properties["prism_scope"]
    properties = {"prism_unit": broken, "prism_scope": scope}
    store.upsert_nodes([ChunkNode(text="x", id_="x", properties=properties)])
    with pytest.raises(InvalidEventError, match="export the scope again"):
        import_graph(store, memory, ("acme", "archive"))
    assert memory.scopes() == [ALICE]
