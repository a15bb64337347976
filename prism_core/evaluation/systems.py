"""What is evaluated: anything with `add` and `search`; and the memory itself in that form."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, Self

import numpy as np

from prism_core.changes import FloatArray
from prism_core.context import ContextBuilder, Packed
from prism_core.evaluation.datasets import Item
from prism_core.evaluation.outcomes import Found
from prism_core.memory import PrismMemory
from prism_core.protocols import Clock, Embedder, IdFactory
from prism_core.results import Candidate, Retrieval
from prism_core.types import IntentQuery, Kind, MemoryUnit

START = datetime(2026, 1, 1, tzinfo=UTC)
"""When things without a time happen; one second apart, in the order they are written in."""
SCOPE = ("evaluation",)
KEPT = 100
"""Places of every answer that are kept for a look at single questions."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One question, with all that a system may be told about it.

    Attributes:
        text: the question.
        budgets: token budgets a context is wanted for.
        session_id: only units of this session may be returned.
        task_id: the task, where the question names it.
        active: keys of the items the agent is working on, oldest first.
        run: the run that asks, for reference rows that are told what a memory has to find out.
        needed: the answer, for the reference row that knows it.
    """

    text: str
    budgets: tuple[int, ...] = ()
    session_id: str | None = None
    task_id: str | None = None
    active: tuple[str, ...] = ()
    run: str | None = None
    needed: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Pool:
    """What the memory considered for a question, in its order, with all that decided about it.

    Attributes:
        query: as the planner understood it.
        candidates: p of them.
        embedder: None for a memory without vectors.
    """

    query: IntentQuery
    candidates: Sequence[Candidate]
    embedder: Embedder | None = None

    @cached_property
    def signals(self) -> Mapping[str, FloatArray]:
        """Every signal that was weighed, of all candidates; shape (p,)."""
        names = self.candidates[0].signals if self.candidates else ()
        return {
            name: np.array([candidate.signals[name] for candidate in self.candidates], dtype=np.float32)
            for name in names
        }

    def signal(self, name: str) -> FloatArray:
        """A signal of all candidates, shape (p,); 0 where it was not weighed."""
        return self.signals.get(name, np.zeros(len(self.candidates), dtype=np.float32))

    @property
    def scores(self) -> list[float]:
        """What each candidate was ordered by."""
        return [candidate.score for candidate in self.candidates]


@dataclass(frozen=True, slots=True)
class Ranking:
    """What a system answers.

    Attributes:
        units: best first.
        seconds: wall time, without the embedding of the question.
        contexts: by budget, where the system decides for itself what goes into a context.
        pool: what the memory considered, of those systems that are the memory; its candidates are those of `units`.
        compact: whether its contexts are made with excerpts where not everything fits whole.
    """

    units: Sequence[MemoryUnit]
    seconds: float
    contexts: Mapping[int, Packed] = field(default_factory=dict)
    pool: Pool | None = None
    compact: bool = False


class System(Protocol):
    """Something that remembers."""

    def add(self, items: Sequence[Item]) -> None:
        """Remember these items, in this order."""
        ...

    def search(self, ask: Ask) -> Ranking:
        """Find what bears on a question."""
        ...

    def keys(self, unit_id: str) -> Sequence[str]:
        """The items a returned unit stands for: several where equal ones are stored once, none if it was derived."""
        ...

    def fork(self) -> Self:
        """A system that remembers the same and goes on by itself."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


@dataclass
class TickingClock:
    """A clock that moves on by one second whenever it is asked, so that every run of an evaluation is alike.

    Attributes:
        now: what it answers next.
    """

    now: datetime

    def __call__(self) -> datetime:
        """The present instant."""
        self.now += timedelta(seconds=1)
        return self.now - timedelta(seconds=1)


@dataclass
class NumberedIds:
    """Ids that are numbers.

    Attributes:
        last: the last one that was given out.
    """

    last: int = 0

    def __call__(self) -> str:
        """The next id."""
        self.last += 1
        return f"{self.last:08d}"


def after(items: Sequence[Item]) -> datetime:
    """A moment after everything that happened."""
    times = [item.whole.event_time for item in items if item.whole.event_time is not None]
    return max(times, default=START) + timedelta(minutes=1)


Opener = Callable[[Path, Clock, IdFactory], PrismMemory]
"""Opens the memory that lives in a directory, or makes one."""


class PrismSystem:
    """The memory, on disk in a folder of its own.

    Attributes:
        memory: owned and closed by this object.
    """

    def __init__(self, opener: Opener, start: datetime) -> None:
        self._opener = opener
        self._folder = TemporaryDirectory(prefix="prism-evaluation-")
        self._clock = TickingClock(start)
        self._new_id = NumberedIds()
        self._keys: dict[str, tuple[str, ...]] = {}
        self._unit_ids: dict[str, str] = {}
        self._units: dict[str, MemoryUnit] = {}
        self.memory = opener(self._store, self._clock, self._new_id)

    def add(self, items: Sequence[Item]) -> None:
        """Write the items' events in one call."""
        pairs = [(item, event) for item in items for event in item.events]
        receipts = self.memory.write_many([event for _, event in pairs], scope=SCOPE)
        for (item, _), receipt in zip(pairs, receipts, strict=True):
            if receipt.unit_id is not None:
                self._unit_ids.setdefault(item.key, receipt.unit_id)
                known = self._keys.get(receipt.unit_id, ())
                self._keys[receipt.unit_id] = known if item.key in known else (*known, item.key)
        # A write may also change units that were there before.
        self._units.clear()

    def search(self, ask: Ask) -> Ranking:
        """The whole ordered pool, whatever the memory would return of it."""
        found, seconds = self.retrieve(ask)
        pool = Pool(found.query, list(found.candidates), self.memory.embedder)
        self._units |= {unit.id: unit for unit in found.units}
        return Ranking([self._unit(candidate.unit_id) for candidate in pool.candidates], seconds, pool=pool)

    def retrieve(self, ask: Ask) -> tuple[Retrieval, float]:
        """What the memory itself answers, and the wall time in seconds without the embedding of the question."""
        self._warm(ask)
        start = time.perf_counter()
        found = self._retrieve(ask)
        return found, time.perf_counter() - start

    def keys(self, unit_id: str) -> Sequence[str]:
        """The items a unit was made from."""
        return self._keys.get(unit_id, ())

    def fork(self) -> Self:
        """A copy of the store, opened."""
        twin = copy(self)
        twin._folder = TemporaryDirectory(prefix="prism-evaluation-")
        # The database is at rest; of its files only the shared memory belongs to the process that has it open.
        shutil.copytree(self._store, twin._store, ignore=shutil.ignore_patterns("*-shm"))
        twin._clock, twin._new_id = copy(self._clock), copy(self._new_id)
        twin._keys, twin._unit_ids, twin._units = dict(self._keys), dict(self._unit_ids), {}
        twin.memory = self._opener(twin._store, twin._clock, twin._new_id)
        return twin

    def close(self) -> None:
        """Close the memory and remove its files."""
        self.memory.close()
        self._folder.cleanup()

    @property
    def _store(self) -> Path:
        return Path(self._folder.name) / "store"

    def _warm(self, ask: Ask) -> None:
        if self.memory.embedder is not None:
            self.memory.embedder.embed_query(ask.text)

    def _active(self, ask: Ask) -> list[str]:
        return [self._unit_ids[key] for key in ask.active if key in self._unit_ids]

    def _retrieve(self, ask: Ask) -> Retrieval:
        return self.memory.search(
            ask.text, scope=SCOPE, k=10, active=self._active(ask), task_id=ask.task_id, session_id=ask.session_id
        )

    def _unit(self, unit_id: str) -> MemoryUnit:
        if unit_id not in self._units:
            self._units[unit_id] = self.memory.get(unit_id, scope=SCOPE)
        return self._units[unit_id]


class StoppingPrismSystem(PrismSystem):
    """The memory as a host uses it: it decides itself what is worth its tokens."""

    def search(self, ask: Ask) -> Ranking:
        """One context per budget; the ranking is what the largest of them holds."""
        self._warm(ask)
        contexts: dict[int, Packed] = {}
        found, seconds = None, 0.0
        for budget in sorted(ask.budgets):
            start = time.perf_counter()
            context = self.memory.context(
                ask.text,
                scope=SCOPE,
                budget=budget,
                active=self._active(ask),
                task_id=ask.task_id,
                session_id=ask.session_id,
            )
            seconds = time.perf_counter() - start
            found = context.retrieval
            contexts[budget] = Packed(context.text, context.tokens, found.units, context.excerpts)
        return Ranking(found.units if found else (), seconds, contexts)


def bare_unit(unit: MemoryUnit, text: str) -> MemoryUnit:
    """A unit that says nothing but a text."""
    said = {"kind": Kind.MESSAGE, "observation": text, "speaker": None}
    return unit.model_copy(update={**said, "action": None, "thought": None, "attachments": ()})


def contexts(ranking: Ranking, ask: Ask, builder: ContextBuilder) -> dict[int, Packed]:
    """The context of a ranking for every budget: the same renderer and packer for every system."""
    return {
        budget: ranking.contexts[budget]
        if budget in ranking.contexts
        else builder.pack(ranking.units, budget, ask.text)
        for budget in ask.budgets
    }


def found(ranking: Ranking, places: Sequence[Sequence[str]], evidence: Iterable[str]) -> Found:
    """What of an answer is kept for those who look at single questions."""
    scores = ranking.pool.scores[:KEPT] if ranking.pool is not None else ()
    return Found(places[:KEPT], scores, sorted(evidence))
