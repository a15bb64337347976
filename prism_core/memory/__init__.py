"""`PrismMemory`: the facade, the only place defaults are chosen, and the only writer."""

from prism_core.memory.arguments import Without
from prism_core.memory.facade import PrismMemory

__all__ = ["PrismMemory", "Without"]
