"""The closed vocabularies: kinds, layers, sources, outcomes, statuses, relations and facets."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What a unit is."""

    STEP = "step"
    MESSAGE = "message"
    DOCUMENT = "document"
    FACT = "fact"
    SUMMARY = "summary"


class Layer(StrEnum):
    """Which memory layer a unit lives in."""

    WORKING = "working"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"


class Source(StrEnum):
    """Who a unit's content comes from; decides how far it is trusted."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    EXTERNAL = "external"
    DERIVED = "derived"


class Outcome(StrEnum):
    """How an action ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    UNKNOWN = "unknown"


class Status(StrEnum):
    """Whether a unit still holds."""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    DISPUTED = "disputed"
    ARCHIVED = "archived"


class Relation(StrEnum):
    """How two units are related. The stored direction is source → target, earlier or causing unit first."""

    FOLLOWS = "FOLLOWS"
    CAUSES = "CAUSES"
    REQUIRES = "REQUIRES"
    ELABORATES = "ELABORATES"
    CONTRADICTS = "CONTRADICTS"
    SUPERSEDES = "SUPERSEDES"
    SUMMARIZES = "SUMMARIZES"
    RELATED = "RELATED"
    REPEATS = "REPEATS"
    NEAR_DUPLICATE = "NEAR_DUPLICATE"


ACYCLIC_RELATIONS = frozenset({Relation.FOLLOWS, Relation.CAUSES, Relation.REQUIRES})
"""Relations that follow the arrow of time; together they never form a cycle."""


EXPLAINING_RELATIONS = frozenset(
    {
        Relation.REQUIRES,
        Relation.CAUSES,
        Relation.ELABORATES,
        Relation.CONTRADICTS,
        Relation.SUPERSEDES,
        Relation.SUMMARIZES,
    }
)
"""Relations that say why; the mere order of steps does not."""


def ancestors_of(label: str) -> list[str]:
    """Names of the intent labels above one, the nearest first: `code/refactor/rename` is under `code/refactor`."""
    parts = label.split("/")
    return ["/".join(parts[:end]) for end in range(len(parts) - 1, 0, -1)]


class Facet(StrEnum):
    """What kind of answer a question wants."""

    TEMPORAL = "temporal"
    CAUSAL = "causal"
    CURRENT_VALUE = "current-value"
    MULTI_EVIDENCE = "multi-evidence"
    PLAIN = "plain"
