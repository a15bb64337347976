"""Forms in which dates and quantities are compared: ISO 8601, and a number with its unit."""

from __future__ import annotations

import re

from prism_core.text.dates import dates
from prism_core.text.normal import name_form, prepare

_DIGITS = {figure: number for number, figure in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2}
_POWERS = {"十": 10, "百": 100, "千": 1_000}
_CHINESE_NUMBER = re.compile("[〇零一二三四五六七八九十百千万两]+")
_WORDS = "one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
_WORD_NUMBERS = {word: str(number) for number, word in enumerate(_WORDS, 1)} | {"twenty": "20", "thirty": "30"}
_WORD_NUMBERS |= {"fifty": "50", "hundred": "100"}
_SCALES = {"k": 3, "thousand": 3, "m": 6, "million": 6, "bn": 9, "billion": 9}
_SIGNS = {"$": "usd", "€": "eur", "£": "gbp", "¥": "cny"}
_UNITS = {
    unit: name
    for name, units in {
        "usd": "dollar dollars buck bucks 美元",
        "eur": "euro euros 欧元",
        "gbp": "pound pounds",
        "cny": "yuan 元 块 块钱 人民币",
        "%": "percent",
        "km": "kilometer kilometers kilometre kilometres 公里 千米",
        "m": "meter meters metre metres 米",
        "cm": "厘米",
        "mile": "miles",
        "ft": "foot feet",
        "inch": "inches",
        "kg": "kilo kilos 公斤 千克",
        "g": "gram grams 克",
        "lb": "lbs",
        "l": "litre litres liter liters 升",
        "s": "sec secs second seconds 秒",
        "min": "mins minute minutes 分钟",
        "h": "hr hrs hour hours 小时",
        "day": "days 天",
        "night": "nights",
        "week": "weeks 周",
        "month": "months 个月",
        "year": "years 年",
    }.items()
    for unit in units.split()
}
_MONEY = re.compile(r"([$€£¥])\s?(\d+(?:\.\d+)?)\s?([a-z]*)")
_MEASURE = re.compile(r"(\d+(?:\.\d+)?|[a-z]+)[\s-]*(\D+)")
_RANGE = re.compile(r"\d\s?[-–]\s?\d")
_ISO_DATE = re.compile(r"\d{4}-\d\d?-\d\d?")


def date_form(text: str) -> str:
    """The ISO 8601 form of a date, coarse where the date is; `--05-27` for a day without a year.

    What is no single calendar date (relative, ambiguous, a range, an instant) keeps the form of names.

    >>> date_form("May 27th, 2024"), date_form("二〇二四年五月"), date_form("last Monday")
    ('2024-05-27', '2024-05', 'last monday')
    """
    figures = _figures(text)
    found = dates(figures)
    single = len(found) == 1 and ":" not in text and (_ISO_DATE.fullmatch(text) or not _RANGE.search(text))
    # "1990s" and "in May 20" hold more than the date that is read in them.
    return found[0].terms[0].removeprefix("@") if single and not re.search(r"\ds$", text) else name_form(text)


def quantity_form(text: str) -> str:
    """A number and its unit, in the singular and short: spellings and both languages meet.

    What is no single number with a unit (ranges, sizes) keeps the form of names.

    >>> quantity_form("$1,200"), quantity_form("三公里"), quantity_form("3 kilometers"), quantity_form("5-7 days")
    ('1200 usd', '3 km', '3 km', '5-7 days')
    """
    folded = _figures(prepare(text)).casefold().strip()
    if money := _MONEY.fullmatch(folded):
        sign, amount, scale = money.groups()
        return f"{_scaled(amount, scale)} {_SIGNS[sign]}" if not scale or scale in _SCALES else name_form(text)
    measure = _MEASURE.fullmatch(folded)
    amount = _WORD_NUMBERS.get(measure[1], measure[1]) if measure else ""
    if measure is None or not amount[0].isdigit():
        # A range keeps its hyphen, which would be read as a joint of words.
        return " ".join(folded.split())
    unit = measure[2].strip()
    return f"{_scaled(amount, '')} {_UNITS.get(unit, unit)}"


def _scaled(amount: str, scale: str) -> str:
    whole, _, fraction = amount.partition(".")
    power = _SCALES.get(scale, 0)
    digits = whole + fraction[:power].ljust(power, "0")
    rest = fraction[power:].rstrip("0")
    return (digits.lstrip("0") or "0") + (f".{rest}" if rest else "")


def _figures(text: str) -> str:
    """A text with its Chinese numbers in figures."""
    return text if text.isascii() else _CHINESE_NUMBER.sub(lambda match: str(_number(match[0])), text)


def _number(characters: str) -> int:
    """`二十五` is 25, `一万二千` 12000, `二〇二四` 2024."""
    if not set(characters) & {*_POWERS, "万"}:
        return int("".join(str(_DIGITS[each]) for each in characters))
    total = section = digit = 0
    for each in characters:
        if each == "万":
            total, section, digit = (total + section + digit or 1) * 10_000, 0, 0
        elif each in _POWERS:
            section, digit = section + (digit or 1) * _POWERS[each], 0
        else:
            digit = _DIGITS[each]
    return total + section + digit
