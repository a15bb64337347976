"""What `doctor` looks at beyond the ledger's own check: whether the projections say what the ledger says."""

from __future__ import annotations

from prism_core.protocols import Ledger
from prism_core.results import Finding
from prism_core.storage.states import ScopeStates
from prism_core.types import Scope


def check(ledger: Ledger, states: ScopeStates) -> list[Finding]:
    """Compare every scope's projections with its rows in the ledger."""
    return [finding for scope in ledger.scopes() for finding in _check_scope(scope, ledger, states)]


def _check_scope(scope: Scope, ledger: Ledger, states: ScopeStates) -> list[Finding]:
    name = "/".join(scope)
    stats = ledger.stats(scope)
    state = states.get(scope)
    with state.lock:
        state.catch_up()
        rows, edges, pending = len(state), state.graph.links, len(state.vectors.pending)
        acyclic = state.graph.is_acyclic()
        held = state.vectors.indexed + state.vectors.tailing
    links = sum(stats.links.values())
    return [
        Finding(f"{name}: index", rows == stats.units, f"{rows} of {stats.units} units indexed"),
        Finding(f"{name}: graph", edges == links, f"{edges} of {links} links in the graph"),
        Finding(
            f"{name}: arrow of time", acyclic, "FOLLOWS, CAUSES and REQUIRES are acyclic" if acyclic else "a cycle"
        ),
        Finding(f"{name}: vectors", pending == stats.pending, f"{pending} of {stats.units} units wait to be embedded"),
        Finding(
            f"{name}: vector index",
            held >= rows - pending,
            f"{held} vectors for {rows - pending} embedded units; rebuild it where some are missing",
        ),
        Finding(f"{name}: inbox", stats.inbox == 0, f"{stats.inbox} accepted events wait to be processed"),
    ]
