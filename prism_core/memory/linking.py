"""Links that a caller makes, such as those of an imported graph."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager

from prism_core.changes import AddLink
from prism_core.errors import InvalidLinkError, StaleReadError, UnknownUnitError, WriteConflictError
from prism_core.protocols import Clock, Delta, Ledger
from prism_core.storage.state import ScopeState
from prism_core.storage.states import ScopeStates
from prism_core.types import ACYCLIC_RELATIONS, Link, Scope

MAX_ATTEMPTS = 64


def links_of(state: ScopeState) -> list[Link]:
    """Every link of a scope, those of earlier recorded sources first."""
    return [link for _, _, link in state.graph.graph.edges(data="link")]


def record_links(
    scope: Scope,
    links: Iterable[Link],
    ledger: Ledger,
    states: ScopeStates,
    writing: AbstractContextManager[object],
    clock: Clock,
) -> int:
    """Store links in one transaction, all or none.

    Args:
        scope: whose links.
        links: any number of them; one that is stored as it is changes nothing.
        ledger: where they are kept.
        states: the scopes in use.
        writing: held while this process writes the scope.
        clock: answers the present instant.

    Returns:
        How many were added or changed.

    Raises:
        UnknownUnitError: if an end is no unit of the scope.
        InvalidLinkError: if it is no link, or leads from a unit to itself.
        CausalCycleError: if one would run against the arrow of time.
        WriteConflictError: if other processes kept changing the scope.
        LedgerError: if the database refused; nothing was stored.
    """
    given = list(links)
    with writing:
        for _ in range(MAX_ATTEMPTS):
            state = states.get(scope)
            with state.lock:
                state.catch_up()
                fresh = _checked(given, state)
                based_on = state.position
            if not fresh:
                return 0
            changes = [AddLink(link) for link in fresh]
            try:
                position = ledger.commit(scope, changes, based_on=based_on, recorded_at=clock())
            except StaleReadError:
                continue
            with state.lock:
                if state.position == based_on:
                    state.apply(Delta([], fresh, [], position))
            return len(fresh)
    raise WriteConflictError(MAX_ATTEMPTS)


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
