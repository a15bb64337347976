import pytest

from prism_core.encode.outcome import outcome_of
from prism_core.types import Outcome


@pytest.mark.parametrize(
    "text",
    [
        "Error: payment method not found",
        '{"error": "no such user"}',
        '{"success": false}',
        '{"status": "error", "message": "no such user"}',
        '{"message": "no such user", "status": "error"}',
        '{"status": "failed"}',
        '{"content": "no such user", "is_error": true}',
        "Request failed with status code 500",
        "Unable to connect to the server",
        "Your card was declined.",
        "status: 500",
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
        '{"id": "job-7", "status": "failed"}',
        '{"content": "fine", "isError": false}',
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
    [
        "",
        " \n",
        "The sky is blue.",
        "Errors were found: none",
        "Failed tests: 0",
        "错误：无",
        "Error rate of the model is 3%",
        "Exception handling chapter: see page 4",
    ],
)
def test_what_says_neither_is_unknown(text: str) -> None:
    assert outcome_of(text) is Outcome.UNKNOWN


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ("===== 3 failed, 12 passed in 2.1s =====", Outcome.FAILURE),
        ("12 passed in 0.5s", Outcome.SUCCESS),
        ("0 failed, 3 passed", Outcome.SUCCESS),
        ("5 passed, 1 xfailed", Outcome.SUCCESS),
        ("FAILED (failures=1, errors=2)", Outcome.FAILURE),
        ("Ran 5 tests in 0.01s\n\nOK", Outcome.SUCCESS),
        ("E   AssertionError: 1 != 2\n1 failed", Outcome.FAILURE),
        ("tests/test_a.py::test_x FAILED", Outcome.FAILURE),
        ("2 errors generated.", Outcome.FAILURE),
        ("==== 1 error in 0.20s ====", Outcome.FAILURE),
        ("12 passing (30ms)\n  1 failing", Outcome.FAILURE),
        ("--- FAIL: TestX (0.00s)\nFAIL", Outcome.FAILURE),
        ("PASS\nok  \texample.com/pkg\t0.1s", Outcome.SUCCESS),
        ("Build succeeded with 0 errors", Outcome.SUCCESS),
        ("Segmentation fault (core dumped)", Outcome.FAILURE),
        ("npm ERR! code ELIFECYCLE", Outcome.FAILURE),
        ("Process finished with exit code 137", Outcome.FAILURE),
        ("no tests ran in 0.01s", Outcome.UNKNOWN),
    ],
)
def test_what_test_runners_and_builds_print_is_read(output: str, outcome: Outcome) -> None:
    assert outcome_of(output) is outcome
