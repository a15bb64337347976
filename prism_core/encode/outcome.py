"""How an action ended, read from what it returned."""

from __future__ import annotations

import re

from prism_core.types import Outcome

_NONE = r"(?!\"?[\w ]*: ?(?:null|none|false|0\b|\[\]))"
_FAILURE = re.compile(
    rf"\A\s*[\[{{\"']{{0,3}}\s*(?:error|failed|failure|exception|fatal|traceback)\b{_NONE}"
    r"|\A\W*\w+ failed\b|^Traceback \(most recent call last\)|^\w*(?:Error|Exception): "
    r"|\b(?:permission denied|access denied|command not found|no such file|connection refused|timed out|unauthorized)\b"
    r"|\bexit(?:ed with)? (?:code|status):? ?[1-9]"
    r"|\"(?:status_code|status|code)\": ?[45]\d\d\b|\A\s*(?:HTTP(?:/\d(?:\.\d)?)? )?[45]\d\d [A-Z]"
    r"|\bHTTP(?:/\d(?:\.\d)?)? [45]\d\d\b"
    r"|\"(?:success|ok)\": ?false|\"error\": ?(?:\"[^\"]|\{)"
    r"|\A.{0,20}(?:失败|出错|报错)|\A\s*错误(?![:：]?\s*(?:无|0))",
    re.IGNORECASE | re.MULTILINE,
)
_SUCCESS = re.compile(
    r"\b(?:success(?:ful|fully)?|succeeded|confirmed|done|ok|saved|created|updated|booked|sent|cancelled|completed|passed)\b"
    r"|\bexit(?:ed with)? (?:code|status):? ?0\b|\b200 OK\b|成功|完成|已(?:保存|预订|确认|发送|更新)",
    re.IGNORECASE,
)


def outcome_of(observation: str) -> Outcome:
    """Failure where the observation reports an error, success where it says so or is data; else unknown.

    >>> outcome_of("Error: payment method not found")
    <Outcome.FAILURE: 'failure'>
    """
    if _FAILURE.search(observation):
        return Outcome.FAILURE
    if _SUCCESS.search(observation) or observation.lstrip()[:1] in ("{", "["):
        return Outcome.SUCCESS
    return Outcome.UNKNOWN
