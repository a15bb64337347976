"""A memory that fails must not end the turn: its errors are logged and reported, and the run goes on without it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from prism_core import PrismError, Scope
from prism_core.errors import ScopeError

logger = logging.getLogger("prism_langchain")


@dataclass(frozen=True, slots=True)
class MemoryProblem:
    """What the memory could not do in a run that went on without it.

    Attributes:
        operation: `recall`, `record`, or the name of a tool.
        scope: whose memory.
        detail: what happened, in words; may quote what was to be stored.
        error: the error, where there was one; None where the memory answered with something missing.
    """

    operation: str
    scope: Scope
    detail: str
    error: PrismError | None = None


@dataclass(frozen=True, slots=True)
class Watch:
    """Lets runs go on when the memory fails.

    Attributes:
        on_error: is told every problem; None for the log alone.
    """

    on_error: Callable[[MemoryProblem], None] | None = None

    @contextmanager
    def over(self, operation: str, scope: Scope) -> Iterator[None]:
        """Reports an error of the memory in place of raising it; a missing scope is raised."""
        try:
            yield
        except ScopeError:
            raise
        except PrismError as error:
            self.report(MemoryProblem(operation, scope, str(error), error))

    def report(self, problem: MemoryProblem) -> None:
        """Log a problem and tell it to the host."""
        # The log names no user and quotes no memory; whoever may see those passes on_error.
        kind = "something was missing" if problem.error is None else type(problem.error).__name__
        logger.warning("memory: %s did not succeed (%s); the run goes on", problem.operation, kind)
        if self.on_error is not None:
            self.on_error(problem)
