from __future__ import annotations

import json
from pathlib import Path

import pytest

from prism_core.cli.output import cut, say, width
from tests.core.cli.samples import Prism

QUESTION = "What happened to the booking of offer HS-4471?"


def test_ask_prints_the_block_and_its_tokens(prism: Prism, chat: Path, store: Path) -> None:
    prism("ingest", chat, "--store", store)
    result = prism("ask", QUESTION, "--store", store)
    assert result.stdout.startswith("<past_experience>\n")
    assert "sold out (failed)\n" in result.stdout
    *_, last = result.stdout.splitlines()
    memories, _, tokens, *rest = last.split()
    assert int(memories) >= 1
    assert 0 < int(tokens) <= 1000
    assert rest[:4] == ["of", "1,000", "tokens,", "answerability"]
    assert 0 < float(rest[4]) <= 1
    assert result.stderr == ""


def test_ask_keeps_to_the_budget(prism: Prism, units: dict[int, list[str]], store: Path) -> None:
    asked = ("ask", QUESTION, "--store", store, "--no-embedder", "--json")
    wide, narrow = (json.loads(prism(*asked, "--budget", budget).stdout) for budget in (400, 60))
    assert 0 < narrow["tokens"] <= 60 < wide["tokens"] <= 400
    assert len(narrow["hits"]) < len(wide["hits"])
    assert prism("ask", QUESTION, "--store", store, "--no-embedder", "--budget", 5).stdout.startswith(
        "(nothing fits and is worth its tokens)\n"
    )


def test_ask_for_k_prints_a_table(prism: Prism, units: dict[int, list[str]], store: Path) -> None:
    result = prism("ask", QUESTION, "--store", store, "--no-embedder", "--k", 2, COLUMNS="90")
    heading, first, second, blank, last = result.stdout.splitlines()
    assert heading.split()[:4] == ["#", "score", "front", "confidence"]
    assert first.split()[0] == "1"
    assert second.split()[0] == "2"
    assert units[4][0] in first
    assert max(len(first), len(second)) <= 90
    assert blank == ""
    assert last.startswith("2 memories, ")
    assert " answerability 0." in last


def test_ask_explains_what_was_returned_and_what_was_not(
    prism: Prism, units: dict[int, list[str]], store: Path
) -> None:
    result = prism("ask", QUESTION, "--store", store, "--no-embedder", "--k", 1, "--explain")
    assert "objectives: lexical" in result.stdout
    assert result.stdout.count(": returned at place 1") == 1
    assert result.stdout.count(": not returned") == 3
    assert result.stdout.count("found by:") == 4


def test_ask_answers_in_json(prism: Prism, units: dict[int, list[str]], store: Path) -> None:
    asked = ("ask", QUESTION, "--store", store, "--no-embedder", "--json")
    answer = json.loads(prism(*asked, "--k", 2, "--explain", "--task", "lyon", "--active", units[1][0]).stdout)
    assert answer["query"]["text"] == QUESTION
    assert answer["query"]["task_id"] == "lyon"
    assert answer["query"]["active"] == units[1]
    assert [hit["unit_id"] for hit in answer["hits"]] == [hit["unit"]["id"] for hit in answer["hits"]]
    assert answer["hits"][0]["unit"]["text"].startswith("book_hotel(")
    assert set(answer["hits"][0]["objectives"]) == set(answer["objectives"])
    assert answer["tokens"] == sum(hit["tokens"] for hit in answer["hits"])
    assert answer["answerability"] >= max(hit["answerability"] for hit in answer["hits"]) > 0
    assert answer["degraded"] == []
    assert len(answer["left_out"]) == 3
    assert "text" not in answer
    assert json.loads(prism(*asked).stdout)["text"].startswith("<past_experience>")


def test_ask_within_another_task_finds_nothing(prism: Prism, units: dict[int, list[str]], store: Path) -> None:
    result = prism("ask", QUESTION, "--store", store, "--no-embedder", "--task", "another", "--k", 3)
    assert "0 memories" in result.stdout


def test_an_empty_scope_names_the_others(prism: Prism, units: dict[int, list[str]], store: Path) -> None:
    result = prism("ask", QUESTION, "--store", store, "--no-embedder", "--scope", "acme")
    assert result.exit_code == 0
    assert "0 memories, 0 of 1,000 tokens" in result.stdout
    assert result.stderr == "note: nothing is stored under --scope acme; the store has --scope local\n"


def test_the_store_may_come_from_the_environment(prism: Prism, units: dict[int, list[str]], store: Path) -> None:
    assert "5 (3 step, 2 message)" in prism("stats", PRISM_STORE=str(store)).stdout


def test_chroma_answers_when_asked_for(prism: Prism, chat: Path, store: Path) -> None:
    prism("ingest", chat, "--store", store)
    asked = [prism("ask", QUESTION, "--store", store, "--k", 3, "--index", index) for index in ("exact", "chroma")]
    assert asked[0].stdout == asked[1].stdout
    assert (store / "chroma").is_dir()


def test_why_prints_what_led_to_a_unit(prism: Prism, units: dict[int, list[str]], store: Path) -> None:
    asked, source, booked = prism("why", units[4][0], "--store", store).stdout.splitlines()
    assert asked.startswith(units[1][0])
    assert "[REQUIRES: uses Lyon" in asked
    assert source.startswith(units[2][0])
    assert "[REQUIRES: uses HS-4471" in source
    assert booked.startswith(units[4][0])


def test_why_follows_effects_and_failures(prism: Prism, units: dict[int, list[str]], store: Path) -> None:
    impact = prism("why", units[2][0], "--impact", "--store", store).stdout
    assert units[4][0] in impact
    assert units[1][0] not in impact
    failure = prism("why", units[4][0], "--failure", "--store", store).stdout
    assert [line.split()[0] for line in failure.splitlines()] == [units[1][0], units[2][0], units[4][0]]
    near = prism("why", units[4][0], "--failure", "--depth", 1, "--store", store).stdout
    assert units[1][0] not in near


def test_why_answers_in_json(prism: Prism, units: dict[int, list[str]], store: Path) -> None:
    chain = json.loads(prism("why", units[4][0], "--store", store, "--json").stdout)
    assert chain["root"] == units[4][0]
    assert chain["truncated"] is False
    assert [step["depth"] for step in chain["steps"]] == [2, 1, 0]
    assert chain["steps"][1]["link"]["relation"] == "REQUIRES"
    assert chain["steps"][2]["unit"]["outcome"] == "failure"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("ask", "q", "--budget", "0"), "Invalid value for '--budget'"),
        (("ask", "q", "--budget", "many"), "Invalid value for '--budget'"),
        (("ask", "q", "--k", "0"), "Invalid value for '--k'"),
        (("ask", " "), "query field text=' ' is unusable"),
        (("ask", "q", "--scope", " "), "holds an empty segment"),
        (("ask",), "Missing argument"),
        (("why", "nobody"), "no unit 'nobody' in scope ('local',)"),
        (("why", "u", "--impact", "--failure"), "choose one of them"),
        (("why", "u", "--depth", "0"), "Invalid value for '--depth'"),
    ],
)
def test_wrong_use_is_told_in_one_line(
    prism: Prism, units: dict[int, list[str]], store: Path, arguments: tuple[str, ...], problem: str
) -> None:
    result = prism(*arguments, "--store", store)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("prism: ")
    assert problem in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_texts_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    say("a\x1b[2Jb\x07\r\n\tc")
    assert capsys.readouterr().out == "a\ufffd[2Jb\ufffd\ufffd\n\tc\n"


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("short", 5, "short"),
        ("two\n lines", 20, "two lines"),
        ("something longer", 9, "someth..."),
        ("我们去了山上", 9, "我们去..."),
    ],
)
def test_cutting_counts_columns(text: str, columns: int, shown: str) -> None:
    assert cut(text, columns) == shown


def test_the_width_is_that_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "77")
    assert width() == 77
