from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import chromadb
import pytest
from chromadb.config import Settings
from llama_index.core.embeddings import MockEmbedding

from prism_core import ReceiptStatus
from tests.llamaindex.scripted import ScriptedLLM

PAGE = "llamaindex.md"
SECTIONS = ("Filters and times", "Re-rank", "Ingest", "Property graph", "Embeddings", "Vector stores")


def test_the_snippets_run(snippet: Callable[[str, str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    client: Any = chromadb.PersistentClient(tmp_path / "chroma", settings=Settings(anonymized_telemetry=False))
    names: dict[str, Any] = {
        "llm": ScriptedLLM(responder=lambda prompt: "blue" if "blue variant" in prompt else "unknown"),
        "embed_model": MockEmbedding(embed_dim=8, model_name="mock"),
        "client": client,
    }
    for section in SECTIONS:
        exec(snippet(PAGE, section), names)
    with names["memory"]:
        assert [node.text for node in names["nodes"]] == ["The client wants the blue variant."]
        assert str(names["answer"]) == "blue"
        assert [unit.text for unit in names["stored"]] == ["The harbour office opens at nine."]
        assert names["memory"].units(scope=names["scope"], session_id="manual") == []
        assert names["embedder"].dimension == 8
        assert names["count"] == 1
        assert names["counts"].units == len(names["memory"].units(scope=("acme", "archive"))) == 1
    client.close()


def test_the_query_engine(snippet: Callable[[str, str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    llm = ScriptedLLM(responder=lambda prompt: "blue" if "blue variant" in prompt else "unknown")
    names: dict[str, Any] = {"llm": llm}
    exec(snippet(PAGE, "Query engine"), names)
    with names["memory"]:
        assert str(names["answer"]) == "blue"


def test_the_models(snippet: Callable[[str, str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reading = '{"intents": ["identity"], "facts": [{"entity": "user", "attribute": "home", "value": "Lisbon"}]}'
    names: dict[str, Any] = {"llm": ScriptedLLM(responder=lambda prompt: reading)}
    exec(snippet(PAGE, "Models"), names)
    with names["reading"] as memory:
        assert names["receipt"].status is ReceiptStatus.STORED
        assert [fact.text for fact in memory.facts(scope=("acme", "alice"))] == ["user: home is Lisbon"]
    assert names["reader"].meter.total().calls == 1
