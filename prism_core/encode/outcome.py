"""How an action ended, read from what it returned."""

from __future__ import annotations

import re

from prism_core.types import Outcome

_WORDS = "error|failed|failure|exception|fatal|traceback|错误|失败"
_FAILURE = re.compile(
    rf"\A\s*[\[{{\"']{{0,3}}\s*(?:{_WORDS})\b(?!\"?: ?(?:null|none|false|\[\]))"
    r"|^Traceback \(most recent call last\)"
    r"|^\w*(?:Error|Exception): "
    r"|\bexit(?:ed with)? (?:code|status):? ?[1-9]"
    r"|\"(?:status_code|status)\": ?[45]\d\d\b|\bHTTP(?:/\d\.\d)? [45]\d\d\b"
    r"|\"(?:success|ok)\": ?false|\"error\": ?(?:\"[^\"]|\{)",
    re.IGNORECASE | re.MULTILINE,
)


def outcome_of(observation: str) -> Outcome:
    """Failure where the observation reports an error, success where it reports anything else.

    >>> outcome_of("Error: payment method not found")
    <Outcome.FAILURE: 'failure'>
    """
    if not observation.strip():
        return Outcome.UNKNOWN
    return Outcome.FAILURE if _FAILURE.search(observation) else Outcome.SUCCESS
