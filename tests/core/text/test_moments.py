from datetime import UTC, datetime

import pytest

from prism_core.text import asks_time, holds_time, relative_dates

THURSDAY = datetime(2023, 5, 25, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I went yesterday", "@2023-05-24"),
        ("the day before yesterday we met", "@2023-05-23"),
        ("We met last Saturday", "@2023-05-20"),
        ("last Thursday", "@2023-05-18"),
        ("see you next Tues.", "@2023-05-30"),
        ("this Friday", "@2023-05-26"),
        ("three days ago", "@2023-05-22"),
        ("a couple of days ago", "@2023-05-23"),
        ("in 10 days", "@2023-06-04"),
        ("two weeks ago", "@2023-05"),
        ("last month", "@2023-04"),
        ("next year", "@2024"),
        ("twelve months ago", "@2022-05"),
        ("昨天", "@2023-05-24"),
        ("我们上周六见过", "@2023-05-20"),
        ("下周三开会", "@2023-05-31"),
        ("上上周日", "@2023-05-14"),
        ("三天前", "@2023-05-22"),
        ("两个月前", "@2023-03"),
        ("去年", "@2022"),
    ],
)
def test_relative_expressions_get_their_date(text: str, expected: str) -> None:
    (value,) = relative_dates(text, THURSDAY)
    assert value.terms[0] == expected
    assert holds_time(text)


@pytest.mark.parametrize("text", ["I like tea", "the weekly backlog", "前面天气", "nextdoor", "a lasting friendship"])
def test_other_words_are_no_dates(text: str) -> None:
    assert relative_dates(text, THURSDAY) == []


def test_dates_beyond_the_calendar_are_left_out() -> None:
    assert relative_dates("two days ago", datetime(1, 1, 1, tzinfo=UTC)) == []
    assert relative_dates("999 years ago", datetime(500, 1, 1, tzinfo=UTC)) == []
    assert relative_dates("in 99 weeks", datetime(9999, 12, 1, tzinfo=UTC)) == []


@pytest.mark.parametrize(
    "text", ["When did Ann move?", "How long was it?", "Since what year?", "她什么时候搬家", "持续了多久"]
)
def test_questions_for_a_time(text: str) -> None:
    assert asks_time(text)


@pytest.mark.parametrize("text", ["Who called when Ann moved?", "What did she eat?", "How many cats?"])
def test_other_questions(text: str) -> None:
    assert not asks_time(text)


@pytest.mark.parametrize(
    "text",
    [
        *("at 5 pm", "on Sunday", "in the summer", "for three weeks", "周五见", "in 2021", "at NOON", "until midnight"),
        *("at 16:30", "over Easter", "since December", "recently", "soon", "lately", "this coming Fri", "last night"),
    ],
)
def test_further_time_expressions(text: str) -> None:
    assert holds_time(text)


@pytest.mark.parametrize("text", ["thİs evening", "last Frİ", "laſt night", "in a fortnİght"])
def test_letters_that_only_look_alike_raise_nothing(text: str) -> None:
    assert relative_dates(text, THURSDAY) == []
