"""`prism stats`, `doctor`, `rebuild` and `erase`: the state of a store."""

from __future__ import annotations

import time
from collections.abc import Sequence

import typer

from prism_core.cli.options import Place
from prism_core.cli.output import counted, listed, named, note, say
from prism_core.cli.store import open_store, warn_if_empty
from prism_core.memory import PrismMemory
from prism_core.results import ScopeStats
from prism_core.types import Scope

CHECK_FAILED = 1
"""Exit code when something is not as it should be."""


def stats(place: Place, *, everything: bool) -> None:
    """Print the counts of one scope, or of every scope on a line each."""
    with open_store(place) as memory:
        if everything:
            _show_all([memory.stats(scope) for scope in memory.scopes()])
            return
        warn_if_empty(memory, place)
        _show_one(memory.stats(place.scope))


def doctor(place: Place) -> None:
    """Print what was checked.

    Raises:
        typer.Exit: with code 1 if something is not as it should be.
    """
    with open_store(place) as memory:
        findings = memory.doctor()
    for finding in findings:
        say(f"{'ok  ' if finding.ok else 'FAIL'}  {finding.check}: {finding.detail}")
    failed = sum(not finding.ok for finding in findings)
    say(f"\n{counted(len(findings), 'check')}, {failed} failed")
    if failed:
        raise typer.Exit(CHECK_FAILED)


def rebuild(place: Place, *, everything: bool, reembed: bool) -> None:
    """Derive the projections of a scope, or of all, from the ledger again."""
    # Vectors of another embedder can only be replaced all at once.
    with open_store(place, on_embedder_change="reembed" if reembed and everything else "raise") as memory:
        for scope in _scopes(memory, place, everything):
            started = time.perf_counter()
            memory.rebuild(scope, reembed=reembed)
            seconds = time.perf_counter() - started
            found = memory.stats(scope)
            links = counted(sum(found.links.values()), "link")
            embedded = ", every vector computed again" if reembed else ""
            say(f"rebuilt {named(scope)}: {counted(found.units, 'unit')}, {links}{embedded}; {seconds:.2f} s")
            if found.pending:
                note(f"{counted(found.pending, 'unit')} wait to be embedded")


def erase(place: Place, units: Sequence[str], *, task: str | None, session: str | None, whole: bool) -> None:
    """Erase units, a task, a session or a scope, and print how much is gone.

    Raises:
        QueryError: if nothing is chosen, or a part beside the whole.
        UnknownUnitError: if the scope has none of one of the ids; nothing is erased.
    """
    with open_store(place) as memory:
        erased = memory.erase(scope=place.scope, unit_ids=units, task_id=task, session_id=session, whole_scope=whole)
    events = f" and {counted(erased.events, 'accepted event')}" if erased.events else ""
    say(f"erased {counted(erased.count, 'unit')}{events} of {named(place.scope)}")


def _scopes(memory: PrismMemory, place: Place, everything: bool) -> Sequence[Scope]:
    known = memory.scopes()
    if everything:
        return known
    if place.scope not in known:
        shown = "; ".join(named(scope) for scope in known[:5]) or "none"
        raise typer.BadParameter(f"the store has no such scope; it has {shown}", param_hint=named(place.scope))
    return [place.scope]


def _show_one(found: ScopeStats) -> None:
    say(f"scope    {named(found.scope)}")
    say(f"units    {found.units:,} ({listed(found.kinds)})")
    say(f"links    {sum(found.links.values()):,} ({listed(found.links)})")
    say(f"tokens   {found.tokens:,}")
    say(f"pending  {found.pending:,} waiting to be embedded, {found.inbox:,} in the inbox")
    say(f"log      {found.position.seq:,} changes, epoch {found.position.epoch}")


def _show_all(every: Sequence[ScopeStats]) -> None:
    say(f"{'units':>9}  {'links':>9}  {'tokens':>11}  {'pending':>7}  scope")
    for found in every:
        say(_row(_figures(found), named(found.scope)))
    say(_row([sum(column) for column in zip(*map(_figures, every), strict=True)], counted(len(every), "scope")))


def _figures(found: ScopeStats) -> list[int]:
    return [found.units, sum(found.links.values()), found.tokens, found.pending]


def _row(figures: Sequence[int], name: str) -> str:
    units, links, tokens, pending = figures or (0, 0, 0, 0)
    return f"{units:>9,}  {links:>9,}  {tokens:>11,}  {pending:>7,}  {name}"
