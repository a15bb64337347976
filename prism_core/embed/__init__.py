"""Embedders: the bundled MiniLM model, and a cache around any embedder."""

from prism_core.embed.cache import CachedEmbedder
from prism_core.embed.minilm import MiniLMEmbedder

__all__ = ["CachedEmbedder", "MiniLMEmbedder"]
