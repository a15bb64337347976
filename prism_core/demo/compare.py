"""What three kinds of memory hand to the model for one question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prism_core.context import ContextBuilder
from prism_core.demo.baselines import VectorSearch, last_turns
from prism_core.demo.story import Question
from prism_core.memory import PrismMemory
from prism_core.results import Retrieval
from prism_core.types import MemoryUnit, Scope

TURNS = 5
TOP_K = 20


@dataclass(frozen=True, slots=True)
class Handed:
    """What one system hands over.

    Attributes:
        system: its name.
        text: the block for the prompt; empty for nothing.
        tokens: exact size of the block.
        units: what is in it, in the order of time.
        found: the needed facts that are in it.
    """

    system: str
    text: str
    tokens: int
    units: tuple[MemoryUnit, ...]
    found: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answers of all systems to one question.

    Attributes:
        question: what was asked.
        handed: one per system, the memory last.
        retrieval: how the memory came to its answer.
    """

    question: Question
    handed: tuple[Handed, ...]
    retrieval: Retrieval


@dataclass(frozen=True, slots=True)
class Contestants:
    """The three systems over the same history, through the same renderer.

    Attributes:
        memory: the memory.
        scope: whose history.
        units: the whole history, in the order of time.
        vectors: plain vector search over it.
        budget: tokens that vector search and the memory may hand over; the window is as long as it is.
    """

    memory: PrismMemory
    scope: Scope
    units: Sequence[MemoryUnit]
    vectors: VectorSearch
    budget: int

    def ask(self, question: Question) -> Comparison:
        """Put one question to all three; the memory is told nothing but the question."""
        builder = ContextBuilder(self.memory.counter)
        window = last_turns(self.units, TURNS)
        block = builder.render(window)
        near = builder.pack(self.vectors.search(question.text, TOP_K), self.budget, question.text)
        context = self.memory.context(question.text, scope=self.scope, budget=self.budget)
        handed = (
            _handed(f"last {TURNS} turns", block, self.memory.counter.count(block), window, question),
            _handed("vector search", near.text, near.tokens, near.units, question),
            _handed("prism-memory", context.text, context.tokens, context.retrieval.units, question),
        )
        return Comparison(question, handed, context.retrieval)


def _handed(system: str, text: str, tokens: int, units: Sequence[MemoryUnit], question: Question) -> Handed:
    in_time = tuple(sorted(units, key=lambda unit: (unit.event_time, unit.recorded_at, unit.id)))
    return Handed(system, text, tokens, in_time, question.found(text))
