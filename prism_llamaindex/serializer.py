"""Contexts of workflows that were put away as JSON, and come back with an open memory."""

from __future__ import annotations

from typing import Any

from llama_index.core.workflow import JsonSerializer

from prism_core import PrismMemory
from prism_llamaindex.chat_memory import PrismChatMemory


class PrismSerializer(JsonSerializer):
    """LlamaIndex's JSON serializer, which hands an open memory to every `PrismChatMemory` it restores.

    A run restores its context itself, so there is no later moment to hand it over:
    `Context.from_dict(agent, saved, serializer=PrismSerializer(memory))`. A memory that was given by `path` keeps it.

    Args:
        memory: an open memory; never closed from here.
    """

    def __init__(self, memory: PrismMemory) -> None:
        super().__init__()
        self.memory = memory

    def deserialize_value(self, data: Any) -> Any:
        """A value, its memory open."""
        value = super().deserialize_value(data)
        if isinstance(value, PrismChatMemory) and value.path is None:
            value.memory = self.memory
        return value
