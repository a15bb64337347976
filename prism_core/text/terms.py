"""Index terms: from a text or a question to what the lexical index counts."""

from __future__ import annotations

import re
import sys
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

import Stemmer

from prism_core.text.dates import dates_in
from prism_core.text.normal import prepare

# Scripts in which words are not set apart by spaces, or (Hangul) particles are glued to them.
_UNSPACED = (
    "\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u30fc-\u312f\u31f0-\u31ff"  # kana, bopomofo, iteration marks
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
    "\uac00-\ud7a3"  # Hangul syllables
    "\u0e01-\u0e4e\u0e81-\u0ecd\u1000-\u103f\u1780-\u17d3"  # Thai, Lao, Myanmar, Khmer
    "\u2600-\u27bf\U0001f300-\U0001faff"  # pictures
)

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
    "的了吗呢啊吧着呀哦嗯们么得地啦嘛我你他她它您是在和也都很就这那有与及或而且把被给对从到什怎哪谁为"
)
"""Chinese particles, pronouns and function words of one character; a pair is not indexed if both are. As in English,
negations are kept."""


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
_TIMESTAMP = re.compile(r"(\d{4}-\d\d?-\d\d?)(?:T\d\d(?::\d\d){0,2}(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)?", re.I)
_FUSED = re.compile(r"(?<=[^\W\d_])[-']|[-'](?=[^\W\d_])")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CONTRACTION = re.compile(r"'(?:s|re|ll|ve|m|d)\b", re.I)
_BASE_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "ı": "i"})
_CACHED_LENGTH = 48
_local = threading.local()


def analyze(text: str) -> list[str]:
    """The index terms of a text or a question.

    - Latin words: lower-cased, accents folded, stemmed (Snowball English, Porter 2001), without `STOP_WORDS`; a text
      of stop words only keeps them.
    - Joined tokens (`foo.py`, `mia_li_3668`, `getUser`, `well-known`): the whole and its parts.
    - Scripts written without spaces (Chinese, Japanese, Korean, Thai, ..., and emoji): characters and pairs of
      characters, without those of `FUNCTION_CHARACTERS` only.
    - Other scripts: whole words.
    - Explicit dates: the terms of `CalendarDate.terms`, after all words.

    Returns:
        Terms in the order of the text, with repetitions.

    >>> analyze("Mia's flights were booked")
    ['mia', 'flight', 'book']
    >>> analyze("getUser failed")
    ['getus', 'get', 'user', 'fail']
    """
    prepared = prepare(text)
    pattern = _ASCII_CHUNK if prepared.isascii() else _chunk_pattern()
    chunks = pattern.findall(prepared)
    terms: list[str] = []
    for chunk in chunks:
        terms += _cached_terms(chunk) if len(chunk) <= _CACHED_LENGTH else _chunk_terms(chunk)
    if not terms:
        terms = [chunk.lower() for chunk in chunks]
    for value in dates_in(prepared):
        terms += value.terms
    return terms


def word_terms(terms: Iterable[str]) -> list[str]:
    """Terms without pairs of characters: for asking how much of a question is covered, in scripts without spaces.

    Most pairs straddle two words and no other text has them, which says nothing against it.
    """
    return [term for term in terms if len(term) != 2 or not _STARTS_UNSPACED.match(term)]


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
    known = set(words)
    if len(words) > 1:
        yield _term(_FUSED.sub("", chunk))
    for segment in segments:
        if len(segments) > 1 and segment not in known:
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
    # Whether a picture is to be shown in colour is no part of it.
    characters = _cluster_pattern().findall(run.replace("\ufe0f", ""))
    says = [character not in FUNCTION_CHARACTERS for character in characters]
    for position, character in enumerate(characters):
        if says[position]:
            yield character
        if position + 1 < len(characters) and (says[position] or says[position + 1]):
            yield character + characters[position + 1]
