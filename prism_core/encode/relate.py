"""Links from earlier units to a new one: order, explicit parents, repeated actions, value flow and stated causes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from prism_core.encode.causes import stated_causes
from prism_core.encode.flow import FlowRules, ValueFlow
from prism_core.protocols import WriteView
from prism_core.text import normalize
from prism_core.types import Kind, Layer, Link, MemoryUnit, Relation


@dataclass(frozen=True, slots=True)
class RelationLinker:
    """Makes links by rules, without a model. Implements `protocols.Linker`.

    Every link leads from an earlier unit to the new one, so that links never form a cycle.

    Attributes:
        max_sources: REQUIRES links to one unit at most.
        max_values: values of one unit that are looked up at most.
        common: a value that more units of its task (else session) hold makes no link.
        common_alone: for units without task and session, a value that more units of the scope hold makes no link.
        nearest: trace a value to the latest unit that observed it, instead of the first.
        max_read: units that are read at most to find the source of one value.
        cues: whether "because", "therefore" and the like make CAUSES links.
    """

    max_sources: int = 5
    max_values: int = 40
    common: int = 12
    common_alone: int = 8
    nearest: bool = False
    max_read: int = 8
    cues: bool = True

    def links(self, unit: MemoryUnit, parent: str | None, view: WriteView) -> list[Link]:
        """All links that lead to a new unit.

        Args:
            unit: the new unit.
            parent: id of its explicit parent, if any.
            view: what was stored before it.
        """
        rules = FlowRules(
            self.max_sources, self.max_values, self.common, self.common_alone, self.nearest, self.max_read
        )
        found = [*_order(unit, view), *_parent(unit, parent), *_repetition(unit, view), *_said_before(unit, view)]
        found += ValueFlow(unit, view, rules).links()
        if self.cues:
            found += (link for link in stated_causes(unit, view) if link.source != parent)
        return [link for link in found if link.source != unit.id]


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


def _said_before(unit: MemoryUnit, view: WriteView) -> Iterator[Link]:
    """The first message that says the same; both keep their place, and one stands for both when they are read."""
    if unit.kind is not Kind.MESSAGE or unit.layer is Layer.WORKING:
        return
    before = view.find_text(unit.kind, unit.text)
    if before is not None:
        equal = normalize(view.unit(before).text) == normalize(unit.text)
        reason = "the same words" if equal else "the same words but for articles, courtesies and punctuation"
        yield Link(source=before, target=unit.id, relation=Relation.NEAR_DUPLICATE, reason=reason)


def _repetition(unit: MemoryUnit, view: WriteView) -> Iterator[Link]:
    if unit.action is None:
        return
    before = view.same_action(unit.task_id, unit.action)
    if before is not None:
        yield Link(source=before, target=unit.id, relation=Relation.REPEATS, reason="the same action and arguments")
