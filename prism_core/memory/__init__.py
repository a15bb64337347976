"""`PrismMemory`: the facade, the only place defaults are chosen, and the only writer."""

from prism_core.memory.facade import PrismMemory
from prism_core.memory.facts import Belief, Confirmation
from prism_core.memory.onboarding import Onboarding
from prism_core.memory.pool import Passage, Ranked
from prism_core.memory.rerank import Reranker

__all__ = ["Belief", "Confirmation", "Onboarding", "Passage", "PrismMemory", "Ranked", "Reranker"]
