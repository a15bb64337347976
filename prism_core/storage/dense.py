"""The vectors of one scope: an exact tail in memory over an optional approximate index.

The newest vectors are searched exactly until enough of them are due to be handed to the index in one batch, so that a
single write never pays for an index write, and so that an index that starts empty is filled while exact search
answers. Similarities are always computed from exact vectors; an index only proposes candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from prism_core.changes import FloatArray
from prism_core.errors import DimensionMismatchError, IndexFailedError, IndexLockedError, PrismError
from prism_core.protocols import Ledger, VectorIndex
from prism_core.results import Position
from prism_core.storage.vector_cache import VectorCache
from prism_core.storage.vectors import ExactIndex
from prism_core.types import Scope

_BATCH = 1024
CACHED_VECTORS = 16_384


@dataclass(frozen=True, slots=True)
class IndexChoice:
    """When a scope gets an approximate index, and which.

    Attributes:
        open: answers the index, opening it at the first call; None when there is none to be had.
        give_up: called with the reason when the index failed; `open` answers None from then on.
        from_size: number of vectors from which a scope is worth an index.
        batch: number of vectors handed to the index at once.
    """

    open: Callable[[], VectorIndex | None] = lambda: None
    give_up: Callable[[str], None] = lambda _: None
    from_size: int = 5000
    batch: int = 64


class VectorProjection:
    """Follows the vectors of one scope.

    Attributes:
        pending: ids of units that wait to be embedded.
        followed: the position up to which the index holds the vectors; the tail holds what came later.
        lost: whether the index failed, so that its part is missing until the scope is loaded again.
    """

    def __init__(self, scope: Scope, ledger: Ledger, choice: IndexChoice) -> None:
        self._scope = scope
        self._ledger = ledger
        self._choice = choice
        self._base: VectorIndex | None = None
        self._tail = ExactIndex()
        self._tail_rows: dict[str, int] = {}
        self._due: dict[str, None] = {}
        self._came_in = 0
        self._read = VectorCache(CACHED_VECTORS)
        self._scored: tuple[FloatArray, FloatArray] | None = None
        self._position = Position()
        self.pending: dict[str, None] = {}
        self.lost = False
        self.followed = self._noted()

    @property
    def nbytes(self) -> int:
        """Size of the vectors held in memory, in bytes."""
        return self._tail.nbytes + self._read.nbytes

    def apply(self, vectors: Sequence[tuple[str, FloatArray | None]], position: Position) -> None:
        """Take over changed vectors; None marks a unit as pending."""
        ready = [(unit_id, vector) for unit_id, vector in vectors if vector is not None]
        for unit_id, vector in vectors:
            if vector is None:
                self.pending[unit_id] = None
                self._due.pop(unit_id, None)
        for unit_id, _ in ready:
            self.pending.pop(unit_id, None)
            self._due[unit_id] = None
            self._tail_rows.setdefault(unit_id, len(self._tail_rows))
        if ready:
            self._tail.upsert(self._scope, [unit_id for unit_id, _ in ready], np.stack([vector for _, vector in ready]))
        self._read.discard([unit_id for unit_id, _ in vectors])
        self._scored = None
        self._position = position
        # As much is handed over as came in, in batches: a single write never pays for a backlog.
        self._came_in += len(ready)
        if self._came_in >= self._choice.batch:
            self.hand_over(2 * self._came_in)
            self._came_in = 0

    def hand_over(self, limit: int | None = None) -> None:
        """Write due vectors to the index, oldest first, at most `limit` of them; all when None."""
        if not self.followed.seq and len(self._tail_rows) < self._choice.from_size:
            return
        base = self._base = self._base or self._choice.open()
        if base is None:
            return
        try:
            self._write_due(base, len(self._due) if limit is None else min(limit, len(self._due)))
        except DimensionMismatchError:
            self._start_over(base)
            return
        except (IndexFailedError, IndexLockedError) as error:
            self._lose(error)
            return
        if not self._due:
            self._ledger.note_index_position(base.id, self._scope, self._position)
            self.followed = self._position
            self._tail.drop(self._scope)
            self._tail_rows.clear()
            self._scored = None

    def _write_due(self, base: VectorIndex, left: int) -> None:
        while left > 0:
            ids = list(islice(self._due, min(left, _BATCH)))
            vectors = self._tail.vectors_of(self._scope, ids)
            base.upsert(self._scope, ids, np.stack([vectors[unit_id] for unit_id in ids]))
            for unit_id in ids:
                del self._due[unit_id]
            left -= len(ids)

    def _start_over(self, base: VectorIndex) -> None:
        """Another embedder came since: every vector is newer than what the index holds, and so in the tail."""
        base.drop(self._scope)
        self.followed = Position(0, self._position.epoch)

    def _lose(self, error: PrismError) -> None:
        self._choice.give_up(str(error))
        self._base = None
        self.lost = True

    def nearest(self, vector: FloatArray, k: int) -> list[str]:
        """Ids of the units nearest to a vector, best first by exact similarity."""
        found = {unit_id: None for unit_id, _ in self._tail.search(self._scope, vector, k)}
        found |= dict.fromkeys(self._proposed(vector, k))
        ids = [unit_id for unit_id in found if unit_id not in self.pending]
        scores = self.similarities(vector, ids)
        return [ids[place] for place in np.argsort(-scores, kind="stable")[:k].tolist()]

    def _proposed(self, vector: FloatArray, k: int) -> list[str]:
        if self._base is None or not self.followed.seq:
            return []
        try:
            return [unit_id for unit_id, _ in self._base.search(self._scope, vector, k)]
        except DimensionMismatchError:
            self._start_over(self._base)
            return []
        except (IndexFailedError, IndexLockedError) as error:
            self._lose(error)
            return []

    def similarities(self, vector: FloatArray, ids: Sequence[str]) -> FloatArray:
        """Exact cosine similarity of units to a vector; 0 for those without one."""
        rows = np.array([self._tail_rows.get(unit_id, -1) for unit_id in ids], dtype=np.intp)
        scores = np.zeros(len(ids), dtype=np.float32)
        in_tail = rows >= 0
        if in_tail.any():
            scores[in_tail] = self._tail_scores(vector)[rows[in_tail]]
        if self.followed.seq and not in_tail.all():
            elsewhere = np.flatnonzero(~in_tail)
            scores[elsewhere] = self._stored_scores(vector, [ids[place] for place in elsewhere.tolist()])
        for place, unit_id in enumerate(ids if self.pending else ()):
            if unit_id in self.pending:
                scores[place] = 0.0
        return scores

    def _stored_scores(self, vector: FloatArray, ids: Sequence[str]) -> FloatArray:
        places = self._read.places(ids)
        unread = [unit_id for unit_id, place in zip(ids, places.tolist(), strict=True) if place < 0]
        fresh = self._ledger.vectors(self._scope, unread) if unread else {}
        scores = np.zeros(len(ids), dtype=np.float32)
        held = places >= 0
        if held.any():
            scores[held] = self._read.scores(places[held], vector)
        found = [place for place, unit_id in enumerate(ids) if unit_id in fresh]
        if found:
            scores[found] = np.stack([fresh[ids[place]] for place in found]) @ vector
        self._read.put(fresh)
        return scores

    @property
    def indexed(self) -> int:
        """Number of vectors that the index should hold and does; 0 without one in use."""
        return self._base.count(self._scope) if self._base is not None and self.followed.seq else 0

    @property
    def tailing(self) -> int:
        """Number of vectors in the exact tail."""
        return len(self._tail_rows)

    def forget(self) -> None:
        """Drop everything the index holds of the scope, so that it is filled again from the ledger."""
        if self._base is not None:
            self._base.drop(self._scope)
            self._ledger.note_index_position(self._base.id, self._scope, Position())

    def _tail_scores(self, vector: FloatArray) -> FloatArray:
        # One search asks for the nearest and then for many similarities to the same vector.
        if self._scored is None or self._scored[0] is not vector:
            self._scored = (vector, self._tail.scores(self._scope, vector))
        return self._scored[1]

    def _noted(self) -> Position:
        head = self._ledger.head(self._scope)
        # A scope has fewer vectors than log entries, so a short log cannot be worth opening the index for.
        if head.seq >= self._choice.from_size:
            self._base = self._choice.open()
        noted = self._ledger.index_position(self._base.id, self._scope) if self._base else None
        if self._base is None or noted is None or noted.epoch != head.epoch:
            return Position(0, head.epoch)
        # An index that lost its files answers as if it had never been written.
        return noted if self._base.count(self._scope) else Position(0, head.epoch)
