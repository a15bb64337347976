"""A week of a research agent's life, and what three kinds of memory hand to the model for four questions."""

from prism_core.demo.run import run_demo

__all__ = ["run_demo"]
