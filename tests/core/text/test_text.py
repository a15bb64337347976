from __future__ import annotations

import doctest
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_core import text as module
from prism_core.protocols import TokenCounter
from prism_core.text import CalendarDate, O200kCounter, analyze, date_terms, dates, identifiers, normalize


def found(query: str, text: str) -> bool:
    """Whether every term of the query is among the text's."""
    terms = analyze(query)
    return bool(terms) and set(terms) <= set(analyze(text))


def test_examples_in_the_documentation_hold() -> None:
    assert doctest.testmod(module).failed == 0


# --- equality


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The flight is FULL", "the  flight\n is full "),
        ("ＡＢＣ１２３", "abc123"),
        ("Straße", "STRASSE"),
        ("cafe\u0301", "café"),
        ("ｶﾞ", "ガ"),
    ],
)
def test_equal_texts(one: str, other: str) -> None:
    assert normalize(one) == normalize(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("due Oct 15th", "due Oct 16th"),
        ("it works", "it works not"),
        ("10² m", "102 m"),
        ("10⁻⁵", "10-5"),
        ("a.b", "a b"),
        ("café", "cafe"),
    ],
)
def test_different_texts(one: str, other: str) -> None:
    assert normalize(one) != normalize(other)


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalize(normalize(text)) == normalize(text)


# --- index terms


def test_words_are_stemmed_and_function_words_dropped() -> None:
    assert analyze("She was booking the flights, and he booked a flight") == ["book", "flight", "book", "flight"]


def test_negation_is_kept() -> None:
    assert analyze("not refundable") != analyze("refundable")


def test_a_text_of_function_words_keeps_them() -> None:
    assert analyze("To be, or not!") == ["not"]
    assert analyze("who are you?") == ["who", "are", "you"]


def test_pictures_are_terms() -> None:
    assert analyze("party 🍕 on Friday") == ["parti", "🍕", "friday"]
    assert analyze("great❤️") == ["great", "❤"] == analyze("great ❤")


@pytest.mark.parametrize("text", ["", "   ", "...", "→", "-", "'"])
def test_texts_without_words_have_no_terms(text: str) -> None:
    assert analyze(text) == []


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("HAT136", "your flight is hat136."),
        ("mia_li_3668", '{"user_id":"mia_li_3668"}'),
        ("3668", "user mia_li_3668"),
        ("2024-05-20", "departing 2024-05-20, returning"),
        ("2024-05-20", "at 2024-05-20T15:00:00Z"),
        ("foo.py", "see src/lib/foo.py:12"),
        ("foo.py", "see foo.py."),
        ("src/foo.py", "(src/foo.py)"),
        ("getUser", "calls getUser() twice"),
        ("get user", "calls getUser() twice"),
        ("HTTPServer", "class HTTPServer:"),
        ("server", "class HTTPServer:"),
        ("ORD-12345", "order:ORD-12345"),
        ("12345", "order ORD-12345"),
        ("mia.li@example.com", "write to <mia.li@example.com>"),
        ("example.com", "write to mia.li@example.com"),
        ("example.com", "https://example.com/a/b?x=1"),
        ("email", "her e-mail"),
        ("well", "a well-known fact"),
        ("1200.50", "it costs $1,200.50"),
        ("1,200", "it costs 1200 euro"),
        ("v1.2.3", "released V1.2.3"),
        ("10:30", "at 10:30"),
        ("C++", "written in C++, not C"),
        ("C#", "written in c#"),
        ("US", "in the US, sales fell"),
        ("O'Brien", "Mr O’Brien"),
        ("Brien", "Mr O’Brien"),
        ("Caroline", "Caroline's sister"),
        ("Muller resume", "Müller sent a résumé"),
        ("naïve", "a naive idea"),
        ("北京", "他去了北京大学"),
        ("京都", "京都へ行きました"),
        ("カメラ", "新しいカメラを買った"),
        ("서울", "서울에서 만났다"),
        ("กาแฟ", "ฉันชอบดื่มกาแฟเย็น"),
        ("ABC123", "订单ABC123的状态"),
        ("訂單", "訂單ABC123"),
        ("мир", "Привет, Мир!"),
        ("مرحبا", "مرحبا بالعالم"),
        ("दुनिया", "नमस्ते दुनिया"),
        ("ＡＢＣ", "abc"),
        ("soft\u00adware", "software"),
    ],
)
def test_findable(query: str, text: str) -> None:
    assert found(query, text)


@pytest.mark.parametrize(("query", "text"), [("e-mail", "her email"), ("check-ins", "one check-in"), ("GPT-4", "gpt4")])
def test_hyphens_do_not_keep_apart(query: str, text: str) -> None:
    assert set(analyze(query)) & set(analyze(text))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("C++", "written in C"),
        ("HAT136", "flight HAT137"),
        ("1.5", "15"),
        ("नमक", "नमस्ते"),
        ("US", "tell us"),
        ("May", "you may go"),
    ],
)
def test_not_confused(query: str, text: str) -> None:
    assert not found(query, text)


def test_combining_marks_do_not_cut_words() -> None:
    assert analyze("नमस्ते हिन्दी") == ["नमस्ते", "हिन्दी"]


def test_repetitions_and_order_are_kept() -> None:
    assert analyze("red blue red") == ["red", "blue", "red"]
    assert analyze("北北京") == ["北", "北北", "北", "北京", "京"]


def test_very_long_tokens_are_kept_whole() -> None:
    blob = "QUJD" * 10_000
    assert analyze(f"data {blob}") == analyze("data") + analyze(blob)


@given(st.text())
def test_any_text_has_terms_without_white_space(text: str) -> None:
    for term in analyze(text):
        assert term
        assert term.split() == [term]


def test_threads_agree() -> None:
    texts = [f"running flights number {i} quickly organised organisation{i % 7}s" for i in range(400)]
    expected = [analyze(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(analyze, texts)) == expected


# --- dates


@pytest.mark.parametrize(
    "text",
    [
        "8 May 2023",
        "May 8, 2023",
        "May 8 2023",
        "8th of May, 2023",
        "the 8-May-2023",
        "2023-05-08",
        "2023/5/8",
        "2023.05.08",
        "2023年5月8日",
        "2023 年 5 月 8 日",
        "2023년 5월 8일",
        "2023-05-08T23:59:59Z",
        "log_2023-05-08.txt",
        "8 may 2023",
    ],
)
def test_one_day_written_in_many_ways(text: str) -> None:
    assert dates(text) == [CalendarDate(2023, 5, 8)]
    assert set(date_terms(datetime(2023, 5, 8, tzinfo=UTC))) <= set(analyze(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in May 2023", CalendarDate(2023, 5, None)),
        ("2023-05", CalendarDate(2023, 5, None)),
        ("2023年5月", CalendarDate(2023, 5, None)),
        ("on 3 Sept.", CalendarDate(None, 9, 3)),
        ("on May 3rd", CalendarDate(None, 5, 3)),
        ("5月3日", CalendarDate(None, 5, 3)),
        ("last june", CalendarDate(None, 6, None)),
        ("in May", CalendarDate(None, 5, None)),
        ("back in 2021.", CalendarDate(2021, None, None)),
        ("29 February", CalendarDate(None, 2, 29)),
        ("12/25/2023", CalendarDate(2023, 12, 25)),
        ("25.12.2023", CalendarDate(2023, 12, 25)),
    ],
)
def test_incomplete_and_numeric_dates(text: str, expected: CalendarDate) -> None:
    assert dates(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "you may go",
        "May I go?",
        "they march on",
        "10 may be enough",
        "31 February 2023",
        "2023-13-45",
        "flight 20230",
        "3个月",
        "192.168.2.1",
        "v1.2023",
        "id 12023-05-08",
        "Aprıl, aprİl",
    ],
)
def test_no_dates(text: str) -> None:
    assert dates(text) == []


def test_an_ambiguous_date_has_both_readings() -> None:
    assert set(dates("5/8/2023")) == {CalendarDate(2023, 5, 8), CalendarDate(2023, 8, 5)}


def test_dates_come_in_the_order_of_the_text() -> None:
    text = "from 2023-05-08 to May 9, 2023, again 2023-05-08 and in 2021"
    assert dates(text) == [CalendarDate(2023, 5, 8), CalendarDate(2023, 5, 9), CalendarDate(2021, None, None)]


def test_coarser_questions_meet_finer_dates() -> None:
    unit = set(date_terms(datetime(2023, 5, 8, 17, 30, tzinfo=UTC)))
    for question in ("May 2023", "8 May", "2023", "May"):
        assert {term for term in analyze(question) if term.startswith("@")} <= unit
    assert "@2023-05-09" not in unit
    assert not {term for term in analyze("June 2022") if term.startswith("@")} & unit


# --- identifiers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Flight HAT136 for mia_li_3668, again HAT136", ["HAT136", "mia_li_3668"]),
        ('{"id":"ORD-12345"}', ["ORD-12345", "12345"]),
        ("order:ORD-12345", ["order:ORD-12345", "ORD-12345", "12345"]),
        ("on 2024-05-20 at 10:30:00", ["2024-05-20", "10:30:00"]),
        ("2024-05-20T15:00:00Z", ["2024-05-20T15:00:00Z"]),
        ("2024-05-20T15:00:00+02:00.", ["2024-05-20T15:00:00+02:00"]),
        ("2024-05-20/2024-05-25", ["2024-05-20/2024-05-25", "2024-05-20", "2024-05-25"]),
        ("at:2024-05-20", ["at:2024-05-20", "2024-05-20"]),
        ("version 1.2.3, pi 3.14159", ["1.2.3", "3.14159"]),
        ("li3668@example.com", ["li3668@example.com", "li3668"]),
        ("call +1-555-123-4567", ["1-555-123-4567", "4567"]),
        ("report_v2.pdf", ["report_v2.pdf", "report_v2"]),
        ("订单ABC123的状态", ["ABC123"]),
        ("no figures here; A1, 42 and x9z are short", []),
        ("", []),
    ],
)
def test_identifiers(text: str, expected: list[str]) -> None:
    assert identifiers(text) == expected


@given(st.text(alphabet="aB3_-./:@+T 0125,", max_size=40))
def test_identifiers_stand_free_in_the_text(text: str) -> None:
    for identifier in identifiers(text):
        assert len(identifier) >= 4
        assert any(character.isdigit() for character in identifier)
        places = [at for at in range(len(text)) if text.startswith(identifier, at)]
        assert any(_free(text, at, at + len(identifier)) for at in places)


def _free(text: str, start: int, end: int) -> bool:
    around = text[max(start - 1, 0) : start] + text[end : end + 1]
    return not any(character.isascii() and (character.isalnum() or character == "_") for character in around)


# --- tokens


def test_tokens_are_counted() -> None:
    counter = O200kCounter()
    assert isinstance(counter, TokenCounter)
    assert counter.count("") == 0
    assert counter.count("hello world") == 2
    assert counter.count("<|endoftext|>") > 1
    assert counter.count("half a pair: \ud800") > 0


def test_texts_of_any_length_are_counted() -> None:
    counter = O200kCounter()
    assert counter.count("hello world " * 100_000) == pytest.approx(200_000, abs=5)
    assert counter.count("ab" * 600_000) > 0
