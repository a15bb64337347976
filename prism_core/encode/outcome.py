"""How an action ended, read from what it returned."""

from __future__ import annotations

import re

from prism_core.types import Outcome

LOOKED_AT = 4000
_ABOUT_ERRORS = (
    r"(?! (?:rates?|budgets?|logs?|handling|messages?|bars?|margins?|analysis|correction|codes? (?:are|list))\b)"
)
_NONE = r"(?!\"?[\w ]*: ?(?:null|none|false|0\b|\[\]))"
_FAILURE = re.compile(
    rf"\A[\[{{\"' ]{{0,5}}(?:error|failed|failure|exception|fatal|traceback)\b{_ABOUT_ERRORS}{_NONE}"
    r"|\A\W*(?!0 )\w+ failed\b|^Traceback \(most recent call last\)|^\w*(?:Error|Exception): "
    # What test runners and builds print: `3 failed, 2 passed`, `test_x FAILED`, `FAILED (errors=1)`.
    r"|(?<![\d.])[1-9]\d* (?:failed|failures?|errors? generated)\b(?! in \d+ attempts)|::\S+ (?-i:FAILED|ERROR)\b"
    r"|[1-9]\d* errors? (?:in \d|during\b)|^\s*[1-9]\d* failing\b|^(?-i:--- FAIL|FAIL)\b|^(?-i:Killed)$"
    r"|^FAILED \(|^E {3}\w*Error\b|^npm ERR!|\b(?:segmentation fault|core dumped|killed by signal|out of memory)\b"
    r"|\b(?:permission denied|access denied|command not found|no such file|connection refused|timed out|unauthorized)\b"
    r"|\A.{0,40}\bdeclined\b|\A\W*unable to \w|^status: ?[45]\d\d\b"
    r"|\bexit(?:ed with)? ?(?:code|status):? ?[1-9]"
    r"|\"(?:status_code|status|code)\": ?[45]\d\d\b|\A(?:HTTP(?:/\d(?:\.\d)?)? )?[45]\d\d [A-Z]"
    r"|\bHTTP(?:/\d(?:\.\d)?)? [45]\d\d\b|\bstatus code:? ?[45]\d\d\b"
    # What wraps an answer says so in front; the status of a record that was asked for stands further behind.
    r"|\A\{\s*\"status\": ?\"fail(?:ed|ure)?\"|\A\{[^{}\[\]]{0,200}\"status\": ?\"error\"|\"is_?error\": ?true"
    r"|\"(?:success|ok)\": ?false|\"error\": ?(?:\"[^\"]|\{)"
    r"|\A.{0,20}(?:失败|出错|报错)|\A错误(?![:：]?\s*(?:无|0))",
    re.IGNORECASE | re.MULTILINE,
)
_SUCCESS = re.compile(
    r"\b(?:success(?:ful|fully)?|succeeded|confirmed|done|ok|saved|created|updated|booked|sent|cancelled|completed|passed)\b"
    r"|\bexit(?:ed with)? ?(?:code|status):? ?0\b|\b200 OK\b|\A0 errors?\b|^(?-i:PASS)\b"
    r"|成功|完成|已(?:保存|预订|确认|发送|更新)",
    re.IGNORECASE | re.MULTILINE,
)


def outcome_of(observation: str) -> Outcome:
    """Failure where the observation reports an error, success where it says so or is data; else unknown.

    >>> outcome_of("Error: payment method not found")
    <Outcome.FAILURE: 'failure'>
    """
    # Errors are reported at the beginning, or at the end of a log.
    shown = observation.strip()
    if len(shown) > 2 * LOOKED_AT:
        shown = f"{shown[:LOOKED_AT]}\n{shown[-LOOKED_AT:]}"
    if _FAILURE.search(shown):
        return Outcome.FAILURE
    if _SUCCESS.search(shown) or shown[:1] in ("{", "["):
        return Outcome.SUCCESS
    return Outcome.UNKNOWN
