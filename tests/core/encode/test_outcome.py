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
    ],
)
def test_failures(text: str) -> None:
    assert outcome_of(text) is Outcome.FAILURE


@pytest.mark.parametrize("text", ['{"error": null, "rows": 3}', "exit code 0", "Errors were found: none", "42 rows"])
def test_successes(text: str) -> None:
    assert outcome_of(text) is Outcome.SUCCESS


def test_nothing_is_unknown() -> None:
    assert outcome_of(" \n") is Outcome.UNKNOWN
