"""What a message says, whatever is said around it: the form in which near-duplicates agree."""

from __future__ import annotations

import re
from functools import lru_cache

from prism_core.text.normal import normalize

# A capital A within a sentence is a name: "plan A".
_ARTICLE = re.compile(r"(?:^|(?<=[\s\"“(]))(?:an?|the)(?=\s)|(?:^|(?<=[.!?:] ))(?:An?|The)(?=\s)")
_IN_FULL = (
    (re.compile(r"\bcan(?:'t|not)\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"'ve\b"), " have"),
    (re.compile(r"\bi'm\b"), "i am"),
    (re.compile(r"'s\b"), " is"),
)
_COURTESY = re.compile(
    r"(?<![\w'-])(?:please|kindly|thanks(?: a lot| so much)?"
    r"|thank you(?: very much)?|i'd like you to|hi|hello|hey|ok|okay|oh|um+|uh+|well,|so,|just|really|basically)"
    r"(?![\w'-])|(?:^|(?<=[\s,。!?]))请(?:你|您|帮)|麻烦(?:你|您)|一下(?!子)|谢谢(?:你|您)?"
)
_REQUEST = re.compile(r"(?<![\w'-])(?:can|could|would) you ([^?]+)\?")
_HEAD = re.compile(r"\A(?:[,;:\"'“”‘()\[\]{}「《]|\.(?!\d))+")
# Quotes behind a figure are feet and inches.
_TAIL = re.compile(r"(?:[.,;:!()\[\]{}“”。、」》]|(?<![\d'\"])['\"’])+\Z")


# Writing one message asks for its wording several times.
@lru_cache(maxsize=256)
def wording(text: str) -> str:
    """The words of a text in their order, without articles, courtesies and punctuation, contractions in full.

    Figures, dates, identifiers, names, negations, question marks and the order of words all stay, so texts that differ
    in any of them differ in their wording.

    >>> wording("Could you please check the weather in Oslo?")
    'check weather in oslo'
    >>> wording("It's not on the 15th, thanks!")
    'it is not on 15th'
    """
    said = normalize(_ARTICLE.sub(" ", text.strip().replace("’", "'")))
    for form, full in _IN_FULL:
        said = form.sub(full, said)
    tokens = _COURTESY.sub(" ", _REQUEST.sub(r"\1", said)).replace("?", " ? ").split()
    words = [word for token in tokens if (word := token if token.isalnum() else _TAIL.sub("", _HEAD.sub("", token)))]
    return " ".join(words) if any(word != "?" for word in words) else normalize(text)
