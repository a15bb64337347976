from __future__ import annotations

import logging

import pytest

from prism_core.errors import ClosedError, ScopeError
from prism_langchain import MemoryProblem
from prism_langchain.problems import Watch


def test_an_error_of_the_memory_is_told_and_goes_no_further(caplog: pytest.LogCaptureFixture) -> None:
    told: list[MemoryProblem] = []
    error = ClosedError("write")
    with caplog.at_level(logging.WARNING, "prism_langchain"), Watch(told.append).over("record", ("alice",)):
        raise error
    assert told == [MemoryProblem("record", ("alice",), str(error), error)]
    assert caplog.messages == ["memory: record did not succeed (ClosedError); the run goes on"]


def test_e8_a_missing_scope_is_raised() -> None:
    with pytest.raises(ScopeError), Watch().over("recall", ("alice",)):
        raise ScopeError(None, "is missing")


def test_errors_of_others_are_raised() -> None:
    with pytest.raises(ZeroDivisionError), Watch().over("recall", ("alice",)):
        raise ZeroDivisionError
