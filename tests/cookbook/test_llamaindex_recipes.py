"""The recipes for LlamaIndex, run as a reader runs them: `python cookbook/NAME.py`."""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.openai_stub import Body, OpenAIStub, text_of

pytest.importorskip("llama_index.core", reason="LlamaIndex is not installed: pip install 'prism-memory[llamaindex]'")

ROOT = Path(__file__).resolve().parents[2]
COOKBOOK = ROOT / "cookbook"
RECIPES = ("research_assistant_llamaindex", "support_bot_llamaindex", "swap_llamaindex")
MODEL = re.compile(r"^llm = .*$", re.MULTILINE)


def run(script: Path, **variables: str) -> str:
    """What a script prints; it reaches no network but loopback, for it has no key."""
    path = os.pathsep.join([str(COOKBOOK), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", **variables}
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, encoding="utf-8", check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def source(recipe: str) -> str:
    return (COOKBOOK / f"{recipe}.py").read_text(encoding="utf-8")


def models(recipe: str) -> list[str]:
    """The lines that the recipe offers in place of its own model."""
    return re.findall(r"^# (from llama_index\.llms\..*; llm = .*)$", source(recipe), re.MULTILINE)


def with_model(recipe: str, line: str, folder: Path) -> Path:
    """The recipe with the one line that makes the model replaced."""
    text, count = MODEL.subn(lambda _: line, source(recipe))
    assert count == 1
    changed = folder / f"{recipe}.py"
    changed.write_text(text, encoding="utf-8")
    return changed


def cells(recipe: str) -> dict[str, str]:
    """The code under each heading."""
    parts = re.split(r"^# ## (.*)$", source(recipe), flags=re.MULTILINE)
    return dict(
        zip(parts[1::2], (part.partition("# %%\n")[2].partition("# %% ")[0] for part in parts[2::2]), strict=True)
    )


def last_words(body: Body) -> str:
    return text_of([message for message in body["messages"] if message["role"] == "user"][-1])


def test_the_two_readings_come_back_well_ahead_of_the_search() -> None:
    out = run(COOKBOOK / "research_assistant_llamaindex.py")
    monday, block, ranking = re.split(r"</?past_experience>", out)
    assert "search_papers" in monday
    assert re.findall(r"^- (\w+)\(", block, re.MULTILINE)[:2] == ["read_paper", "read_paper"]
    assert "Paper A, by Lindqvist" in block and "Paper B, by Okafor" in block
    assert [line.split("  ")[1] for line in ranking.strip().splitlines()[:2]] == [
        'read_paper({"paper_id": "paper-b"})',
        'read_paper({"paper_id": "paper-a"})',
    ]
    lines = [line.split("  ") for line in ranking.strip().splitlines()[:5]]
    chances = {step.partition("(")[0]: float(chance) for chance, step in lines}  # of several readings the last one's
    assert chances["read_paper"] >= chances["search_papers"] + 0.25
    assert ranking.strip().endswith("1000 against 600 tokens.")


def test_the_bot_knows_of_the_refund_days_later() -> None:
    out = run(COOKBOOK / "support_bot_llamaindex.py")
    assert "-> What arrives broken is refunded in full." in out
    lines = out.splitlines()
    assert lines[:2] == ["3 passages", "I have refunded it and sent you the receipt."]
    thursday = lines.index("Your refund RF-9917 is under way; it arrives within five working days.")
    assert lines[thursday + 1 : thursday + 3] == ["0 tool calls", "8 units, 9 links"]
    triplets = lines[thursday + 3 :]
    order = 'find_order({"email": "ana@example.org"}) -[REQUIRES: uses O-5521]-> refund_order({"order_id": "O-5521"})'
    receipt = 'refund_order({"order_id": "O-5521"}) -[REQUIRES: uses RF-9917]-> email_receipt({"refund_id": "RF-9917"})'
    assert {order, receipt} < set(triplets)
    assert len(triplets) == 9


def test_swapped_programs_remember() -> None:
    forgot, knew = "friday: Hazelnut cake.", "friday: Almond cake: no hazelnuts."
    out = run(COOKBOOK / "swap_llamaindex.py").splitlines()
    assert [line for line in out if line.startswith("friday")] == [forgot, knew, forgot, knew]


@pytest.mark.parametrize("program", ["A chat engine", "An agent"])
def test_a_swap_changes_at_most_ten_lines(program: str) -> None:
    code = cells("swap_llamaindex")
    before, after = code[f"{program}: before"], code[f"{program}: after"]
    changes = [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"]
    assert 2 <= len(changes) <= 10, changes


@pytest.mark.parametrize("recipe", RECIPES)
def test_recipes_are_short_and_offer_real_models(recipe: str) -> None:
    assert len(source(recipe).splitlines()) < 120
    assert [re.split(r"[ .]", line)[3] for line in models(recipe)] == ["openai", "ollama"]


@pytest.mark.parametrize("recipe", RECIPES[:2])
def test_one_line_changes_to_openai(recipe: str, tmp_path: Path) -> None:
    pytest.importorskip("llama_index.llms.openai", reason="llama-index-llms-openai is not installed")
    with OpenAIStub(lambda body: "Understood.") as stub:
        run(
            with_model(recipe, models(recipe)[0], tmp_path), OPENAI_API_BASE=str(stub.base_url), OPENAI_API_KEY="unused"
        )
        assert len(stub.chats) >= 2


def test_one_line_changes_to_ollama(tmp_path: Path) -> None:
    pytest.importorskip("llama_index.llms.ollama", reason="llama-index-llms-ollama is not installed")
    with OpenAIStub(lambda body: "Understood.") as stub:
        place = str(stub.base_url).removesuffix("/v1")
        line = models("swap_llamaindex")[1].removesuffix(")") + f", base_url={place!r})"
        run(with_model("swap_llamaindex", line, tmp_path))
        asked = [last_words(body) for body in stub.chats if "bake for Jana" in last_words(body)]
        assert ["allergic to hazelnuts" in words for words in asked] == [False, True, False, True]
