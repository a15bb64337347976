import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_core.errors import DatasetError, InvalidEventError
from prism_core.ingest import Format, IngestRun, detect, message_events, read, read_chat, read_qa, read_traces
from prism_core.types import Attachment, Kind, Source

NOON = 1779278400
"""Seconds since 1970."""
CALL: dict[str, Any] = {
    "role": "assistant",
    "content": "Looking it up.",
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"id": "A1"}'}}],
}
REPLY: dict[str, Any] = {"role": "tool", "tool_call_id": "c1", "name": "find", "content": "seat 12A"}
RUN: dict[str, Any] = {
    "id": "run-1",
    "task": 7,
    "success": True,
    "messages": [{"role": "user", "content": "Where do I sit?"}, CALL, REPLY, {"role": "assistant", "content": "12A."}],
}
ROW: dict[str, Any] = {
    "id": "talk",
    "units": [
        {"id": "D1", "text": "I moved to Oslo.", "speaker": "Ann", "time": "2023-05-08T13:56:00Z", "session": "1"},
        {"id": "D2", "text": "Nice!"},
    ],
    "questions": [{"id": "q", "text": "Where does Ann live?", "evidence": ["D1"], "category": "plain"}],
}


def write_lines(path: Path, *values: object) -> Path:
    path.write_text("\n".join(json.dumps(value, ensure_ascii=False) for value in values) + "\n", encoding="utf-8")
    return path


def only(runs: list[IngestRun]) -> IngestRun:
    assert len(runs) == 1
    return runs[0]


def chat(*messages: dict[str, Any]) -> IngestRun:
    return only(read_chat(messages, run_id="r"))


# --- messages ---------------------------------------------------------------------------------------------------


def test_each_message_of_a_run_becomes_one_item_with_its_events(tmp_path: Path) -> None:
    run = only(read_traces(write_lines(tmp_path / "runs.jsonl", RUN)))
    assert [(item.index, item.label, len(item.events)) for item in run.items] == [
        (0, "user", 1),
        (1, "assistant", 1),
        (2, "tool", 1),
        (3, "assistant", 1),
    ]
    assert [event.idempotency_key for event in run.events] == ["run-1#0", "run-1#1", "run-1#2", "run-1#3"]
    assert {(event.session_id, event.task_id) for event in run.events} == {("run-1", "run-1")}
    assert all(event.metadata == {"task": 7} and event.event_time is None for event in run.events)
    assert run.task == 7


def test_a_call_is_a_step_and_its_reply_waits_to_be_joined() -> None:
    call, reply = chat(CALL, REPLY).events
    assert (call.kind, call.action, call.action_type) == (Kind.STEP, 'find({"id": "A1"})', "find")
    assert (call.thought, call.tool_call_id, call.source) == ("Looking it up.", "c1", Source.ASSISTANT)
    assert (reply.kind, reply.action, reply.observation) == (Kind.STEP, None, "seat 12A")
    assert (reply.tool_call_id, reply.source) == ("c1", Source.TOOL)


def test_several_calls_of_one_message_are_several_steps_and_the_thought_is_kept_once() -> None:
    second = {"id": "c2", "function": {"name": "list", "arguments": ""}}
    item = chat({**CALL, "tool_calls": [*CALL["tool_calls"], second]}).items[0]
    assert [event.action for event in item.events] == ['find({"id": "A1"})', "list()"]
    assert [event.idempotency_key for event in item.events] == ["r#0", "r#0.1"]
    assert [event.thought for event in item.events] == ["Looking it up.", None]


def test_arguments_given_as_an_object_are_written_as_json() -> None:
    call = {"id": "c", "function": {"name": "find", "arguments": {"name": "Zoë"}}}
    assert (
        chat({"role": "assistant", "content": None, "tool_calls": [call]}).events[0].action == 'find({"name": "Zoë"})'
    )


def test_the_older_function_call_format_pairs_by_name() -> None:
    call, reply = chat(
        {"role": "assistant", "content": None, "function_call": {"name": "find", "arguments": "{}"}},
        {"role": "function", "name": "find", "content": "nothing"},
    ).events
    assert call.action == "find({})"
    assert call.tool_call_id == reply.tool_call_id
    assert (reply.source, reply.observation) == (Source.TOOL, "nothing")


def test_a_system_prompt_is_skipped_visibly() -> None:
    items = chat({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}).items
    assert items[0].events == ()
    assert "instruction" in items[0].skipped
    assert items[1].events[0].idempotency_key == "r#1"


def test_names_are_speakers_and_unknown_roles_are_external() -> None:
    events = chat(
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "name": "WebSurfer", "content": "Hello"},
        {"role": "critic", "content": "No"},
    ).events
    assert [(event.speaker, event.source) for event in events] == [
        ("user", Source.USER),
        ("WebSurfer", Source.ASSISTANT),
        ("critic", Source.EXTERNAL),
    ]


def test_a_message_without_content_still_has_an_event() -> None:
    empty, missing = chat({"role": "user", "content": ""}, {"role": "assistant"}).events
    assert empty.observation == missing.observation == ""


def test_content_parts_are_joined_and_what_is_no_text_is_kept_or_named() -> None:
    parts = [
        {"type": "text", "text": "Look at"},
        {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
        "this",
    ]
    event = chat({"role": "user", "content": parts}).events[0]
    assert event.observation == "Look at\n[image_url]\n[input_audio]\nthis"
    assert event.attachments == (Attachment(media_type="image_url", uri="https://example.com/cat.png"),)


def test_a_broken_message_of_langchain_is_reported_like_any_other(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "chat.jsonl", {"type": "ai", "content": "", "tool_calls": [{"args": {}}]})
    with pytest.raises(DatasetError, match=r"message 0: needs 'tool_calls\[0\].function.name' as text; it is missing"):
        read(path)


# --- times ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["2026-05-20T11:00:00+02:00", "2026-05-20T09:00:00Z", 1779267600, 1779267600000])
@pytest.mark.parametrize("key", ["time", "timestamp", "created_at"])
def test_times_are_read_as_utc(key: str, value: object) -> None:
    event = chat({"role": "user", "content": "Hi", key: value}).events[0]
    assert event.event_time == datetime(2026, 5, 20, 9, tzinfo=UTC)


def times_of(*seconds: float | None) -> list[float | None]:
    """Seconds since `NOON` of the events of messages, given those of the messages; None for no time."""
    messages = [
        {"role": "user", "content": f"message {place}", **({} if second is None else {"time": NOON + second})}
        for place, second in enumerate(seconds)
    ]
    events = chat(*messages).events
    return [None if event.event_time is None else event.event_time.timestamp() - NOON for event in events]


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ((None, None), [None, None]),
        ((0, None, None, 60, None), [0, 1, 2, 60, 61]),
        ((None, None, 0, None), [-2, -1, 0, 1]),
        ((0, None, None, None, 1), [0, 0.25, 0.5, 0.75, 1]),
        ((0, None, 0), [0, 0, 0]),
        ((60, None, None, 0), [60, 61, 62, 0]),
    ],
)
def test_messages_without_a_time_keep_their_place_among_dated_ones(
    log: tuple[float | None, ...], expected: list[float | None]
) -> None:
    assert times_of(*log) == expected


@given(st.lists(st.none() | st.integers(0, 100), min_size=1, max_size=12).filter(lambda drawn: set(drawn) != {None}))
def test_filled_times_keep_the_given_ones_and_the_order_of_a_log(drawn: list[int | None]) -> None:
    dated = iter(sorted(second for second in drawn if second is not None))
    log = [None if second is None else next(dated) for second in drawn]
    found = [second for second in times_of(*log) if second is not None]
    assert len(found) == len(log)
    assert found == sorted(found)
    assert all(second in (None, time) for second, time in zip(log, found, strict=True))


def test_a_reply_without_a_time_follows_its_call_and_a_system_prompt_dates_nothing() -> None:
    system = {"role": "system", "content": "Be brief.", "time": "2020-01-01T00:00:00Z"}
    call, reply = chat(system, {**CALL, "time": NOON}, REPLY).events
    assert call.event_time == datetime.fromtimestamp(NOON, UTC)
    assert reply.event_time == datetime.fromtimestamp(NOON + 1, UTC)
    assert all(event.event_time is None for event in chat(system, CALL, REPLY).events)


def test_the_time_is_no_part_of_the_key() -> None:
    dated, undated = chat({**CALL, "time": NOON}, REPLY), chat(CALL, REPLY)
    assert [event.idempotency_key for event in dated.events] == [event.idempotency_key for event in undated.events]


def test_times_at_the_end_of_the_calendar_leave_no_room_and_are_shared() -> None:
    events = chat({"role": "user", "content": "a"}, {"role": "user", "content": "b", "time": "0001-01-01T00:00:00Z"})
    assert [event.event_time for event in events.events] == [datetime.min.replace(tzinfo=UTC)] * 2


# --- files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("document", [RUN["messages"], {"messages": RUN["messages"]}, [{"messages": RUN["messages"]}]])
def test_a_chat_may_be_one_json_document(tmp_path: Path, document: object) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(document, indent=1), encoding="utf-8-sig")
    assert detect(path) is Format.CHAT
    assert len(only(read(path)).items) == 4


def test_a_chat_may_be_one_message_a_line(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "chat.jsonl", *RUN["messages"])
    assert detect(path) is Format.CHAT
    assert only(read(path)).events[1].action == 'find({"id": "A1"})'


def test_a_chat_without_an_id_keeps_its_derived_one_while_it_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = {"role": "system", "content": "Be brief."}
    path = write_lines(tmp_path / "chat.jsonl", RUN["messages"][0])
    short = only(read_chat(path))
    write_lines(path, system, *RUN["messages"])
    monkeypatch.chdir(tmp_path)
    assert short.id == only(read_chat("chat.jsonl")).id
    assert short.id.startswith("chat-")


def test_files_of_one_name_that_begin_alike_are_different_chats(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("monday", "tuesday")]
    for folder in folders:
        folder.mkdir()
    runs = [only(read_chat(write_lines(folder / "chat.jsonl", *RUN["messages"]))) for folder in folders]
    assert runs[0].id != runs[1].id


def test_messages_passed_as_a_list_are_known_by_how_they_begin() -> None:
    short, long = only(read_chat(RUN["messages"][:1])), only(read_chat(RUN["messages"]))
    assert short.id == long.id != only(read_chat([REPLY])).id


def test_chats_without_an_id_that_begin_alike_stay_apart(tmp_path: Path) -> None:
    chats = [{"messages": RUN["messages"]}, {"messages": RUN["messages"]}]
    first, second = read(write_lines(tmp_path / "chats.jsonl", *chats))
    assert second.id == f"{first.id}-2"


def test_formats_are_told_apart_and_blank_lines_skipped(tmp_path: Path) -> None:
    traces = write_lines(tmp_path / "traces.jsonl", RUN)
    qa = tmp_path / "qa.jsonl"
    qa.write_text(f"\n{json.dumps(ROW)}\n\n", encoding="utf-8")
    assert (detect(traces), detect(qa)) == (Format.TRACES, Format.QA)


def test_units_of_a_row_are_unique_among_rows(tmp_path: Path) -> None:
    first, second = read_qa(write_lines(tmp_path / "qa.jsonl", ROW, {**ROW, "id": "other"}))
    event = first.events[0]
    assert (event.observation, event.speaker, event.session_id) == ("I moved to Oslo.", "Ann", "talk/1")
    assert event.event_time == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert [event.idempotency_key for event in first.events + second.events] == [
        "talk/D1",
        "talk/D2",
        "other/D1",
        "other/D2",
    ]


def test_line_separators_inside_strings_do_not_end_a_line(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "chat.jsonl", {"role": "user", "content": "a\u2028b\x85c"}, REPLY)
    assert only(read(path)).events[0].observation == "a\u2028b\x85c"


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", 1, "is empty"),
        ("[]", 1, "no JSON object"),
        ('[\n {"role": "user"},\n\n {"a": [\n1]\n}, 5]', 6, "a number, not an object"),
        ('{"role": "user"\n{"role": "user"}', 1, "is not JSON"),
        ('{"role": "user"}\n{oops', 2, "is not JSON"),
        ('{\n "messages": [\n}', 3, "is not JSON"),
        ('{"role": "user"}\n\n[1]', 3, "not an object"),
        ('{"text": "hi"}', 1, "neither"),
        ('{"role": "user"}\n{"content": "hi"}', 2, "message 1: needs 'role'"),
        ('{"id": 1, "messages": [{"role": "user"}, 5]}', 1, "message 1 is a number, not an object"),
        ('{"id": 1, "messages": [{"role": "user", "content": 5}]}', 1, "message 0: needs 'content' as text"),
        ('{"id": 1, "messages": {}}', 1, "needs 'messages' as a list"),
        ('{"id": 1, "messages": []}\n{"id": 1, "messages": []}', 2, "'1' occurs twice"),
        ('{"role": "assistant", "tool_calls": [{"id": "x"}]}', 1, "message 0: tool_calls[0].function is missing;"),
        (
            '{"role": "assistant", "tool_calls": [{"function": []}]}',
            1,
            "tool_calls[0].function is a list, not an object",
        ),
        ('{"role": "assistant", "tool_calls": [{"function": {}}]}', 1, "needs 'tool_calls[0].function.name' as text"),
        ('{"role": "assistant", "tool_calls": {"id": "x"}}', 1, "needs 'tool_calls' as a list; it is an object"),
        ('{"role": "user", "content": [7]}', 1, "message 0: content[0] is a number, not an object"),
        ('[{"role": "user"},\n{"role": "user"},\n{"role": null}]', 3, "message 2: needs 'role' as text; it is missing"),
        ('{"role": "user", "time": "0001-01-01T00:00:00+02:00"}', 1, "is not a time"),
        ('{"role": "user", "time": "2026-05-20T09:00:00"}', 1, "no time zone"),
        ('{"role": "user", "time": "yesterday"}', 1, "is not a time"),
        ('{"role": "user", "time": NaN}', 1, "NaN is not JSON"),
        ('{"id": "a", "units": [{"text": "x"}]}', 1, "unit 0: needs 'id'"),
        ('{"id": "a", "units": [{"id": 1, "text": "x"}, {"id": "1", "text": "y"}]}', 1, "unit 1: the id '1' occurs"),
        ('{"id": "a", "units": []}\n{"id": "a", "units": []}', 2, "'a' occurs twice"),
        ("[" * 100_000, 1, "nested too deeply"),
    ],
)
def test_bad_input_names_the_line_and_the_problem(tmp_path: Path, text: str, line: int, problem: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DatasetError) as error:
        read(path)
    assert (error.value.path, error.value.line) == (str(path), line)
    assert problem in str(error.value)


def test_files_that_cannot_be_read_say_so(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="cannot be read"):
        read(tmp_path / "missing.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b'{"role": "user"}\n{"content": "caf\xe9"}')
    with pytest.raises(DatasetError, match="line 2: is not UTF-8"):
        read(tmp_path / "latin.jsonl")


def test_a_live_message_becomes_the_events_of_a_files() -> None:
    [run] = read_chat([{"role": "user", "content": "Where do I sit?"}, CALL, REPLY], run_id="run-1")
    live = [
        event
        for index, message in enumerate([RUN["messages"][0], CALL, REPLY])
        for event in message_events(message, key=f"run-1#{index}", session_id="run-1", task_id="run-1")
    ]
    assert live == list(run.events)


def test_a_message_of_several_calls_has_a_key_per_call() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [CALL["tool_calls"][0]] * 2}
    assert [event.idempotency_key for event in message_events(message, key="k")] == ["k", "k.1"]
    assert [event.idempotency_key for event in message_events(message)] == [None, None]
    assert message_events({"role": "system", "content": "Be brief."}, key="k") == ()


def test_a_message_that_cannot_be_stored_is_said_so() -> None:
    with pytest.raises(InvalidEventError, match="surrogate"):
        message_events({"role": "user", "content": "\ud800"})
