"""`PrismMemory`: the facade, the only place defaults are chosen, and the only writer."""

from prism_core.memory.facade import PrismMemory
from prism_core.memory.pool import Passage, Ranked
from prism_core.memory.rerank import Reranker

__all__ = ["Passage", "PrismMemory", "Ranked", "Reranker"]
