"""Long-term memory for LLM agents."""
