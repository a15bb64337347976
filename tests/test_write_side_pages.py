"""The pages on the write side: their code runs, and no link is broken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_pages import headings

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = ("facts.md", "llm.md", "relations.md", "taxonomy.md", "entities.md")


def snippets(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_code_on_facts_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for code in snippets("facts.md"):
        exec(compile(code, "facts.md", "exec", dont_inherit=True), names)
    shown = capsys.readouterr().out
    assert "user: allergic to nuts 0.8" in shown
    assert "user: home is Rome 0.8" in shown
    assert shown.count("user: home is Paris") == 1


@pytest.mark.parametrize("page", PAGES)
def test_the_code_compiles(page: str) -> None:
    if not (DOCS / page).exists():
        pytest.fail(f"docs/{page} is missing")
    for code in snippets(page):
        compile(code, page, "exec", dont_inherit=True)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target, anchor in re.findall(r"\]\((?!http)([^)#]*)(?:#([^)]*))?\)", (DOCS / page).read_text(encoding="utf-8")):
        found = (DOCS / (target or page)).resolve()
        assert found.is_file(), target
        assert not anchor or anchor in headings(found), f"{target}#{anchor}"
