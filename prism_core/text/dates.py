"""Explicit dates in texts, and the index terms by which they are found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from typing import NamedTuple

from prism_core.text.normal import prepare

_MONTHS = (
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
_MONTH_NUMBERS = {name: number for number, name in enumerate(_MONTHS, 1)}
_MONTH_NUMBERS |= {name[:3]: number for name, number in _MONTH_NUMBERS.items()} | {"sept": 9}


class CalendarDate(NamedTuple):
    """A date as written: parts that were not given are None; at least one is given.

    Attributes:
        year: 1900 to 2099.
        month: 1 to 12; given whenever a day is.
        day: 1 to 31, valid in its month.
    """

    year: int | None
    month: int | None
    day: int | None

    @property
    def terms(self) -> list[str]:
        """Index terms, the finest first: `@2023-05-08 @2023-05 @2023 @--05-08 @--05` for a complete date."""
        year, month, day = self
        terms = []
        if year and month and day:
            terms.append(f"@{year:04d}-{month:02d}-{day:02d}")
        if year and month:
            terms.append(f"@{year:04d}-{month:02d}")
        if year:
            terms.append(f"@{year:04d}")
        if month and day:
            terms.append(f"@--{month:02d}-{day:02d}")
        if month:
            terms.append(f"@--{month:02d}")
        return terms


_YEAR = r"(?:19|20)\d\d"
_NAME = "|".join(sorted(_MONTH_NUMBERS, key=len, reverse=True))
_MONTH_HINT = re.compile(rf"\b(?:{_NAME})\b", re.I)
_FIGURE_HINT = re.compile(f"{_YEAR}|[月월]")
_MONTH_BEGINNINGS = tuple(name[:3] for name in _MONTHS)
_FIGURES = ("19", "20", "月", "월")
# Alternatives are tried in this order at every position; the first to match consumes the text.
_NUMERIC_DATE = re.compile(
    rf"(?<![\d.])(?P<y>{_YEAR})(?P<sep>[-/.])(?P<m>\d\d?)(?P=sep)(?P<d>\d\d?)(?![\d])"  # 2023-05-08
    rf"|(?<!\d)(?P<cy>{_YEAR})\s*[年년]\s*(?:(?P<cm>\d\d?)\s*[月월]\s*(?:(?P<cd>\d\d?)\s*[日号號일])?)?"  # 2023年5月8日
    r"|(?<![\d.])(?P<km>\d\d?)\s*[月월]\s*(?:(?P<kd>\d\d?)\s*[日号號일])?"  # 5月8日
    rf"|(?<![\d./-])(?P<a>\d\d?)(?P<sep2>[-/.])(?P<b>\d\d?)(?P=sep2)(?P<ny>{_YEAR})(?![\d])"  # 5/8/2023
    rf"|(?<![\w.,/:@+-])(?P<bare>{_YEAR})(?![\w/:@+-]|[.,]\d)"  # 2023
    rf"|(?<![\w-])(?P<isoy>{_YEAR})-(?P<isom>0[1-9]|1[0-2])(?![\w-])",  # 2023-05
)
_VERB = r"(?:i|we|you|he|she|it|they|the|be|have|not|also|need)\b"  # after "may"
_NAMED_DATE = re.compile(
    rf"(?<![\w.:/-])(?P<d1>\d\d?)(?:st|nd|rd|th)?(?:\s+of)?[\s-]+(?P<m1>{_NAME})\b(?!\s+{_VERB})\.?(?:,?[\s-]+(?P<y1>{_YEAR})\b)?"
    rf"|\b(?P<m2>{_NAME})\b\.?\s+(?:the\s+)?(?P<d2>\d\d?)(?:st|nd|rd|th)?(?![\w:%]|[.,]\d)(?:,?\s+(?P<y2>{_YEAR})\b)?"
    rf"|\b(?P<m3>{_NAME})\b\.?,?\s+(?:of\s+)?(?P<y3>{_YEAR})\b"
    rf"|\b(?P<m4>{'|'.join(_MONTHS)})\b(?!\s+{_VERB})",
    re.I,
)
_ALSO_WORDS = {"march", "may", "august"}


def dates(text: str) -> list[CalendarDate]:
    """The explicit dates in a text: ISO, English, Chinese, Japanese, Korean and numeric; not "yesterday".

    Months alone and years alone count. Where `5/8/2023` may be read either way round, both readings are given.

    Returns:
        Distinct valid dates in order of appearance.

    >>> dates("Between 8 May 2023 and June")
    [CalendarDate(year=2023, month=5, day=8), CalendarDate(year=None, month=6, day=None)]
    """
    return dates_in(prepare(text))


def date_terms(moment: datetime) -> list[str]:
    """The terms by which `dates` of a question find what happened then; the calendar date of the zone given."""
    return CalendarDate(moment.year, moment.month, moment.day).terms


def dates_in(prepared: str) -> list[CalendarDate]:
    """As `dates`, of a text that went through `prepare`."""
    found: list[tuple[int, CalendarDate]] = []
    # Most texts hold no date; to look for a few substrings costs a tenth of the patterns.
    lowered = prepared.lower()
    if any(name in lowered for name in _MONTH_BEGINNINGS) and _MONTH_HINT.search(prepared):
        found += [(match.start(), value) for match in _NAMED_DATE.finditer(prepared) for value in _named_date(match)]
        # The year of "8 May 2023" is no second, coarser date.
        prepared = _NAMED_DATE.sub(lambda match: " " * len(match[0]), prepared)
    if any(figure in prepared for figure in _FIGURES) and _FIGURE_HINT.search(prepared):
        found += [
            (match.start(), value) for match in _NUMERIC_DATE.finditer(prepared) for value in _numeric_date(match)
        ]
    found.sort(key=lambda item: item[0])
    return [value for value in dict.fromkeys(value for _, value in found) if _is_valid(value)]


def _named_date(match: re.Match[str]) -> Iterator[CalendarDate]:
    groups = match.groupdict()
    month, day, year = (
        next((groups[f"{part}{i}"] for i in "1234" if groups.get(f"{part}{i}")), None) for part in "mdy"
    )
    # A pattern that ignores case also takes "Aprıl", which is no month.
    number = _MONTH_NUMBERS.get((month or "").lower())
    if number is None or (day is None and year is None and month in _ALSO_WORDS):
        return
    yield CalendarDate(_number(year), number, _number(day))


def _numeric_date(match: re.Match[str]) -> Iterator[CalendarDate]:
    part = {name: _number(value) for name, value in match.groupdict().items() if not name.startswith("sep")}
    if part["ny"]:
        yield CalendarDate(part["ny"], part["a"], part["b"])
        yield CalendarDate(part["ny"], part["b"], part["a"])
        return
    year = part["y"] or part["cy"] or part["bare"] or part["isoy"]
    yield CalendarDate(
        year, part["m"] or part["cm"] or part["km"] or part["isom"], part["d"] or part["cd"] or part["kd"]
    )


def _number(figures: str | None) -> int | None:
    return int(figures) if figures else None


def _is_valid(value: CalendarDate) -> bool:
    try:
        # 2000 is a leap year: 29 February without a year may exist.
        date(value.year or 2000, value.month or 1, value.day or 1)
    except ValueError:
        return False
    return True
