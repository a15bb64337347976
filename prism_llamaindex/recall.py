"""What is recalled for a turn: a fenced block within a budget of the host's own tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence, Sized
from dataclasses import dataclass, replace
from functools import cached_property

from prism_core import ContextBuilder, Except, Kind, MemoryUnit, PrismMemory, Retrieval, Source

Tokenizer = Callable[[str], Sized]
"""Splits a text into tokens, as LlamaIndex's `tokenizer_fn` does."""

LONGEST_QUESTION = 20_000
"""Characters of a user's message that are asked with; the memory takes no more."""

TRIES = 4
"""Searches for trusted units before every unit of the scope is asked about."""

_UNTRUSTED = frozenset({Source.TOOL, Source.EXTERNAL})


@dataclass(frozen=True, slots=True)
class HostCounter:
    """Counts tokens the way the host does.

    Attributes:
        tokenizer: the host's.
    """

    tokenizer: Tokenizer

    def count(self, text: str) -> int:
        """The number of tokens of `text`."""
        return len(self.tokenizer(text))


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was recalled for a turn.

    Attributes:
        text: the block, fence included; empty when nothing is worth its tokens.
        units: the units in it, best first.
        question: what it was recalled for.
        epoch: of the scope at that time; it moves on when something is erased. None where nothing was asked.
    """

    text: str = ""
    units: tuple[MemoryUnit, ...] = ()
    question: str = ""
    epoch: int | None = None


@dataclass(frozen=True)
class Recaller:
    """Recalls within a budget.

    Attributes:
        tokenizer: counts the tokens of the budget.
        tags: names of tags the host wraps around the block; nothing that was said can close one.
    """

    tokenizer: Tokenizer
    tags: tuple[str, ...] = ()

    @cached_property
    def counter(self) -> HostCounter:
        """Counts the budget's tokens."""
        return HostCounter(self.tokenizer)

    @cached_property
    def _builder(self) -> ContextBuilder:
        return ContextBuilder(self.counter)

    @cached_property
    def _tag(self) -> re.Pattern[str]:
        names = "|".join(re.escape(name) for name in self.tags)
        return re.compile(rf"[<\uff1c\ufe64](?=[\s/\\]*(?:{names})\b)", re.IGNORECASE)

    def recall(
        self,
        memory: PrismMemory,
        question: str,
        *,
        scope: object,
        budget: int,
        trusted: bool,
        beside: Collection[str] = (),
        active: Sequence[str] = (),
    ) -> Recalled:
        """What the memory knows that matters for a question.

        Args:
            memory: open.
            question: in words; nothing is recalled for an empty one.
            scope: whose memory.
            budget: tokens the block may take, fence included.
            trusted: whether text of tools and of external sources is left out.
            beside: ids of units the prompt holds anyway.
            active: ids of the steps the agent has just taken, oldest first.

        Raises:
            ScopeError: if the scope is missing or malformed.
        """
        asked = question.strip()[:LONGEST_QUESTION]
        if not asked:
            return Recalled()

        limits = _Limits(scope, budget, active)
        found = _search_trusted(memory, asked, limits, beside) if trusted else _search(memory, asked, limits, beside)
        return replace(self.block(found.units, budget, asked), epoch=found.position.epoch)

    def block(self, units: Sequence[MemoryUnit], budget: int, question: str) -> Recalled:
        """The block that quotes units within a budget; the weakest are left out first.

        Args:
            units: best first.
            budget: tokens of the host's.
            question: what it is for; decides which passages of a long unit are quoted.
        """
        best = list(units)
        while best and budget > 0:
            packed = self._builder.pack(best, budget, question)
            text = self._neutral(packed.text)
            if len(packed.units) == len(best) and self.counter.count(text) <= budget:
                return Recalled(text, tuple(best), question)
            best.pop()
        return Recalled(question=question)

    def _neutral(self, text: str) -> str:
        return self._tag.sub("\u2039", text) if self.tags else text


@dataclass(frozen=True, slots=True)
class _Limits:
    """What a search of a turn keeps to."""

    scope: object
    budget: int
    active: Sequence[str]


def _search(memory: PrismMemory, question: str, limits: _Limits, without: Collection[str]) -> Retrieval:
    where = Except(unit_ids=frozenset(without))
    return memory.search(question, scope=limits.scope, budget=limits.budget, active=limits.active, where=where)


def _search_trusted(memory: PrismMemory, question: str, limits: _Limits, without: Collection[str]) -> Retrieval:
    """The search among trusted units alone.

    Asking about every unit of the scope takes long in a large one, so what is found is asked about first, and left out
    of another search where it is not trusted.
    """
    left_out = set(without)
    for _ in range(TRIES):
        found = _search(memory, question, limits, left_out)
        untrusted = {unit.id for unit in found.units if is_untrusted(unit)}
        if not untrusted:
            return found
        left_out |= untrusted
    return memory.search(
        question,
        scope=limits.scope,
        budget=limits.budget,
        active=limits.active,
        where=lambda unit: unit.id not in left_out and not is_untrusted(unit),
    )


def is_untrusted(unit: MemoryUnit) -> bool:
    """Whether a unit quotes a tool or an external source; a step does, once the tool has replied."""
    return unit.source in _UNTRUSTED or (unit.kind is Kind.STEP and bool(unit.observation))
