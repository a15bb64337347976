"""Scripted stand-ins for the clock and for ids, and small units and vectors to test with."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from prism_core.changes import AddUnit, Change, FloatArray
from prism_core.errors import EmbeddingError, LLMError, PrismError
from prism_core.protocols import Completion, Ledger
from prism_core.results import Position, Receipt
from prism_core.types import MemoryUnit, Scope

START = datetime(2026, 5, 20, 9, 0, tzinfo=UTC)
"""When scripted time begins."""

ALICE: Scope = ("acme", "alice")
BOB: Scope = ("acme", "bob")


class ScriptedClock:
    """A clock that moves only when it is read or told to.

    Attributes:
        now: what the next reading answers; aware.
        step: how far each reading moves it on.
    """

    def __init__(self, start: datetime = START, step: timedelta = timedelta(seconds=1)) -> None:
        self.now = start
        self.step = step

    def __call__(self) -> datetime:
        """The present instant; the next reading is `step` later."""
        present = self.now
        self.now += self.step
        return present

    def advance(self, by: timedelta) -> None:
        """Move on without being read."""
        self.now += by


class CountingIds:
    """Ids in a row: `u1`, `u2` and so on."""

    def __init__(self, prefix: str = "u") -> None:
        self._prefix = prefix
        self._given = 0

    def __call__(self) -> str:
        """The next id."""
        self._given += 1
        return f"{self._prefix}{self._given}"


def make_unit(unit_id: str, text: str = "", *, scope: Scope = ALICE, **fields: Any) -> MemoryUnit:
    """A unit for tests: a message of 20 May 2026.

    Args:
        unit_id: its id.
        text: what was said; made from the id when empty.
        scope: its scope.
        fields: any other field of `MemoryUnit`.
    """
    values: dict[str, Any] = {
        "id": unit_id,
        "scope": scope,
        "observation": text or f"text of {unit_id}",
        "event_time": START,
        "recorded_at": START,
        "importance": 0.5,
        **fields,
    }
    return MemoryUnit.model_validate(values)


def unit_vectors(count: int, dimension: int = 8, *, seed: int = 0) -> FloatArray:
    """Random directions; shape (count, dimension), float32, rows L2-normalised, the same for a seed."""
    rows = np.random.default_rng(seed).normal(size=(count, dimension))
    unit: FloatArray = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def commit(ledger: Ledger, *changes: Change, scope: Scope = ALICE, receipts: Sequence[Receipt] = ()) -> Position:
    """Commit on top of whatever the head is."""
    return ledger.commit(scope, changes, based_on=ledger.head(scope), recorded_at=START, receipts=receipts)


def add(unit_id: str, text: str = "", *, scope: Scope = ALICE, **fields: Any) -> AddUnit:
    """The change that adds `make_unit` of the same arguments, with 3 tokens."""
    return AddUnit(make_unit(unit_id, text, scope=scope, **fields), tokens=3)


def run_threads(*tasks: Callable[[], object]) -> None:
    """Run tasks at the same time, each in a thread.

    Raises:
        AssertionError: if one of them failed.
    """
    failures: list[BaseException] = []

    def run(task: Callable[[], None]) -> None:
        try:
            task()
        except (PrismError, AssertionError) as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


class HashedEmbedder:
    """A small deterministic embedder that costs nothing and can be switched off: words hashed into a vector.

    Attributes:
        id: its name.
        dimension: length of a vector.
        down: whether it fails.
    """

    def __init__(self, name: str = "hashed", dimension: int = 32) -> None:
        self.id = name
        self.dimension = dimension
        self.down = False

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """Shape (n, dimension).

        Raises:
            EmbeddingError: while it is down.
        """
        if self.down:
            raise EmbeddingError(self.id, "it is down")
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[zlib.crc32(word.encode()) % self.dimension] += 1
            row /= max(float(np.linalg.norm(row)), 1e-9)
        return rows

    def embed_query(self, text: str) -> FloatArray:
        """Shape (dimension,).

        Raises:
            EmbeddingError: while it is down.
        """
        return np.asarray(self.embed_documents([text])[0])


class ScriptedLLM:
    """A language model whose answers are written beforehand.

    Attributes:
        id: its name.
        prompts: what it was asked, in order.
    """

    def __init__(self, *replies: str | PrismError | Callable[[str], str], name: str = "scripted") -> None:
        """Take the script.

        Args:
            replies: answers in order; an error is raised, a function answers this prompt and all after it.
            name: the model's name.
        """
        self.id = name
        self.prompts: list[str] = []
        self._replies = list(replies)
        self._lock = threading.Lock()

    def complete(self, prompt: str) -> Completion:
        """The next answer.

        Raises:
            LLMError: if the script is at its end.
        """
        with self._lock:
            self.prompts.append(prompt)
            if not self._replies:
                raise LLMError(self.id, "the script is at its end")
            reply = self._replies[0] if callable(self._replies[0]) else self._replies.pop(0)
        if isinstance(reply, PrismError):
            raise reply
        return Completion(reply(prompt) if callable(reply) else reply)
