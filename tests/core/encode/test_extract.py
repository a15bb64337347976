import pytest

from prism_core.encode.entities import MAX_ENTITIES, entities
from prism_core.text import action_name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://example.org/a?b=1.", {"https://example.org/a?b=1"}),
        ("mail ann.lee+x@example.org today", {"ann.lee+x@example.org"}),
        ("open ./src/app/main.py and notes.md", {"./src/app/main.py", "notes.md"}),
        ("call parse_dates() in DataFrame", {"parse_dates", "DataFrame"}),
        ('she read "Graph Memory" twice', {"Graph Memory"}),
        ("it costs $1,200 or 20 EUR", {"$1,200", "20 EUR"}),
        ("We met Alice Smith in Rome.", {"Alice Smith", "Rome"}),
        ("我在北京大学读《红楼梦》，花了300元", {"北京大学", "红楼梦", "300元"}),
    ],
)
def test_finds(text: str, expected: set[str]) -> None:
    assert expected <= set(entities(text))


def test_a_common_word_that_opens_a_sentence_is_no_name() -> None:
    assert entities("Turtles bring joy. Hello there! Maybe not.") == ()
    assert entities("Hey Tim! Long time no see") == ("Tim",)


def test_a_coined_name_is_whole_by_itself() -> None:
    assert entities("Status of Paper_A: accepted") == ("Paper_A",)
    assert set(entities("Compare Paper_A with Paper_B")) == {"Paper_A", "Paper_B"}


def test_spellings_meet_and_the_number_is_bounded() -> None:
    assert entities("We saw ROME and Rome and  Rome") == ("ROME",)
    assert len(entities(" ".join(f"file{n}.txt" for n in range(200)))) == MAX_ENTITIES


@pytest.mark.parametrize(
    ("action", "name"),
    [
        ('book_hotel({"city": "Oslo"})', "book_hotel"),
        ("fs.read(\n  'a.txt'\n)", "fs.read"),
        ("list_users()", "list_users"),
        ("book a hotel (in Oslo)", None),
        ("book_hotel", None),
        ("", None),
    ],
)
def test_the_name_of_an_action_is_read_off_a_call(action: str, name: str | None) -> None:
    assert action_name(action) == name
