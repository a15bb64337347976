"""Every recipe runs as it stands, and shows what it says it shows."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from tests.openai_stub import OpenAIStub

ROOT = Path(__file__).resolve().parent.parent.parent
COOKBOOK = ROOT / "cookbook"
LONGEST = 120

pytest.importorskip("langchain.agents", reason="the recipes need the extra [all]")
pytest.importorskip("llama_index.core", reason="the recipes need the extra [all]")


def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_notebooks", ROOT / "scripts" / "build_notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILDER = builder()
RECIPES = [path.name for path in BUILDER.recipes()]
SHOWN: Mapping[str, tuple[str, ...]] = {
    "research_assistant_langchain.py": (
        "Tuesday: A retrieves from a graph of steps, B keeps a summary.",
        '- read_paper({"name": "paper_a"})',
        '- read_paper({"name": "paper_b"})',
        "The readings came back: 2",
    ),
    "customer_service.py": (
        "- user: Where is my order R-7781?",
        "[eve, eve-1] Which order did I ask about?\n  I know nothing about you.",
        "Ann's kettle in Bob's prompt: False",
        "units of Ann: 6 before, 4 after; with nickel in it: 0",
    ),
    "travel_planner.py": (
        "I love the sea and modern architecture.  [REQUIRES: takes up opinion of modern architecture loves]",
        "My budget is 2,000 euros for the week.  [REQUIRES: takes up budget 2,000 euros for the week]",
        "[REQUIRES: decides on what was proposed]",
        "user: budget is 2,000 euros for the week: superseded",
        "user: budget is 2,500 euros for the week: current",
    ),
    "swap_langchain.py": (
        "with_buffer: 2 changed lines",
        "with_vectors: 3 changed lines",
        "with_prism    It is 4417.       100 words sent",
        "on Tuesday:   It is 4417.",
    ),
    "langgraph_team.py": (
        "report: Visitors rose to 41,200 in October.",
        "notebook    [(('plans',), 'current'), (('findings', 'museum'), 'visitors')]",
        "the planner's own memory knows the number: False",
    ),
    "own_parts.py": (
        "embedder: langchain:PieceEmbeddings:pieces-256",
        "points in Qdrant: 4 | texts in Qdrant: False",
        "refused: the store holds vectors of embedder",
        "again:   The payment service retries three times",
    ),
    "chinese_customer.py": (
        "- 李女士: 退款请原路返回，不要换成优惠券。",
        "11月21日： 李女士: 我上周六买的烤箱门关不严，想退货。",
        "助手： 退货单号是 RT-5520，退款原路返回。",
        "12月以后： 0 条",
    ),
    "no_repeated_failure.py": (
        "requests to the hotels: HS-4471, HS-4471\n",
        "requests to the hotels: HS-4471, HS-2090\n",
        'bob-tuesday  book_room({"offer": "HS-2090"}) success',
        "and failed: Error: HS-4471 is sold out until Friday",
    ),
    "local_model_ollama.py": (
        "monday:  It says: The boiler in the cellar is at 4.2 bar.",
        "tuesday: It stood at 4.2 bar when we looked",
        "embedder: langchain:OllamaEmbeddings:bge-m3",
        "stopped: degraded | found: The plumber comes on Thursday at eight. | by: lexical",
        "running: complete | by: lexical dense",
    ),
    "research_assistant_llamaindex.py": ("They differ in what they spend: 1000 against 600 tokens.",),
    "support_bot_llamaindex.py": ("-[REQUIRES: uses O-5521]->",),
    "swap_llamaindex.py": ("friday: Almond cake: no hazelnuts.",),
}
"""What the output of each recipe must hold."""
MARGIN = 25
"""Points of chance by which what was read is ahead of the search that led to it."""
LANGCHAIN = [name for name in RECIPES if "from offline import" in (COOKBOOK / name).read_text(encoding="utf-8")]


def run(script: Path, folder: Path, **variables: str) -> str:
    """Run a recipe in a process of its own, in an empty folder, with no way out but loopback."""
    guarded = (
        "import runpy, sys; from pytest_socket import socket_allow_hosts; "
        "socket_allow_hosts(['127.0.0.1', '::1'], allow_unix_socket=True); "
        f"sys.path.insert(0, {str(COOKBOOK)!r}); runpy.run_path({str(script)!r}, run_name='__main__')"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **variables}
    done = subprocess.run(
        [sys.executable, "-c", guarded], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_recipe_is_looked_at() -> None:
    assert set(RECIPES) == set(SHOWN)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_runs_offline_and_shows_what_it_says(recipe: str, tmp_path: Path) -> None:
    shown = run(COOKBOOK / recipe, tmp_path)
    for wanted in SHOWN[recipe]:
        assert wanted in shown


def test_what_was_read_is_well_ahead_of_the_search(tmp_path: Path) -> None:
    shown = run(COOKBOOK / "research_assistant_langchain.py", tmp_path)
    ranked = [(int(chance), step) for chance, step in re.findall(r"^(\d+)% (\w+)", shown, re.MULTILINE)]
    assert [step for _, step in ranked[:2]] == ["read_paper", "read_paper"]
    searched = next(chance for chance, step in ranked if step == "search_papers")
    assert min(chance for chance, _ in ranked[:2]) >= searched + MARGIN


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_is_short_and_its_notebook_is_made_from_it(recipe: str) -> None:
    script = COOKBOOK / recipe
    text = script.read_text(encoding="utf-8")
    assert text.count("\n") < LONGEST
    assert text.count("# %% [markdown]") >= 3
    assert script.with_suffix(".ipynb").read_text(encoding="utf-8") == BUILDER.notebook(script)


@pytest.mark.parametrize("recipe", LANGCHAIN)
def test_one_line_changes_to_openai(recipe: str, tmp_path: Path) -> None:
    pytest.importorskip("langchain_openai")
    text = (COOKBOOK / recipe).read_text(encoding="utf-8")
    [offered] = re.findall(r"^# (from langchain_openai .*; model = .*)$", text, re.MULTILINE)
    changed, count = re.subn(r"^model = .*$", lambda _: offered, text, flags=re.MULTILINE)
    assert count == 1
    script = tmp_path / recipe
    script.write_text(changed, encoding="utf-8")
    with OpenAIStub(lambda body: "Understood.") as stub:
        run(script, tmp_path, OPENAI_API_BASE=str(stub.base_url), OPENAI_API_KEY="unused")
        assert stub.chats


def test_one_line_changes_to_ollama(tmp_path: Path) -> None:
    pytest.importorskip("langchain_ollama")
    text = (COOKBOOK / "local_model_ollama.py").read_text(encoding="utf-8")
    [offered] = re.findall(r"^# (base_url = .*)$", text, re.MULTILINE)
    changed, count = re.subn(r"^base_url = .*$", offered, text, flags=re.MULTILINE)
    assert count == 1
    script = tmp_path / "local_model_ollama.py"
    with OpenAIStub(lambda body: "Understood.") as stub:
        place = str(stub.base_url).removesuffix("/v1")
        script.write_text(changed.replace("http://127.0.0.1:11434", place), encoding="utf-8")
        assert "tuesday: Understood." in run(script, tmp_path)
        paths = {request.path for request in stub.requests}
    assert {"/api/chat", "/api/embed"} <= paths


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_notebook_runs(recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    notebook = nbformat.read(COOKBOOK / recipe.replace(".py", ".ipynb"), as_version=4)
    resources = {"metadata": {"path": str(COOKBOOK)}}
    done = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()
    shown = "".join(
        output.get("text", "") for cell in done.cells if cell.cell_type == "code" for output in cell.outputs
    )
    for wanted in SHOWN[recipe]:
        assert wanted in shown
