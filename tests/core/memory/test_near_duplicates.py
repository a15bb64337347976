"""Messages that say the same again: all are kept and linked, and one of them stands for the others in what is read."""

from __future__ import annotations

import pytest

from prism_core import Link, PrismMemory, Relation

ALICE = ("acme", "alice")
FIRST = "The deploy of the billing service is blocked by the firewall."
AGAIN = "the deploy of billing service is blocked by the firewall, please"
OTHER = "Omar has to sign off the deploy of the billing service"
QUESTION = "What blocks the deploy of the billing service?"


def write(memory: PrismMemory, *texts: str) -> list[str]:
    receipts = [
        memory.write({"observation": text, "session_id": f"s{number}", "speaker": "Ann"}, scope=ALICE)
        for number, text in enumerate(texts)
    ]
    return [str(receipt.unit_id) for receipt in receipts]


def near(memory: PrismMemory) -> list[tuple[str, str]]:
    links = memory.links(scope=ALICE)
    return [(link.source, link.target) for link in links if link.relation is Relation.NEAR_DUPLICATE]


def test_all_are_kept_and_linked_with_the_first(memory: PrismMemory) -> None:
    first, again, other, thrice = write(memory, FIRST, AGAIN, OTHER, FIRST)
    assert len({first, again, other, thrice}) == 4
    assert near(memory) == [(first, again), (first, thrice)]
    assert [link.reason for link in memory.links(scope=ALICE) if link.relation is Relation.NEAR_DUPLICATE] == [
        "the same words but for articles, courtesies and punctuation",
        "the same words",
    ]


def test_events_of_one_write_are_compared_with_each_other(memory: PrismMemory) -> None:
    texts = [FIRST, OTHER, AGAIN]
    receipts = memory.write_many([{"observation": text} for text in texts], scope=ALICE)
    assert near(memory) == [(receipts[0].unit_id, receipts[2].unit_id)]


def test_one_stands_for_all_of_them(memory: PrismMemory) -> None:
    write(memory, FIRST, OTHER, AGAIN, FIRST)
    found = memory.search(QUESTION, scope=ALICE, k=2)
    assert {hit.unit.text for hit in found} & {f"Ann: {OTHER}"}
    context = memory.context(QUESTION, scope=ALICE, budget=200)
    assert context.text.casefold().count("firewall") == 1
    left_out = [each for each in context.retrieval.candidates if "says the same as" in each.reason]
    assert len(left_out) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The invoice is due on the 15th", "The invoice is due on the 16th"),
        ("The invoice is paid", "The invoice is not paid"),
        ("Release 2.1 is out", "Release 2.2 is out"),
        ("Ann owes Bob the invoice", "Bob owes Ann the invoice"),
    ],
)
def test_what_differs_in_more_is_quoted_beside(memory: PrismMemory, one: str, other: str) -> None:
    write(memory, one, other)
    assert near(memory) == []
    context = memory.context("What about the invoice, the release?", scope=ALICE, budget=300)
    assert one in context.text and other in context.text


def test_what_somebody_links_as_a_near_duplicate_is_one_too(memory: PrismMemory) -> None:
    paraphrase = "A firewall rule keeps the billing service from being deployed"
    first, other = write(memory, FIRST, paraphrase)
    assert "rule" in memory.context(QUESTION, scope=ALICE, budget=200).text
    memory.link([Link(source=first, target=other, relation=Relation.NEAR_DUPLICATE)], scope=ALICE)
    context = memory.context(QUESTION, scope=ALICE, budget=200)
    assert [hit.unit.id in (first, other) for hit in context.retrieval] == [True]


def test_the_others_still_agree_once_the_first_is_erased(memory: PrismMemory) -> None:
    first, *_ = write(memory, FIRST, AGAIN, AGAIN + "!")
    memory.erase(scope=ALICE, unit_ids=[first])
    assert memory.context(QUESTION, scope=ALICE, budget=200).text.count("firewall") == 1


def test_links_in_a_circle_end(memory: PrismMemory) -> None:
    one, other = write(memory, FIRST, OTHER)
    circle = [(one, other), (other, one)]
    memory.link([Link(source=a, target=b, relation=Relation.NEAR_DUPLICATE) for a, b in circle], scope=ALICE)
    assert len(memory.context(QUESTION, scope=ALICE, budget=200).retrieval) == 1
