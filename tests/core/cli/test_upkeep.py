from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.core.cli.samples import Prism


def test_stats_of_a_scope(prism: Prism, units: dict[int, list[str]], store: Path) -> None:
    lines = prism("stats", "--store", store).stdout.splitlines()
    assert lines[0] == "scope    --scope local"
    assert lines[1] == "units    5 (3 step, 2 message)"
    assert "4 FOLLOWS" in lines[2]
    assert lines[4] == "pending  5 waiting to be embedded, 0 in the inbox"


def test_stats_of_all_scopes(prism: Prism, units: dict[int, list[str]], chat: Path, store: Path) -> None:
    prism("ingest", chat, "--store", store, "--no-embedder", "--scope", "acme", "--scope", "two words")
    heading, *rows, total = prism("stats", "--all", "--store", store).stdout.splitlines()
    assert heading.split() == ["units", "links", "tokens", "pending", "scope"]
    assert [row.split("--scope", 1)[1] for row in rows] == [" local", " acme --scope 'two words'"]
    assert total.split()[0] == "10"
    assert total.endswith("2 scopes")


def test_stats_of_an_unknown_scope(prism: Prism, units: dict[int, list[str]], store: Path) -> None:
    result = prism("stats", "--store", store, "--scope", "nobody")
    assert "units    0 (none)" in result.stdout
    assert result.stderr.startswith("note: nothing is stored under --scope nobody; the store has --scope local")
    assert "1 scope\n" in prism("stats", "--all", "--store", store).stdout


def test_doctor_of_a_sound_store(prism: Prism, units: dict[int, list[str]], store: Path) -> None:
    result = prism("doctor", "--store", store)
    assert result.exit_code == 0
    assert "ok    database file: sound" in result.stdout
    assert result.stdout.endswith(" checks, 0 failed\n")


def test_doctor_of_a_damaged_store(prism: Prism, units: dict[int, list[str]], store: Path) -> None:
    with sqlite3.connect(store / "ledger.db") as connection:
        connection.execute("DELETE FROM log WHERE seq = 3")
    connection.close()
    result = prism("doctor", "--store", store)
    assert result.exit_code == 1
    assert "FAIL  log: " in result.stdout
    assert "Traceback" not in result.output


def test_rebuild_of_a_scope_and_of_all(prism: Prism, units: dict[int, list[str]], chat: Path, store: Path) -> None:
    prism("ingest", chat, "--store", store, "--no-embedder", "--scope", "acme")
    before = prism("ask", "offer HS-4471", "--store", store, "--no-embedder", "--k", 3).stdout
    one = prism("rebuild", "--store", store, "--no-embedder")
    assert one.stdout.startswith("rebuilt --scope local: 5 units, ")
    assert one.stdout.rstrip().endswith(" s")
    assert one.stderr == "note: 5 units wait to be embedded\n"
    assert len(prism("rebuild", "--store", store, "--no-embedder", "--all").stdout.splitlines()) == 2
    assert prism("ask", "offer HS-4471", "--store", store, "--no-embedder", "--k", 3).stdout == before


def test_rebuild_embeds(prism: Prism, units: dict[int, list[str]], store: Path) -> None:
    result = prism("rebuild", "--store", store, "--reembed")
    assert "every vector computed again" in result.stdout
    assert "pending  0 waiting" in prism("stats", "--store", store).stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--scope", "nobody"), "the store has no such scope; it has --scope local"),
        (("--reembed", "--no-embedder"), "nothing can be embedded without an embedder"),
    ],
)
def test_rebuild_refuses(
    prism: Prism, units: dict[int, list[str]], store: Path, arguments: tuple[str, ...], problem: str
) -> None:
    result = prism("rebuild", "--store", store, *arguments)
    assert result.exit_code == 2
    assert problem in result.stderr


@pytest.mark.parametrize(
    "arguments", [("ask", "q"), ("why", "u"), ("stats",), ("doctor",), ("rebuild",), ("stats", "--all")]
)
def test_a_missing_store_is_not_made(prism: Prism, store: Path, arguments: tuple[str, ...]) -> None:
    result = prism(*arguments, "--store", store)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("prism: no prism-memory store at ")
    assert "prism ingest" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not store.exists()


def test_a_file_that_is_no_store(prism: Prism, chat: Path) -> None:
    result = prism("stats", "--store", chat)
    assert result.exit_code == 2
    assert "is a file, not a directory" in result.stderr


def test_erase_a_unit_a_session_and_the_rest(prism: Prism, units: dict[int, list[str]], store: Path) -> None:
    first = units[1][0]
    assert prism("erase", first, "--store", store).stdout == "erased 1 unit of --scope local\n"
    assert "erased 4 units" in prism("erase", "--session", "lyon", "--store", store).stdout
    assert prism("erase", "--whole-scope", "--store", store).stdout == "erased 0 units of --scope local\n"
    assert "0 scopes" in prism("stats", "--all", "--store", store).stdout


@pytest.mark.parametrize("chosen", [[], ["nobody"], ["--whole-scope", "--task", "t"]])
def test_erase_what_cannot_be(prism: Prism, units: dict[int, list[str]], store: Path, chosen: list[str]) -> None:
    result = prism("erase", *chosen, "--store", store)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert "units    5 " in prism("stats", "--store", store).stdout
