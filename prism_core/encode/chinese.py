"""The clauses that state a fact in Chinese; the first form that fits a clause reads it."""

from __future__ import annotations

from prism_core.encode.patterns import row
from prism_core.types import FactCategory

_PREFERENCE, _CONSTRAINT = FactCategory.PREFERENCE, FactCategory.CONSTRAINT
_GOAL, _IDENTITY = FactCategory.GOAL, FactCategory.IDENTITY
_DECISION, _WORLD, _COMMITMENT = FactCategory.DECISION, FactCategory.WORLD_STATE, FactCategory.COMMITMENT

_ZH_ADVERB = "(?:现在|目前|一直|真的|也|都|还|更|最|很|非常|特别|超级|比较)*"
_ZH_VALUE = r"[^，。！？\s]{1,30}"
# 我住在北京的朋友 is a friend, and 我不喜欢的东西 a thing.
_ZH_PLACE = r"[^，。！？\s的]{1,30}"
_ZH_OBJECT = r"(?!的)[^，。！？\s]{1,30}"
_ZH_COUNT = r"(?:\d{1,2}|[一二两三四五六七八九十])"
_ZH_KEPT = "(?:孩子|小孩|儿子|女儿|哥哥|弟弟|姐姐|妹妹|狗|猫|马|兔子|孙子|孙女)"
_ILLNESS = "(?:[12]型)?(?:糖尿病|高血压|低血压|心脏病|哮喘|癫痫|关节炎|抑郁症|焦虑症|乳糖不耐受?|偏头痛|失眠|癌症|痛风)"

CHINESE = (
    row(r"(?:我叫|我的名字(?:是|叫)|我名叫|请叫我|叫我)(?P<v>[\w·]{1,20})", _IDENTITY, "name", "{v}"),
    row(r"我(?:今年|现在)?(?P<v>\d{1,3}|[一二三四五六七八九十]{1,3})岁了?", _IDENTITY, "age", "{v}"),
    row(
        rf"我(?:已经|刚|最近)?(?:从(?P<was>{_ZH_VALUE}?))?搬(?:到|去)了?(?P<v>{_ZH_VALUE}?)(?:了|住)?",
        _IDENTITY,
        "home",
        "{v}",
        correction=True,
    ),
    row(rf"我(?:现在|目前|一直)?(?:住在|家在|定居在)(?P<v>{_ZH_PLACE})", _IDENTITY, "home", "{v}"),
    row(rf"我(?:来自|是(?=\S+人$))(?P<v>{_ZH_VALUE})", _IDENTITY, "origin", "{v}"),
    row(rf"我(?:现在|目前)?在(?P<v>{_ZH_VALUE}?)(?:工作|上班)", _IDENTITY, "employer", "{v}"),
    row(
        r"我是(?:一名|一个|一位|名|个)?(?P<v>[\u4e00-\u9fff]{0,8}(?:师|员|生|家|医生|护士|教授|经理|律师|司机))",
        _IDENTITY,
        "occupation",
        "{v}",
    ),
    row(rf"我的?生日是(?P<v>{_ZH_VALUE})", _IDENTITY, "birthday", "{v}"),
    row(rf"我(?:有|养了?)(?P<v>{_ZH_COUNT})[个只条匹](?P<a>{_ZH_KEPT})", _IDENTITY, "number of {a}", "{v}"),
    row(r"我(?:已经|刚|还)?(?P<v>结婚|离婚|单身|订婚)了?", _IDENTITY, "marital status", "{v}"),
    row(r"我会(?:说|讲)(?P<o>[^，。！？\s]{1,20}[语文话])", _IDENTITY, "speaks {o}", "yes", listed="o"),
    row(rf"我对(?P<o>{_ZH_VALUE}?)(?:严重)?过敏", _CONSTRAINT, "allergic to {o}", "yes", listed="o"),
    row(
        rf"我(?:从来|一直|现在)?不(?:能|可以)?(?P<d>吃|喝)(?P<o>{_ZH_VALUE})",
        _CONSTRAINT,
        "does not {d} {o}",
        "yes",
        listed="o",
    ),
    row(r"我(?:一直)?是(?P<v>素食(?:主义)?者|纯素食者)", _CONSTRAINT, "diet", "{v}"),
    row(
        rf"我(?:患有|得了|有)(?P<o>{_ILLNESS})",
        _CONSTRAINT,
        "has {o}",
        "yes",
        listed="o",
    ),
    row(r"我(?:已经)?戒了?(?P<o>烟|酒|咖啡|糖)了?", _CONSTRAINT, "gave up {o}", "yes"),
    row(
        r"(?:(?:请|麻烦你?|以后|今后|从现在起)[，,]?)+(?P<v>(?:一直|总是|始终|都|永远|不要|别)再?"
        r"(?:只)?(?:用|回答|回复|预?订|安排|发|写|叫|称呼|给我|提醒|打电话|推荐|使用|分享|安排).{1,40})",
        _CONSTRAINT,
        "rule: {v}",
        "yes",
    ),
    row(
        r"(?:我的|我们的|总)?预算(?:现在)?(?:(?P<changed>改为|改成|提高到|降到|增加到)|是|为|大约|大概)(?P<v>[^，。]*\d[^，。]*)",
        _CONSTRAINT,
        "budget",
        "{v}",
    ),
    row(rf"我最(?:喜欢|爱)的(?P<a>{_ZH_VALUE}?)是(?P<v>{_ZH_VALUE})", _PREFERENCE, "favourite {a}", "{v}"),
    row(
        rf"我{_ZH_ADVERB}(?:不喜欢|不爱|不再喜欢)(?P<o>{_ZH_OBJECT}?)了?",
        _PREFERENCE,
        "opinion of {o}",
        "dislikes",
        listed="o",
    ),
    row(
        rf"我{_ZH_ADVERB}(?:讨厌|厌恶|受不了)(?P<o>{_ZH_OBJECT}?)了?",
        _PREFERENCE,
        "opinion of {o}",
        "hates",
        listed="o",
    ),
    row(
        rf"我{_ZH_ADVERB}(?:喜欢|爱|喜爱|偏爱|热爱|更喜欢)(?!(?:你|他|她|它))(?P<o>{_ZH_OBJECT}?)",
        _PREFERENCE,
        "opinion of {o}",
        "likes",
        listed="o",
    ),
    row(r"(?:我的|我们的)目标是(?P<v>.{2,60})", _GOAL, "goal", "{v}"),
    row(
        rf"(?:好的?|行|那)?(?:我|我们|咱们)(?:决定|选择|选定|就选|选)(?:了|去|用|在)?(?P<o>{_ZH_VALUE}?)(?:吧|了)?",
        _DECISION,
        "decision for {o}",
        "yes",
    ),
    row(r"提醒我(?P<o>\S{2,40})", _COMMITMENT, "to do: {o}", ""),
    row(
        rf"(?:我的|我们的)?(?P<a>[\u4e00-\u9fffA-Za-z ]{{2,12}}?)(?:已经)?"
        rf"(?:改到|改为|改成|换成|推迟到|提前到|变成|更新为)了?(?P<v>{_ZH_VALUE})",
        _WORLD,
        "{a}",
        "{v}",
        correction=True,
    ),
    row(rf"我的(?P<a>[\u4e00-\u9fffA-Za-z ]{{2,12}}?)(?:现在)?是 ?(?P<v>{_ZH_VALUE})", _IDENTITY, "{a}", "{v}"),
    row(r"(?P<a>[\u4e00-\u9fffA-Za-z]{2,12}?)(?:现在)?是(?P<v>[^，。\s]*\d[^，。\s]*)", _WORLD, "{a}", "{v}"),
)
