"""Entities by rules: files, URLs, e-mails, code names, quoted names, capitalised names, quantities and dates.

Works for Latin scripts and Chinese, without a model. Identifiers are found by `text.identifiers` and indexed apart.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

from prism_core.text import STOP_WORDS, normalize

MAX_ENTITIES = 64
MAX_LENGTH = 80
LOOKED_AT = 20_000
"""Characters of a text that are searched: a longer one names what it is about early on."""

_SUFFIXES = "py|js|ts|md|txt|csv|tsv|json|ya?ml|toml|pdf|docx?|xlsx?|pptx?|html?|sql|sh|png|jpe?g|zip|ipynb|log"
_UNITS = r"USD|EUR|GBP|CNY|kg|km|GB|MB|ms|%|美元|欧元|元|块|公里|公斤|岁"
_PATTERNS = (
    re.compile(r"https?://[^\s<>\"'）】]+[^\s<>\"'.,;:!?)\]）】]"),
    re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+"),
    re.compile(r"(?<![\w/.])(?:~|\.{1,2})?(?:/[\w.@+-]+){2,}/?"),
    re.compile(rf"(?<![\w/.-])[\w-]+\.(?:{_SUFFIXES})\b"),
    re.compile(r"(?<![\w.])[A-Za-z_][\w.]*+(?=\(\))"),
    re.compile(r"(?<![\w])[a-z]++(?:_[a-z0-9]++)++(?![\w])"),
    re.compile(r"\b[A-Z][a-z]+(?:[A-Z][a-z0-9]+)+\b"),
    re.compile(rf"[$€£¥]\s?\d(?:[\d,.]*\d)?|(?<![\d.,])\d[\d,.]*\s?(?:{_UNITS})"),
)
_QUOTED = re.compile(r"[\"“]([^\"”\n]{2,80})[\"”]|《([^》\n]{1,80})》|「([^」\n]{2,80})」|`([^`\n]{2,80})`")
_WORD = r"[A-Za-zÀ-ÖØ-öø-ÿ0-9_'’-]"
_NAME = re.compile(
    rf"(?<![A-Za-zÀ-ÖØ-öø-ÿ0-9_.])[A-ZÀ-ÖØ-Þ]{_WORD}*"
    rf"(?:[^\S\n]+(?:(?:of the|of|de la|de|la|van|von|the|&)[^\S\n]+)?[A-ZÀ-ÖØ-Þ0-9]{_WORD}*)*"
)
_COINED = re.compile(r"[^\s_]\S*_\S*[^\s_]")
_SENTENCE_START = re.compile(r"(?:^|[.!?:\n>\"“(\[{]\s*|\n\s*[-*]\s*)$")
_CHINESE_PLACE = re.compile(
    r"(?:(?![我在他她你们的去到从和是了把给跟于])[\u4e00-\u9fff]){2,6}(?:大学|公司|医院|学校|机场|酒店|公园|餐厅|银行|车站)"
)


def entities(text: str) -> tuple[str, ...]:
    """The entities of a text.

    Args:
        text: any text.

    Returns:
        Distinct entities as written (the first spelling of each normalised form), in no particular order of
        importance, at most `MAX_ENTITIES`.

    >>> entities('Alice read "Graph Memory" and saved notes.md for Acme Labs')
    ('notes.md', 'Graph Memory', 'Acme Labs')
    """
    found: dict[str, str] = {}
    for value in _candidates(text[:LOOKED_AT]):
        key = normalize(value)
        if key and len(value) <= MAX_LENGTH:
            found.setdefault(key, value)
        if len(found) == MAX_ENTITIES:
            break
    return tuple(found.values())


def _candidates(text: str) -> Iterator[str]:
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            yield match[0].strip()
    for match in _QUOTED.finditer(text):
        yield next(group for group in match.groups() if group).strip()
    for match in _CHINESE_PLACE.finditer(text):
        yield match[0]
    yield from _names(text)


def _names(text: str) -> Iterator[str]:
    """Capitalised phrases; a single common word that only opens a sentence is none."""
    for start, end in name_spans(text):
        yield " ".join(text[start:end].split())


def name_spans(text: str, known: Container[str] = frozenset()) -> Iterator[tuple[int, int]]:
    """Where capitalised phrases begin and end.

    Args:
        text: any text.
        known: names that are names even where they only open a sentence.
    """
    for match in _NAME.finditer(text):
        said = match[0].removesuffix("'s").removesuffix("’s")
        if "_" in said:
            # A coined name is whole by itself: "Status of Paper_A" names Paper_A.
            yield from ((match.start() + word.start(), match.start() + word.end()) for word in _COINED.finditer(said))
            continue
        words = said.split()
        while words and _is_opener(words[0]):
            words = words[1:]
        phrase = " ".join(words)
        if not phrase or (
            len(words) == 1 and (len(phrase) == 1 or _only_opens(phrase, match, text)) and phrase not in known
        ):
            continue
        yield match.start() + len(said) - len(said[said.index(words[0]) :]), match.start() + len(said)


def _is_opener(word: str) -> bool:
    return word.lower().endswith(("n't", "n’t")) or re.split("['’]", word.lower())[0] in _OPENERS


def _only_opens(word: str, match: re.Match[str], text: str) -> bool:
    """Whether a lone capitalised word may owe its capital to opening a sentence."""
    opens = match[0].startswith(word) and _SENTENCE_START.search(text, max(0, match.start() - 4), match.start())
    elsewhere = text[: match.start()].count(f" {word}") + text[match.end() :].count(f" {word}")
    return bool(opens) and word.isalpha() and not elsewhere


_OPENERS = STOP_WORDS | frozenset(
    """
    yes no ok okay hi hey hello thanks thank sure wow great good nice let lets here sorry well oh awesome cool yeah
    congrats definitely absolutely don can isn aren doesn didn won wasn couldn to user assistant null true false none
    """.split()  # noqa: SIM905
)
