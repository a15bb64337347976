"""The file formats that can be read, and how to tell them apart.

| format | a file holds |
|---|---|
| chat | messages of OpenAI's or LangChain's form: a JSON array, an object with `messages`, or one message a line |
| traces | one run a line: `id`, `messages`, optional `task` |
| qa | one store a line: `id`, `units` (`id`, `text`, `speaker`, `time`, `session`), `questions` |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from prism_core.ingest.files import Record, read_records
from prism_core.ingest.langchain import openai_form
from prism_core.ingest.messages import IngestItem, IngestRun, chat_run, derived_run_id
from prism_core.ingest.units import read_units, unit_event


class Format(StrEnum):
    """What a file holds."""

    CHAT = "chat"
    TRACES = "traces"
    QA = "qa"


def detect(path: str | Path) -> Format:
    """Which format a file has, by its first object.

    Raises:
        DatasetError: if it cannot be read, or has none of them.
    """
    return _detect(read_records(path))


def read(path: str | Path) -> list[IngestRun]:
    """Read a file of any of the formats.

    Raises:
        DatasetError: if it cannot be read, or does not have the format that its first object promises.
    """
    records = read_records(path)
    return _READERS[_detect(records)](records)


def read_chat(source: str | Path | Sequence[Mapping[str, Any]], *, run_id: str | None = None) -> list[IngestRun]:
    """Read chats.

    Args:
        source: a file, or the messages of one chat.
        run_id: the id of a single chat that has none; derived from its file and its first message when None.

    Raises:
        DatasetError: if the file cannot be read, or a message does not have the chat format.
    """
    if isinstance(source, str | Path):
        return _chats(read_records(source), run_id)
    messages = [Record("messages", number, message, in_file=False) for number, message in enumerate(source, start=1)]
    return _chats(messages, run_id)


def read_traces(path: str | Path) -> list[IngestRun]:
    """Read runs of agents, one a line.

    Raises:
        DatasetError: if the file cannot be read, a line has no messages, or two have the same id.
    """
    return _runs(read_records(path))


def read_qa(path: str | Path) -> list[IngestRun]:
    """Read the units of evidence-QA rows, made unique among rows by the row's id, so that they can share a scope.

    Raises:
        DatasetError: if the file cannot be read, or a row does not have the format.
    """
    return _rows(read_records(path))


def _detect(records: Sequence[Record]) -> Format:
    first = records[0]
    if "units" in first.value:
        return Format.QA
    if "messages" in first.value:
        return Format.TRACES if "id" in first.value else Format.CHAT
    if "role" in openai_form(first.value):
        return Format.CHAT
    first.fail(
        "is neither a message ('role' or LangChain's 'type'), nor a run ('messages'), nor an evidence-QA row ('units')"
    )


def _chats(records: Sequence[Record], run_id: str | None = None) -> list[IngestRun]:
    if not records or "messages" in records[0].value:
        return _runs(records, run_id)
    messages = [_message(replace(record, part=f"message {n}")) for n, record in enumerate(records)]
    return [chat_run(run_id or derived_run_id(messages), messages)]


def _runs(records: Sequence[Record], run_id: str | None = None) -> list[IngestRun]:
    runs: dict[str, IngestRun] = {}
    for record in records:
        messages = [_message(message) for message in record.children("messages", "message")]
        given = record.optional("id") or run_id
        if given in runs:
            record.fail(f"the id {given!r} occurs twice")
        name = given or _unused(derived_run_id(messages), runs)
        runs[name] = chat_run(name, messages, record.value.get("task"))
    return list(runs.values())


def _message(record: Record) -> Record:
    return replace(record, value=openai_form(record.value))


def _unused(name: str, taken: Mapping[str, object]) -> str:
    """Runs that begin alike are told apart by their order in the file."""
    number, unused = 1, name
    while unused in taken:
        number += 1
        unused = f"{name}-{number}"
    return unused


def _rows(records: Sequence[Record]) -> list[IngestRun]:
    runs: dict[str, IngestRun] = {}
    for record in records:
        row_id = record.text("id")
        if row_id in runs:
            record.fail(f"the id {row_id!r} occurs twice")
        items = [
            IngestItem(row_id, index, unit.speaker or "unit", (unit_event(unit, row_id),))
            for index, unit in enumerate(read_units(record))
        ]
        runs[row_id] = IngestRun(row_id, tuple(items))
    return list(runs.values())


_READERS = {Format.CHAT: _chats, Format.TRACES: _runs, Format.QA: _rows}
