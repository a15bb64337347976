"""Labels that a model gives to relations of its own, and what becomes of those that recur."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from prism_core import EncodingOptions, Link, PrismMemory, Relation, StructuredLLM
from prism_core.errors import CausalCycleError, QueryError
from prism_core.testing import ScriptedLLM

ALICE = ("acme", "alice")


def opened(path: str | Path, *replies: str) -> PrismMemory:
    llm = StructuredLLM(ScriptedLLM(*replies)) if replies else None
    return PrismMemory.open(path, embedder=None, encoding=EncodingOptions(llm=llm))


def relating(label: str, relation: str = "other") -> str:
    found = [{"candidate": 1, "relation": relation, "label": label, "reason": "same shape", "confidence": 0.7}]
    return json.dumps({"intents": ["plan"], "importance": 3, "relations": found})


def say(memory: PrismMemory, *texts: str) -> list[str]:
    written = (memory.write({"observation": text, "session_id": "s"}, scope=ALICE) for text in texts)
    return [str(receipt.unit_id) for receipt in written]


def found_between(memory: PrismMemory, source: str, target: str) -> dict[Relation, str]:
    links = memory.links(scope=ALICE)
    ends = [link for link in links if (link.source, link.target) == (source, target)]
    return {link.relation: link.label for link in ends if link.relation is not Relation.FOLLOWS}


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A store with two links that mirror, one that does not say what it does."""
    with opened(tmp_path / "m", relating(""), relating("Mirrors"), relating("mirrors "), relating("other")) as memory:
        say(memory, "Plan the trip to Oslo", "Plan Oslo again", "Plan Oslo once more", "Plan Oslo")
    return tmp_path / "m"


def test_labels_that_recur_are_counted(stored: Path) -> None:
    with opened(stored) as memory:
        assert memory.relation_labels(scope=ALICE) == {"mirrors": 2}


def test_a_promoted_label_is_a_relation_in_what_is_stored_and_in_what_comes(stored: Path) -> None:
    with opened(stored) as memory:
        before = [link for link in memory.links(scope=ALICE) if link.label]
        assert memory.promote_label(" MIRRORS", "ELABORATES", scope=ALICE) == 2
        after = [link for link in memory.links(scope=ALICE) if link.label]
        assert [link.relation for link in after] == [Relation.ELABORATES] * 2
        assert after == [link.model_copy(update={"relation": Relation.ELABORATES}) for link in before]
        assert memory.relation_labels(scope=ALICE) == {}
        assert memory.promote_label("mirrors", Relation.ELABORATES, scope=ALICE) == 0
    with opened(stored, relating("mirrors")) as memory:
        assert [link for link in memory.links(scope=ALICE) if link.label] == after
        [new] = say(memory, "Plan the days in Oslo")
        [link] = [link for link in memory.links(scope=ALICE) if link.target == new and link.label]
        assert (link.relation, link.label) == (Relation.ELABORATES, "mirrors")
        assert all(finding.ok for finding in memory.doctor())


def test_what_is_linked_by_the_relation_already_stays_as_it_is(memory: PrismMemory) -> None:
    one, other = say(memory, "a", "b")
    kept = Link(source=one, target=other, relation=Relation.ELABORATES, reason="mine")
    memory.link([kept, Link(source=one, target=other, relation=Relation.RELATED, label="mirrors")], scope=ALICE)
    assert memory.promote_label("mirrors", "ELABORATES", scope=ALICE) == 1
    assert kept in memory.links(scope=ALICE)
    assert found_between(memory, one, other) == {Relation.ELABORATES: ""}


def test_a_link_against_the_arrow_of_time_keeps_them_all_as_they_are(memory: PrismMemory) -> None:
    one, other = say(memory, "a", "b")
    related = [
        Link(source=a, target=b, relation=Relation.RELATED, label="needs") for a, b in ((one, other), (other, one))
    ]
    memory.link(related, scope=ALICE)
    with pytest.raises(CausalCycleError):
        memory.promote_label("needs", Relation.REQUIRES, scope=ALICE)
    assert memory.relation_labels(scope=ALICE) == {"needs": 2}


@pytest.mark.parametrize(("label", "relation"), [("", "CAUSES"), ("x", "RELATED"), ("x", "resembles")])
def test_what_cannot_be_promoted_is_refused(memory: PrismMemory, label: str, relation: str) -> None:
    with pytest.raises(QueryError):
        memory.promote_label(label, relation, scope=ALICE)
