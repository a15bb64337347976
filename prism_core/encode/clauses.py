"""The clauses of a text that state something: no questions, no hypotheses, no quotations.

A memory that stores "evaluate whether Obsidian would help" as a fact is worse than one that stores nothing, so every
doubt counts against a clause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LOOKED_AT = 4000
"""Characters of a text that are read for facts; what is longer is a document and no statement of its sender."""
LONGEST_CLAUSE = 240

_QUOTED_LINE = re.compile(r"^\s*>.*$", re.MULTILINE)
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED = re.compile(r"[\"“«](?P<long>[^\"”»\n]{1,400})[\"”»]|「(?P<corner>[^」\n]{1,400})」")
_QUOTED_WORDS = 3
_QUOTED_LETTERS, _QUOTED_CHARACTERS = 40, 16
"""A quotation of more words or characters is somebody's saying; a shorter one is a name."""
_IN_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|my|we|our)\b|我", re.IGNORECASE)
_NAME_WORDS = 3
_SENTENCE = re.compile(r"[^.!?。！？；;\n]+(?:\.(?=\S)[^.!?。！？；;\n]*)*[.!?。！？；;\n]*")
_CLAUSE_BREAK = re.compile(
    r",\s+(?:(?:and|but|so|because|since|as|which|although|though)\s+)?|，|、(?=我)"
    r"|\s+(?:but|because|since|although|though|so)\s+(?=\S)|\s+and\s+(?=(?:i|i'm|i've|my|we|our|the)\b)"
    r"|\s+[-–—]+\s+|:\s+(?=\S)|：",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|whether|suppose|supposing|imagine|hypothetically|what if|let'?s say|pretend|assuming|unless|in case"
    r"|as if|according to|in (?:the|this|that|our|my) (?:scenario|story|novel)"
    r"|for example|for instance|e\.g\.)\b|如果|假如|要是|假设|万一|想象|比如|是否|会不会|倘若",
    re.IGNORECASE,
)
_PLAY = re.compile(
    r"\b(?:role[- ]?play(?:ing)?|let(?:'s| us) pretend)\b|^\W*(?:please )?act as\b|角色扮演|^\W*请?扮演",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:would|could|might|(?-i:may)|maybe|perhaps|possibly|probably|wonder(?:ing)?|wish|guess|think|not sure|should"
    r"|evaluate"
    r"|consider(?:ing)?|used to|almost|nearly)\b|也许|或许|可能|大概|好像|应该|希望|考虑|以前|曾经|要不要",
    re.IGNORECASE,
)
_MATERIAL = re.compile(
    r"^\W*(?:please |can you |could you )*(?:write|translate|rewrite|proofread|correct|summari[sz]e"
    r"|paraphrase|explain|repeat|say"
    r"|type|print|complete|continue|spell|edit|improve|shorten|classify|analy[sz]e"
    r"|review|read|check|reply to|respond to)\b"
    r"[^.!?]*(?::|\n|$)|^\W*(?:请)?(?:翻译|改写|润色|总结|校对|写|续写|解释|复述)[^。！？]*[：:]",
    re.IGNORECASE,
)
_COLON = re.compile(r":\s+(?=\S)|：|:$")
_REPORTS = re.compile(
    r"\b(?:say|says|said|saying|tells?|told|writes?|wrote|written|asks?|asked|replie[sd]|reply|answer(?:s|ed)?|claim(?:s|ed)?"
    r"|goes|reads|quotes?|quoted|sang|sings|shout(?:s|ed)|whisper(?:s|ed)|titled|sentence|lyrics?|line|caption|transcript"
    r"|novel|poem|story|hero|character|email|e-mail|letter|text|post|tweet|review)\b"
    r"|[说道问答写]|原文|台词|歌词|消息|邮件|信",
    re.IGNORECASE,
)
_ANNOUNCES = re.compile(
    r"\b(?:i|i'm|i've|me|my|mine|we|our|us|fyi|btw|note|notes|correction|update|updates?|remember|reminder|important|ps"
    r"|facts?|info|information|details?|background|context|profile|preferences?|constraints?|requirements?|rules?"
    r"|summary|also|plus|sorry|ok|okay|yes|no|well|so|and|but|decision|plan|budget|please|first|second|third|finally"
    r"|one thing|thing|thanks|hi|hello|hey|answer)\b"
    r"|[我记注备更补]|另外|对了|其实|要求|偏好|决定|信息|背景|你好",
    re.IGNORECASE,
)
_JOKE = re.compile(
    r"\b(?:just kidding|kidding|joking|only a joke|not really|in a dream|in the game)\b|开玩笑|逗你", re.IGNORECASE
)
_ASKING = re.compile(r"[?？]\s*$|[吗呢么]\s*[。！]?\s*$")


def clauses(text: str) -> Iterator[str]:
    """The clauses of a text that state something, in order, without the punctuation around them.

    Left out are code, quoted lines, sayings in quotation marks, sentences under a condition, clauses in doubt, and of
    questions the part that asks. Nothing is found in a text of more than `LOOKED_AT` characters but in its beginning.
    """
    plain = _QUOTED.sub(_kept_quotation, _QUOTED_LINE.sub("", _CODE.sub(" ", text[:LOOKED_AT])))
    for sentence in _own_sentences(plain.replace("’", "'")):
        if _MATERIAL.search(sentence) or _PLAY.search(sentence):
            return  # what follows is to be worked on or played, and says nothing of its sender
        if _CONDITION.search(sentence) or _JOKE.search(sentence):
            continue
        parts = [part.strip(" \t\r\n.!?。！？；;,，:：*-–—()") for part in _CLAUSE_BREAK.split(sentence)]
        if _ASKING.search(sentence):
            parts = parts[:-1]
        for part in parts:
            if part and len(part) <= LONGEST_CLAUSE and not _DOUBT.search(part):
                yield part


def _own_sentences(text: str) -> Iterator[str]:
    """The sentences without what others are reported to say: all that stands behind "she wrote:" in a line."""
    for line in text.splitlines(keepends=True):
        for sentence in _SENTENCE.findall(line):
            end = _reported_from(sentence)
            yield sentence[:end]
            if end is not None:
                break


def _reported_from(sentence: str) -> int | None:
    """Where a sentence begins to report what somebody says; None where it does not."""
    start = 0
    for colon in _COLON.finditer(sentence):
        head = sentence[start : colon.start()]
        start = colon.end()
        if sentence.startswith("…", start):
            continue  # a quotation, left out already
        if _REPORTS.search(head) or (not _ANNOUNCES.search(head) and _is_name(head)):
            return colon.start()
    return None


def _is_name(head: str) -> bool:
    """Whether what stands before a colon may be the name of who speaks: "Tom: I live in Rome" is a transcript."""
    words = head.split()
    return len(words) <= _NAME_WORDS and all(not word[0].islower() for word in words)


def _kept_quotation(match: re.Match[str]) -> str:
    said = match["long"] or match["corner"]
    most = _QUOTED_LETTERS if said.isascii() else _QUOTED_CHARACTERS
    brief = len(said.split()) <= _QUOTED_WORDS and len(said) <= most
    return f" {said} " if brief and not _IN_FIRST_PERSON.search(said) else " … "
