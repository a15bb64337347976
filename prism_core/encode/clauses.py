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
"""A quotation of more words is somebody's saying; a shorter one is a name."""
_SENTENCE = re.compile(r"[^.!?。！？；;\n]+(?:\.(?=\S)[^.!?。！？；;\n]*)*[.!?。！？；;\n]*")
_CLAUSE_BREAK = re.compile(
    r",\s+(?:(?:and|but|so|because|since|as|which|although|though)\s+)?|，|、(?=我)"
    r"|\s+(?:but|because|since|although|though|so)\s+(?=\S)|\s+and\s+(?=(?:i|i'm|i've|my|we|our|the)\b)"
    r"|\s+[-–—]+\s+|:\s+(?=\S)|：",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|whether|suppose|supposing|imagine|hypothetically|what if|let'?s say|pretend|assuming|unless|in case"
    r"|role-?play|as if|for example|for instance|e\.g\.)\b|如果|假如|要是|假设|万一|想象|比如|是否|会不会|倘若",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:would|could|might|may|maybe|perhaps|possibly|probably|wonder(?:ing)?|wish|guess|think|not sure|should"
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
    for sentence in _SENTENCE.findall(plain.replace("’", "'")):
        if _MATERIAL.search(sentence):
            return  # what follows is to be worked on, and says nothing of its sender
        if _CONDITION.search(sentence) or _JOKE.search(sentence):
            continue
        parts = [part.strip(" \t\r\n.!?。！？；;,，:：*-–—()") for part in _CLAUSE_BREAK.split(sentence)]
        if _ASKING.search(sentence):
            parts = parts[:-1]
        for part in parts:
            if part and len(part) <= LONGEST_CLAUSE and not _DOUBT.search(part):
                yield part


def _kept_quotation(match: re.Match[str]) -> str:
    said = match["long"] or match["corner"]
    return f" {said} " if len(said.split()) <= _QUOTED_WORDS and len(said) <= 40 else " … "
