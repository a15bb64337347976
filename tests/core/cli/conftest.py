"""A store that the command line wrote, and the command line itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from prism_core.cli import app
from tests.core.cli.samples import CHAT, Prism


@pytest.fixture
def prism() -> Prism:
    """Runs a command; a traceback fails the test."""

    def run(*arguments: object, **environment: str) -> Result:
        return CliRunner().invoke(app, [str(each) for each in arguments], env=environment, catch_exceptions=False)

    return run


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps({"id": "lyon", "messages": CHAT}), encoding="utf-8")
    return file


@pytest.fixture
def units(prism: Prism, chat: Path, store: Path) -> dict[int, list[str]]:
    """The chat in the store, without vectors: unit ids by message index."""
    result = prism("ingest", chat, "--store", store, "--no-embedder", "--json")
    return {line["index"]: line["units"] for line in map(json.loads, result.stdout.splitlines())}
