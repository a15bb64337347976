"""Any LangChain vector store as the memory's vector index.

LangChain's stores take texts and embed them. The memory has its vectors already and keeps its texts to itself, so a
store is given unit ids as texts, and `UnitVectors` as its embeddings, which looks their vectors up.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from prism_core import FloatArray, Scope
from prism_core.errors import (
    ClosedError,
    DimensionMismatchError,
    IndexFailedError,
    InvalidEventError,
    PrismError,
    QueryError,
)

BATCH = 1000
"""Vectors handed over at once; Chroma refuses more than 5,461."""
_IDS = uuid.UUID("6f1c3f52-5a0e-4b0c-9d57-0f5e2f3a7c11")
_CALIBRATION = ("",)
"""No scope of anybody's, as segments are not empty."""
_TOLERANCE = 1e-3

OpenStore = Callable[[str, Embeddings, int], VectorStore]
"""Makes or opens the store of one scope, from the scope's name (letters, digits and hyphens), the embeddings the store
has to be given, and the length of a vector."""


class UnitVectors(Embeddings):
    """Answers vectors that were laid ready, by unit id: what a store calls when it thinks it embeds.

    Attributes:
        dimension: length of a vector; needed by stores that try out their embeddings when they are made, as Qdrant's.
    """

    def __init__(self, dimension: int | None = None) -> None:
        self.dimension = dimension
        self._ready: Mapping[str, list[float]] | None = None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of these unit ids.

        Raises:
            KeyError: if none was laid ready for one of them.
        """
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector laid ready under a name; anything of the right length where nothing was laid ready."""
        if self._ready is None and self.dimension is not None:
            return _axis(self.dimension)
        return (self._ready or {})[text]

    @contextmanager
    def laid_ready(self, vectors: Mapping[str, list[float]]) -> Iterator[None]:
        """Answer these vectors inside the block; one caller at a time."""
        self._ready = vectors
        try:
            yield
        finally:
            self._ready = None


@dataclass(slots=True)
class _Held:
    """What this process has written of one scope.

    Attributes:
        name: of the scope, in the store.
        store: where.
        vectors: what the store was given as embeddings.
        dimension: length of a vector.
        ids: unit ids in the store.
        blank: unit ids whose vector is all zeros. Stores rank those anywhere or refuse them, so they stay here.
    """

    name: str
    store: VectorStore
    vectors: UnitVectors
    dimension: int
    ids: set[str] = field(default_factory=set)
    blank: set[str] = field(default_factory=set)

    def check_dimension(self, got: int) -> None:
        if got != self.dimension:
            raise DimensionMismatchError(self.dimension, got)


class LangChainVectorIndex:
    """Proposes candidates from a LangChain `VectorStore`; a `VectorIndex` for `PrismMemory.open(index=...)`.

    Give it either a function that makes the store of one scope (a collection, table or namespace each), or one store
    for all scopes, made with `UnitVectors()` as its embeddings, whose scopes are then told apart by metadata.

    Whatever distance a store uses, what it answers is turned into cosine similarities by asking it for three known
    ones first. The memory computes the exact similarity of what is proposed anyway.

    The index is filled from the ledger, without embedding anything, whenever a memory is opened with it, and what it
    held before is dropped then. Safe for use by several threads.

    Attributes:
        id: a new one for every object, as each starts empty.
    """

    def __init__(
        self,
        store: VectorStore | OpenStore,
        *,
        where: Callable[[str], Mapping[str, Any]] | None = None,
        drop: Callable[[Any], object] | None = None,
        dimension: int | None = None,
        failures: tuple[type[Exception], ...] = (Exception,),
    ) -> None:
        """Use a store.

        Args:
            store: one for all scopes, or a function that makes one per scope.
            where: for one store: from a scope's name to the arguments that restrict a search to vectors whose metadata
                have it under `scope`; `{"filter": {"scope": name}}` when None, which suits Chroma and most others.
            drop: for one store per scope: how to delete it; its own `delete_collection` when None, where it has that,
                else vector by vector.
            dimension: length of a vector, learned from the first one when None. With it, erasing a scope also reaches
                what an earlier process left in the store before this one has written to it.
            failures: what counts as the store refusing; clients raise errors of their own. Exact search then answers.

        Raises:
            QueryError: if a single store was not made with `UnitVectors()`.
        """
        self.id = f"langchain-{secrets.token_hex(8)}"
        self._open = None if isinstance(store, VectorStore) else store
        self._shared = store if isinstance(store, VectorStore) else None
        embeddings = store.embeddings if isinstance(store, VectorStore) else UnitVectors()
        if not isinstance(embeddings, UnitVectors):
            raise QueryError("store", type(store).__name__, "make it with UnitVectors() as its embeddings")
        self._embeddings = embeddings
        self._where = where or (lambda name: {"filter": {"scope": name}})
        self._drop = drop
        self._dimension = dimension
        self._failures = failures
        self._held: dict[Scope, _Held] = {}
        self._cosine: Callable[[float], float] | None = None
        self._lock = RLock()
        self._closed = False

    def upsert(self, scope: Scope, ids: Sequence[str], vectors: FloatArray) -> None:
        """Insert or replace vectors; the last of a repeated id counts.

        Args:
            scope: whose vectors.
            ids: n unit ids, any number of them.
            vectors: shape (n, d), rows L2-normalised.

        Raises:
            DimensionMismatchError: if d differs from what the scope holds.
            InvalidEventError: if the vectors are not n rows of finite numbers.
            IndexFailedError: if the store refused.
        """
        rows = _checked_rows(ids, vectors)
        if not rows:
            return
        with self._use("upsert"):
            held = self._held.get(scope)
            if held is None:
                held = self._held[scope] = self._opened(scope, len(rows[0]))
            held.check_dimension(len(rows[0]))
            self._dimension = self._dimension or held.dimension
            self._write(held, dict(zip(ids, rows, strict=True)))

    def search(self, scope: Scope, vector: FloatArray, k: int) -> list[tuple[str, float]]:
        """The vectors nearest to one.

        Args:
            scope: whose vectors; a scope that was never written has none.
            vector: shape (d,), L2-normalised.
            k: how many at most.

        Returns:
            Pairs of unit id and cosine similarity in [-1, 1], best first.

        Raises:
            DimensionMismatchError: if d differs from what the scope holds.
            QueryError: if the vector is not one row of finite numbers, or `k` is not positive.
            IndexFailedError: if the store refused.
        """
        if k <= 0:
            raise QueryError("k", k, "pass a positive whole number")
        row = _checked_row(vector)
        with self._use("search"):
            held = self._held.get(scope)
            if held is None:
                return []
            held.check_dimension(len(row))
            cosine = self._cosine = self._cosine or self._calibrated(len(row))
            found = self._ask(held, row, k) if held.ids and any(row) else []
            known = [(unit_id, cosine(score)) for unit_id, score in found if unit_id in held.ids]
            known += [(unit_id, 0.0) for unit_id in (held.blank if any(row) else [*held.ids, *held.blank])]
        return sorted(known, key=lambda pair: -pair[1])[:k]

    def count(self, scope: Scope) -> int:
        """How many vectors the scope holds."""
        with self._lock:
            held = self._held.get(scope)
            return len(held.ids) + len(held.blank) if held is not None else 0

    def drop(self, scope: Scope) -> None:
        """Forget the scope, what an earlier process left of it included; dropping an unknown scope is no error.

        Raises:
            IndexFailedError: if the store refused.
        """
        with self._use("drop"):
            held = self._held.pop(scope, None)
            if held is None and self._dimension is not None:
                held = self._opened(scope, self._dimension)
            if held is not None:
                self._clear(held)

    def close(self) -> None:
        """Stop using the store, which stays open; closing twice is no error."""
        with self._lock:
            self._closed = True
            self._held.clear()

    @contextmanager
    def _use(self, operation: str) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise ClosedError(operation)
            try:
                yield
            except PrismError:
                raise
            except self._failures as error:
                raise IndexFailedError(operation, f"{type(error).__name__}: {error}") from error

    # -- one scope ---------------------------------------------------------------------------------------------------

    def _opened(self, scope: Scope, dimension: int) -> _Held:
        """An empty place for a scope; what an earlier process left there is deleted."""
        name = _name(scope)
        if self._shared is not None:
            held = _Held(name, self._shared, self._embeddings, dimension)
            self._sweep(held)
        else:
            held = self._own(name, dimension)
            if self._ask(held, _axis(dimension), 1):
                self._clear(held)
                held = self._own(name, dimension)
        return held

    def _own(self, name: str, dimension: int) -> _Held:
        assert self._open is not None
        vectors = UnitVectors(dimension)
        return _Held(name, self._open(name, vectors, dimension), vectors, dimension)

    def _write(self, held: _Held, rows: Mapping[str, list[float]]) -> None:
        blank = {unit_id for unit_id, row in rows.items() if not any(row)}
        self._delete(held, [unit_id for unit_id in blank if unit_id in held.ids])
        full = [unit_id for unit_id in rows if unit_id not in blank]
        for start in range(0, len(full), BATCH):
            batch = full[start : start + BATCH]
            with held.vectors.laid_ready({unit_id: rows[unit_id] for unit_id in batch}):
                held.store.add_texts(
                    batch,
                    metadatas=[{"scope": held.name} for _ in batch],
                    ids=[_store_id(held.name, unit_id) for unit_id in batch],
                )
            held.ids.update(batch)
        held.blank = (held.blank | blank) - set(full)

    def _ask(self, held: _Held, row: list[float], k: int) -> list[tuple[str, float]]:
        """Unit ids with what the store says of them."""
        only = self._where(held.name) if self._shared is not None else {}
        with held.vectors.laid_ready({"question": row}):
            found = held.store.similarity_search_with_score("question", k=k, **only)
        if any(document.metadata.get("scope") != held.name for document, _ in found):
            problem = "it holds documents that are not the memory's, or does not tell scopes apart; give it its own"
            raise IndexFailedError("use the store", problem)
        return [(document.page_content, float(score)) for document, score in found]

    def _delete(self, held: _Held, unit_ids: Sequence[str]) -> None:
        for start in range(0, len(unit_ids), BATCH):
            batch = unit_ids[start : start + BATCH]
            held.store.delete([_store_id(held.name, unit_id) for unit_id in batch])
            held.ids.difference_update(batch)

    def _clear(self, held: _Held) -> None:
        if self._shared is None and self._drop is not None:
            self._drop(held.store)
        elif self._shared is None and hasattr(held.store, "delete_collection"):
            held.store.delete_collection()
        else:
            self._delete(held, list(held.ids))
            self._sweep(held)

    def _sweep(self, held: _Held) -> None:
        """Delete what is there without this process knowing."""
        while found := [unit_id for unit_id, _ in self._ask(held, _axis(held.dimension), BATCH)]:
            self._delete(held, found)

    def _calibrated(self, dimension: int) -> Callable[[float], float]:
        """From scores to cosines, learned from one vector that is asked for with itself, its opposite and across."""
        held = self._opened(_CALIBRATION, dimension)
        axis = _axis(dimension)
        self._write(held, {"axis": axis})
        questions = (axis, [-value for value in axis], [0.0, 1.0, *axis[2:]])
        same, opposite, across = (dict(self._ask(held, row[:dimension], 1)).get("axis", math.nan) for row in questions)
        self._clear(held)
        return _to_cosine(same, opposite, across if dimension > 1 else (same + opposite) / 2)


def _to_cosine(same: float, opposite: float, across: float) -> Callable[[float], float]:
    """The function that gives 1, -1 and 0 for these scores.

    Of unit vectors, distances are 1 - cos, 2 - 2 cos (squared), or the root of that, and similarities are cos or
    (1 + cos) / 2. All but the root are linear in the cosine, and its square is.

    Raises:
        IndexFailedError: if the scores are of another kind.
    """
    for power in (1, 2):
        best, worst, middle = same**power, opposite**power, across**power
        span = best - worst
        if abs(span) > _TOLERANCE and abs(middle - (best + worst) / 2) <= _TOLERANCE * abs(span):
            return lambda score: min(max(1.0 - 2.0 * (best - score**power) / span, -1.0), 1.0)
    scores = f"{same:g} for a vector itself, {across:g} across and {opposite:g} for its opposite"
    raise IndexFailedError("use the store", f"its scores tell no cosine: {scores}; make it with cosine distance")


def _axis(dimension: int) -> list[float]:
    return [1.0, *[0.0] * (dimension - 1)]


def _name(scope: Scope) -> str:
    # Scopes may hold any character and be long; the names of collections may not.
    return f"prism-{hashlib.sha256(json.dumps(scope).encode()).hexdigest()[:32]}"


def _store_id(name: str, unit_id: str) -> str:
    # Some stores (Qdrant) take nothing but UUIDs, and scopes that share one may have units of the same id.
    return str(uuid.uuid5(_IDS, f"{name} {unit_id}"))


def _checked_rows(ids: Sequence[str], vectors: FloatArray) -> list[list[float]]:
    if vectors.ndim != 2 or len(vectors) != len(ids):
        raise InvalidEventError("vector", f"array of shape {vectors.shape}", f"pass one row for each of {len(ids)} ids")
    rows: list[list[float]] = vectors.tolist()
    if not all(math.isfinite(value) for row in rows for value in row):
        raise InvalidEventError("vector", "an array with NaN or infinity", "a vector is made of finite numbers")
    return rows


def _checked_row(vector: FloatArray) -> list[float]:
    row: list[float] = vector.tolist()
    if vector.ndim != 1 or not all(map(math.isfinite, row)):
        raise QueryError("vector", f"array of shape {vector.shape}", "pass one row of finite numbers")
    return row
