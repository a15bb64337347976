"""The form in which near-duplicates agree: what it leaves out, and what it never leaves out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_core.text import wording

SAME = [
    ("Check the weather in Oslo.", "check weather in Oslo"),
    ("Could you please check the weather in Oslo?", "Check the weather in Oslo, please!"),
    ("It's not open", "It is not open."),
    ("I can't fly on Monday", "I cannot fly on Monday"),
    ("OK, I'll take the window seat, thanks", "I will take the window seat"),
    ("A table for two", "the table for two"),
    ("“Yes”, said Ann", "Yes, said Ann"),
    ("请你帮我订酒店。", "请您帮我订酒店"),
]
DIFFERENT = [
    ("Meet on Oct 15th", "Meet on Oct 16th"),
    ("It costs 5", "It costs .5"),
    ("It costs $5", "It costs 5"),
    ("It costs 5%", "It costs 5"),
    ("It is -5 degrees", "It is 5 degrees"),
    ("Use v1.2", "Use v12"),
    ("Pay 1.000 euro", "Pay 1000 euro"),
    ("It is 10² m", "It is 102 m"),
    ("Delete the file", "Do not delete the file"),
    ("I can go", "I can't go"),
    ("I will go", "I won't go"),
    ("Deploy build-7a", "Deploy build-7b"),
    ("Open a_b", "Open ab"),
    ("Open a.txt", "Open the.txt"),
    ("Run a/b", "Run b"),
    ("Fly from Oslo to Rome", "Fly to Oslo from Rome"),
    ("Ann owes Bob", "Bob owes Ann"),
    ("You can swim.", "You can swim?"),
    ("Take plan A.", "Take plan."),
    ("Booked it", "Book it"),
    ("!ready", "ready"),
    ("The board is 5' long", 'The board is 5" long'),
    ("Yes, delete it", "No, delete it"),
    ("我不去北京", "我去北京"),
    ("我想请假", "我想假"),
    ("天一下子黑了", "天子黑了"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_courtesies_articles_and_punctuation_do_not_count(one: str, other: str) -> None:
    assert wording(one) == wording(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_figures_names_negations_and_order_count(one: str, other: str) -> None:
    assert wording(one) != wording(other)


@pytest.mark.parametrize("text", ["please", "Thanks!", "a", "???", "", "请你", "\x00"])
def test_what_is_all_courtesy_stands_for_itself(text: str) -> None:
    assert wording(text) == " ".join(text.casefold().split())


@given(st.text(), st.integers(), st.integers(), st.text())
def test_texts_that_differ_in_a_number_never_agree(before: str, one: int, other: int, after: str) -> None:
    if one != other:
        assert wording(f"{before} {one} {after}") != wording(f"{before} {other} {after}")


@given(st.text())
def test_a_wording_is_its_own_wording_but_for_what_courtesies_hid(text: str) -> None:
    assert wording(text) == wording(f"  {text}\n")
