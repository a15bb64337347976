"""The clauses that state a fact in English; the first form that fits a clause reads it."""

from __future__ import annotations

from prism_core.encode.patterns import row
from prism_core.encode.phrases import (
    ADVERB,
    CHOICE,
    CONDITION,
    COUNT,
    DIET,
    I_AM,
    ILLNESS,
    KEPT,
    LATELY,
    MARITAL,
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

_PREFERENCE, _CONSTRAINT = FactCategory.PREFERENCE, FactCategory.CONSTRAINT
_GOAL, _IDENTITY = FactCategory.GOAL, FactCategory.IDENTITY
_DECISION, _WORLD, _COMMITMENT = FactCategory.DECISION, FactCategory.WORLD_STATE, FactCategory.COMMITMENT

ENGLISH = (
    # Who somebody is.
    row(
        rf"(?:my (?:full |real |first )?name(?:'s| is)(?: now)?|{I_AM} called|(?:please )?call me|people call me)"
        rf" (?P<v>{PERSON})",
        _IDENTITY,
        "name",
        "{v}",
    ),
    row(rf"(?:{I_AM}|i turned) (?P<v>\d{{1,3}})(?: years? old| now| today)?", _IDENTITY, "age", "{v}"),
    row(
        rf"i(?:'ve| have)? (?:just |recently )?(?:moved|relocated)(?: back)?"
        rf"(?: from (?P<was>{PLACE}))? to (?P<v>{PLACE})"
        r"(?: (?:now|last|this|in|two|three|a) ?.*)?",
        _IDENTITY,
        "home",
        "{v}",
        correction=True,
    ),
    row(
        rf"i (?:no longer|don't|do not) live in (?P<v>{PLACE})(?: anymore| any more)?",
        _IDENTITY,
        "home",
        "{v}",
        ends=True,
    ),
    row(
        rf"(?:i (?:now |currently |still )?live|{I_AM} (?:based|living)) in (?P<v>{PLACE}){ON}",
        _IDENTITY,
        "home",
        "{v}",
    ),
    row(rf"(?:{I_AM}|i come) from (?P<v>{PLACE})", _IDENTITY, "origin", "{v}"),
    row(rf"i was born in (?P<v>{PLACE})", _IDENTITY, "birthplace", "{v}"),
    row(r"(?:i was born|my birthday(?:'s| is)) (?:on )?(?:the )?(?P<v>\S.{2,30})", _IDENTITY, "birthday", "{v}"),
    row(rf"i(?:'ve| have) (?:been living|lived) in (?P<v>{PLACE}) (?:since|for) .{{1,40}}", _IDENTITY, "home", "{v}"),
    row(
        r"i(?:'ve| have)? (?:just |recently )?(?:joined|started (?:working |(?:a|my) new job )(?:at|for|with))"
        rf" (?P<v>{PLACE}){ON}",
        _IDENTITY,
        "employer",
        "{v}",
        correction=True,
    ),
    row(
        rf"i(?:'ve| have)? (?:now |currently |been )?work(?:ing)? (?:at|for) (?P<v>{PLACE}){ON}",
        _IDENTITY,
        "employer",
        "{v}",
    ),
    row(
        rf"(?:i work as|my job is|{I_AM}) (?:an? )?(?P<v>{TRADE})(?: (?:at|for|in|by) .{{1,40}})?",
        _IDENTITY,
        "occupation",
        "{v}",
    ),
    row(
        rf"my (?P<a>{RELATIVE})(?:'s name)?(?: is| is called| is named|'s called) (?P<v>(?-i:[A-Z])[\w'-]+)",
        _IDENTITY,
        "{a}",
        "{v}",
    ),
    row(
        rf"i have (?:got )?an? (?P<a>{KEPT}) (?:named|called) (?P<v>(?-i:[A-Z])[\w'-]+)",
        _IDENTITY,
        "{a}",
        "{v}",
    ),
    row(rf"i have (?:got )?(?P<v>{COUNT}) (?P<a>{KEPT})", _IDENTITY, "number of {a}", "{v}"),
    row(rf"{I_AM} (?:happily )?(?P<v>{MARITAL})(?: to .{{1,40}})?", _IDENTITY, "marital status", "{v}"),
    row(
        rf"i (?:just |recently )?got (?P<v>{MARITAL})(?: .{{1,40}})?",
        _IDENTITY,
        "marital status",
        "{v}",
        correction=True,
    ),
    row(
        r"i speak (?P<o>(?-i:[A-Z])\w+(?:(?:, | and |, and )(?-i:[A-Z])\w+)*)",
        _IDENTITY,
        "speaks {o}",
        "yes",
        listed="o",
    ),
    row(r"i drive an? (?P<v>(?-i:[A-Z])\S*(?: \S+){0,3})", _IDENTITY, "car", "{v}"),
    # What has to be respected.
    row(
        rf"{I_AM} (?:severely |very |highly |deathly )?allergic to (?P<o>\S.{{1,60}})",
        _CONSTRAINT,
        "allergic to {o}",
        "yes",
        listed="o",
    ),
    row(
        r"i have an? (?:severe |bad |slight )?(?P<o>\w[\w -]{1,30}?) allerg(?:y|ies)",
        _CONSTRAINT,
        "allergic to {o}",
        "yes",
    ),
    row(
        rf"(?:{I_AM}|i(?:'ve| have) (?:always )?been|i became|i(?:'ve| have) become) (?:an? )?(?P<v>{DIET})"
        r"(?: now| (?:since|for) .{1,40})?",
        _CONSTRAINT,
        "diet",
        "{v}",
    ),
    row(rf"{I_AM} (?:an? )?(?P<o>{CONDITION})(?: now)?", _CONSTRAINT, "{o}", "yes"),
    row(
        rf"i (?:have|suffer from|was (?:just |recently )?diagnosed with|live with) (?P<o>{ILLNESS})",
        _CONSTRAINT,
        "has {o}",
        "yes",
        listed="o",
    ),
    row(
        r"i(?:'ve| have)? (?:quit|gave up|given up|stopped) (?P<o>smoking|drinking|alcohol|coffee"
        r"|caffeine|meat|sugar|gluten|dairy)",
        _CONSTRAINT,
        "gave up {o}",
        "yes",
        listed="o",
    ),
    row(
        r"i (?:(?:can't|cannot|can not) (?P<c>eat|drink|have)|(?:don't|do not|never) (?P<d>eat|drink))"
        r" (?P<o>\S.{1,40}?)(?: at all| anymore)?",
        _CONSTRAINT,
        "does not {c}{d} {o}",
        "yes",
        listed="o",
    ),
    row(
        r"(?:my|our|the)(?: total| travel| monthly| overall)? budget(?:'s| is| of)(?: now)?"
        r"(?: about| around| at most| up to)? (?P<v>\S*\d.{0,40})",
        _CONSTRAINT,
        "budget",
        "{v}",
    ),
    row(
        r"(?:we|i)(?:'ve| have)(?: got)? (?:a )?budget of (?P<v>\S*\d.{0,40})",
        _CONSTRAINT,
        "budget",
        "{v}",
    ),
    row(
        r"(?:i|we)(?: can| want to)?(?: only)? spend (?:at most|no more than|up to) (?P<v>\S*\d.{0,40})",
        _CONSTRAINT,
        "budget",
        "{v}",
    ),
    row(rf"(?:please )?(?P<v>(?:always|never) {ORDER} \S.{{0,80}})", _CONSTRAINT, "rule: {v}", "yes"),
    # What somebody likes.
    row(
        r"my (?P<a>favou?rite \w[\w -]{1,30}?)(?:'s| is| are)(?: now)? (?P<v>\S.{0,50}?)" + LATELY,
        _PREFERENCE,
        "{a}",
        "{v}",
    ),
    row(
        rf"i {ADVERB}prefer (?P<v>\S.{{1,40}}?) (?:over|to|rather than|instead of) (?P<other>\S.{{1,40}})",
        _PREFERENCE,
        "{v} or {other}",
        "{v}",
    ),
    row(rf"i {ADVERB}prefer (?P<v>{OBJECT} (?P<head>\w+s?))", _PREFERENCE, "preferred {head}", "{v}"),
    row(rf"i {ADVERB}prefer (?P<o>\w+)", _PREFERENCE, "opinion of {o}", "prefers"),
    row(
        rf"i (?:no longer|don't|do not|didn't) {ADVERB}(?:like|love|enjoy) (?P<o>{OBJECT}){LATELY}",
        _PREFERENCE,
        "opinion of {o}",
        "dislikes",
        listed="o",
    ),
    row(rf"i {ADVERB}(?:love|adore) (?P<o>{OBJECT}){LATELY}", _PREFERENCE, "opinion of {o}", "loves", listed="o"),
    row(rf"i {ADVERB}(?:like|enjoy) (?P<o>{OBJECT}){LATELY}", _PREFERENCE, "opinion of {o}", "likes", listed="o"),
    row(
        rf"i {ADVERB}(?:hate|detest|loathe|can't stand|cannot stand) (?P<o>{OBJECT}){LATELY}",
        _PREFERENCE,
        "opinion of {o}",
        "hates",
        listed="o",
    ),
    row(rf"i {ADVERB}dislike (?P<o>{OBJECT}){LATELY}", _PREFERENCE, "opinion of {o}", "dislikes", listed="o"),
    row(
        rf"{I_AM} (?:a (?:big|huge) fan of|fond of|crazy about) (?P<o>{OBJECT})",
        _PREFERENCE,
        "opinion of {o}",
        "loves",
        listed="o",
    ),
    row(
        rf"{I_AM} not (?:a (?:big |huge )?fan of|fond of) (?P<o>{OBJECT})",
        _PREFERENCE,
        "opinion of {o}",
        "dislikes",
        listed="o",
    ),
    # What is wanted, decided and promised.
    row(r"(?:my|our|the) goal(?: here)? is (?:to )?(?P<v>\S.{2,120})", _GOAL, "goal", "{v}"),
    row(r"(?:i|we)(?:'re|'m| am| are) (?:planning|aiming) to (?P<v>\S.{2,80})", _GOAL, "plans to {v}", "yes"),
    row(
        r"(?:i|we)(?:'ve| have)?(?: finally| now)?"
        r" (?:decided (?:to (?:go (?:with|to|for)|use|take|book|visit) |on |for )"
        rf"|chose|chosen|settled on|agreed on|picked|opted for|went with) ?(?P<o>{CHOICE})",
        _DECISION,
        "decision for {o}",
        "yes",
    ),
    row(
        r"(?:(?:ok(?:ay)?|great|perfect|good|yes|alright|all right|sounds good),? )*"
        r"(?:let's|let us|(?:i|we)(?:'ll| will)) (?:go (?:with|for|to)|choose|pick|book|take)"
        rf" (?P<o>{CHOICE})(?: then| please)?",
        _DECISION,
        "decision for {o}",
        "yes",
    ),
    row(r"(?:i|we)(?:'ve| have)?(?: finally)? decided to (?P<o>\S.{2,80})", _DECISION, "decision to {o}", "yes"),
    row(
        rf"(?:i|we)(?:'ll| will| promise to|'m going to| am going to) (?P<o>\S.{{2,80}}?) (?P<v>{WHEN})",
        _COMMITMENT,
        "will {o}",
        "{v}",
    ),
    row(rf"(?:please )?remind me to (?P<o>\S.{{2,80}}?)(?: (?P<v>{WHEN}))?", _COMMITMENT, "to do: {o}", "{v}"),
    row(
        r"i (?:need|have) to (?P<o>\S.{2,80}?) (?P<v>(?:by|before|until) .{2,40})",
        _COMMITMENT,
        "to do: {o}",
        "{v}",
    ),
    # What is called mine, and what is so.
    row(
        rf"(?:my|our) (?P<a>{OWNED})(?:'s| is| are)(?: now| actually)?"
        r" (?!(?:so|very|really|not|going|getting|great|good|bad|amazing)\b)(?P<v>\S.{0,80})",
        _IDENTITY,
        "{a}",
        "{v}",
    ),
    row(
        rf"(?:my|our|the) (?P<a>{NOUNS}) (?:has |have )?(?:been |was |were |is |are )?"
        r"(?:changed|moved|switched|updated|renamed|postponed|rescheduled|raised|lowered)"
        rf"(?: from (?P<was>{SHORT}))? to (?P<v>{SHORT})",
        _WORLD,
        "{a}",
        "{v}",
        correction=True,
    ),
    row(
        rf"(?:my|our|the) (?P<a>{NOUNS})(?:'s| is| are)(?: now| actually)? (?:on |at )?(?P<v>{VALUE})",
        _WORLD,
        "{a}",
        "{v}",
    ),
    row(
        r"(?!(?:he|she|it|they|that|this|there|what|which|who)\b)(?P<a>\w[\w-]*(?: [\w-]+){0,2})(?: is| runs on)"
        r"(?: now| actually)? (?P<v>[$€£¥#]?\d\S*(?: \w+){0,2}|[a-z]+(?:-[a-z]+)*-\d+)",
        _WORLD,
        "{a}",
        "{v}",
    ),
    row(
        r"i(?:'ve| have)?(?: was| been| just| got)? ?(?:was |been )?"
        r"(?:moved|switched|transferred|reassigned|assigned)"
        r" from (?P<was>\S.{0,40}?) to (?P<v>\S.{0,40}?)(?: now)?",
        _WORLD,
        "",
        "{v}",
        correction=True,
    ),
)
