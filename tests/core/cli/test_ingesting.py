from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import Result

from prism_core import PrismMemory
from prism_core.cli.ingesting import CHUNK, ForwardClock
from tests.core.cli.samples import CHAT, QA_ROW, Prism

ROOT = Path(__file__).resolve().parents[3]


def summary(result: Result) -> str:
    return result.stdout.splitlines()[-1]


def stored_units(store: Path, *scope: str) -> int:
    with PrismMemory.open(store, embedder=None, create=False) as memory:
        return memory.stats(scope).units


def test_every_message_has_a_receipt(prism: Prism, chat: Path, store: Path) -> None:
    result = prism("ingest", chat, "--store", store)
    lines = [line.split() for line in result.stdout.splitlines()[:-1]]
    assert [line[0] for line in lines] == [f"lyon#{index}" for index in range(len(CHAT))]
    assert [line[1] for line in lines] == [
        *("rejected", "stored", "stored", "joined", "stored", "joined", "joined", "stored")
    ]
    assert summary(result).startswith("8 messages: 4 stored, 3 joined, 0 duplicate, 1 rejected; 5 units in the store; ")
    assert summary(result).endswith("ms per new unit")
    assert result.exit_code == 0


def test_a_reply_names_the_unit_of_its_call(units: dict[int, list[str]]) -> None:
    assert units[3] == units[2]
    assert len(units[4]) == 2
    assert [*units[5], *units[6]] == units[4]
    assert units[0] == []


def test_ingesting_again_adds_nothing(prism: Prism, chat: Path, store: Path) -> None:
    prism("ingest", chat, "--store", store, "--no-embedder")
    before = prism("stats", "--store", store).stdout
    again = prism("ingest", chat, "--store", store, "--no-embedder", "--quiet")
    assert again.stdout.startswith("8 messages: 0 stored, 0 joined, 7 duplicate, 1 rejected; 5 units in the store; ")
    assert len(again.stdout.splitlines()) == 1
    assert prism("stats", "--store", store).stdout == before


def test_a_longer_file_adds_what_is_new(prism: Prism, chat: Path, store: Path) -> None:
    prism("ingest", chat, "--store", store, "--no-embedder")
    chat.write_text(
        json.dumps({"id": "lyon", "messages": [*CHAT, {"role": "assistant", "content": "Booked."}]}), encoding="utf-8"
    )
    assert "1 stored, 0 joined, 7 duplicate" in prism("ingest", chat, "--store", store, "--no-embedder").stdout


def test_json_receipts(prism: Prism, chat: Path, store: Path) -> None:
    result = prism("ingest", chat, "--store", store, "--no-embedder", "--json")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["run"], line["index"], line["role"]) for line in lines[:2]] == [
        ("lyon", 0, "system"),
        ("lyon", 1, "user"),
    ]
    assert lines[0]["reason"].startswith("a system prompt")
    assert lines[0]["receipts"] == []
    assert len(lines[4]["receipts"]) == len(lines[4]["units"]) == 2
    assert result.stderr.startswith("8 messages: ")
    with PrismMemory.open(store, embedder=None) as memory:
        assert memory.receipt(lines[3]["receipts"][0], scope="local").unit_id == lines[2]["units"][0]


def test_runs_longer_than_a_transaction(prism: Prism, tmp_path: Path, store: Path) -> None:
    """A call at the end of one transaction is answered at the beginning of the next; every unit keeps its place."""
    said = [{"role": "user", "content": f"number {index}"} for index in range(2 * CHUNK)]
    messages = [*said[: CHUNK - 1], CHAT[2], CHAT[3], *said[CHUNK - 1 :]]
    file = tmp_path / "long.jsonl"
    file.write_text(json.dumps({"id": "long", "messages": messages}), encoding="utf-8")
    lines = prism("ingest", file, "--store", store, "--no-embedder").stdout.splitlines()
    assert lines[CHUNK].split()[1:] == ["joined", lines[CHUNK - 1].split()[2]]
    ids = [line.split()[2] for line in lines[:-1] if " stored " in line]
    with PrismMemory.open(store, embedder=None) as memory:
        times = [memory.get(unit_id, scope="local").event_time for unit_id in ids]
    assert len(ids) == 2 * CHUNK + 1
    assert all(earlier < later for earlier, later in pairwise(times))


def test_the_clock_never_stands_still() -> None:
    clock = ForwardClock()
    started = datetime.now(UTC)
    times = [clock() for _ in range(2000)]
    assert all(earlier < later for earlier, later in pairwise(times))
    assert abs(times[0] - started) < timedelta(minutes=1)


def test_evidence_rows_get_a_scope_each(prism: Prism, tmp_path: Path, store: Path) -> None:
    file = tmp_path / "qa.jsonl"
    rows = [QA_ROW, {**QA_ROW, "id": "other", "units": QA_ROW["units"][:1], "questions": []}]
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    result = prism("ingest", file, "--store", store, "--no-embedder", "--scope", "acme", "--scope", "ana")
    assert "3 messages: 3 stored" in result.stdout
    assert "5 units in the store" in result.stdout  # three messages, and what two of them state
    assert stored_units(store, "acme", "ana", "talk") == 3
    assert stored_units(store, "acme", "ana", "other") == 2


def test_several_files_are_read_before_any_is_written(prism: Prism, chat: Path, tmp_path: Path, store: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"role": "user", "content": "fine"}\n{"role": "user", "content": \n', encoding="utf-8")
    result = prism("ingest", chat, broken, "--store", store)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert re.fullmatch(
        r"prism: \S+broken\.jsonl, line 2: is not JSON \(.*\); the formats are described in docs/cli\.md\n",
        result.stderr,
    )
    assert not store.exists()


def test_a_missing_file(prism: Prism, tmp_path: Path, store: Path) -> None:
    result = prism("ingest", tmp_path / "none.json", "--store", store)
    assert result.exit_code == 2
    assert "none.json, line 1: cannot be read" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("heading", "messages"), [("Chat", "6 messages"), ("Agent runs", "3 messages"), ("Evidence QA", "2 messages")]
)
def test_the_formats_of_the_page_can_be_ingested(
    prism: Prism, tmp_path: Path, store: Path, heading: str, messages: str
) -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    example = page.split(f"### {heading}\n")[1].split("```json\n")[1].split("```")[0]
    file = tmp_path / "example.jsonl"
    file.write_text(example, encoding="utf-8")
    result = prism("ingest", file, "--store", store, "--no-embedder")
    assert summary(result).startswith(messages)
    assert result.exit_code == 0
