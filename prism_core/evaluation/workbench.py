"""What all evaluated systems share: one embedder that computes each text once, one renderer, one token counter."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from prism_core.changes import FloatArray
from prism_core.context import ContextBuilder, Detail
from prism_core.embed import DEFAULT_EMBEDDER, CachedEmbedder, make_embedder
from prism_core.errors import QueryError
from prism_core.evaluation.systems import Opener, Ranking, System
from prism_core.memory import PrismMemory
from prism_core.protocols import Clock, Embedder, IdFactory, understands
from prism_core.retrieve.options import RankingOptions
from prism_core.text import O200kCounter


class KnownVectors:
    """An embedder that computes only what another process has not computed already.

    Attributes:
        inner: computes the rest.
        vectors: of documents, by text.
    """

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner
        self.vectors: dict[str, FloatArray] = {}

    @property
    def id(self) -> str:
        """The inner embedder's id."""
        return self.inner.id

    @property
    def dimension(self) -> int:
        """The inner embedder's dimension."""
        return self.inner.dimension

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of texts, shape (n, d)."""
        missing = [text for text in texts if text not in self.vectors]
        computed = dict(zip(missing, self.inner.embed_documents(missing), strict=True)) if missing else {}
        return np.stack([self.vectors[text] if text in self.vectors else computed[text] for text in texts])

    def understands(self, text: str) -> bool:
        """What the inner embedder says of a text; True where it does not say."""
        return understands(self.inner, text)

    def embed_query(self, text: str) -> FloatArray:
        """The vector of a question, shape (d,)."""
        return self.inner.embed_query(text)


@dataclass(frozen=True, slots=True)
class Workbench:
    """The shared parts.

    Attributes:
        embedder: remembers what it embedded.
        counter: counts o200k tokens.
        builder: renders and packs whole units, for every system.
        excerpts: the same with excerpts where not everything fits whole.
    """

    embedder: CachedEmbedder
    counter: O200kCounter
    builder: ContextBuilder
    excerpts: ContextBuilder

    def opener(
        self, *, lexical: bool = False, index: Literal["auto", "exact"] = "auto", ranking: RankingOptions | None = None
    ) -> Opener:
        """Opens memories that share this embedder and counter."""

        def open_memory(path: Path, clock: Clock, new_id: IdFactory) -> PrismMemory:
            embedder = None if lexical else self.embedder
            return PrismMemory.open(
                path,
                embedder=embedder,
                index=index,
                counter=self.counter,
                clock=clock,
                new_id=new_id,
                ranking=ranking,
            )

        return open_memory


_REMEMBERED = 1 << 16
"""Texts whose vectors and token counts are kept; more than any of the files holds."""

Factory = Callable[[Workbench, datetime], System]
"""Makes an empty system whose clock starts at an instant."""
Show = Callable[[Ranking], Ranking]
"""Shows an answer in another way or order."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A system that can be asked.

    Attributes:
        make: makes it, empty; entries that share it are filled and asked once.
        show: how its answer is shown; as it is when None.
    """

    make: Factory
    show: Show | None = None

    def shown(self, ranking: Ranking) -> Ranking:
        """The answer as this entry shows it, the time that takes included."""
        if self.show is None:
            return ranking
        start = time.perf_counter()
        shown = self.show(ranking)
        return replace(shown, seconds=ranking.seconds + time.perf_counter() - start)


Entries = Mapping[str, Entry]
"""Systems that can be asked, by name."""


def families(names: Sequence[str], entries: Entries) -> list[list[str]]:
    """Names whose entries share a store, in the order of their first."""
    found: dict[Factory, list[str]] = {}
    for name in names:
        found.setdefault(entries[name].make, []).append(name)
    return list(found.values())


def workbench(embedder: str = DEFAULT_EMBEDDER) -> Workbench:
    """The workbench of this process.

    Args:
        embedder: name of the embedder, one of `embed.EMBEDDERS`.

    Raises:
        QueryError: if there is none of that name.
        MissingExtraError: if its extra is not installed.
    """
    return _workbench(embedder)


def know_vectors(vectors: Mapping[str, FloatArray], embedder: str = DEFAULT_EMBEDDER) -> None:
    """Take over document vectors, by text, that an embedder computed elsewhere."""
    _known_vectors(embedder).vectors.update(vectors)


@cache
def _workbench(embedder: str) -> Workbench:
    cached = CachedEmbedder(_known_vectors(embedder), queries=_REMEMBERED, documents=_REMEMBERED)
    return Workbench(cached, _counter(), _builder("full"), _builder("auto"))


@cache
def _known_vectors(embedder: str) -> KnownVectors:
    return KnownVectors(make_embedder(embedder))


@cache
def _counter() -> O200kCounter:
    return O200kCounter()


@cache
def _builder(detail: Detail) -> ContextBuilder:
    return ContextBuilder(_counter(), cache_size=_REMEMBERED, detail=detail)


def choose(names: Sequence[str], known: Mapping[str, object]) -> list[str]:
    """The systems asked for, each once.

    Raises:
        QueryError: if one is unknown, or none is named.
    """
    for name in names:
        if name not in known:
            raise QueryError("systems", name, f"choose from {', '.join(known)}")
    if not names:
        raise QueryError("systems", names, f"name at least one of {', '.join(known)}")
    return list(dict.fromkeys(names))
