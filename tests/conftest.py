"""Fixtures every test may use."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prism_core import PrismMemory

pytest.register_assert_rewrite("prism_core.testing")  # its contract classes assert, as test files do

from prism_core.testing import CountingIds, ScriptedClock  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
TRACING = ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2")


@pytest.fixture(autouse=True)
def no_tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's own tracing settings must not make the tests call out."""
    for name in TRACING:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[PrismMemory]:
    """A memory on disk with the bundled embedder, a scripted clock and counted ids."""
    with PrismMemory.open(tmp_path / "memory", clock=ScriptedClock(), new_id=CountingIds()) as opened:
        yield opened


@pytest.fixture
def chroma_memory(tmp_path: Path) -> Iterator[PrismMemory]:
    """The same, with embedded Chroma for every scope: what large scopes run on."""
    with PrismMemory.open(tmp_path / "memory", index="chroma", clock=ScriptedClock(), new_id=CountingIds()) as opened:
        yield opened


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of benchmark data, which is not part of the project."""
    folder = Path(os.environ.get("PRISM_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no benchmark data; set PRISM_DATA to the folder that holds it")
    return folder


@pytest.fixture(scope="session")
def snippet() -> Callable[[str, str], str]:
    """Reads the first Python block under a heading of a documentation page: `snippet("langchain.md", "Retriever")`."""

    def read(page: str, heading: str) -> str:
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        section = re.search(rf"^#+ {re.escape(heading)}$(.*?)(?=^#|\Z)", _outside_code(text), re.MULTILINE | re.DOTALL)
        assert section is not None, f"docs/{page} has no heading {heading!r}"
        block = re.search(r"^```python\n(.*?)^```$", text[section.start() : section.end()], re.MULTILINE | re.DOTALL)
        assert block is not None, f"docs/{page} has no Python block under {heading!r}"
        return block.group(1)

    return read


def _outside_code(text: str) -> str:
    """The text with `#` blanked inside fenced blocks, so that a comment is not taken for a heading."""
    return re.sub(r"^```.*?^```$", lambda block: block.group(0).replace("#", " "), text, flags=re.MULTILINE | re.DOTALL)
