from pathlib import Path

import pytest

from prism_core.encode.taxonomy import IntentLabel, IntentTaxonomy
from prism_core.errors import TaxonomyError

DEFAULT = IntentTaxonomy.default()


def test_the_bundled_tree_covers_agent_work_and_people_in_two_languages() -> None:
    top = {label.name for label in DEFAULT.children()}
    work = "plan search read analyse compare decide write code test debug communicate schedule buy change configure"
    people = "preference constraint identity relationship health event"
    assert {*work.split(), *people.split()} <= top
    for label in DEFAULT.children():
        assert 2 <= len(DEFAULT.children(label.name)) <= 5
    assert all(label.description and label.chinese and label.examples and label.cues for label in DEFAULT.labels)
    names = [label.chinese for label in DEFAULT.children()]
    assert len(set(names)) == len(names)


def test_the_tree_can_be_walked_and_asked_by_any_name() -> None:
    refactor = DEFAULT.find("code/refactor")
    assert refactor is not None
    assert refactor.parent == "code"
    assert [label.name for label in DEFAULT.ancestors("code/refactor")] == ["code"]
    assert DEFAULT.find("重构") == DEFAULT.find("Refactor") == refactor
    assert DEFAULT.find("no such label") is None
    assert refactor in DEFAULT.children("code")
    assert "code/refactor" in DEFAULT


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_files_hold_it_all(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"labels.{suffix}"
    DEFAULT.dump(file)
    assert IntentTaxonomy.load(file) == IntentTaxonomy(list(IntentTaxonomy.load(file).labels))
    assert {label.name: label for label in IntentTaxonomy.load(file).labels} == {
        label.name: label for label in DEFAULT.labels
    }


def test_it_is_extended_and_reduced_without_changing_the_original() -> None:
    label = IntentLabel("code/port", "bring code to another platform", cues=("port",))
    own = DEFAULT.extended([label, IntentLabel("plan", "another meaning")])
    assert own.find("code/port") == label
    assert own.find("plan") != DEFAULT.find("plan")
    assert "code/port" not in DEFAULT
    less = own.without("code", "health")
    assert not [each for each in less.labels if each.name.startswith(("code", "health"))]
    with pytest.raises(TaxonomyError, match="not in the taxonomy"):
        DEFAULT.without("bake")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- name: a\n  description: x\n- name: a\n  description: y", "twice"),
        ("- name: a", "no description"),
        ("- description: x", "no label"),
        ("- name: a\n  description: x\n  color: red", "unknown field 'color'"),
        ("- name: a\n  description: x\n  cues: yes", "no list of texts"),
        ("- name: a\n  description: [1]", "no text"),
        ("- name: a\n  description: x\n  children: b", "no list of labels"),
        ("a: 1", "no list of labels"),
        ("- [", "cannot be read"),
        ("- name: a//b\n  description: x", "empty part"),
        ("- name: a/b\n  description: x", "missing"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "labels.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(TaxonomyError, match=problem) as raised:
        IntentTaxonomy.load(file)
    assert str(file) in str(raised.value)
    with pytest.raises(TaxonomyError, match="cannot be read"):
        IntentTaxonomy.load(tmp_path / "missing.yaml")


def test_a_listing_for_a_prompt_has_an_example_where_one_is_wanted() -> None:
    taxonomy = IntentTaxonomy(
        [IntentLabel("bake", "bake bread", examples=("Feed it", "Knead it")), IntentLabel("a", "b")]
    )
    assert taxonomy.listing() == "- bake: bake bread\n- a: b"
    assert taxonomy.listing(examples=True) == "- bake: bake bread (such as: Feed it)\n- a: b"
