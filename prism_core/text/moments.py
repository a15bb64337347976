"""Time expressions: whether a text holds one, and which calendar dates its relative ones mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from functools import lru_cache

from prism_core.text.dates import CalendarDate

_COUNTS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {word: number for number, word in enumerate(_COUNTS)}
_NUMBERS |= {"a": 1, "an": 1, "couple": 2, "few": 3, "several": 3}
_NUMBERS |= {character: number for number, character in enumerate("零一二三四五六七八九十")} | {
    "两": 2,
    "几": 3,
    "半": 1,
}
_WEEKDAYS = {name: number for number, name in enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))}
_CHINESE_WEEKDAYS = {character: number for number, character in enumerate("一二三四五六日")} | {"天": 6}
_DAY_WORDS = {
    "the day before yesterday": -2,
    "the day after tomorrow": 2,
    "last night": -1,
    "yesterday": -1,
    "tonight": 0,
    "today": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "tomorrow": 1,
    "大前天": -3,
    "大后天": 3,
    "前天": -2,
    "昨天": -1,
    "昨日": -1,
    "昨晚": -1,
    "今天": 0,
    "今日": 0,
    "今晚": 0,
    "今早": 0,
    "明天": 1,
    "明日": 1,
    "后天": 2,
}
_UNITS = {"day": "d", "week": "w", "fortnight": "f", "month": "m", "year": "y", "天": "d", "日": "d"}
_UNITS |= {"周": "w", "星期": "w", "礼拜": "w", "月": "m", "年": "y"}
_COUNT = r"(?P<n>\d{1,3}|" + "|".join(word for word in _NUMBERS if word.isascii()) + r")"
_WEEKDAY = r"(?P<weekday>(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?)\b"

_RELATIVE = re.compile(
    r"(?P<word>\b(?:" + "|".join(word for word in _DAY_WORDS if word.isascii()) + r")\b"
    r"|" + "|".join(word for word in _DAY_WORDS if not word.isascii()) + r")"
    rf"|\b{_COUNT}(?:\s+of)?\s+(?P<unit>day|week|fortnight|month|year)s?\s+"
    r"(?P<way>ago|back|earlier|before|from now|later)\b"
    rf"|\bin\s+(?P<in_n>{_COUNT[6:-1]})\s+(?P<in_unit>day|week|month|year)s?(?:'\s*time)?\b"
    rf"|\b(?P<side>last|this past|past|previous|next|this|coming)\s+(?:{_WEEKDAY}|(?P<span>week|weekend|month|year)\b)"
    r"|(?P<cn>\d{1,3}|[一二两三四五六七八九十几半])个?(?P<cunit>天|日|周|星期|礼拜|月|年)(?:以|之)?(?P<cway>前|后)"
    r"|(?P<cside>上上|上|这|本|下下|下)个?(?:周|星期|礼拜)(?P<cweekday>[一二三四五六日天末])?"
    r"|(?P<mside>上|这|本|下)个?月|(?P<yword>前年|去年|今年|明年|后年)",
    re.IGNORECASE,
)
_HINTS = ("day", "week", "month", "year", "night", "morrow", "this morning", "this afternoon", "this evening")
_SIDES = ("last", "past", "previous", "next", "this", "coming")
_OTHER_TIMES = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|morning|evening|noon|midnight|summer|winter|spring|autumn|"
    r"christmas|easter|\d{1,2}(?::\d\d)?\s?[ap]\.?m|\d{1,2}:\d\d|(?:19|20)\d\d|january|february|march|april|june|july|"
    r"august|september|october|november|december|(?:for|since|over|about)\s+\w+\s+(?:days?|weeks?|months?|years?)|"
    r"recently|lately|soon)\b|星期[一二三四五六日天]|周[一二三四五六日末]|点钟|月\d+[日号]|最近",
    re.IGNORECASE,
)
_OTHER_HINTS = (
    *("day", "week", "month", "year", "morning", "evening", "noon", "midnight", "recently", "lately", "soon"),
    *("summer", "winter", "spring", "autumn", "christmas", "easter"),
    *("january", "february", "march", "april", "june", "july", "august", "september", "october", "november"),
    *("december", *"0123456789"),
)
_ASKS = re.compile(
    r"^\W*when\b|\bwhen (?:did|does|do|is|was|were|will|would|has|have|had|are)\b|\bhow (?:long|often|soon|old)\b"
    r"|\b(?:what|which) (?:date|day|time|month|year|week|season)\b|\bhow many (?:days|weeks|months|years)\b"
    r"|什么时候|何时|几点|哪[天年月]|多久|几[天年月]",
    re.IGNORECASE,
)


def asks_time(text: str) -> bool:
    """Whether a question asks when something happens or how long it takes."""
    return _ASKS.search(text) is not None


def holds_time(text: str) -> bool:
    """Whether a text says when something happens or how long it takes."""
    if _may_be_relative(text) and _RELATIVE.search(text) is not None:
        return True
    return _may_be_a_time(text) and _OTHER_TIMES.search(text) is not None


def relative_dates(text: str, moment: datetime) -> list[CalendarDate]:
    """The dates that the relative expressions of a text mean, seen from the moment it was said.

    Args:
        text: English or Chinese.
        moment: when it was said.

    Returns:
        Distinct dates in order of appearance; expressions of a week give its month, of a month or year no finer part.

    >>> relative_dates("We met yesterday and again last week", datetime(2023, 5, 8))
    [CalendarDate(year=2023, month=5, day=7), CalendarDate(year=2023, month=5, day=None)]
    """
    return list(_dates_from(text, moment.date()))


@lru_cache(maxsize=256)
def _dates_from(text: str, today: date) -> tuple[CalendarDate, ...]:
    # A write asks twice: for the unit's entities, and for the index.
    if not _may_be_relative(text):
        return ()
    found = (value for match in _RELATIVE.finditer(text) for value in _resolved(match.groupdict(), today))
    return tuple(dict.fromkeys(found))


def _may_be_relative(text: str) -> bool:
    """Whether one of the words that every relative expression has is in the text; the pattern is slow, this is not."""
    if not text.isascii():
        return True
    lowered = text.lower()
    # "next Fri" is the one expression that may do without any of the hints.
    return any(hint in lowered for hint in _HINTS) or (
        any(name in lowered for name in _WEEKDAYS) and any(side in lowered for side in _SIDES)
    )


def _may_be_a_time(text: str) -> bool:
    """The same for `_OTHER_TIMES`."""
    if not text.isascii():
        return True
    lowered = text.lower()
    return any(hint in lowered for hint in _OTHER_HINTS)


def _resolved(part: dict[str, str | None], today: date) -> Iterator[CalendarDate]:
    for name, resolve in _RESOLVERS:
        if part[name]:
            try:
                yield resolve(part, today)
            except (OverflowError, ValueError):  # before year 1 or after 9999
                return
            except KeyError:  # "Frı": a pattern that ignores case takes it, but it is no day
                return
            return


def _by_word(part: dict[str, str | None], today: date) -> CalendarDate:
    return _day(today + timedelta(days=_DAY_WORDS[(part["word"] or "").lower()]))


def _by_count(part: dict[str, str | None], today: date) -> CalendarDate:
    back = (part["way"] or "").lower() in ("ago", "back", "earlier", "before")
    return _shifted(today, _number(part["n"]) * (-1 if back else 1), _UNITS[(part["unit"] or "").lower()])


def _by_delay(part: dict[str, str | None], today: date) -> CalendarDate:
    return _shifted(today, _number(part["in_n"]), _UNITS[(part["in_unit"] or "").lower()])


def _by_side(part: dict[str, str | None], today: date) -> CalendarDate:
    side = (part["side"] or "").lower()
    sign = 1 if side in ("next", "coming") else 0 if side == "this" else -1
    if part["weekday"]:
        return _day(_weekday(today, _WEEKDAYS[part["weekday"][:3].lower()], sign))
    span = (part["span"] or "").lower()
    return _shifted(today, sign, "w" if span in ("week", "weekend") else span[0])


def _by_chinese_count(part: dict[str, str | None], today: date) -> CalendarDate:
    count = _number(part["cn"]) * (-1 if part["cway"] == "前" else 1)
    return _shifted(today, count, _UNITS[part["cunit"] or ""])


def _by_chinese_week(part: dict[str, str | None], today: date) -> CalendarDate:
    side = part["cside"] or ""
    weeks = {"上": -1, "下": 1}.get(side[0], 0) * len(side)
    named = part["cweekday"]
    if not named or named == "末":
        return _shifted(today, weeks, "w")
    monday = today - timedelta(days=today.weekday())
    return _day(monday + timedelta(days=7 * weeks + _CHINESE_WEEKDAYS[named]))


def _by_chinese_month(part: dict[str, str | None], today: date) -> CalendarDate:
    return _shifted(today, {"上": -1, "下": 1}.get(part["mside"] or "", 0), "m")


def _by_chinese_year(part: dict[str, str | None], today: date) -> CalendarDate:
    return _shifted(today, {"前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2}[part["yword"] or ""], "y")


_RESOLVERS: tuple[tuple[str, Callable[[dict[str, str | None], date], CalendarDate]], ...] = (
    ("word", _by_word),
    ("unit", _by_count),
    ("in_unit", _by_delay),
    ("side", _by_side),
    ("cunit", _by_chinese_count),
    ("cside", _by_chinese_week),
    ("mside", _by_chinese_month),
    ("yword", _by_chinese_year),
)


def _day(value: date) -> CalendarDate:
    return CalendarDate(value.year, value.month, value.day)


def _shifted(today: date, count: int, unit: str) -> CalendarDate:
    if unit == "d":
        return _day(today + timedelta(days=count))
    if unit in "wf":
        value = today + timedelta(weeks=count * (2 if unit == "f" else 1))
        return CalendarDate(value.year, value.month, None)
    if unit == "m":
        months = today.year * 12 + today.month - 1 + count
        first = date(months // 12, months % 12 + 1, 1)
        return CalendarDate(first.year, first.month, None)
    return CalendarDate(date(today.year + count, 1, 1).year, None, None)


def _weekday(today: date, weekday: int, sign: int) -> date:
    """The nearest such day before (sign -1) or after today, or the one of this week (0)."""
    if sign == 0:
        return today + timedelta(days=weekday - today.weekday())
    days = (weekday - today.weekday()) * sign % 7 or 7
    return today + timedelta(days=sign * days)


def _number(word: str | None) -> int:
    return int(word) if word and word.isdecimal() else _NUMBERS[(word or "").lower()]
