"""From a question in words to an `IntentQuery`, by rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from prism_core.protocols import IntentTagger, ScopeView
from prism_core.text import identifiers
from prism_core.types import Facet, IntentQuery

_FACETS = {
    Facet.TEMPORAL: re.compile(
        r"\b(?:when|what (?:date|day|time|month|year)|which (?:day|month|year|week)|how long|how often|since when|"
        r"before|after|until|first time|last time|recently|ago)\b|什么时候|何时|哪天|多久|之前|之后|最近",
        re.IGNORECASE,
    ),
    Facet.CAUSAL: re.compile(
        r"\b(?:why|how come|reason|because|what (?:led|caused|made)|led to|due to|motivated)\b|为什么|为何|原因|怎么会",
        re.IGNORECASE,
    ),
    Facet.CURRENT_VALUE: re.compile(
        r"\b(?:current(?:ly)?|now|latest|newest|at the moment|these days|still|up to date|final(?:ly)?)\b"
        r"|现在|目前|最新|如今",
        re.IGNORECASE,
    ),
    Facet.MULTI_EVIDENCE: re.compile(
        r"\b(?:compare|comparison|difference|both|each|all|list|how many|in common|versus|vs)\b"
        r"|\b(?:which|what) (?:\w+ ){0,2}?[a-z]{3,}(?<!s)s (?:does|do|did|has|have|had|are|were|can|could)\b"
        r"|比较|区别|哪些|所有|几次|多少",
        re.IGNORECASE,
    ),
}


@dataclass(frozen=True, slots=True)
class RulePlanner:
    """Plans by cue words and names. Implements `protocols.Planner`.

    Attributes:
        tagger: labels the question with intents.
        extract: finds the entities in a text.
    """

    tagger: IntentTagger
    extract: Callable[[str], Iterable[str]]

    def plan(self, query: IntentQuery, view: ScopeView) -> IntentQuery:
        """Fill what the caller left open: intents, entities, action type and facets."""
        text = query.text
        action_type = query.action_type or _named_action(text, view.action_types)
        facets = query.facets if query.facets != {Facet.PLAIN} else facets_of(text)
        entities = query.target_entities or tuple(dict.fromkeys([*self.extract(text), *identifiers(text)]))
        return query.model_copy(
            update={
                "action_type": action_type,
                "facets": facets,
                "target_entities": entities,
                "target_intents": query.target_intents or self.tagger.tag(text, action_type=action_type),
            }
        )


def facets_of(text: str) -> frozenset[Facet]:
    """What kind of answer a question wants, by its cue words."""
    found = frozenset(facet for facet, cue in _FACETS.items() if cue.search(text))
    return found or frozenset({Facet.PLAIN})


def _named_action(text: str, action_types: Iterable[str]) -> str | None:
    """The longest known action type that stands in the text as a word of its own; plain words do not count."""
    named = [name for name in action_types if _is_code_name(name) and name in text]
    named = [name for name in named if re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", text)]
    return max(named, key=len, default=None)


def _is_code_name(name: str) -> bool:
    return not name.isalpha() or not name.islower()
