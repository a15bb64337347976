"""The embedders that come along, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from prism_core.embed.minilm import MiniLMEmbedder
from prism_core.embed.multilingual import MultilingualEmbedder
from prism_core.errors import QueryError
from prism_core.protocols import Embedder

DEFAULT_EMBEDDER = "minilm"
EMBEDDERS: Mapping[str, Callable[[], Embedder]] = {
    DEFAULT_EMBEDDER: MiniLMEmbedder,
    "multilingual": MultilingualEmbedder,
}
"""Makes an embedder; by the name that options use."""


def make_embedder(name: str) -> Embedder:
    """The embedder of a name.

    Raises:
        QueryError: if there is none.
        MissingExtraError: if its extra is not installed.
    """
    if name not in EMBEDDERS:
        raise QueryError("embedder", name, f"choose from {', '.join(EMBEDDERS)}")
    return EMBEDDERS[name]()
