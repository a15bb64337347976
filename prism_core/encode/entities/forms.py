"""What entities look like that are told by their form: files, addresses, codes, quantities, dates, times, quotes."""

from __future__ import annotations

import re

from prism_core.types import EntityType

_SUFFIXES = (
    "py|js|ts|md|txt|csv|tsv|json|jsonl|ya?ml|toml|pdf|docx?|xlsx?|pptx?|html?|sql|sh|png|jpe?g|gif|svg|zip|tar|gz|ipynb|log"
    "|mp3|mp4|wav|mov|xml|ini|cfg|java|cpp|rs|go|rb|php|css|parquet|db"
)
_CURRENCY = "USD|EUR|GBP|CNY|JPY|CHF|dollars?|euros?|pounds?|yuan|cents?|bucks"
_UNIT = (
    rf"(?:%|percent|{_CURRENCY}|k?m|cm|mm|miles?|feet|ft|inches|kg|g|grams?|kilos?|lbs?|ounces?|litres?|liters?|ml"
    r"|[kKMGT]B|ms|seconds?|minutes?|mins?|hours?|hrs?|(?:business |working )?days?|nights?|weeks?"
    r"|months?|years?|decades?"
    r"|degrees?|°[CF]?|kWh|watts?|kilomet(?:er|re)s?|met(?:er|re)s?)"
)
_NUMBER = r"\d[\d,]*(?:\.\d+)?"
_COUNT = rf"(?:{_NUMBER}|one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|fifty|a hundred|half a)"
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:19|20)\d\d"
_WEEKDAY = r"(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)"
_HOLIDAY = r"(?:Christmas(?: Eve)?|Easter|Thanksgiving|Halloween|New Year(?:'s (?:Eve|Day))?|Valentine's Day)"
_ZH_NUMBER = r"[\d〇一二三四五六七八九十百千万两]{1,12}"
"""Bounded: each character of a longer run would begin a search to its end."""
_ZH_UNIT = (
    r"(?:元|块钱?|美元|欧元|人民币|公里|千米|米|厘米|公斤|千克|克|斤|岁|小时|分钟|秒"
    r"|天|个月|年|周|度|升|平方米|百分点|%)"
)
_ZH_HOLIDAY = r"(?:元旦|春节|元宵节|清明节|劳动节|端午节|中秋节|国庆节|圣诞节|情人节|除夕)"

# What a text must hold for a form to be looked for: most texts hold little of it, and the forms cost far more.
_ADDRESS = re.compile("://")
_AT = re.compile("@")
_DOT = re.compile(r"\.")
_SLASH = re.compile(r"[/\\]")
_QUOTE = re.compile('"')
_TICK = re.compile("`")
_CALL = re.compile(r"\(")
_INNER = re.compile("_|[a-z][A-Z]")
_MISHAP = re.compile("Error|Exception|Warning")
_DIGIT = re.compile(r"\d")
_DATE = re.compile(
    r"\d|day\b|week|month|year|ago\b|summer|winter|spring|autumn|fall|Christmas|Easter|Thanks|Hallow|tomorrow"
    r"|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|[年月日号周期天节夕旦拜]"
)
_TIME = re.compile(r"[\d点时]|noon|midnight", re.IGNORECASE)
_QUANTITY = re.compile(
    r"[\d〇一二三四五六七八九十百千万两]|one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|fifty|hundred|half",
    re.IGNORECASE,
)

FORMS: tuple[tuple[EntityType, re.Pattern[str], re.Pattern[str]], ...] = (
    (EntityType.URL, _ADDRESS, re.compile(r"(?:https?|ftp|file)://[^\s<>\"'）】\])]+[^\s<>\"'.,;:!?)\]）】]")),
    (EntityType.EMAIL, _AT, re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+")),
    (
        EntityType.FILE,
        _DOT,
        re.compile(rf"(?<![\w/.@-])(?:~?/)?(?:[\w@-]+/)*+(?:[\w-]+\.)+(?:{_SUFFIXES})\b(?!\()", re.IGNORECASE),
    ),
    (EntityType.PATH, _SLASH, re.compile(r"(?<![\w/.:])(?:~|\.{1,2})?(?:/[\w.@+-]+){2,}/?|\b[A-Z]:\\[\w\\.-]+")),
    (
        EntityType.DATE,
        _DATE,
        re.compile(
            rf"\b{_YEAR}-\d\d?-\d\d?(?:T\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?|\b)|\b\d\d?[/.]\d\d?[/.]{_YEAR}\b"
            rf"|\b{_MONTH}\s+{_DAY}(?:\s?[-–]\s?{_DAY})?(?:,?\s+{_YEAR})?\b|\b{_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+{_YEAR})?"
            rf"|\b{_MONTH},?\s+{_YEAR}(?:\s?[-–]\s?{_YEAR})?\b|(?<=\bin ){_MONTH}|(?<=\bsince ){_MONTH}"
            rf"|(?<=\buntil ){_MONTH}|(?<=\bby ){_MONTH}"
            rf"|\b(?:[Ll]ast|[Nn]ext|[Tt]his) (?:{_WEEKDAY}|week(?:end)?|month|year|summer|winter|spring|autumn|fall)\b"
            r"|\b(?:a few|a couple of|several|some|two|three|four|five|six|ten|\d+) (?:days|weeks|months|years) ago\b"
            rf"|\b{_WEEKDAY}s?\b|\b{_HOLIDAY}|\b[Yy]esterday\b|\b[Tt]omorrow\b|(?<![\d.,$€£¥/-])\b{_YEAR}s?\b(?![\d/-])"
            rf"|{_YEAR}年(?:\d\d?月(?:\d\d?[日号])?)?|\d\d?月\d\d?[日号]|[一二三四五六七八九十]{{1,2}}月[一二三四五六七八九十]{{1,3}}[日号]"
            rf"|(?:上|下|这|本)?(?:周|星期|礼拜)[一二三四五六日天]|昨天|明天|前天|后天|去年|明年|上个?月|下个?月|{_ZH_HOLIDAY}"
        ),
    ),
    (
        EntityType.TIME,
        _TIME,
        re.compile(
            r"\b\d{1,2}:\d\d(?::\d\d)?(?:\s?[ap]\.?m\b\.?)?|\b\d{1,2}\s?[ap]\.?m\b\.?|\b(?:noon|midnight)\b"
            r"|\b\d{1,2} o'clock\b"
            rf"|(?:早上|上午|中午|下午|晚上|凌晨|傍晚){_ZH_NUMBER}[点时](?:半|{_ZH_NUMBER}分?)?|{_ZH_NUMBER}点(?:半|{_ZH_NUMBER}分|整)",
            re.IGNORECASE,
        ),
    ),
    (
        EntityType.QUANTITY,
        _QUANTITY,
        re.compile(
            rf"[$€£¥]\s?{_NUMBER}(?:\s?(?:k|m|bn|million|billion|thousand)\b)?"
            rf"|(?<![\w.,])\d+(?:\.\d+)?(?:\s?[x×]\s?\d+(?:\.\d+)?){{1,2}}\s?{_UNIT}(?![\w])"
            rf"|(?<![\w.,]){_COUNT}(?:\s?(?:to|-|–|or)\s?{_COUNT})?[\s-]?{_UNIT}(?![\w])"
            rf"|{_ZH_NUMBER}(?:多)?个?{_ZH_UNIT}",
            re.IGNORECASE,
        ),
    ),
    (
        EntityType.PERSON,
        _QUOTE,
        re.compile(r"(?<=\"first_name\": \")[^\"\n]{1,40}+|(?<=\"last_name\": \")[^\"\n]{1,40}+"),
    ),
    (EntityType.CODE, _MISHAP, re.compile(r"(?<![\w.])[A-Z]\w{1,40}(?:Error|Exception|Warning)\b")),
    (EntityType.CODE, _TICK, re.compile(r"`([^`\n]{1,80})`")),
    (
        EntityType.ID,
        _DIGIT,
        re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?=[a-f]*\d)[0-9a-f]{7,40}\b"),
    ),
    (EntityType.ID, _DIGIT, re.compile(r"(?<![\w])[A-Za-z]+(?:_[A-Za-z0-9]+)*_\d+(?![\w])")),
    (EntityType.ID, _DIGIT, re.compile(r"(?<![\w-])[A-Z]{1,6}-\d{2,}(?:-[A-Z0-9]+)*(?![\w])")),
    (EntityType.ID, _DIGIT, re.compile(r"(?<![\w$€£¥.,-])(?=[A-Z0-9]*[A-Z])(?=[A-Z0-9]*\d)[A-Z0-9]{4,12}(?![\w])")),
    (EntityType.ID, _QUOTE, re.compile(r"(?<=\")[A-Z]{2,5}(?=\")")),
    (
        EntityType.ID,
        _DIGIT,
        re.compile(r"(?<![\w$€£¥.,/-])(?<!\d )(?<!\": )(?!(?:19|20)\d\d\b)\d{4,}(?![\w/-]|[.,]\d| ?%)"),
    ),
    (
        EntityType.CODE,
        _CALL,
        re.compile(r"(?<![\w.])[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)+(?=\()|(?<![\w.])[a-z_]\w*(?=\()"),
    ),
    (
        EntityType.CODE,
        _INNER,
        re.compile(r"(?<![\w])[a-z]++(?:_[a-z0-9]++)++(?![\w]|\"\s?:)|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b"),
    ),
)
"""Types, what a text must hold, and forms, in order of precedence: what an earlier one takes, a later one leaves."""

QUOTED = re.compile(
    r"[\"“]([^\"”\n]{2,80})[\"”]|《([^》\n]{1,80})》|[「“]([^」”\n]{1,80})[」”]"
    r"|(?<![\w])['‘]([^'‘\n]{2,80}?)['](?![\w])"
)
