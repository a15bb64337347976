from __future__ import annotations

import subprocess
import sys

import pytest

import prism_langchain


@pytest.mark.parametrize(
    ("missing", "name", "extra"),
    [
        ("langchain", "PrismMemoryMiddleware", "agent"),
        ("langchain", "prism_tools", "agent"),
        ("langgraph", "prism_recall_node", "agent"),
        ("langchain_core", "prism_recall_runnable", "langchain"),
    ],
)
def test_a_missing_extra_is_named(missing: str, name: str, extra: str) -> None:
    script = f"import sys; sys.modules[{missing!r}] = None; import prism_langchain; prism_langchain.{name}"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert f"pip install 'prism-memory[{extra}]'" in run.stderr


def test_c1_without_agents_and_classic_the_rest_works() -> None:
    names = ["PrismRetriever", "prism_recall_runnable", "prism_remember_runnable", "scope_from_config", "with_memory"]
    script = (
        "import sys\nfor name in ('langchain', 'langgraph', 'langchain_classic'): sys.modules[name] = None\n"
        f"import prism_langchain\nfor name in {names}: getattr(prism_langchain, name)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_every_name_is_there_and_says_what_it_is() -> None:
    assert all(getattr(prism_langchain, name).__doc__ for name in prism_langchain.__all__)
