"""A memory that fails degrades the answer; it never takes the turn down with it, and it never fails in silence."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prism_core import PrismError
from prism_core.errors import ScopeError

OnFailure = Callable[[str, Exception], None]
"""Told what the memory was doing, `recall` or `store`, and the error."""

_LOGGER = logging.getLogger("prism_llamaindex")
# Embedders, indexes and token counters of the user's own raise what they like; mistakes in calls stay loud.
CAUGHT = (PrismError, OSError, RuntimeError, ValueError, LookupError)


class DetachedError(PrismError, RuntimeError):
    """A memory was restored from a serialised context without the open object it had been given."""

    def __init__(self) -> None:
        super().__init__(
            "this memory was restored without its open PrismMemory; restore it with PrismSerializer(memory), hand it "
            "over (restored.memory = memory), or give it by path, which is opened again"
        )


class Failures:
    """Catches, logs and reports the memory's errors.

    Attributes:
        last: the latest error; None while nothing failed since the last success of the same operation.
    """

    def __init__(self) -> None:
        self.last: Exception | None = None
        self._operation = ""

    @contextmanager
    def caught(self, operation: str, report: OnFailure | None) -> Iterator[None]:
        """Keep an error of the memory from the host.

        Args:
            operation: what is done, for the log.
            report: told about the error as well.

        Raises:
            ScopeError: if the scope is missing or malformed: whose memory it is must never be guessed.
        """
        try:
            yield
        except ScopeError:
            raise
        except CAUGHT as error:
            self.last, self._operation = error, operation
            # Errors may quote what was said, which has no place in a log.
            _LOGGER.warning("could not %s (%s); the conversation goes on without", operation, type(error).__name__)
            if report is not None:
                report(operation, error)
        else:
            if operation == self._operation:
                self.last = None
