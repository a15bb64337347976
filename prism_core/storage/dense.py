"""The vectors of one scope: all of them in memory by row, beside an optional approximate index.

An index only proposes candidates; similarities are computed from the vectors themselves. The newest vectors are
searched exactly until enough of them are due to be handed to the index in one batch, so that a single write never pays
for an index write, and so that exact search answers while an index that starts empty is filled, or after it has
failed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_core.changes import FloatArray, IntArray
from prism_core.errors import DimensionMismatchError, IndexFailedError, IndexLockedError, PrismError
from prism_core.protocols import Ledger, VectorIndex
from prism_core.results import Position
from prism_core.storage.vectors import best_rows, check_k, checked_query
from prism_core.types import Scope

_BATCH = 1024
_LARGE_TAIL = 8
"""From one part in this many on, comparing all vectors is faster than picking out those that the index lacks."""

Vectors = Sequence[tuple[str, FloatArray | None]]
"""Unit ids with their vectors; None where a unit waits to be embedded."""


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
    from_size: int = 15_000
    batch: int = 64


class VectorProjection:
    """Follows the vectors of one scope.

    Attributes:
        pending: ids of units that wait to be embedded.
        followed: the position up to which the index holds the vectors; at seq 0 it is not searched.
    """

    def __init__(
        self, scope: Scope, ledger: Ledger, choice: IndexChoice, ids: Sequence[str], row_of: Mapping[str, int]
    ) -> None:
        """Follow a scope.

        Args:
            scope: whose vectors.
            ledger: where they are kept.
            choice: which index to use.
            ids: unit id of every row; grows under this object's eyes, and so does the next.
            row_of: row of every unit id.
        """
        self._scope = scope
        self._ledger = ledger
        self._choice = choice
        self._ids = ids
        self._row_of = row_of
        self._base: VectorIndex | None = None
        self._rows: FloatArray = np.zeros((0, 0), dtype=np.float32)
        self._held: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._due: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._came_in = 0
        self._scored: tuple[FloatArray, FloatArray] | None = None
        self._position = Position()
        self._marked = False
        self.pending: dict[str, None] = {}
        self.followed = self._noted()
        self._position = Position(0, self.followed.epoch)

    @property
    def nbytes(self) -> int:
        """Size of the vectors held in memory, in bytes."""
        return self._rows.nbytes + self._held.nbytes + self._due.nbytes

    # -- following the ledger ------------------------------------------------------------------------------------

    def apply(self, vectors: Vectors, position: Position) -> None:
        """Take over changed vectors; None marks a unit as pending."""
        for unit_id, vector in vectors:
            if vector is None:
                self.pending[unit_id] = None
            else:
                self.pending.pop(unit_id, None)
        ready = self._put(vectors)
        self._due[ready] = True
        self._position = position
        # As much is handed over as came in, in batches: a single write never pays for a backlog.
        self._came_in += len(ready)
        if self._came_in >= self._choice.batch:
            self.hand_over(2 * self._came_in)
            self._came_in = 0

    def fill(self, vectors: Vectors) -> None:
        """Take over vectors that the index holds already; newer ones stay."""
        known = {unit_id for unit_id, _ in vectors if self._held[self._row_of[unit_id]] or unit_id in self.pending}
        self._put([(unit_id, vector) for unit_id, vector in vectors if unit_id not in known])

    def _put(self, vectors: Vectors) -> list[int]:
        """Write vectors to their rows, and empty the rows of pending ones; answers the rows that now hold one."""
        rows = [self._row_of[unit_id] for unit_id, _ in vectors]
        self._scored = None
        self._grow(next((len(vector) for _, vector in vectors if vector is not None), self._rows.shape[1]))
        empty = [row for row, (_, vector) in zip(rows, vectors, strict=True) if vector is None]
        self._rows[empty] = 0.0
        self._held[empty] = self._due[empty] = False
        ready = [row for row, (_, vector) in zip(rows, vectors, strict=True) if vector is not None]
        for row, vector in zip(ready, (vector for _, vector in vectors if vector is not None), strict=True):
            self._rows[row] = vector
        self._held[ready] = True
        return ready

    def _grow(self, dimension: int) -> None:
        """Make room for every row; with vectors of another embedder, what was held is worth nothing."""
        if dimension != self._rows.shape[1]:
            self._rows = np.zeros((len(self._held), dimension), dtype=np.float32)
            self._held[:] = self._due[:] = False
        missing = len(self._ids) - len(self._held)
        if missing > 0:
            room = max(missing, len(self._held) // 2)
            self._rows = np.concatenate([self._rows, np.zeros((room, dimension), dtype=np.float32)])
            self._held = np.concatenate([self._held, np.zeros(room, dtype=np.bool_)])
            self._due = np.concatenate([self._due, np.zeros(room, dtype=np.bool_)])

    # -- feeding the index ---------------------------------------------------------------------------------------

    def hand_over(self, limit: int | None = None) -> None:
        """Write due vectors to the index, in the order of rows, at most `limit` of them; all when None."""
        if not self.followed.seq and np.count_nonzero(self._held) < self._choice.from_size:
            return
        base = self._base = self._base or self._choice.open()
        if base is None:
            return
        due = np.flatnonzero(self._due)[:limit]
        try:
            if len(due) and not self._marked:
                # Before anything is written: an erase has to know that the index may hold something of the scope.
                self._note(base, Position(0, self._position.epoch))
            self._write_due(base, due)
        except DimensionMismatchError:
            self._start_over(base)
            return
        except (IndexFailedError, IndexLockedError) as error:
            self._lose(error)
            return
        if not self._due.any():
            self._note(base, self._position)
            self.followed = self._position

    def _note(self, base: VectorIndex, position: Position) -> None:
        self._ledger.note_index_position(base.id, self._scope, position)
        self._marked = True

    def _write_due(self, base: VectorIndex, due: IntArray) -> None:
        for start in range(0, len(due), _BATCH):
            rows = due[start : start + _BATCH]
            base.upsert(self._scope, [self._ids[row] for row in rows.tolist()], self._rows[rows])
            self._due[rows] = False

    def _start_over(self, base: VectorIndex) -> None:
        """Another embedder came since: what the index holds are vectors of the one before."""
        base.drop(self._scope)
        self._unfollow()

    def _lose(self, error: PrismError) -> None:
        self._choice.give_up(str(error))
        self._base = None
        self._unfollow()

    def _unfollow(self) -> None:
        self.followed = Position(0, self._position.epoch)
        self._due = self._held.copy()

    # -- searching -----------------------------------------------------------------------------------------------

    def nearest(self, vector: FloatArray, k: int) -> IntArray:
        """Rows of the units nearest to a vector, best first by exact similarity.

        Raises:
            DimensionMismatchError: if the vector is not of the dimension of those held.
            QueryError: if it is not one row of finite numbers, or `k` is not positive.
        """
        check_k(k)
        proposed = self._proposed(checked_query(vector), k)
        if proposed is None:
            rows = np.flatnonzero(self._held)
            scores = self._all_scores(vector)
            scores = scores[rows] if len(rows) < len(scores) else scores
        else:
            rows = np.union1d(proposed, np.flatnonzero(self._due))
            rows = rows[self._held[rows]]
            scores = self.similarities(vector, rows)
        return rows[best_rows(scores, k)]

    def similarities(self, vector: FloatArray, rows: IntArray) -> FloatArray:
        """Exact cosine similarity of rows to a vector; 0 for those without one."""
        if self._searches_all:
            # One search asks for the nearest and then for many similarities to the same vector.
            return self._all_scores(vector)[rows]
        self._check_dimension(vector)
        scores: FloatArray = np.clip(self._rows[rows] @ vector, -1.0, 1.0)
        return scores

    @property
    def _searches_all(self) -> bool:
        """Whether every vector is compared, because the index holds none or too few of them."""
        return self._base is None or not self.followed.seq

    def _proposed(self, vector: FloatArray, k: int) -> IntArray | None:
        """Rows the index proposes; None where every vector has to be compared."""
        if self._base is None or not self.followed.seq:
            return None
        due = np.count_nonzero(self._due)
        if _LARGE_TAIL * due > len(self._ids):
            return None
        # The index may still hold what was replaced since; that must not take the places of others.
        stale = min(int(due) + len(self.pending), 2 * k)
        try:
            found = self._base.search(self._scope, vector, k + stale)
        except DimensionMismatchError:
            self._start_over(self._base)
            return None
        except (IndexFailedError, IndexLockedError) as error:
            self._lose(error)
            return None
        return np.array([self._row_of[unit_id] for unit_id, _ in found if unit_id in self._row_of], dtype=np.intp)

    def _all_scores(self, vector: FloatArray) -> FloatArray:
        """Similarity of every row, shape (n,)."""
        size = len(self._ids)
        if not self._held.any():
            return np.zeros(size, dtype=np.float32)
        if self._scored is None or self._scored[0] is not vector or len(self._scored[1]) != size:
            self._check_dimension(vector)
            self._scored = (vector, np.clip(self._rows[:size] @ vector, -1.0, 1.0))
        return self._scored[1]

    def _check_dimension(self, vector: FloatArray) -> None:
        if vector.shape[0] != self._rows.shape[1]:
            raise DimensionMismatchError(self._rows.shape[1], vector.shape[0])

    # -- for upkeep ----------------------------------------------------------------------------------------------

    @property
    def indexed(self) -> int:
        """Number of vectors that the index should hold and does; 0 without one in use."""
        return 0 if self._base is None or self._searches_all else self._base.count(self._scope)

    @property
    def tailing(self) -> int:
        """Number of vectors that only exact search finds."""
        return int(np.count_nonzero(self._held if self._searches_all else self._due))

    def forget(self) -> None:
        """Drop everything the index holds of the scope, so that it is filled again from the ledger."""
        if self._base is not None:
            self._base.drop(self._scope)
            self._ledger.note_index_position(self._base.id, self._scope, Position(0, self.followed.epoch))

    def _noted(self) -> Position:
        head = self._ledger.head(self._scope)
        start = Position(0, head.epoch)
        outdated = self._ledger.index_outdated(self._scope)
        # A scope has fewer vectors than log entries, so a short log cannot be worth opening the index for.
        if outdated or head.seq >= self._choice.from_size:
            self._base = self._choice.open()
        if self._base is None:
            return start
        noted = self._ledger.index_position(self._base.id, self._scope)
        try:
            if outdated or (noted is not None and noted.epoch != head.epoch):
                self._base.drop(self._scope)
                self._note(self._base, start)
                return start
            self._marked = noted is not None
            # An index that lost its files answers as if it had never been written.
            return noted if noted is not None and self._base.count(self._scope) else start
        except (IndexFailedError, IndexLockedError) as error:
            self._lose(error)
            return start
