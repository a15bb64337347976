"""What a clause looks like that states a fact, in English and Chinese.

A pattern is matched against a whole clause. `{name}` in attribute and value stands for the group of that name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from prism_core.encode.phrases import (
    ADVERB,
    CHOICE,
    DIET,
    I_AM,
    LATELY,
    NOUNS,
    OBJECT,
    ON,
    ORDER,
    OWNED,
    PERSON,
    PLACE,
    RELATIVE,
    SHORT,
    TRADE,
    VALUE,
    WHEN,
)
from prism_core.types import FactCategory


@dataclass(frozen=True, slots=True)
class FactPattern:
    """A form of clause.

    Attributes:
        form: matched against the whole clause.
        category: of the fact.
        attribute: of the fact, with groups put in.
        value: of the fact, with groups put in.
        listed: group that may name several objects, joined by "and", each a fact of its own; empty for none.
        correction: whether the form says that something changed.
        ends: whether the form says that the value no longer holds.
    """

    form: re.Pattern[str]
    category: FactCategory
    attribute: str
    value: str
    listed: str = ""
    correction: bool = False
    ends: bool = False


_PREFERENCE, _CONSTRAINT = FactCategory.PREFERENCE, FactCategory.CONSTRAINT
_GOAL, _IDENTITY = FactCategory.GOAL, FactCategory.IDENTITY
_DECISION, _WORLD, _COMMITMENT = FactCategory.DECISION, FactCategory.WORLD_STATE, FactCategory.COMMITMENT


def _english(form: str) -> re.Pattern[str]:
    return re.compile(form, re.IGNORECASE)


def _row(form: str, category: FactCategory, attribute: str, value: str, **marks: str | bool) -> FactPattern:
    return FactPattern(_english(form), category, attribute, value, **marks)  # type: ignore[arg-type]


ENGLISH = (
    # Who somebody is.
    _row(
        rf"(?:my (?:full |real |first )?name(?:'s| is)(?: now)?|{I_AM} called|(?:please )?call me|people call me)"
        rf" (?P<v>{PERSON})",
        _IDENTITY,
        "name",
        "{v}",
    ),
    _row(rf"(?:{I_AM}|i turned) (?P<v>\d{{1,3}})(?: years? old| now| today)?", _IDENTITY, "age", "{v}"),
    _row(
        rf"i(?:'ve| have)? (?:just |recently )?(?:moved|relocated)(?: from (?P<was>{PLACE}))? to (?P<v>{PLACE})"
        r"(?: (?:now|last|this|in|two|three|a) ?.*)?",
        _IDENTITY,
        "home",
        "{v}",
        correction=True,
    ),
    _row(
        rf"i (?:no longer|don't|do not) live in (?P<v>{PLACE})(?: anymore| any more)?",
        _IDENTITY,
        "home",
        "{v}",
        ends=True,
    ),
    _row(
        rf"(?:i (?:now |currently |still )?live|{I_AM} (?:based|living)) in (?P<v>{PLACE}){ON}",
        _IDENTITY,
        "home",
        "{v}",
    ),
    _row(rf"(?:{I_AM}|i come) from (?P<v>{PLACE})", _IDENTITY, "origin", "{v}"),
    _row(rf"i was born in (?P<v>{PLACE})", _IDENTITY, "birthplace", "{v}"),
    _row(r"(?:i was born|my birthday(?:'s| is)) (?:on )?(?:the )?(?P<v>\S.{2,30})", _IDENTITY, "birthday", "{v}"),
    _row(
        rf"i (?:now |currently )?(?:work (?:at|for)|joined) (?P<v>{PLACE}){ON}",
        _IDENTITY,
        "employer",
        "{v}",
    ),
    _row(
        rf"(?:i work as|my job is|{I_AM}) (?:an? )?(?P<v>{TRADE})(?: (?:at|for|in|by) .{{1,40}})?",
        _IDENTITY,
        "occupation",
        "{v}",
    ),
    _row(
        rf"my (?P<a>{RELATIVE})(?:'s name)?(?: is| is called| is named|'s called) (?P<v>(?-i:[A-Z])[\w'-]+)",
        _IDENTITY,
        "{a}",
        "{v}",
    ),
    # What has to be respected.
    _row(
        rf"{I_AM} (?:severely |very |highly |deathly )?allergic to (?P<o>\S.{{1,60}})",
        _CONSTRAINT,
        "allergic to {o}",
        "yes",
        listed="o",
    ),
    _row(rf"{I_AM} (?:an? )?(?P<v>{DIET})(?: now)?", _CONSTRAINT, "diet", "{v}"),
    _row(
        r"i (?:(?:can't|cannot|can not) (?P<c>eat|drink|have)|(?:don't|do not|never) (?P<d>eat|drink))"
        r" (?P<o>\S.{1,40}?)(?: at all| anymore)?",
        _CONSTRAINT,
        "does not {c}{d} {o}",
        "yes",
        listed="o",
    ),
    _row(
        r"(?:my|our|the)(?: total| travel| monthly| overall)? budget(?:'s| is| of)(?: now)?"
        r"(?: about| around| at most| up to)? (?P<v>\S*\d.{0,40})",
        _CONSTRAINT,
        "budget",
        "{v}",
    ),
    _row(
        r"(?:we|i)(?:'ve| have)(?: got)? (?:a )?budget of (?P<v>\S*\d.{0,40})",
        _CONSTRAINT,
        "budget",
        "{v}",
    ),
    _row(
        r"(?:i|we)(?: can| want to)?(?: only)? spend (?:at most|no more than|up to) (?P<v>\S*\d.{0,40})",
        _CONSTRAINT,
        "budget",
        "{v}",
    ),
    _row(rf"(?:please )?(?P<v>(?:always|never) {ORDER} \S.{{0,80}})", _CONSTRAINT, "rule: {v}", "yes"),
    # What somebody likes.
    _row(
        r"my (?P<a>favou?rite \w[\w -]{1,30}?)(?:'s| is| are)(?: now)? (?P<v>\S.{0,50}?)" + LATELY,
        _PREFERENCE,
        "{a}",
        "{v}",
    ),
    _row(
        rf"i {ADVERB}prefer (?P<v>\S.{{1,40}}?) (?:over|to|rather than|instead of) (?P<other>\S.{{1,40}})",
        _PREFERENCE,
        "{v} or {other}",
        "{v}",
    ),
    _row(rf"i {ADVERB}prefer (?P<v>{OBJECT} (?P<head>\w+s?))", _PREFERENCE, "preferred {head}", "{v}"),
    _row(rf"i {ADVERB}prefer (?P<o>\w+)", _PREFERENCE, "opinion of {o}", "prefers"),
    _row(
        rf"i (?:no longer|don't|do not|didn't) {ADVERB}(?:like|love|enjoy) (?P<o>{OBJECT}){LATELY}",
        _PREFERENCE,
        "opinion of {o}",
        "dislikes",
        listed="o",
    ),
    _row(rf"i {ADVERB}(?:love|adore) (?P<o>{OBJECT}){LATELY}", _PREFERENCE, "opinion of {o}", "loves", listed="o"),
    _row(rf"i {ADVERB}(?:like|enjoy) (?P<o>{OBJECT}){LATELY}", _PREFERENCE, "opinion of {o}", "likes", listed="o"),
    _row(
        rf"i {ADVERB}(?:hate|detest|loathe|can't stand|cannot stand) (?P<o>{OBJECT}){LATELY}",
        _PREFERENCE,
        "opinion of {o}",
        "hates",
        listed="o",
    ),
    _row(rf"i {ADVERB}dislike (?P<o>{OBJECT}){LATELY}", _PREFERENCE, "opinion of {o}", "dislikes", listed="o"),
    _row(
        rf"{I_AM} (?:a (?:big|huge) fan of|fond of|crazy about) (?P<o>{OBJECT})",
        _PREFERENCE,
        "opinion of {o}",
        "loves",
        listed="o",
    ),
    _row(
        rf"{I_AM} not (?:a (?:big |huge )?fan of|fond of) (?P<o>{OBJECT})",
        _PREFERENCE,
        "opinion of {o}",
        "dislikes",
        listed="o",
    ),
    # What is wanted, decided and promised.
    _row(r"(?:my|our|the) goal(?: here)? is (?:to )?(?P<v>\S.{2,120})", _GOAL, "goal", "{v}"),
    _row(r"(?:i|we)(?:'re|'m| am| are) (?:planning|aiming) to (?P<v>\S.{2,80})", _GOAL, "plans to {v}", "yes"),
    _row(
        r"(?:i|we)(?:'ve| have)?(?: finally| now)?"
        r" (?:decided (?:to (?:go (?:with|to|for)|use|take|book|visit) |on |for )"
        rf"|chose|chosen|settled on|agreed on|picked|opted for|went with) ?(?P<o>{CHOICE})",
        _DECISION,
        "decision for {o}",
        "yes",
    ),
    _row(
        r"(?:(?:ok(?:ay)?|great|perfect|good|yes|alright|all right|sounds good),? )*"
        r"(?:let's|let us|(?:i|we)(?:'ll| will)) (?:go (?:with|for|to)|choose|pick|book|take)"
        rf" (?P<o>{CHOICE})(?: then| please)?",
        _DECISION,
        "decision for {o}",
        "yes",
    ),
    _row(r"(?:i|we)(?:'ve| have)?(?: finally)? decided to (?P<o>\S.{2,80})", _DECISION, "decision to {o}", "yes"),
    _row(
        rf"(?:i|we)(?:'ll| will| promise to|'m going to| am going to) (?P<o>\S.{{2,80}}?) (?P<v>{WHEN})",
        _COMMITMENT,
        "will {o}",
        "{v}",
    ),
    _row(rf"(?:please )?remind me to (?P<o>\S.{{2,80}}?)(?: (?P<v>{WHEN}))?", _COMMITMENT, "to do: {o}", "{v}"),
    _row(
        r"i (?:need|have) to (?P<o>\S.{2,80}?) (?P<v>(?:by|before|until) .{2,40})",
        _COMMITMENT,
        "to do: {o}",
        "{v}",
    ),
    # What is called mine, and what is so.
    _row(
        rf"(?:my|our) (?P<a>{OWNED})(?:'s| is| are)(?: now| actually)?"
        r" (?!(?:so|very|really|not|going|getting|great|good|bad|amazing)\b)(?P<v>\S.{0,80})",
        _IDENTITY,
        "{a}",
        "{v}",
    ),
    _row(
        rf"(?:my|our|the) (?P<a>{NOUNS}) (?:has |have )?(?:been |was |were |is |are )?"
        r"(?:changed|moved|switched|updated|renamed|postponed|rescheduled|raised|lowered)"
        rf"(?: from (?P<was>{SHORT}))? to (?P<v>{SHORT})",
        _WORLD,
        "{a}",
        "{v}",
        correction=True,
    ),
    _row(
        rf"(?:my|our|the) (?P<a>{NOUNS})(?:'s| is| are)(?: now| actually)? (?:on |at )?(?P<v>{VALUE})",
        _WORLD,
        "{a}",
        "{v}",
    ),
    _row(
        r"(?P<a>\w[\w-]*(?: [\w-]+){0,2})(?: is| runs on)(?: now| actually)? (?P<v>[$€£¥#]?\d\S*(?: \w+){0,2})",
        _WORLD,
        "{a}",
        "{v}",
    ),
    _row(
        r"i(?:'ve| have)?(?: was| been| just| got)? ?(?:was |been )?"
        r"(?:moved|switched|transferred|reassigned|assigned)"
        r" from (?P<was>\S.{0,40}?) to (?P<v>\S.{0,40}?)(?: now)?",
        _WORLD,
        "",
        "{v}",
        correction=True,
    ),
)

_ZH_ADVERB = "(?:现在|目前|一直|真的|也|都|还|更|最|很|非常|特别|超级|比较)*"
_ZH_VALUE = r"[^，。！？\s]{1,30}"

CHINESE = (
    _row(r"(?:我叫|我的名字(?:是|叫)|我名叫|请叫我|叫我)(?P<v>[\w·]{1,20})", _IDENTITY, "name", "{v}"),
    _row(r"我(?:今年|现在)?(?P<v>\d{1,3}|[一二三四五六七八九十]{1,3})岁了?", _IDENTITY, "age", "{v}"),
    _row(
        rf"我(?:已经|刚|最近)?(?:从(?P<was>{_ZH_VALUE}?))?搬(?:到|去)了?(?P<v>{_ZH_VALUE}?)(?:了|住)?",
        _IDENTITY,
        "home",
        "{v}",
        correction=True,
    ),
    _row(rf"我(?:现在|目前|一直)?(?:住在|家在|定居在)(?P<v>{_ZH_VALUE})", _IDENTITY, "home", "{v}"),
    _row(rf"我(?:来自|是(?=\S+人$))(?P<v>{_ZH_VALUE})", _IDENTITY, "origin", "{v}"),
    _row(rf"我(?:现在|目前)?在(?P<v>{_ZH_VALUE}?)(?:工作|上班)", _IDENTITY, "employer", "{v}"),
    _row(
        r"我是(?:一名|一个|一位|名|个)?(?P<v>[\u4e00-\u9fff]{0,8}(?:师|员|生|家|医生|护士|教授|经理|律师|司机))",
        _IDENTITY,
        "occupation",
        "{v}",
    ),
    _row(rf"我的?生日是(?P<v>{_ZH_VALUE})", _IDENTITY, "birthday", "{v}"),
    _row(rf"我对(?P<o>{_ZH_VALUE}?)(?:严重)?过敏", _CONSTRAINT, "allergic to {o}", "yes", listed="o"),
    _row(
        rf"我(?:从来|一直|现在)?不(?:能|可以)?(?P<d>吃|喝)(?P<o>{_ZH_VALUE})",
        _CONSTRAINT,
        "does not {d} {o}",
        "yes",
        listed="o",
    ),
    _row(r"我是(?P<v>素食(?:主义)?者|纯素食者)", _CONSTRAINT, "diet", "{v}"),
    _row(
        r"(?:我的|我们的|总)?预算(?:现在)?(?:(?P<changed>改为|改成|提高到|降到|增加到)|是|为|大约|大概)(?P<v>[^，。]*\d[^，。]*)",
        _CONSTRAINT,
        "budget",
        "{v}",
    ),
    _row(rf"我最(?:喜欢|爱)的(?P<a>{_ZH_VALUE}?)是(?P<v>{_ZH_VALUE})", _PREFERENCE, "favourite {a}", "{v}"),
    _row(
        rf"我{_ZH_ADVERB}(?:不喜欢|不爱|不再喜欢)(?P<o>{_ZH_VALUE}?)了?",
        _PREFERENCE,
        "opinion of {o}",
        "dislikes",
        listed="o",
    ),
    _row(
        rf"我{_ZH_ADVERB}(?:讨厌|厌恶|受不了)(?P<o>{_ZH_VALUE}?)了?", _PREFERENCE, "opinion of {o}", "hates", listed="o"
    ),
    _row(
        rf"我{_ZH_ADVERB}(?:喜欢|爱|喜爱|偏爱|热爱|更喜欢)(?!(?:你|他|她|它))(?P<o>{_ZH_VALUE}?)",
        _PREFERENCE,
        "opinion of {o}",
        "likes",
        listed="o",
    ),
    _row(r"(?:我的|我们的)目标是(?P<v>.{2,60})", _GOAL, "goal", "{v}"),
    _row(
        rf"(?:好的?|行|那)?(?:我|我们|咱们)(?:决定|选择|选定|就选|选)(?:了|去|用|在)?(?P<o>{_ZH_VALUE}?)(?:吧|了)?",
        _DECISION,
        "decision for {o}",
        "yes",
    ),
    _row(r"提醒我(?P<o>\S{2,40})", _COMMITMENT, "to do: {o}", ""),
    _row(
        rf"(?:我的|我们的)?(?P<a>[\u4e00-\u9fffA-Za-z ]{{2,12}}?)(?:已经)?"
        rf"(?:改到|改为|改成|换成|推迟到|提前到|变成|更新为)了?(?P<v>{_ZH_VALUE})",
        _WORLD,
        "{a}",
        "{v}",
        correction=True,
    ),
    _row(rf"我的(?P<a>[\u4e00-\u9fffA-Za-z ]{{2,12}}?)(?:现在)?是(?P<v>{_ZH_VALUE})", _IDENTITY, "{a}", "{v}"),
    _row(r"(?P<a>[\u4e00-\u9fffA-Za-z]{2,12}?)(?:现在)?是(?P<v>[^，。\s]*\d[^，。\s]*)", _WORLD, "{a}", "{v}"),
)
