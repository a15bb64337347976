"""Every recipe runs as it stands, and shows what it says it shows."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

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
        "The search step came back: False",
    ),
    "customer_service.py": (
        "- user: Where is my order R-7781?",
        "[eve, eve-1] Which order did I ask about?\n  I know nothing about you.",
        "Ann's kettle in Bob's prompt: False",
        "units of Ann: 5 before, 4 after; with nickel in it: 0",
    ),
}
"""What the output of each recipe must hold."""
HIDDEN: Mapping[str, tuple[str, ...]] = {
    "research_assistant_langchain.py": ('- search_papers({"topic": "memory of agents"})',),
}
"""What it must not hold."""


def run(recipe: str, folder: Path) -> str:
    """Run a recipe in a process of its own, in an empty folder, with no way out but loopback."""
    guarded = (
        "import runpy, sys; from pytest_socket import socket_allow_hosts; "
        "socket_allow_hosts(['127.0.0.1', '::1'], allow_unix_socket=True); "
        f"sys.path.insert(0, {str(COOKBOOK)!r}); runpy.run_path({str(COOKBOOK / recipe)!r}, run_name='__main__')"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-c", guarded], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_recipe_is_looked_at() -> None:
    assert set(RECIPES) == set(SHOWN)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_runs_offline_and_shows_what_it_says(recipe: str, tmp_path: Path) -> None:
    shown = run(recipe, tmp_path)
    for wanted in SHOWN[recipe]:
        assert wanted in shown
    for unwanted in HIDDEN.get(recipe, ()):
        assert unwanted not in shown


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_is_short_and_its_notebook_is_made_from_it(recipe: str) -> None:
    script = COOKBOOK / recipe
    text = script.read_text(encoding="utf-8")
    assert text.count("\n") < LONGEST
    assert text.count("# %% [markdown]") >= 3
    assert text.count("change this line") <= 1
    assert script.with_suffix(".ipynb").read_text(encoding="utf-8") == BUILDER.notebook(script)


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
