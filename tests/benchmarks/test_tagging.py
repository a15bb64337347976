from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import tagging
from prism_core import Event, IntentTaxonomy, Kind


def test_the_sentences_are_for_labels_there_are_and_none_is_there_twice() -> None:
    taxonomy = IntentTaxonomy.default()
    asked = tagging.sentences(tagging.FILE)
    assert all(sentence.label in taxonomy for sentence in asked if sentence.label)
    assert not [text for text, count in Counter(sentence.event.text for sentence in asked).items() if count > 1]
    assert {(sentence.part, sentence.language) for sentence in asked} == {
        (part, language) for part in ("tuning", "held-out") for language in ("en", "zh")
    }
    leaves = {label.name for label in taxonomy.labels if not taxonomy.children(label.name)}
    for part in ("tuning", "held-out"):
        assert {sentence.label for sentence in asked if sentence.part == part and sentence.label} == leaves


def test_no_sentence_held_out_is_an_example_of_the_taxonomy() -> None:
    examples = {example for label in IntentTaxonomy.default().labels for example in label.examples}
    held_out = {each.event.text for each in tagging.sentences(tagging.FILE) if each.part == "held-out"}
    assert not examples & held_out


def labelled(label: str, *found: str) -> tagging.Labelled:
    event = Event(kind=Kind.MESSAGE, observation="x")
    return tagging.Labelled(tagging.Sentence("tuning", label, "en", event), found)


def test_figures_count_the_first_label_any_label_and_none() -> None:
    group = [labelled("code/refactor", "code", "plan"), labelled("plan/goal", "buy", "plan/goal"), labelled("buy")]
    assert tagging.figures(group) == pytest.approx((1 / 3, 2 / 3, 0.0, 1 / 3, 1 / 3, 3))
    assert tagging.figures([*group, labelled("", "buy")]) == tagging.figures(group)


def test_a_file_is_labelled_and_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"part": part, "label": label, "language": language, "observation": text}
        for part in ("tuning", "held-out")
        for language in ("en", "zh")
        for label, text in (("compare", f"Compare {part} {language}"), (None, f"Mhm {part} {language}"))
    ]
    rows[0]["label"] = "plan"
    file = tmp_path / "sentences.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    tagging.main(file, {"rules": None}, wrong="tuning")
    printed = capsys.readouterr().out
    assert "rules, held-out" in printed
    assert "rules: 1.00 of 4 lines of small talk unlabelled" in printed
    assert printed.count("plan  ") == 1
