"""Embedders: the bundled MiniLM model, a multilingual one as an extra, and a cache around any embedder."""

from prism_core.embed.cache import CachedEmbedder
from prism_core.embed.minilm import MiniLMEmbedder
from prism_core.embed.multilingual import MultilingualEmbedder
from prism_core.embed.named import DEFAULT_EMBEDDER, EMBEDDERS, make_embedder

__all__ = [
    "DEFAULT_EMBEDDER",
    "EMBEDDERS",
    "CachedEmbedder",
    "MiniLMEmbedder",
    "MultilingualEmbedder",
    "make_embedder",
]
