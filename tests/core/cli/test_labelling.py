from __future__ import annotations

from pathlib import Path

from prism_core import Event, IntentTaxonomy, Kind, PrismMemory
from tests.core.cli.samples import Prism


def filled(store: Path) -> None:
    texts = [f"The sourdough starter needs flour and water, batch {n}" for n in range(5)]
    with PrismMemory.open(store, embedder=None) as memory:
        memory.write_many([Event(observation=text, kind=Kind.DOCUMENT) for text in texts], scope="local")


def test_labels_are_suggested_edited_and_applied(prism: Prism, tmp_path: Path, store: Path) -> None:
    filled(store)
    file = tmp_path / "labels.yaml"
    suggested = prism("taxonomy", "suggest", "--store", store, "--no-embedder", "--output", file)
    assert "proposed label" in suggested.stdout
    assert "sourdough" in suggested.stdout
    assert len(IntentTaxonomy.load(file).labels) > len(IntentTaxonomy.default().labels)
    dry = prism("taxonomy", "apply", file, "--store", store, "--no-embedder", "--dry-run")
    assert "labels of 5 units would change" in dry.stdout
    done = prism("taxonomy", "apply", file, "--store", store, "--no-embedder")
    assert "labels of 5 units changed" in done.stdout
    again = prism("taxonomy", "apply", file, "--store", store, "--no-embedder")
    assert "labels of 0 units changed" in again.stdout
    assert "sourdough" in prism("taxonomy", "show", "--store", store).stdout


def test_the_bundled_labels_need_no_store(prism: Prism, tmp_path: Path) -> None:
    shown = prism("taxonomy", "show", "--bundled", "--store", tmp_path / "none").stdout
    assert "refactor (重构)" in shown


def test_a_file_that_is_no_taxonomy_is_named(prism: Prism, tmp_path: Path, store: Path) -> None:
    filled(store)
    file = tmp_path / "labels.yaml"
    file.write_text("- name: a", encoding="utf-8")
    result = prism("taxonomy", "apply", file, "--store", store, "--no-embedder")
    assert "no description" in result.stderr


def test_a_file_that_is_there_is_kept(prism: Prism, tmp_path: Path, store: Path) -> None:
    filled(store)
    file = tmp_path / "labels.yaml"
    file.write_text("edited", encoding="utf-8")
    result = prism("taxonomy", "suggest", "--store", store, "--no-embedder", "--output", file)
    assert result.exit_code == 2
    assert "is there already" in result.stderr
    assert file.read_text(encoding="utf-8") == "edited"
