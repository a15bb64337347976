"""What language models cost: calls, tokens and seconds per stage, and hard limits on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from threading import Lock

from prism_core.errors import LLMBudgetError


@dataclass(slots=True)
class Usage:
    """What one stage used.

    Attributes:
        calls: requests sent.
        prompt_tokens: tokens sent.
        completion_tokens: tokens received.
        seconds: time spent waiting.
        cached: answers that were known already.
        repairs: requests among the calls that asked to mend an answer.
        failures: questions that came to nothing, so that rules did the work.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    cached: int = 0
    repairs: int = 0
    failures: int = 0

    @property
    def tokens(self) -> int:
        """Tokens sent and received."""
        return self.prompt_tokens + self.completion_tokens


class LLMMeter:
    """Counts what is used, by stage. Thread-safe."""

    def __init__(self) -> None:
        self._stages: dict[str, Usage] = {}
        self._lock = Lock()

    def add(self, stage: str, usage: Usage) -> None:
        """Count something of a stage."""
        with self._lock:
            total = self._stages.setdefault(stage, Usage())
            for each in fields(Usage):
                setattr(total, each.name, getattr(total, each.name) + getattr(usage, each.name))

    def stages(self) -> Mapping[str, Usage]:
        """What every stage used so far; a copy."""
        with self._lock:
            return {stage: _copied(usage) for stage, usage in self._stages.items()}

    def total(self) -> Usage:
        """What all stages used together."""
        total = Usage()
        for usage in self.stages().values():
            for each in fields(Usage):
                setattr(total, each.name, getattr(total, each.name) + getattr(usage, each.name))
        return total

    def render(self) -> str:
        """A small table, one stage a line."""
        rows: list[tuple[str, ...]] = [("stage", "calls", "cached", "repairs", "failures", "tokens", "seconds")]
        for stage, usage in [*sorted(self.stages().items()), ("total", self.total())]:
            counts = (usage.calls, usage.cached, usage.repairs, usage.failures, usage.tokens)
            rows.append((stage, *map(str, counts), f"{usage.seconds:.1f}"))
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        return "\n".join(
            "  ".join(
                [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
            )
            for row in rows
        )


class LLMBudget:
    """A hard limit: what would go over it is not called. Thread-safe; calls under way count from when they begin.

    Attributes:
        max_calls: requests; None for no limit.
        max_tokens: tokens sent and received; None for no limit. A call is made while fewer are used up, so that the
            last one may go over.
    """

    def __init__(self, *, max_calls: int | None = None, max_tokens: int | None = None) -> None:
        for name, value in (("max_calls", max_calls), ("max_tokens", max_tokens)):
            if value is not None and (type(value) is not int or value < 0):
                raise ValueError(f"{name}={value!r} is no limit; pass a whole number from 0 on, or None for none")
        self.max_calls = max_calls
        self.max_tokens = max_tokens
        self._calls = self._tokens = 0
        self._lock = Lock()

    @property
    def calls(self) -> int:
        """Requests made so far."""
        return self._calls

    @property
    def tokens(self) -> int:
        """Tokens used so far."""
        return self._tokens

    def begin(self, llm: str) -> None:
        """Take a call off the budget.

        Raises:
            LLMBudgetError: if nothing is left.
        """
        with self._lock:
            if self.max_calls is not None and self._calls >= self.max_calls:
                raise LLMBudgetError(llm, f"the budget of {self.max_calls} calls is used up")
            if self.max_tokens is not None and self._tokens >= self.max_tokens:
                raise LLMBudgetError(llm, f"the budget of {self.max_tokens} tokens is used up ({self._tokens} used)")
            self._calls += 1

    def spend(self, tokens: int) -> None:
        """Take the tokens of a finished call off the budget."""
        with self._lock:
            self._tokens += tokens


def _copied(usage: Usage) -> Usage:
    return Usage(**{each.name: getattr(usage, each.name) for each in fields(Usage)})
