from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def test_the_snippet_runs(snippet: Callable[[str, str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(snippet("hosts.md", "LangChain"), names)
    with names["memory"]:
        assert "blue variant" in names["recall"].invoke("Which variant does the client want?")


def test_the_stores_snippet_runs(
    snippet: Callable[[str, str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(snippet("hosts.md", "Store"), names)
    with names["memory"]:
        assert [item.key for item in names["found"]] == ["drink"]
        assert names["found"][0].namespace == ("users", "alice@example%2Ecom")
