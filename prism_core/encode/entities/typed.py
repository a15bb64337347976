"""The typed extractor: forms first, then quotations, then names, told apart by lists and by what is around them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from prism_core.encode.entities.forms import FORMS, QUOTED
from prism_core.encode.entities.names import MAX_ENTITIES, entities, name_spans
from prism_core.protocols import EntityExtractor
from prism_core.text import name_form
from prism_core.types import Entity, EntityType

LOOKED_AT = 4_000
"""Characters of a text that are searched by default."""
_PERSON, _PLACE = EntityType.PERSON, EntityType.PLACE
_ORGANISATION, _PRODUCT = EntityType.ORGANISATION, EntityType.PRODUCT

_DATED = frozenset({EntityType.DATE, EntityType.TIME})
"""Dates and times are indexed apart, as dates."""
_PLACE_ENDS = re.compile(
    r"(?:City|River|Lake|Mountains?|Mount|Street|Road|Avenue|Station|Airport|Park|Falls|Gardens?|Beach|Islands?|Trench|Bay|Valley"
    r"|Bridge|Square|Castle|Canyon|Desert|Forest|Harbou?r|Hill|County|Village|Coast|Studios|Zoo|Stadium|Theat(?:er|re)|America"
    r"|Hotel|Café|Cafe|Restaurant|Plaza|Center|Centre|Museum)$"
)
_ORGANISATION_ENDS = re.compile(
    r"(?:Inc|Ltd|LLC|GmbH|Corp|Corporation|Company|Co|University|College|Institute|Bank|Airlines?|Airways|Foundation|Agency|Club"
    r"|Team|Group|Labs?|Association|Society|Union|Council|Ministry|Department|Hospital|School|Press|Publications|Publishing|Publishers?|Records|Times|Armou?r)\.?$"
)
_PRODUCT_ENDS = re.compile(
    r"(?:Archive|Calculator|Browser|Wiki|App|Pro|Max|Mini|Plus|Edition|OS|API|SDK|Studio|Suite|Engine|Framework|Database|Graveyard)$|\w-\d+$"
)
_PLACE_BEFORE = re.compile(
    r"\b(?:in|at|near|visit(?:ed|ing)?|between|around|across|bottom of|live in|moved to|trip to|called)\s(?:the\s)?$"
)
_PERSON_BEFORE = re.compile(
    r"(?:\b(?:[Hh]ey|[Hh]i|[Hh]ello|[Tt]hanks|[Tt]hank you|[Dd]ear|[Bb]ye|Mr|Mrs|Ms|Dr|Prof|by|with"
    r"|named|called|[Ii]t's|sister|brother"
    r"|friend|wife|husband|son|daughter|mother|father|uncle|aunt|boss|colleague|met|ask|tell|ANSWER)\b[.:,]?\s|,\s)$"
)
_VERB_AFTER = re.compile(
    r"^(?:'s\b|’s\b)?\s(?:said|says|asked|felt|feels|went|received|is|was|has|had|likes|loves"
    r"|and her|and his|participated|visited)\b"
)
_LABEL_AFTER = re.compile(r"[*_]{0,2}\s?:(?!//)")
_WORD_AND_I = re.compile(r"\w+ I$")
_LETTERS = re.compile(r"[A-Z](?:-[A-Z])*$")
_LINE_START = re.compile(r"(?:^|[.!?:>\n]\s*|[-*#]\s*)$")
_NO_NAMES = frozenset(
    """
    ID IDs PDF OK FAQ URL API TV AM PM STOP FINAL ANSWER COMPLETE JSON CSV HTML OCR UTC ZIP DVD CD USB PIN SMS VIP CPU
    GPU RAM CEO CTO DIY FYI ASAP Q&A GPS PC AI ML UI XML SQL HTTP HTTPS SSH LGBTQ LGBTQ+ N/A TODO NOTE WARNING ERROR
    INFO I'd I'll I've I'm
    """.split()  # noqa: SIM905
)
_ZH_SURNAME = (
    "[王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈"
    "姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤]"
)
_ZH_PERSON = re.compile(
    rf"{_ZH_SURNAME}[\u4e00-\u9fff]?(?:大爷|大妈|阿姨|叔叔|老师|医生|先生|女士|小姐|经理|师傅|同学|教授|奶奶|爷爷|总)"
    rf"|[小老阿]{_ZH_SURNAME}(?![\u4e00-\u9fff]?[的地])|(?<=[邻居朋友同学叫和])(?![爸妈爷奶哥姐弟妹叔舅姑伯婶])([\u4e00-\u9fff])\1(?=一起|[和与，。在])"
)
_ZH_PLACE = re.compile(
    r"(?:(?![我在他她你们的去到从和是了把给跟于])[\u4e00-\u9fff]){2,6}(?:省|市|县|镇|公园|机场|车站|酒店|餐厅|大街|大道|寺|湖|山)(?![\u4e00-\u9fff]*[省市])"
)
_ZH_ORGANISATION = re.compile(
    r"(?![我在他她你们的去到从和是了把给跟于])[\u4e00-\u9fff](?:(?![我在他她你去到了是的])[\u4e00-\u9fff]){1,7}"
    r"(?:公司|集团|大学|医院|银行|协会|研究所|出版社)"
)


@dataclass(frozen=True, slots=True)
class RuleExtractor:
    """Finds entities by rules. Implements `protocols.EntityExtractor`.

    Attributes:
        looked_at: characters of a text that are searched.
    """

    looked_at: int = LOOKED_AT

    def extract(self, text: str) -> tuple[Entity, ...]:
        """The entities of a text, in order; none overlaps another."""
        shown = text[: self.looked_at]
        taken = _Taken(shown)
        for kind, hint, form in FORMS:
            if hint.search(shown) is None:
                continue
            for match in form.finditer(shown):
                taken.add(kind, *(match.span(1) if match.lastindex else match.span()))
        if not shown.lstrip().startswith(("{", "[")):
            # In JSON everything is in quotation marks, which says nothing.
            for match in QUOTED.finditer(shown):
                group = next(number for number, part in enumerate(match.groups(), 1) if part)
                taken.add(EntityType.QUOTED, *match.span(group))
        if not shown.isascii():
            for kind, pattern in ((_ORGANISATION, _ZH_ORGANISATION), (_PERSON, _ZH_PERSON), (_PLACE, _ZH_PLACE)):
                for match in pattern.finditer(shown):
                    taken.add(kind, *match.span())
        for start, end, kind in (*_listed(shown), *_named(shown)):
            taken.add(kind, start, end)
        return taken.entities()


class _Taken:
    """Entities found so far; what overlaps one of them is left out."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._used = bytearray(len(text))
        self._found: list[Entity] = []

    def add(self, kind: EntityType, start: int, end: int) -> None:
        if end > start and not any(self._used[start:end]):
            self._used[start:end] = b"\x01" * (end - start)
            self._found.append(Entity(self._text[start:end], kind, start, end))

    def entities(self) -> tuple[Entity, ...]:
        return tuple(sorted(self._found, key=lambda entity: entity.start))


@lru_cache(maxsize=1)
def _gazetteer() -> Mapping[str, EntityType]:
    rows = json.loads(files("prism_core.encode.entities").joinpath("gazetteer.json").read_text(encoding="utf-8"))
    return {name: EntityType(kind) for kind, names in rows.items() for name in names}


@lru_cache(maxsize=1)
def _chinese_names() -> re.Pattern[str]:
    names = sorted((name for name in _gazetteer() if not name.isascii() and name[0] >= "\u4e00"), key=len, reverse=True)
    return re.compile("|".join(names))


def _listed(text: str) -> Iterator[tuple[int, int, EntityType]]:
    """Chinese names of the lists: nothing separates them from the words around."""
    if not text.isascii():
        for match in _chinese_names().finditer(text):
            yield *match.span(), _gazetteer()[match[0]]


def _named(text: str) -> Iterator[tuple[int, int, EntityType]]:
    """Capitalised names, each with its most likely type."""
    known = _gazetteer()
    for start, end in name_spans(text, known):
        phrase = text[start:end]
        if _WORD_AND_I.match(phrase):
            phrase = phrase[:-2]
            end -= 2
        kind = known.get(phrase)
        if kind is None and (_is_no_name(phrase) or _LABEL_AFTER.match(text, end) or _opens(text, start, phrase)):
            continue
        yield start, end, kind or _kind(phrase, text, start, end)


def _is_no_name(phrase: str) -> bool:
    return phrase in _NO_NAMES or _LETTERS.match(phrase) is not None


def _opens(text: str, start: int, phrase: str) -> bool:
    """Whether a lone word without a list's word for it stands where every word has a capital."""
    return " " not in phrase and _LINE_START.search(text, max(0, start - 8), start) is not None


def _kind(phrase: str, text: str, start: int, end: int) -> EntityType:
    words = phrase.replace("’", "'").split()
    kinds = [_gazetteer().get(word.strip(",.")) for word in words]
    if _ORGANISATION_ENDS.search(phrase) or " & " in phrase:
        return _ORGANISATION
    if _PRODUCT_ENDS.search(phrase):
        return _PRODUCT
    if _PLACE_ENDS.search(phrase) or kinds[-1] is _PLACE:
        return _PLACE
    if kinds[0] is _PERSON or "." in phrase:
        return _PERSON
    if phrase.isupper():
        return _ORGANISATION if len(phrase) <= 6 else _PRODUCT
    before, after = text[max(0, start - 24) : start], text[end : end + 24]
    if _PERSON_BEFORE.search(before) or _VERB_AFTER.match(after) or after.startswith(("'s ", "’s ")):
        return _PERSON
    if _PLACE_BEFORE.search(before):
        return _PLACE
    return _ORGANISATION if len(words) == 1 else _PRODUCT


def named(text: str, extractor: EntityExtractor) -> tuple[str, ...]:
    """Everything a text is indexed and asked by: the names that rules find, and what an extractor finds besides."""
    found = {name_form(name): name for name in entities(text)}
    for each in extractor.extract(text):
        if each.type not in _DATED:
            found.setdefault(name_form(each.text), each.text)
    return tuple(found.values())[:MAX_ENTITIES]
