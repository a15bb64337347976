"""Pages on hosts and models: their code is one typed program each, nothing public is missing, no link is broken."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
HOSTS = {
    "langchain.md": ("langchain_classic",),
    "llamaindex.md": ("llama_index.core",),
    "llm.md": ("langchain_openai", "langchain_ollama", "llama_index.llms.ollama"),
}
PACKAGES = {"langchain.md": "prism_langchain", "llamaindex.md": "prism_llamaindex"}
READERS = {
    "langchain.md": """
from langchain_core.language_models import BaseChatModel
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
model: BaseChatModel
any_retriever: BaseRetriever
base_url: str
prompt: ChatPromptTemplate
""",
    "llamaindex.md": """
from chromadb.api import ClientAPI
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import LLM
client: ClientAPI
embed_model: BaseEmbedding
llm: LLM
""",
    "llm.md": "",
}
"""What the reader of a page has: names its code uses and does not define."""
INLINE = "# mypy: allow-redefinition, local-partial-types"


def program(page: str) -> str:
    """A page with everything but its Python blanked, so that a line has the number it has on the page."""
    lines, inside = [], False
    for line in (DOCS / page).read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            inside = line == "```python"
            line = ""
        lines.append(line if inside else "")
    assert not lines[0] and not lines[1], "the first two lines of a page are its title"
    return "\n".join([INLINE, f"from names_of_{page.removesuffix('.md')} import *", *lines[2:], ""])


def headings(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[str]]:
    """One run of mypy, by the project's own settings, over the pages whose host is installed."""
    pytest.importorskip("mypy", reason="mypy is not installed: pip install 'prism-memory[dev]'")
    folder = tmp_path_factory.mktemp("pages")
    checked = []
    for page, hosts in HOSTS.items():
        try:
            for host in hosts:
                import_module(host)
        except ModuleNotFoundError:
            continue
        checked.append(folder / f"{page.removesuffix('.md')}_page.py")
        checked[-1].write_text(program(page), encoding="utf-8")
        (folder / f"names_of_{page.removesuffix('.md')}.py").write_text(READERS[page], encoding="utf-8")
    path = os.pathsep.join([str(folder), str(ROOT)])
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        "pyproject.toml",
        "--no-error-summary",
        *map(str, checked),
    ]
    run = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "MYPYPATH": path}, capture_output=True, text=True, check=False
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr

    def of(page: str) -> list[str]:
        name = f"{page.removesuffix('.md')}_page.py:"
        return [
            f"docs/{page}:{line.partition(name)[2]}"
            for line in run.stdout.splitlines()
            if name in line and ": error:" in line
        ]

    return of


@pytest.mark.parametrize("page", HOSTS)
def test_the_code_compiles(page: str) -> None:
    compile(program(page), page, "exec", dont_inherit=True)


@pytest.mark.parametrize("page", HOSTS)
def test_the_code_is_typed(page: str, complaints: Callable[[str], list[str]]) -> None:
    for host in HOSTS[page]:
        pytest.importorskip(host, reason=f"{host} is not installed, which docs/{page} is about")
    assert not complaints(page)


@pytest.mark.parametrize("page", PACKAGES)
def test_every_public_name_is_on_its_page(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    names = set(import_module(PACKAGES[page]).__all__) - {"to_document", "to_node", "GraphCounts"}
    assert sorted(name for name in names if name not in text) == []


@pytest.mark.parametrize("page", ["hosts.md", *HOSTS])
def test_links_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\((?!http)([^)#]*)(?:#([^)]*))?\)", (DOCS / page).read_text(encoding="utf-8"))
    assert links
    for target, anchor in links:
        found = (DOCS / (target or page)).resolve()
        assert found.is_file(), target
        assert not anchor or anchor in headings(found), f"{target}#{anchor}"
