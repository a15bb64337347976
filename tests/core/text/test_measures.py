import pytest

from prism_core.text import date_form, quantity_form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("2024-5-1", "2024-05-01"),
        ("May 1st, 2024", "2024-05-01"),
        ("2024年5月1日", "2024-05-01"),
        ("二〇二四年五月一日", "2024-05-01"),
        ("June 2020", "2020-06"),
        ("1994", "1994"),
        ("27 May", "--05-27"),
        ("十二月二十五日", "--12-25"),
    ],
)
def test_absolute_dates_have_their_iso_form(text: str, form: str) -> None:
    assert date_form(text) == form


@pytest.mark.parametrize(
    "text", ["last monday", "5/8/2023", "1990s", "june 2020 2023", "昨天", "noon", "31 feb 2024", ""]
)
def test_what_is_no_single_day_keeps_the_form_of_names(text: str) -> None:
    assert date_form(text.upper()) == text


def test_ranges_of_days_are_no_day() -> None:
    assert date_form("May 27-29") == "may 27 29"
    assert date_form("2024-05-14T06:33:04") != date_form("2024-05-14")


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (("$1,200", "$1.2k", "1200 dollars", "1200.00 USD", "一千二百美元"), "1200 usd"),
        (("3 km", "3km", "three kilometers", "三公里", "3公里"), "3 km"),
        (("50元", "五十块", "¥50"), "50 cny"),
        (("1 day", "one day"), "1 day"),
        (("3-day", "3 days", "3天"), "3 day"),
        (("11%", "11 percent", "11.0 %"), "11 %"),
        (("$1.5 million",), "1500000 usd"),
        (("一万二千元",), "12000 cny"),
        (("0.2 lbs",), "0.2 lb"),
        (("5 to 7 business days",), "5 to 7 business days"),
        (("5-7 days",), "5-7 days"),
        (("half a mile",), "half a mile"),
        (("",), ""),
    ],
)
def test_quantities_of_the_same_amount_meet(texts: tuple[str, ...], form: str) -> None:
    assert {quantity_form(text) for text in texts} == {form}
