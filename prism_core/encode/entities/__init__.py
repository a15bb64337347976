"""Entities: what a text names, by type and place, in English and Chinese, without a model."""

from prism_core.encode.entities.names import MAX_ENTITIES, entities
from prism_core.encode.entities.typed import RuleExtractor, named

__all__ = ["MAX_ENTITIES", "RuleExtractor", "entities", "named"]
