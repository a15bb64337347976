"""Any LlamaIndex vector store as the memory's vector index."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import mul
from threading import RLock
from uuid import NAMESPACE_OID, uuid4, uuid5

from llama_index.core.schema import BaseNode, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters, VectorStoreQuery
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from prism_core import FloatArray, PrismError, Scope
from prism_core.errors import (
    ClosedError,
    DimensionMismatchError,
    IndexFailedError,
    InvalidEventError,
    QueryError,
)
from prism_llamaindex.errors import UnsupportedStoreError

UNIT, SHELF = "prism_unit", "prism_scope"
BATCH = 1000
"""Nodes sent at once; Chroma refuses more than 5,461."""

OpenStore = Callable[[str], BasePydanticVectorStore]


class LlamaIndexVectorIndex:
    """A `VectorIndex` in a LlamaIndex vector store. Safe to share between threads.

    A node holds a unit's id and vector, never its words: texts stay in the ledger. Similarities are computed from the
    vectors that come back, so the store's metric only decides what is proposed; use cosine, or any other that orders
    vectors of unit length alike.

    Args:
        store: a function from a collection's name to a store, called once for every scope, and again for vectors of
            another dimension; or one store for all scopes, which are then kept apart by a metadata filter.
        failures: what counts as the store refusing; clients raise errors of their own, with no root in common. The
            memory then answers by exact search.
        name: names what the store holds, where that outlives the process: under the same name, vectors handed over
            earlier are believed to be there. Take another name with another embedder. Without a name every process
            fills the index anew from the ledger, and takes its vectors out again when it closes.

    Raises:
        UnsupportedStoreError: if the store keeps no contents.
    """

    def __init__(
        self,
        store: BasePydanticVectorStore | OpenStore,
        *,
        name: str | None = None,
        failures: tuple[type[Exception], ...] = (Exception,),
    ) -> None:
        if isinstance(store, BasePydanticVectorStore):
            _check_store(store)
        self._failures = failures
        self._store = store
        self._named = name is not None
        self._filling = name or uuid4().hex
        self._shelves: dict[Scope, _Shelf] = {}
        self._lock = RLock()
        self._closed = False

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex's own parts answer here."""
        return "LlamaIndexVectorIndex"

    @property
    def id(self) -> str:
        """Names this filling of the index."""
        return f"llama-index-{self._filling}"

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
        self._check_open("upsert")
        rows = dict(zip(ids, _checked_rows(ids, vectors), strict=True))
        if not rows:
            return
        with self._lock:
            shelf = self._shelf(scope)
            shelf.check_dimension(vectors.shape[1])
            shelf.put(rows)

    def search(self, scope: Scope, vector: FloatArray, k: int) -> list[tuple[str, float]]:
        """The nearest vectors of a scope, as the store proposes them, with their exact cosine in [-1, 1], best first.

        Raises:
            DimensionMismatchError: if the vector's dimension differs from what the scope holds.
            QueryError: if the vector is not one row of finite numbers, or `k` is not positive.
            IndexFailedError: if the store refused.
        """
        self._check_open("search")
        if k <= 0:
            raise QueryError("k", k, "pass a positive whole number")
        if len(vector.shape) != 1 or not all(map(math.isfinite, row := vector.tolist())):
            raise QueryError("vector", f"array of shape {vector.shape}", "pass one row of finite numbers")
        with self._lock:
            shelf = self._shelf(scope)
            shelf.check_dimension(len(row))
            return shelf.nearest(row, k)

    def count(self, scope: Scope) -> int:
        """How many vectors the scope holds."""
        self._check_open("count")
        with self._lock:
            return len(self._shelf(scope).ids)

    def drop(self, scope: Scope) -> None:
        """Forget the scope; dropping an unknown scope is no error.

        Raises:
            IndexFailedError: if the store refused.
        """
        self._check_open("drop")
        with self._lock:
            self._shelf(scope).clear()
            self._shelves.pop(scope)

    def close(self) -> None:
        """Take out what no later process could use; the store itself stays open. Closing twice is no error."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for shelf in [] if self._named else self._shelves.values():
                # A store that is gone has nothing to take out, and must not keep the memory from closing.
                with suppress(IndexFailedError):
                    shelf.clear()
            self._shelves.clear()

    def _check_open(self, operation: str) -> None:
        if self._closed:
            raise ClosedError(operation)

    def _shelf(self, scope: Scope) -> _Shelf:
        if scope not in self._shelves:
            key = _digest([self._filling, *scope])
            self._shelves[scope] = _Shelf(self._store, key, self._failures, vouched_for=self._named)
        return self._shelves[scope]


class _Shelf:
    """The vectors of one scope.

    Attributes:
        ids: the units whose vectors it holds.
    """

    def __init__(
        self,
        store: BasePydanticVectorStore | OpenStore,
        key: str,
        failures: tuple[type[Exception], ...],
        *,
        vouched_for: bool,
    ) -> None:
        self._failures = failures
        self.ids: set[str] = set()
        self._source = store
        self._key = key
        self._vouched_for = vouched_for
        self._dimension = 0
        self._opened: BasePydanticVectorStore | None = None
        if vouched_for:
            self._remember()

    def check_dimension(self, dimension: int) -> None:
        if self.ids and dimension != self._dimension:
            raise DimensionMismatchError(self._dimension, dimension)

    def put(self, rows: dict[str, list[float]]) -> None:
        """Insert or replace vectors."""
        self._dimension = len(next(iter(rows.values())))
        names = list(rows)
        for start in range(0, len(names), BATCH):
            some = names[start : start + BATCH]
            nodes = [self._node(unit_id, rows[unit_id]) for unit_id in some]
            # Some stores keep the old node of an id that is added again, and say nothing.
            known = [self._node_id(unit_id) for unit_id in some if unit_id in self.ids]
            with self._refusals("upsert"):
                if known:
                    self._store().delete_nodes(node_ids=known)
                self._store().add(nodes)
            self.ids.update(some)

    def nearest(self, row: list[float], k: int) -> list[tuple[str, float]]:
        if not self.ids:
            return []
        query = VectorStoreQuery(
            query_embedding=row,
            similarity_top_k=min(k, len(self.ids)),
            filters=self._filters() if self._shared else None,
        )
        with self._refusals("search"):
            found = self._store().query(query).nodes or []
        scored = [(str(node.metadata[UNIT]), _cosine(row, _vector(node))) for node in found]
        return sorted((pair for pair in scored if pair[0] in self.ids), key=lambda pair: -pair[1])

    def clear(self) -> None:
        """Take everything out of the store."""
        if self.ids:
            with self._refusals("drop"):
                self._store().delete(self._key)
        self.ids = set()
        self._opened = None

    @property
    def _shared(self) -> bool:
        return isinstance(self._source, BasePydanticVectorStore)

    def _store(self) -> BasePydanticVectorStore:
        if isinstance(self._source, BasePydanticVectorStore):
            return self._source
        if self._opened is None:
            # A collection has one dimension for good, so vectors of another one need another collection.
            suffix = "" if self._vouched_for else f"-{self._dimension}"
            with self._refusals("open a collection"):
                self._opened = self._source(f"prism-{self._key}{suffix}")
            _check_store(self._opened)
        return self._opened

    def _remember(self) -> None:
        """Learn what an earlier process left here; a store that cannot say is filled again."""
        try:
            with self._refusals("list a collection"):
                nodes = self._store().get_nodes(node_ids=None, filters=self._filters())
        except IndexFailedError:
            return
        self.ids = {str(node.metadata[UNIT]) for node in nodes}
        self._dimension = len(_vector(nodes[0])) if nodes else 0

    def _filters(self) -> MetadataFilters:
        return MetadataFilters(filters=[MetadataFilter(key=SHELF, value=self._key)])

    @contextmanager
    def _refusals(self, operation: str) -> Iterator[None]:
        try:
            yield
        except PrismError:
            raise
        except self._failures as error:
            raise IndexFailedError(operation, f"{type(error).__name__}: {error}") from error

    def _node_id(self, unit_id: str) -> str:
        # Qdrant takes UUIDs only, and a shared store may hold the same unit id for another scope.
        return str(uuid5(NAMESPACE_OID, f"{self._key}/{unit_id}"))

    def _node(self, unit_id: str, row: list[float]) -> TextNode:
        return TextNode(
            id_=self._node_id(unit_id),
            text=base64.b64encode(array("f", row).tobytes()).decode(),
            embedding=row,
            metadata={UNIT: unit_id, SHELF: self._key},
            # What every store can delete by.
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=self._key)},
        )


def _check_store(store: BasePydanticVectorStore) -> None:
    if not store.stores_text:
        raise UnsupportedStoreError(type(store).__name__)


def _checked_rows(ids: Sequence[str], vectors: FloatArray) -> list[list[float]]:
    rows: list[list[float]] = vectors.tolist()
    if len(vectors.shape) != 2 or len(rows) != len(ids):
        raise InvalidEventError("vector", f"array of shape {vectors.shape}", f"pass one row for each of {len(ids)} ids")
    if not all(math.isfinite(value) for row in rows for value in row):
        raise InvalidEventError("vector", "an array with NaN or infinity", "a vector is made of finite numbers")
    return rows


def _vector(node: BaseNode) -> array[float]:
    return array("f", base64.b64decode(node.get_content()))


def _cosine(one: list[float], other: array[float]) -> float:
    return max(-1.0, min(1.0, float(sum(map(mul, one, other)))))


def _digest(parts: list[str]) -> str:
    # Collections have short names of few characters; scopes may hold any.
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]
