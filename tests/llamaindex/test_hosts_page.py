from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.llamaindex.scripted import ScriptedLLM


def test_the_snippet_runs(snippet: Callable[[str, str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    llm = ScriptedLLM(responder=lambda prompt: "blue" if "blue variant" in prompt else "unknown")
    names: dict[str, Any] = {"llm": llm}
    exec(snippet("hosts.md", "LlamaIndex"), names)
    with names["memory"]:
        assert str(names["answer"]) == "blue"
