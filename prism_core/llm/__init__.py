"""Language models: checked answers, one repair, a cache, a meter and hard budgets."""

from prism_core.llm.cache import FileReplyCache, MemoryReplyCache, ReplyCache
from prism_core.llm.meter import LLMBudget, LLMMeter, Usage
from prism_core.llm.structured import StructuredLLM

__all__ = ["FileReplyCache", "LLMBudget", "LLMMeter", "MemoryReplyCache", "ReplyCache", "StructuredLLM", "Usage"]
