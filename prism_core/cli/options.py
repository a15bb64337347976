"""Options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

DEFAULT_STORE = ".prism/store"
DEFAULT_SCOPE = ("local",)
"""The command line's own default, shown in its help; the library has none."""


class Index(StrEnum):
    """Which vector index to use."""

    AUTO = "auto"
    CHROMA = "chroma"
    EXACT = "exact"


class Embedder(StrEnum):
    """What makes the vectors; the names of `embed.EMBEDDERS`."""

    MINILM = "minilm"
    MULTILINGUAL = "multilingual"


class Tasks(StrEnum):
    """Which runs ask, by the number of their task."""

    ALL = "all"
    EVEN = "even"
    ODD = "odd"


Store = Annotated[str, typer.Option("--store", metavar="PATH", envvar="PRISM_STORE", help="Directory of the store.")]
ScopeSegments = Annotated[
    list[str] | None,
    typer.Option(
        "--scope", metavar="NAME", help="Whose memory; repeat it for segments.", show_default=DEFAULT_SCOPE[0]
    ),
]
IndexOption = Annotated[
    Index, typer.Option("--index", help="Vector index: auto takes Chroma for scopes of 15,000 units and more.")
]
NoEmbedder = Annotated[bool, typer.Option("--no-embedder", help="Search by words alone; embed nothing.")]
EmbedderOption = Annotated[
    Embedder,
    typer.Option(
        "--embedder",
        envvar="PRISM_EMBEDDER",
        help="What makes the vectors; multilingual needs the extra of this name. A store keeps to one.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonFile = Annotated[Path | None, typer.Option("--json", metavar="OUT", help="Write the figures to this file too.")]
RawFile = Annotated[
    Path | None, typer.Option("--raw", metavar="OUT", help="Write every question to this file, as JSON lines.")
]
Systems = Annotated[
    str | None, typer.Option("--systems", metavar="NAMES", help="Separated by commas.", show_default="all")
]
Jobs = Annotated[int, typer.Option("--jobs", metavar="N", min=1, help="Processes.")]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command works.

    Attributes:
        store: directory or URL of the store.
        scope: whose memory.
        index: which vector index to use.
        embedder: what makes the vectors; None where none are made or searched.
    """

    store: str
    scope: tuple[str, ...] = DEFAULT_SCOPE
    index: Index = Index.AUTO
    embedder: Embedder | None = None

    @classmethod
    def of(
        cls, store: str, scope: list[str] | None, index: Index = Index.AUTO, embedder: Embedder | None = None
    ) -> Place:
        """The place that options name."""
        return cls(store, tuple(scope) if scope else DEFAULT_SCOPE, index, embedder)
