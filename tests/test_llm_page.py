"""The code of docs/llm.md runs, over the real clients, and its tables say what is so."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prism_core import Prompts
from tests.openai_stub import Body, OpenAIStub, text_of
from tests.test_write_side_pages import DOCS, snippets

PAGE = "llm.md"
SCOPE = ("acme", "ann")
FACT = {"entity": "user", "attribute": "home", "value": "Lisbon", "category": "identity"}
READ = json.dumps({"intents": ["identity"], "importance": 5, "facts": [FACT]})
MEANT = json.dumps({"target_intents": ["identity"]})
OWN = "Lies das Ereignis. $labels $event"


def reply(body: Body) -> str:
    return READ if "new event" in text_of(body["messages"][-1]) else MEANT


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIStub]:
    """The service that the page's client finds by its environment, in a folder that has the prompts of its own."""
    monkeypatch.chdir(tmp_path)
    Path("my-prompts").mkdir()
    Path("my-prompts", "read_event.zh.md").write_text(OWN, encoding="utf-8")
    with OpenAIStub(reply) as running:
        monkeypatch.setenv("OPENAI_API_KEY", "unused")
        monkeypatch.setenv("OPENAI_BASE_URL", running.base_url)
        yield running


def test_the_snippets_run(stub: OpenAIStub, capsys: pytest.CaptureFixture[str]) -> None:
    for package in ("langchain_openai", "langchain_ollama", "llama_index.llms.ollama"):
        pytest.importorskip(package, reason=f"{package} is not installed, which docs/{PAGE} shows")
    names: dict[str, Any] = {}
    for code in snippets(PAGE):
        exec(compile(code, PAGE, "exec", dont_inherit=True), names)
    with names["memory"] as memory, names["asking"]:
        assert [fact.text for fact in memory.facts(scope=SCOPE)] == ["user: home is Lisbon"]
    assert names["found"].query.target_intents == ("identity",)
    assert not names["found"].degraded
    assert {stage: usage.calls for stage, usage in names["reader"].meter.stages().items()} == {
        "read_event": 1,
        "introspect": 1,
    }
    assert (names["local"].id, names["same"].id) == ("langchain:ChatOllama:qwen3:4b", "llamaindex:Ollama:qwen3:4b")
    assert names["own"].prompts.templates["read_event.zh"] == OWN
    assert capsys.readouterr().out.startswith("stored")


def test_every_prompt_is_on_the_page_with_its_variables() -> None:
    rows = re.findall(
        r"^\| `(\w+)\.en\.md`, `\.zh\.md` \|[^|]*\| (.*) \|$", (DOCS / PAGE).read_text("utf-8"), re.MULTILINE
    )
    told = {task: set(re.findall(r"\$(\w+)", variables)) for task, variables in rows}
    templates = Prompts.bundled().templates
    for language in ("en", "zh"):
        found = {name: string.Template(text) for name, text in templates.items() if name.endswith(f".{language}")}
        assert {name.partition(".")[0]: set(text.get_identifiers()) for name, text in found.items()} == told
