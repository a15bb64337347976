from __future__ import annotations

from pathlib import Path

import pytest

from prism_core import EncodingOptions, Event, IntentLabel, IntentTaxonomy, Kind, PrismMemory, StructuredLLM
from prism_core.memory.clusters import clusters
from prism_core.testing import ScriptedLLM

SCOPE = ("acme", "ann")
BREAD = [f"The sourdough starter needs flour and water, batch {n}" for n in range(5)]
TIDE = [f"The harbour tide gauge read {n} metres at the pier" for n in range(5)]


def filled(path: str | Path = ":memory:", **options: object) -> PrismMemory:
    memory = PrismMemory.open(path, embedder=None, **options)  # type: ignore[arg-type]
    memory.write_many([Event(observation=text, kind=Kind.DOCUMENT) for text in (*BREAD, *TIDE)], scope=SCOPE)
    return memory


def test_texts_that_are_alike_are_grouped_with_the_words_that_tell_them_apart() -> None:
    groups = clusters([*BREAD, *TIDE], None)
    assert sorted(sorted(group.members) for group in groups) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    bread = next(group for group in groups if 0 in group.members)
    assert {"sourdough", "starter"} & set(bread.words)
    assert not set(bread.words) & {"tide", "harbour"}
    spoken = clusters([*(f"Ann: {text}" for text in BREAD), *(f"Ann: {text}" for text in TIDE)], None)
    assert len(spoken) == 2
    assert not [group for group in spoken if "ann" in group.words]
    assert clusters(["one", "two"], None) == clusters([], None) == []
    assert groups == clusters([*BREAD, *TIDE], None)


def test_labels_are_proposed_with_examples_and_edited_and_applied(tmp_path: Path) -> None:
    with filled(tmp_path / "store") as memory:
        suggested = memory.suggest_taxonomy(scope=SCOPE)
        fresh = [label for label in suggested.labels if label.name not in memory.taxonomy]
        assert len([label for label in fresh if label.examples]) == 2
        assert all(set(label.examples) <= {*BREAD, *TIDE} for label in fresh)
        own = memory.taxonomy.extended([IntentLabel("bake", "bake bread", cues=("sourdough",))])
        planned = memory.apply_taxonomy(own, scope=SCOPE, dry_run=True)
        assert len(planned) == 5
        assert not [unit for unit in memory.units(scope=SCOPE) if "bake" in unit.intent_tags]
        assert memory.apply_taxonomy(own, scope=SCOPE) == planned
        assert len([unit for unit in memory.units(scope=SCOPE) if "bake" in unit.intent_tags]) == 5
        assert memory.apply_taxonomy(own, scope=SCOPE) == []
        last = memory.history(planned[0].unit_id, scope=SCOPE)[-1]
        assert (last.kind, last.reason) == ("update", "labelled by another taxonomy")
    with PrismMemory.open(tmp_path / "store", embedder=None) as memory:
        assert memory.taxonomy.find("bake") is not None
        receipt = memory.write("My sourdough is ready for the oven", scope=SCOPE)
        assert "bake" in memory.get(str(receipt.unit_id), scope=SCOPE).intent_tags
    given = EncodingOptions(taxonomy=IntentTaxonomy.default())
    with PrismMemory.open(tmp_path / "store", embedder=None, encoding=given) as memory:
        assert memory.taxonomy.find("bake") is None


def test_a_language_model_names_the_groups() -> None:
    llm = ScriptedLLM(
        '{"name": "Bread Baking", "description": "keep a starter", "chinese": "烘焙", "examples": []}', "no", "no"
    )
    memory = filled()
    suggested = memory.suggest_taxonomy(scope=SCOPE, llm=StructuredLLM(llm))
    names = [label.name.rpartition("/")[2] for label in suggested.labels if label.name not in memory.taxonomy]
    assert "bread_baking" in names
    assert len([name for name in names if name != "suggested"]) == 2


def test_the_callers_own_labels_stay() -> None:
    memory = filled()
    receipt = memory.write({"observation": "Sourdough again", "intent_tags": ["mine"]}, scope=SCOPE)
    own = memory.taxonomy.extended([IntentLabel("bake", "bake bread", cues=("sourdough",))])
    memory.apply_taxonomy(own, scope=SCOPE)
    assert memory.get(str(receipt.unit_id), scope=SCOPE).intent_tags == ("mine", "bake")


def test_labels_of_an_older_taxonomy_do_not_stay_in_any_scope(tmp_path: Path) -> None:
    other = ("acme", "ben")
    bread = IntentTaxonomy([IntentLabel("bake", "bake bread", cues=("sourdough",))])
    tide = IntentTaxonomy([IntentLabel("sail", "sail a boat", cues=("sourdough",))])
    with filled(tmp_path / "store") as memory:
        memory.write("Sourdough", scope=other)
        for scope in (SCOPE, other):
            memory.apply_taxonomy(bread, scope=scope)
    for scope in (SCOPE, other):
        with PrismMemory.open(tmp_path / "store", embedder=None) as memory:
            memory.apply_taxonomy(tide, scope=scope)
            assert {tag for unit in memory.units(scope=scope) for tag in unit.intent_tags} == {"sail"}


def test_a_language_model_labels_what_rules_are_unsure_of() -> None:
    memory = filled()
    own = IntentTaxonomy(
        [IntentLabel("bake", "bake bread", cues=("sourdough", "flour")), IntentLabel("sail", "sail a boat")]
    )
    llm = ScriptedLLM(*['{"labels": ["sail"]}'] * len(TIDE))
    changed = memory.apply_taxonomy(own, scope=SCOPE, llm=StructuredLLM(llm))
    assert len(changed) == len(BREAD) + len(TIDE)
    labels = {unit.text: unit.intent_tags for unit in memory.units(scope=SCOPE)}
    assert [labels[text] for text in (*BREAD, *TIDE)] == [("bake",)] * len(BREAD) + [("sail",)] * len(TIDE)
    assert len(llm.prompts) == len(TIDE)


@pytest.mark.parametrize("label", ["code", "code/refactor"])
def test_a_unit_is_found_under_the_labels_above_its_own(label: str) -> None:
    memory = PrismMemory.open(embedder=None)
    event = Event(observation="Moved the parser", intent_tags=("code/refactor",))
    unit_id = memory.write(event, scope=SCOPE).unit_id
    state = memory._reader.ready(SCOPE)
    assert [state.ids[row] for row in state.labelled(label).tolist()] == [unit_id]
