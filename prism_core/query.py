"""From a question in words to an `IntentQuery`: by rules, by a language model, or by one where rules are unsure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field

from prism_core.errors import LLMError, QueryError
from prism_core.llm import StructuredLLM
from prism_core.progress import GoalLevel
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


MOST_INTENTS = 3


@dataclass(frozen=True, slots=True)
class PlanningOptions:
    """Who says what a question is after. Passed to `PrismMemory.open`.

    Attributes:
        llm: introspects before a search, one call per question; None to plan by rules alone.
        ask: "always", or "unsure" where neither the question's words nor the task's goals tell its intents.
    """

    llm: StructuredLLM | None = None
    ask: Literal["always", "unsure"] = "unsure"

    def __post_init__(self) -> None:
        if self.llm is not None and not isinstance(self.llm, StructuredLLM):
            raise QueryError("llm", self.llm, "wrap the model: StructuredLLM(model)")
        if self.ask not in ("always", "unsure"):
            raise QueryError("ask", self.ask, "choose 'always' or 'unsure'")


def _texts(value: Any) -> Any:
    """A list of texts; a single one, or none, is taken for a list."""
    return [value] if isinstance(value, str) else [] if value is None else value


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
        """Fill what the caller left open: intents, entities, action type and facets.

        Intents are those of the question's words; where it is asked within a task, or with active units, those of the
        task's present goal as well.
        """
        text = query.text
        action_type = query.action_type or _named_action(text, view.action_types)
        facets = query.facets if query.facets != {Facet.PLAIN} else facets_of(text)
        entities = query.target_entities or tuple(dict.fromkeys([*self.extract(text), *identifiers(text)]))
        intents, told = self._intents(query, action_type, view)
        return query.model_copy(
            update={
                "action_type": action_type,
                "facets": facets,
                "target_entities": entities,
                "target_intents": intents,
                "intents_told": told,
            }
        )

    def _intents(self, query: IntentQuery, action_type: str | None, view: ScopeView) -> tuple[tuple[str, ...], bool]:
        """Target intents, and whether they come from more than the question's words."""
        if query.target_intents:
            return query.target_intents, True
        said = self.tagger.tag(query.text, action_type=action_type)
        if said:
            return said, False
        # A question without a cue of its own, such as "go on", is about what the task is at.
        goals = [goal for goal in view.goals(query) if goal.level is not GoalLevel.STEP]
        meant = [label for goal in reversed(goals) for label in self.tagger.tag(goal.text)]
        return tuple(dict.fromkeys(meant))[:MOST_INTENTS], bool(meant)


class _Introspection(BaseModel):
    """What a language model answers about the next step."""

    target_intents: Annotated[list[str], BeforeValidator(_texts)]
    target_entities: Annotated[list[str], BeforeValidator(_texts)] = Field(default_factory=list)
    action_type: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LLMPlanner:
    """Plans by introspection: a language model says what the next step is after. Implements `protocols.Planner`.

    What it answers is checked: intents have to be labels, and an action one that the scope knows. Where it fails, rules
    plan, and `note` of `introspect` says why.

    Attributes:
        model: asks and checks.
        rules: fills what the model leaves open, and plans where it fails.
        labels: names the labels of the taxonomy, as a list for the prompt.
        find: the label of a name; None where there is none.
    """

    model: StructuredLLM
    rules: RulePlanner
    labels: Callable[[], str]
    find: Callable[[str], str | None]

    def plan(self, query: IntentQuery, view: ScopeView) -> IntentQuery:
        """Fill what the caller left open, by the model and then by rules."""
        return self.rules.plan(self.introspect(query, view)[0], view)

    def introspect(self, query: IntentQuery, view: ScopeView) -> tuple[IntentQuery, str]:
        """The query with what the model says of it, and why it says nothing; may take as long as the model does."""
        goals = "\n".join(f"{goal.level}: {goal.text}" for goal in view.goals(query)) or "-"
        try:
            answer = self.model.ask(
                "introspect", _Introspection, {"text": query.text, "goals": goals}, {"labels": self.labels()}
            )
        except LLMError as error:
            return query, str(error)
        return query.model_copy(update=self._checked(answer, query, view)), ""

    def _checked(self, answer: _Introspection, query: IntentQuery, view: ScopeView) -> dict[str, object]:
        found: dict[str, object] = {}
        intents = dict.fromkeys(name for each in answer.target_intents if (name := self.find(each)) is not None)
        if intents and not query.target_intents:
            found |= {"target_intents": tuple(intents)[:MOST_INTENTS], "intents_told": True}
        named = [each for each in answer.target_entities if each.strip() and each.casefold() in query.text.casefold()]
        if named and not query.target_entities:
            found["target_entities"] = tuple(dict.fromkeys([*named, *self.rules.extract(query.text)]))
        if query.action_type is None and answer.action_type in view.action_types:
            found["action_type"] = answer.action_type
        return found


@dataclass(frozen=True, slots=True)
class CascadePlanner:
    """Plans by rules, and asks a language model where they find no intent. Implements `protocols.Planner`.

    Attributes:
        llm: asked where rules are at a loss; its rules are asked first.
    """

    llm: LLMPlanner

    def plan(self, query: IntentQuery, view: ScopeView) -> IntentQuery:
        """Fill what the caller left open."""
        return self.llm.rules.plan(self.introspect(query, view)[0], view)

    def introspect(self, query: IntentQuery, view: ScopeView) -> tuple[IntentQuery, str]:
        """The query with what the model says of it where rules find no intent."""
        if self.llm.rules.plan(query, view).target_intents:
            return query, ""
        return self.llm.introspect(query, view)


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
