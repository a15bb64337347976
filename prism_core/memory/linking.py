"""Links that a caller makes, such as those of an imported graph, and what labels of links stand for."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from prism_core.changes import AddLink, Change, RemoveLink
from prism_core.errors import InvalidLinkError, QueryError, StaleReadError, UnknownUnitError, WriteConflictError
from prism_core.memory.arguments import checked_type
from prism_core.memory.reader import Reader
from prism_core.memory.recorder import MAX_ATTEMPTS, Recorder, back_off
from prism_core.protocols import Clock, Delta, Ledger
from prism_core.storage.ledger import SqlLedger
from prism_core.storage.state import ScopeState
from prism_core.storage.states import ScopeStates
from prism_core.text import normalize
from prism_core.types import ACYCLIC_RELATIONS, Link, Relation, Scope

_LABEL_REMEDY = "pass one that relation_labels lists"
META_PROMOTED = "promoted relations"


class LinkVerbs(ABC):
    """What `PrismMemory` does about links."""

    _ledger: SqlLedger
    _states: ScopeStates
    _reader: Reader
    _recorder: Recorder
    _clock: Clock

    @abstractmethod
    def _enter(self, operation: str, scope: object) -> Scope:
        """The scope checked, once the memory is known to be open."""

    def links(self, *, scope: object) -> list[Link]:
        """Every link between the units of a scope, those of earlier recorded sources first."""
        return self._reader.locked(self._enter("links", scope), _links_of)

    def link(self, links: Iterable[Link], *, scope: object) -> int:
        """Store links between units of a scope in one transaction, all or none.

        Args:
            links: any number; one of the same source, target and relation as a stored one takes its place.
            scope: whose memory.

        Returns:
            How many were added or changed; 0 where all are stored as they are.

        Raises:
            UnknownUnitError: if an end is no unit of the scope.
            InvalidLinkError: if it is no list, holds what is no link, or leads from a unit to itself.
            CausalCycleError: if one would run against the arrow of time.
            WriteConflictError: if other processes kept changing the scope.
            LedgerError: if the database refused.
        """
        if not isinstance(links, Iterable):
            raise InvalidLinkError(links, "is no list of links")
        given = list(links)
        return self._relink(self._enter("link", scope), lambda state: (_checked(given, state), []))

    def relation_labels(self, *, scope: object) -> Mapping[str, int]:
        """How many RELATED links of a scope carry each label, the most frequent first, labels case-folded.

        They are what a language model found where no relation fitted; one that recurs may deserve `promote_label`.
        """
        links = self.links(scope=scope)
        labels = (normalize(link.label) for link in links if link.relation is Relation.RELATED and link.label)
        return dict(Counter(labels).most_common())

    def promote_label(self, label: str, relation: Relation | str, *, scope: object) -> int:
        """Make a named relation of a label: of a scope's RELATED links that carry it, and of those a model will find.

        The links keep label, confidence and reason. What the model finds from the next opening of the store on, in any
        scope, is of the named relation at once.

        Args:
            label: as `relation_labels` has it, in whatever case.
            relation: what it stands for.
            scope: whose links.

        Returns:
            How many links of the scope changed.

        Raises:
            QueryError: if the label is empty, or the relation is unknown or RELATED itself.
            CausalCycleError: if a link would run against the arrow of time; nothing is changed.
            WriteConflictError: if other processes kept changing the scope.
        """
        checked, named = self._enter("promote_label", scope), _named(relation)
        wanted = normalize(checked_type("label", label, str, _LABEL_REMEDY))
        if not wanted:
            raise QueryError("label", label, _LABEL_REMEDY)
        count = self._relink(checked, lambda state: _promoted(wanted, named, state))
        known = {text: name.value for text, name in promoted_labels(self._ledger).items()}
        self._ledger.set_meta(META_PROMOTED, json.dumps(known | {wanted: named.value}, ensure_ascii=False))
        return count

    def _relink(self, scope: Scope, plan: Callable[[ScopeState], tuple[list[Link], list[Link]]]) -> int:
        """Add and remove the links that are planned against the latest state; how many were added or changed."""
        with self._recorder.lock(scope):
            for attempt in range(MAX_ATTEMPTS):
                state = self._reader.ready(scope)
                with state.lock:
                    state.catch_up()
                    (added, removed), based_on = plan(state), state.position
                changes: list[Change] = [AddLink(link) for link in added]
                changes += [RemoveLink(link, "its label was promoted") for link in removed]
                if not changes:
                    return 0
                try:
                    position = self._ledger.commit(scope, changes, based_on=based_on, recorded_at=self._clock())
                except StaleReadError:
                    back_off(attempt)
                    continue
                with state.lock:
                    if state.position == based_on:
                        state.apply(Delta([], added, [], position, removed))
                return max(len(added), len(removed))
        raise WriteConflictError(MAX_ATTEMPTS)


def promoted_labels(ledger: Ledger) -> Mapping[str, Relation]:
    """The relations that labels stand for in a store, by label in the form of `text.normalize`."""
    return {label: Relation(name) for label, name in json.loads(ledger.get_meta(META_PROMOTED) or "{}").items()}


def _named(relation: Relation | str) -> Relation:
    names = [each.value for each in Relation if each is not Relation.RELATED]
    if relation not in names:
        raise QueryError("relation", relation, f"choose one of {', '.join(names)}")
    return Relation(relation)


def _promoted(label: str, relation: Relation, state: ScopeState) -> tuple[list[Link], list[Link]]:
    """The links that take the place of RELATED links of a label, and those links; what is linked so already stays."""
    graph = state.graph.graph
    related = (link for link in _links_of(state) if link.relation is Relation.RELATED)
    old = [link for link in related if normalize(link.label) == label]
    new = [
        link.model_copy(update={"relation": relation})
        for link in old
        if not graph.has_edge(link.source, link.target, key=relation)
    ]
    return _checked(new, state), old


def _links_of(state: ScopeState) -> list[Link]:
    return [link for _, _, link in state.graph.graph.edges(data="link")]


def _checked(links: Iterable[object], state: ScopeState) -> list[Link]:
    """The links that are not stored as they are."""
    fresh: dict[tuple[str, str, str], Link] = {}
    beside: dict[str, list[str]] = {}
    for link in links:
        if not isinstance(link, Link):
            raise InvalidLinkError(link, "is no Link")
        for end in (link.source, link.target):
            if state.known(end) is None:
                raise UnknownUnitError(end, state.scope)
        stored = state.graph.graph.get_edge_data(link.source, link.target, key=link.relation)
        if stored is not None and stored["link"] == link:
            continue
        state.graph.check_acyclic(link, beside)
        if link.source == link.target:
            raise InvalidLinkError(link, "leads from a unit to itself")
        if link.relation in ACYCLIC_RELATIONS:
            beside.setdefault(link.source, []).append(link.target)
        fresh[link.source, link.target, link.relation] = link
    return list(fresh.values())
