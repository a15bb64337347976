"""The data model: scopes, events, memory units, facts, links and intent queries.

A *scope* is a privacy boundary, a *task* a unit of work with a goal, a *session* one sitting. A scope holds many
sessions and tasks. Isolation is by scope only.
"""

from prism_core.types.base import MAX_DEPTH, UtcDatetime, utc
from prism_core.types.facts import Claim, Fact, FactCategory, Statement
from prism_core.types.scopes import MAX_SCOPE_SEGMENTS, MAX_SEGMENT_LENGTH, Scope, scope_key, scope_of
from prism_core.types.units import (
    Attachment,
    Entity,
    EntityType,
    Event,
    Except,
    IntentQuery,
    Link,
    MemoryUnit,
    is_distilled,
)
from prism_core.types.vocabulary import (
    ACYCLIC_RELATIONS,
    EXPLAINING_RELATIONS,
    Facet,
    Kind,
    Layer,
    Outcome,
    Relation,
    Source,
    Status,
    ancestors_of,
)

__all__ = [
    "ACYCLIC_RELATIONS",
    "EXPLAINING_RELATIONS",
    "MAX_DEPTH",
    "MAX_SCOPE_SEGMENTS",
    "MAX_SEGMENT_LENGTH",
    "Attachment",
    "Claim",
    "Entity",
    "EntityType",
    "Event",
    "Except",
    "Facet",
    "Fact",
    "FactCategory",
    "IntentQuery",
    "Kind",
    "Layer",
    "Link",
    "MemoryUnit",
    "Outcome",
    "Relation",
    "Scope",
    "Source",
    "Statement",
    "Status",
    "UtcDatetime",
    "ancestors_of",
    "is_distilled",
    "scope_key",
    "scope_of",
    "utc",
]
