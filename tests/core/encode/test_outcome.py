import pytest

from prism_core.encode.outcome import outcome_of
from prism_core.types import Outcome


@pytest.mark.parametrize(
    "text",
    [
        "Error: payment method not found",
        '{"error": "no such user"}',
        '{"success": false}',
        "ran 3 tests\nTraceback (most recent call last):\n  File",
        "ValueError: bad input",
        "process exited with code 2",
        "HTTP/1.1 503 Service Unavailable",
        "503 Service Unavailable",
        "Deploy failed: quota exceeded",
        "ls: /x: No such file or directory",
        "bash: foo: command not found",
        "Permission denied (publickey)",
        "timed out after 30s",
        "预订失败：售罄",
        "操作失败了",
        "错误代码500",
    ],
)
def test_failures(text: str) -> None:
    assert outcome_of(text) is Outcome.FAILURE


@pytest.mark.parametrize(
    "text",
    [
        '{"error": null, "rows": 3}',
        "process exit code 0",
        "42 passed, 0 failed",
        "Booking confirmed.",
        "[]",
        "预订成功",
        "200 OK",
    ],
)
def test_successes(text: str) -> None:
    assert outcome_of(text) is Outcome.SUCCESS


@pytest.mark.parametrize(
    "text",
    ["", " \n", "The sky is blue.", "Errors were found: none", "Failed tests: 0", "错误：无"],
)
def test_what_says_neither_is_unknown(text: str) -> None:
    assert outcome_of(text) is Outcome.UNKNOWN
