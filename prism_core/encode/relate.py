"""Links from earlier units to a new one: order, explicit parents, repeated actions and value flow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from prism_core.protocols import WriteView
from prism_core.text import identifiers
from prism_core.types import Link, MemoryUnit, Relation, Source

MAX_SOURCES = 5
MAX_NAMED = 20
MAX_HOLDERS = 8
"""Without a task or a session, an identifier held by more units than this says little about where it came from."""


def links_to(unit: MemoryUnit, parent: str | None, view: WriteView) -> list[Link]:
    """All links that lead to a new unit.

    Args:
        unit: the new unit.
        parent: id of its explicit parent, if any.
        view: what was stored before it.
    """
    links = [*_order(unit, view), *_parent(unit, parent), *_repetition(unit, view), *_value_flow(unit, view)]
    return [link for link in links if link.source != unit.id]


def _order(unit: MemoryUnit, view: WriteView) -> Iterator[Link]:
    if unit.task_id is not None:
        before, chain = view.last_in_task(unit.task_id), f"task {unit.task_id}"
    elif unit.session_id is not None:
        before, chain = view.last_in_session(unit.session_id), f"session {unit.session_id}"
    else:
        return
    if before is not None:
        yield Link(source=before, target=unit.id, relation=Relation.FOLLOWS, reason=f"next in {chain}")


def _parent(unit: MemoryUnit, parent: str | None) -> Iterator[Link]:
    if parent is not None:
        yield Link(source=parent, target=unit.id, relation=Relation.CAUSES, reason="named as its parent")


def _repetition(unit: MemoryUnit, view: WriteView) -> Iterator[Link]:
    if unit.action is None:
        return
    before = view.same_action(unit.task_id, unit.action)
    if before is not None:
        yield Link(source=before, target=unit.id, relation=Relation.REPEATS, reason="the same action and arguments")


def _value_flow(unit: MemoryUnit, view: WriteView) -> Iterator[Link]:
    """The units that first brought up the identifiers this one uses."""
    if unit.source is not Source.ASSISTANT:
        return
    brought: dict[str, list[str]] = defaultdict(list)
    for value in identifiers(unit.action or unit.observation):
        source = view.source(value, unit.task_id, unit.session_id)
        in_chain = unit.task_id is not None or unit.session_id is not None
        if source is not None and (in_chain or view.spread(value) <= MAX_HOLDERS):
            brought[source].append(value)
    richest = sorted(brought, key=lambda source: -len(brought[source]))[:MAX_SOURCES]
    for source in richest:
        values = _whole(brought[source][:MAX_NAMED])
        shown = ", ".join(values[:4]) + (f" and {len(values) - 4} more" if len(values) > 4 else "")
        yield Link(
            source=source,
            target=unit.id,
            relation=Relation.REQUIRES,
            confidence=0.9 if unit.action else 0.7,
            reason=f"uses {shown}",
        )


def _whole(values: list[str]) -> list[str]:
    """Without those that are only a part of another."""
    return [value for value in values if not any(value != other and value in other for other in values)]
