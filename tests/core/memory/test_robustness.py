"""Faults that were met once, by kind."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from prism_core import Event, MemoryUnit, Outcome, PrismMemory, ReceiptStatus, message_events
from prism_core.changes import FloatArray
from prism_core.encode.entities import entities
from prism_core.encode.outcome import outcome_of
from prism_core.errors import InvalidEventError, QueryError, StoreUrlError
from prism_core.testing import CountingIds, HashedEmbedder, ScriptedClock
from prism_core.text import O200kCounter, analyze, identifiers
from prism_core.types import Attachment

SCOPE = ("acme", "ann")
START = datetime(2026, 5, 1, tzinfo=UTC)


class Odd(HashedEmbedder):
    """Answers what a test wants."""

    def __init__(self, answer: Callable[[FloatArray], object]) -> None:
        super().__init__()
        self._answer = answer

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        return self._answer(super().embed_documents(texts))  # type: ignore[return-value]


def refuse(rows: FloatArray) -> object:
    raise ConnectionError("no route")


@pytest.mark.parametrize(
    "answer",
    [
        lambda rows: rows[:, :-1],
        lambda rows: rows[:-1],
        lambda rows: rows * np.nan,
        lambda rows: None,
        lambda rows: "junk",
        lambda rows: rows[0, 0],
        refuse,
    ],
)
def test_an_embedder_that_answers_nonsense_degrades_and_nothing_is_lost(
    tmp_path: Path, answer: Callable[[FloatArray], object]
) -> None:
    with PrismMemory.open(tmp_path, embedder=Odd(answer)) as memory:
        receipt = memory.write("the blue bicycle", scope=SCOPE)
        assert receipt.status is ReceiptStatus.DEGRADED
        found = memory.search("bicycle", scope=SCOPE)
        assert found[0].unit.id == receipt.unit_id
        assert found.degraded
    with PrismMemory.open(tmp_path, embedder=HashedEmbedder()) as memory:
        assert not memory.search("bicycle", scope=SCOPE).degraded


def test_vectors_of_any_length_are_normalised() -> None:
    memory = PrismMemory.open(embedder=Odd(lambda rows: rows * 7))
    memory.write("the blue bicycle", scope=SCOPE)
    similarity = memory.search("the blue bicycle", scope=SCOPE)[0].candidate.signals["dense"]
    assert similarity == pytest.approx(1.0)


@pytest.mark.parametrize("value", [1e308, 1e-320, 1, -3e200])
def test_the_length_of_a_questions_vector_does_not_matter(value: float) -> None:
    memory = PrismMemory.open(embedder=HashedEmbedder())
    memory.write("the blue bicycle", scope=SCOPE)
    one, other = (
        memory.search("bicycle", scope=SCOPE, vector=[each] * memory_dimension(memory))[0].candidate.signals["dense"]
        for each in (value, math.copysign(1.0, value))
    )
    assert one == pytest.approx(other)


def memory_dimension(memory: PrismMemory) -> int:
    assert memory.embedder is not None
    return memory.embedder.dimension


@pytest.mark.parametrize("text", ["\x00", " \x00\x1b\n", "\u200b", "\u2800"])
def test_what_nobody_could_see_is_not_stored_and_the_receipt_says_what_to_do(text: str) -> None:
    memory = PrismMemory.open(embedder=None)
    for event in (text, {"observation": text, "speaker": "ann"}, {"kind": "step", "action": text}):
        receipt = memory.write(event, scope=SCOPE)
        assert (receipt.status, receipt.unit_id) == (ReceiptStatus.REJECTED, None)
        assert "write what they stand for" in receipt.reason
    kept = memory.write({"kind": "document", "observation": "a note"}, scope=SCOPE)
    assert memory.replace(str(kept.unit_id), {"observation": text}, scope=SCOPE).status is ReceiptStatus.REJECTED
    assert [unit.text for unit in memory.units(scope=SCOPE)] == ["a note"]


@pytest.mark.parametrize("together", [True, False])
def test_replies_to_calls_of_one_message_under_one_id_come_in_the_order_of_the_calls(together: bool) -> None:
    calls = [{"id": "c", "function": {"name": "book", "arguments": f'{{"n": {n}}}'}} for n in range(3)]
    messages: list[dict[str, object]] = [{"role": "assistant", "tool_calls": calls}]
    messages += [{"role": "tool", "tool_call_id": "c", "content": f"booked {n}"} for n in range(3)]
    lost = {"kind": "step", "action": "book({})", "tool_call_id": "c", "session_id": "s", "idempotency_key": "lost"}
    memory = PrismMemory.open(embedder=None)
    memory.write(lost, scope=SCOPE)
    events = [event for n, each in enumerate(messages) for event in message_events(each, key=f"s#{n}", session_id="s")]
    for batch in [events] if together else [[event] for event in events]:
        memory.write_many(batch, scope=SCOPE)
    found = [(unit.action, unit.observation) for unit in memory.units(scope=SCOPE)]
    assert found == [("book({})", ""), *((f'book({{"n": {n}}})', f"booked {n}") for n in range(3))]


@pytest.mark.parametrize("events", ["abc", b"abc", {"observation": "x"}, Event(observation="x"), None, 5])
def test_many_events_are_a_list_of_events(events: object) -> None:
    memory = PrismMemory.open(embedder=None)
    for use in (memory.write_many, memory.accept):
        with pytest.raises(InvalidEventError, match="pass a list"):
            use(events, scope=SCOPE)  # type: ignore[arg-type]
    assert memory.scopes() == []


@pytest.mark.parametrize(
    "use",
    [
        lambda memory: memory.search(None, scope=SCOPE),
        lambda memory: memory.search("x", scope=SCOPE, active=5),
        lambda memory: memory.search("x", scope=SCOPE, active=[5]),
        lambda memory: memory.search("x", scope=SCOPE, task_id=5),
        lambda memory: memory.search("x", scope=SCOPE, k=10**30),
        lambda memory: memory.get(10**30, scope=SCOPE),
        lambda memory: memory.why([], scope=SCOPE),
        lambda memory: memory.history({}, scope=SCOPE),
    ],
)
def test_wrong_types_are_named(use: Callable[[PrismMemory], object]) -> None:
    memory = PrismMemory.open(embedder=None)
    memory.write("x", scope=SCOPE)
    with pytest.raises(QueryError):
        use(memory)


@pytest.mark.parametrize("path", ["", " ", "a?1", "a#1", "a\x00", "~nobody-here/x", None, 5])
def test_paths_that_would_name_another_store_are_refused(path: str) -> None:
    with pytest.raises(StoreUrlError):
        PrismMemory.open(path)


def test_times_beyond_the_calendar_are_refused() -> None:
    memory = PrismMemory.open(embedder=None)
    with pytest.raises(InvalidEventError, match="outside the years"):
        memory.write({"observation": "x", "event_time": "0001-01-01T00:00:00+05:00"}, scope=SCOPE)


def test_one_event_that_cannot_be_stored_does_not_hold_up_the_inbox(tmp_path: Path) -> None:
    bad = Event(observation="fine").model_copy(update={"metadata": {"a": {"b"}}})
    memory = PrismMemory.open(tmp_path, embedder=None)
    memory.accept(["fine zebra"], scope=SCOPE)
    receipts = memory._recorder.record_items(
        SCOPE,
        [
            item.__class__(item.receipt_id, event)
            for item, event in zip(
                memory._ledger.lease(SCOPE, owner="t", now=START, seconds=1, limit=1), [bad], strict=True
            )
        ],
    )
    assert [receipt.status for receipt in receipts] == [ReceiptStatus.REJECTED]
    memory.accept(["fine zebra"], scope=SCOPE)
    assert memory.search("zebra", scope=SCOPE)[0].unit.observation == "fine zebra"


def test_what_another_process_accepted_is_found_by_the_next_search(tmp_path: Path) -> None:
    with PrismMemory.open(tmp_path, embedder=None) as memory, PrismMemory.open(tmp_path, embedder=None) as other:
        memory.write("hello", scope=SCOPE)
        assert len(memory.search("hello", scope=SCOPE)) == 1
        other.accept(["a zebra"], scope=SCOPE)
        assert memory.search("zebra", scope=SCOPE)[0].unit.observation == "a zebra"


def trip() -> list[Event]:
    def call(name: str, call_id: str, arguments: str = "") -> Event:
        return Event.parse(
            {
                "kind": "step",
                "action": f"{name}({arguments})",
                "action_type": name,
                "tool_call_id": call_id,
                "source": "assistant",
                "task_id": "t",
                "session_id": "s",
            }
        )

    def reply(text: str, call_id: str) -> Event:
        return Event.parse(
            {
                "kind": "step",
                "observation": text,
                "tool_call_id": call_id,
                "source": "tool",
                "task_id": "t",
                "session_id": "s",
            }
        )

    return [
        call("find", "c1"),
        call("list", "c2"),
        Event(observation="my code is XK9931", task_id="t", session_id="s"),
        reply("XK9931 and YZ1234 cancelled, errors none", "c1"),
        reply("XK9931 only", "c2"),
        call("book", "c3", "XK9931, YZ1234"),
        reply("booked", "c3"),
        Event(observation="late", task_id="t", session_id="s", event_time=START - timedelta(days=3)),
        Event(observation="now YZ1234", task_id="t", session_id="s"),
        call("find", "c1"),
        call("find", "c1"),
        reply("second", "c1"),
        reply("first", "c1"),
    ]


def picture(memory: PrismMemory) -> object:
    """What a scope holds and answers, without ids."""
    found = memory.search("book the flight XK9931", scope=SCOPE, k=20)
    name = {unit.id: unit.text for unit in memory.units(scope=SCOPE)}
    links = [
        (entry.after["source"], entry.after["target"], entry.after["relation"])
        for entry in memory._ledger.log(SCOPE)
        if entry.kind == "link"
    ]
    ranks = [(name[c.unit_id], round(c.score, 5), c.front) for c in found.candidates]
    labels = sorted((unit.text, unit.intent_tags, unit.entities) for unit in found.units)
    return ranks, labels, sorted((name[str(a)], name[str(b)], str(c)) for a, b, c in links)


def test_one_write_single_writes_and_a_rebuild_come_to_the_same(tmp_path: Path) -> None:
    pictures = []
    for number, single in enumerate((False, True)):
        with PrismMemory.open(
            tmp_path / str(number), embedder=HashedEmbedder(), clock=ScriptedClock(START), new_id=CountingIds()
        ) as memory:
            for batch in [[event] for event in trip()] if single else [trip()]:
                memory.write_many(batch, scope=SCOPE)
            pictures.append(picture(memory))
            memory.rebuild(SCOPE)
            pictures.append(picture(memory))
    one, one_rebuilt, singly, singly_rebuilt = pictures
    assert one == one_rebuilt
    assert singly == singly_rebuilt
    assert one[2] == singly[2]  # type: ignore[index]
    assert one[1] == singly[1]  # type: ignore[index]


def test_a_reply_keeps_its_attachments_and_metadata() -> None:
    memory = PrismMemory.open(embedder=None)
    memory.write({"kind": "step", "action": "shot()", "tool_call_id": "c", "metadata": {"a": 1}}, scope=SCOPE)
    image = Attachment(media_type="image/png", uri="file:shot.png", caption="a red kettle")
    receipt = memory.write(
        {"kind": "step", "source": "tool", "tool_call_id": "c", "attachments": [image], "metadata": {"b": 2}},
        scope=SCOPE,
    )
    assert receipt.status is ReceiptStatus.JOINED
    unit: MemoryUnit = memory.get(str(receipt.unit_id), scope=SCOPE)
    assert unit.attachments == (image,)
    assert unit.metadata == {"a": 1, "b": 2}
    assert memory.search("kettle", scope=SCOPE)[0].unit == unit


def test_an_index_that_lost_its_files_is_filled_again(tmp_path: Path) -> None:
    embedder = HashedEmbedder()
    with PrismMemory.open(tmp_path, embedder=embedder, index="chroma") as memory:
        memory.write_many([f"ship {n}" for n in range(80)], scope=SCOPE)
        expected = [unit.id for unit in memory.search("ship 7", scope=SCOPE).units]
    for folder in (tmp_path / "chroma").glob("chroma-*"):
        shutil.rmtree(folder)
    with PrismMemory.open(tmp_path, embedder=embedder, index="chroma") as memory:
        assert [unit.id for unit in memory.search("ship 7", scope=SCOPE).units] == expected
        assert all(finding.ok for finding in memory.doctor())


def test_reembedding_without_the_index_at_hand_leaves_no_old_vectors_behind(tmp_path: Path) -> None:
    with PrismMemory.open(tmp_path, embedder=HashedEmbedder("a", 16), index="chroma") as memory:
        memory.write_many([f"ship {n}" for n in range(80)], scope=SCOPE)
    new = HashedEmbedder("b", 8)
    PrismMemory.open(tmp_path, embedder=new, index="exact", on_embedder_change="reembed").close()
    with PrismMemory.open(tmp_path, embedder=new, index="chroma") as memory:
        assert memory.search("ship 7", scope=SCOPE)[0].unit.observation == "ship 7"
        memory.write("ship 99", scope=SCOPE)
        memory.flush()
        assert all(finding.ok for finding in memory.doctor())


def test_a_typing_error_does_not_embed_a_store_again(tmp_path: Path) -> None:
    with PrismMemory.open(tmp_path, embedder=HashedEmbedder("a")) as memory:
        memory.write("x", scope=SCOPE)
    with pytest.raises(QueryError, match="choose 'raise' or 'reembed'"):
        PrismMemory.open(tmp_path, embedder=HashedEmbedder("b"), on_embedder_change="Raise")  # type: ignore[arg-type]


LONG = 200_000


@pytest.mark.parametrize(
    "text",
    [
        " " * LONG + "x",
        "a" * LONG,
        "a." * (LONG // 2),
        "a-b/" * (LONG // 8),
        "deadbeef01" * (LONG // 10),
        "字" * LONG,
        "A" * LONG,
        "Aa" * (LONG // 2),
        "a_" * (LONG // 2),
        "1 " * (LONG // 2),
        "$1," * (LONG // 3),
        '"' * LONG,
    ],
)
def test_hostile_texts_take_no_more_than_linear_time(text: str) -> None:
    # A quadratic rule would keep this busy for minutes; the suite's own time limit is the assertion.
    analyze(text[: LONG // 4])
    identifiers(text[: LONG // 4])
    entities(text)
    assert outcome_of(text) is not Outcome.FAILURE


def test_texts_of_any_size_are_counted_and_stored() -> None:
    text = " ".join(f"{number:08x}" for number in range(120_000))
    assert O200kCounter().count(text) > 200_000
    memory = PrismMemory.open(embedder=None)
    assert memory.write(text, scope=SCOPE).status is ReceiptStatus.STORED
