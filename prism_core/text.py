"""Text as the memory sees it: equality, index terms, dates, identifiers and token counts.

Nothing here knows about units or stores. `analyze` is used for what is indexed and for what is asked, so that both
sides always speak the same terms.
"""

from __future__ import annotations

import re
import sys
import threading
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from functools import cache, lru_cache
from typing import Any, NamedTuple

import Stemmer

# Scripts in which words are not set apart by spaces, or (Hangul) particles are glued to them.
_UNSPACED = (
    "\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u30fc-\u312f\u31f0-\u31ff"  # kana, bopomofo, iteration marks
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
    "\uac00-\ud7a3"  # Hangul syllables
    "\u0e01-\u0e4e\u0e81-\u0ecd\u1000-\u103f\u1780-\u17d3"  # Thai, Lao, Myanmar, Khmer
)
_MONTHS = (
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
_MONTH_NUMBERS = {name: number for number, name in enumerate(_MONTHS, 1)}
_MONTH_NUMBERS |= {name[:3]: number for name, number in _MONTH_NUMBERS.items()} | {"sept": 9}

STOP_WORDS = frozenset(
    """
    a about after again all also am an and any are as at be because been before being between both but by can could
    did do does doing done during each either else etc for from further had has have having he her here hers
    herself him himself his how i if in into is it its itself just may me might mine more most much must my myself
    of off on once only or other our ours ourselves out over own per please same shall she should so some such than
    that the their theirs them themselves then there these they this those though through thus to too under until up
    upon us very via was we were what when where whether which while who whom whose why will with would you your yours
    yourself yourselves
    """.split()  # noqa: SIM905
)
"""English function words and question words that are not indexed. Negations are kept: they change what is meant."""

FUNCTION_CHARACTERS = frozenset(
    "的了吗呢啊吧着呀哦嗯们么得地啦嘛我你他她它您是在和也都很就这那有与及或而且把被给对从到"
)
"""Chinese particles, pronouns and function words of one character; a pair is not indexed if both are. As in English,
negations are kept."""


# --- equality ---------------------------------------------------------------------------------------------------

_SUPERSCRIPT_RUN = re.compile("[⁰¹²³⁴-⁹⁺⁻]+")


def normalize(text: str) -> str:
    r"""The form in which two texts are compared for equality: NFKC, case-folded, white space folded.

    Superscripts stay distinguishable, because `10²` is not `102`.

    >>> normalize("  The  ＦＬＩＧＨＴ\n is Full ")
    'the flight is full'
    """
    folded = unicodedata.normalize("NFKC", _SUPERSCRIPT_RUN.sub(lambda run: "^" + run[0], text)).casefold()
    # Case folding may leave a sequence that composes, and composing one that folds.
    return " ".join(unicodedata.normalize("NFKC", folded).casefold().split())


# --- dates ------------------------------------------------------------------------------------------------------


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
    return _dates(_prepare(text))


def date_terms(moment: datetime) -> list[str]:
    """The terms by which `dates` of a question find what happened then; the calendar date of the zone given."""
    return CalendarDate(moment.year, moment.month, moment.day).terms


def _dates(prepared: str) -> list[CalendarDate]:
    found: list[tuple[int, CalendarDate]] = []
    if _MONTH_HINT.search(prepared):
        found += [(match.start(), value) for match in _NAMED_DATE.finditer(prepared) for value in _named_date(match)]
        # The year of "8 May 2023" is no second, coarser date.
        prepared = _NAMED_DATE.sub(lambda match: " " * len(match[0]), prepared)
    if _FIGURE_HINT.search(prepared):
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
    if month is None or (day is None and year is None and month.islower() and month in _ALSO_WORDS):
        return
    yield CalendarDate(_number(year), _MONTH_NUMBERS[month.lower()], _number(day))


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


# --- index terms ------------------------------------------------------------------------------------------------


def _ranges(codes: Iterable[int]) -> str:
    """Ascending code points as the inside of a character class."""
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


@cache
def _marks() -> str:
    """Combining marks; the class of word characters leaves them out and would cut Devanagari words up."""
    return _ranges(code for code in range(0x300, 0x10000) if unicodedata.category(chr(code)).startswith("M"))


@cache
def _letters() -> str:
    """Letters, figures, underscore and marks of the scripts that set words apart; one class, because it is fast."""
    unspaced = re.compile(f"[{_UNSPACED}]")
    return (
        "\U00010000-\U0001efff_"
        + _marks()
        + _ranges(code for code in range(0x10000) if chr(code).isalnum() and not unspaced.match(chr(code)))
    )


_JOINED = r"{word}+(?:[-./:@+']{word}+)*"
_LANGUAGE = r"[A-Za-z](?:\+\+|#)(?![\w+#])"  # C++, C#
_ASCII_CHUNK = re.compile(f"{_LANGUAGE}|{_JOINED.format(word='[A-Za-z0-9_]')}")


@cache
def _chunk_pattern() -> re.Pattern[str]:
    word = f"[{_letters()}]"
    return re.compile(f"[{_UNSPACED}][{_UNSPACED}{_marks()}]*|{_LANGUAGE}|{_JOINED.format(word=word)}")


@cache
def _cluster_pattern() -> re.Pattern[str]:
    return re.compile(f".[{_marks()}]*", re.S)


_STARTS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_TIMESTAMP = re.compile(r"(\d{4}-\d\d?-\d\d?)(?:T\d\d(?::\d\d){0,2}(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)?", re.I)
_FUSED = re.compile(r"(?<=[^\W\d_])[-']|[-'](?=[^\W\d_])")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CONTRACTION = re.compile(r"'(?:s|re|ll|ve|m|d)\b", re.I)
# Zero-width characters and soft hyphens stand inside words and are typed or not; typographic quotes and hyphens vary.
_VARIANTS: dict[int, str | None] = dict.fromkeys((0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF))
_VARIANTS |= {0x2018: "'", 0x2019: "'", 0x2010: "-", 0x2011: "-"}
_BASE_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "ı": "i"})
_CACHED_LENGTH = 48
_local = threading.local()


def analyze(text: str) -> list[str]:
    """The index terms of a text or a question.

    - Latin words: lower-cased, accents folded, stemmed (Snowball English, Porter 2001), without `STOP_WORDS`; a text
      of stop words only keeps them.
    - Joined tokens (`foo.py`, `mia_li_3668`, `getUser`, `well-known`): the whole and its parts.
    - Scripts written without spaces (Chinese, Japanese, Korean, Thai, ...): characters and pairs of characters,
      without those of `FUNCTION_CHARACTERS` only.
    - Other scripts: whole words.
    - Explicit dates: the terms of `CalendarDate.terms`, after all words.

    Returns:
        Terms in the order of the text, with repetitions.

    >>> analyze("Mia's flights were booked")
    ['mia', 'flight', 'book']
    >>> analyze("getUser failed")
    ['getus', 'get', 'user', 'fail']
    """
    prepared = _prepare(text)
    pattern = _ASCII_CHUNK if prepared.isascii() else _chunk_pattern()
    chunks = pattern.findall(prepared)
    terms: list[str] = []
    for chunk in chunks:
        terms += _cached_terms(chunk) if len(chunk) <= _CACHED_LENGTH else _chunk_terms(chunk)
    if not terms:
        terms = [chunk.lower() for chunk in chunks]
    for value in _dates(prepared):
        terms += value.terms
    return terms


def _prepare(text: str) -> str:
    prepared = text if text.isascii() else unicodedata.normalize("NFKC", text.translate(_VARIANTS))
    return _THOUSANDS.sub("", prepared) if "," in prepared else prepared


def _chunk_terms(chunk: str) -> tuple[str, ...]:
    """Terms of one match of the chunk pattern, each once."""
    if _STARTS_UNSPACED.match(chunk):
        return tuple(_ngrams(chunk))
    if chunk.isalpha() and chunk.isascii():
        return tuple(_word_terms(chunk))
    if moment := _TIMESTAMP.fullmatch(chunk):
        return tuple(dict.fromkeys((chunk.lower(), moment[1])))
    if chunk[-1] in "+#":
        return (chunk.lower(),)
    if chunk.lower().endswith("n't"):
        return ()
    return tuple(dict.fromkeys(term for term in _joined_terms(_CONTRACTION.sub("", chunk)) if term))


_cached_terms = lru_cache(maxsize=1 << 16)(_chunk_terms)


def _joined_terms(chunk: str) -> Iterator[str]:
    """The whole, its segments between `/ : @`, and its words; hyphens beside letters vanish (e-mail, email)."""
    segments = re.split("[/:@]", chunk)
    words = re.split("[-./:@+']", chunk)
    if len(words) > 1:
        yield _term(_FUSED.sub("", chunk))
    for segment in segments:
        if len(segments) > 1 and segment not in words:
            yield _term(_FUSED.sub("", segment))
    for word in words:
        if len(word) > 1 or word.isdigit() or len(words) == 1:
            yield from _word_terms(word)


def _word_terms(word: str) -> Iterator[str]:
    """A word without inner punctuation: itself, then the parts of snake_case and camelCase."""
    if not _is_stop(word):
        yield _term(word)
    parts = [part for piece in word.split("_") for part in _camel_parts(piece) if part]
    if len(parts) > 1:
        yield from (_term(part) for part in parts if not _is_stop(part))


def _camel_parts(word: str) -> list[str]:
    """Parts of two characters and more, else the word: `iPhone` and codes such as `aB3xY9` are not cut up."""
    if word.islower() or word.isupper() or not word.isascii():
        return [word]
    parts = _CAMEL.split(word)
    return parts if all(len(part) > 1 for part in parts) else [word]


def _is_stop(word: str) -> bool:
    # Acronyms and the month are no function words: US, IT, WHO, May.
    return word.lower() in STOP_WORDS and word != "May" and not (len(word) > 1 and word.isupper())


def _term(word: str) -> str:
    """Lower case; Latin letters without accents; plain Latin words stemmed."""
    lowered = word.lower()
    if not lowered.isascii():
        plain = unicodedata.normalize("NFD", lowered.translate(_BASE_LETTERS))
        plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
        lowered = plain if plain.isascii() else lowered
    return _stem(lowered) if lowered.isascii() and lowered.isalpha() else sys.intern(lowered)


def _stem(word: str) -> str:
    # A Stemmer object must not be used by two threads at once.
    if not hasattr(_local, "stemmer"):
        _local.stemmer = Stemmer.Stemmer("english", 0)
    return sys.intern(_local.stemmer.stemWord(word))


def _ngrams(run: str) -> Iterator[str]:
    characters = _cluster_pattern().findall(run)
    says = [character not in FUNCTION_CHARACTERS for character in characters]
    for position, character in enumerate(characters):
        if says[position]:
            yield character
        if position + 1 < len(characters) and (says[position] or says[position + 1]):
            yield character + characters[position + 1]


# --- identifiers ------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"[A-Za-z0-9_]+(?:[-./:@+][A-Za-z0-9_]+)*")
_MOMENT = re.compile(
    r"(?<![A-Za-z0-9_])(?:\d{4}-\d\d?-\d\d?(?:T\d\d(?::\d\d){0,2}(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\d{1,4}[/.]\d{1,2}[/.]\d{1,4}|\d\d?:\d\d(?::\d\d)?(?:\.\d+)?)(?![A-Za-z0-9_])"
)
_FIGURES = re.compile(r"\d+(?:\.\d+)+")
_SHORTEST_IDENTIFIER = 4


def identifiers(text: str) -> list[str]:
    """Values one copies rather than paraphrases: codes, ids, dates, versions, phone numbers, files with figures.

    A token of `[A-Za-z0-9_]`, joined by single inner `- . / : @ +`, with a digit and at least four characters; also
    its segments between `/ : @` and its `[A-Za-z0-9_]+` runs of that kind. Dates, times and decimal numbers are not
    taken apart, except that a date standing free inside a longer token counts by itself.

    Returns:
        Distinct identifiers in exact case, in order of first appearance.

    >>> identifiers("Flight HAT136 on 2024-05-20 for mia_li_3668")
    ['HAT136', '2024-05-20', 'mia_li_3668']
    """
    found = (part for token in _TOKEN.findall(text) if _has_digit(token) for part in _identifier_parts(token))
    return list(dict.fromkeys(part for part in found if len(part) >= _SHORTEST_IDENTIFIER and _has_digit(part)))


_SAME_KIND = re.compile(r"(.)\1+")
_RUN_OF_FIGURES = re.compile(r"\d+")
_KINDS = str.maketrans(
    {**dict.fromkeys("abcdefghijklmnopqrstuvwxyz", "a"), **dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "A")}
)


def literal_form(identifier: str) -> str:
    """An identifier with its figures blotted out: `credit_card_4421` is `credit_card_9+`."""
    return _RUN_OF_FIGURES.sub("9+", identifier)


def rough_form(identifier: str) -> str:
    """An identifier by kinds of characters: `credit_card_4421` is `a+_a+_9+`, `HAT136` is `A+9+`."""
    return _SAME_KIND.sub(r"\1+", _RUN_OF_FIGURES.sub("99", identifier).translate(_KINDS))


def _identifier_parts(token: str) -> Iterator[str]:
    yield token
    yield from _MOMENT.findall(token)
    for rest in _MOMENT.split(token):
        for segment in re.split("[/:@]", rest):
            segment = segment.strip("-.+")
            yield segment
            if not _FIGURES.fullmatch(segment):
                yield from re.split("[-.+]", segment)


def _has_digit(token: str) -> bool:
    return any("0" <= character <= "9" for character in token)


# --- tokens -----------------------------------------------------------------------------------------------------


_LONGEST_PIECE = 500_000
_loading = threading.Lock()


class O200kCounter:
    """Counts tokens of the o200k vocabulary (GPT-4o and later), without a network; a `TokenCounter`."""

    def count(self, text: str) -> int:
        """The number of tokens of `text`; names of special tokens are counted as the plain text they are."""
        return sum(len(_o200k().encode_ordinary(piece)) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces the tokenizer accepts, cut before a space, where tokens begin anyway."""
    start = 0
    while start < len(text):
        end = start + _LONGEST_PIECE
        if end < len(text):
            space = text.rfind(" ", start + 1, end)
            end = space if space > 0 else end
        yield text[start:end]
        start = end


def _o200k() -> Any:
    with _loading:
        return _load_o200k()


@cache
def _load_o200k() -> Any:
    with warnings.catch_warnings():
        # It opens its vocabulary by a function that some Python versions deprecate; no concern of whoever counts.
        warnings.simplefilter("ignore", DeprecationWarning)
        import bpe_openai  # noqa: PLC0415 - reads its vocabulary (0.1 s and more); text alone should import fast

        return bpe_openai.get_encoding("o200k_base")
