"""Links that a caller makes, such as those of an imported graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from prism_core.changes import AddLink
from prism_core.errors import InvalidLinkError, StaleReadError, UnknownUnitError, WriteConflictError
from prism_core.memory.reader import Reader
from prism_core.memory.recorder import MAX_ATTEMPTS, Recorder, back_off
from prism_core.protocols import Clock, Delta
from prism_core.storage.ledger import SqlLedger
from prism_core.storage.state import ScopeState
from prism_core.storage.states import ScopeStates
from prism_core.types import ACYCLIC_RELATIONS, Link, Scope


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
            InvalidLinkError: if it is no link, or leads from a unit to itself.
            CausalCycleError: if one would run against the arrow of time.
            WriteConflictError: if other processes kept changing the scope.
            LedgerError: if the database refused.
        """
        checked, given = self._enter("link", scope), list(links)
        with self._recorder.lock(checked):
            for attempt in range(MAX_ATTEMPTS):
                state = self._reader.ready(checked)
                with state.lock:
                    state.catch_up()
                    fresh, based_on = _checked(given, state), state.position
                if not fresh:
                    return 0
                changes = [AddLink(link) for link in fresh]
                try:
                    position = self._ledger.commit(checked, changes, based_on=based_on, recorded_at=self._clock())
                except StaleReadError:
                    back_off(attempt)
                    continue
                with state.lock:
                    if state.position == based_on:
                        state.apply(Delta([], fresh, [], position))
                return len(fresh)
        raise WriteConflictError(MAX_ATTEMPTS)


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
