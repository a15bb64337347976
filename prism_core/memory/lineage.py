"""What units have to do with the facts they state: which say the same, and which say what no longer holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from prism_core.storage.state import ScopeState, chain_of
from prism_core.types import MemoryUnit, Relation, Status

MAX_STEPS = 8
"""Near-duplicates are followed this many links back: the memory links each to the first, a person may chain them."""


class Lineage:
    """Facts and the units that state them, as one scope's links tell. Thread-safe."""

    def __init__(self, state: ScopeState) -> None:
        self._state = state

    def sources(self, fact: MemoryUnit) -> Sequence[str]:
        """Ids of the units that state a fact."""
        if fact.fact is None:
            return ()
        with self._state.lock:
            return self._before(fact.id, Relation.SUMMARIZES)

    def originals(self, unit_id: str) -> Sequence[str]:
        """Ids of the units that a unit is a near-duplicate of, itself the first."""
        with self._state.lock:
            return [unit_id, *self._before(unit_id, Relation.NEAR_DUPLICATE, MAX_STEPS)]

    def outdated(self, units: Iterable[MemoryUnit]) -> Mapping[str, str]:
        """What holds now instead of what a unit states, by unit id; empty text where nothing does any more.

        Units of which everything they state still holds are left out.
        """
        now: dict[str, str] = {}
        with self._state.lock:
            for unit in units:
                stated = self._facts(self._after(unit.id, Relation.SUMMARIZES))
                stale = [fact for fact in stated if fact.status is Status.SUPERSEDED]
                if stale:
                    holding = {each.text: None for fact in stale for each in self._instead(fact)}
                    now[unit.id] = "; ".join(holding)
        return now

    def chains(self, unit_ids: Sequence[str]) -> frozenset[str]:
        """The tasks, or else sessions, of units; unknown ids have none."""
        if not unit_ids:
            return frozenset()
        with self._state.lock:
            units = self._state.units(self._state.rows(unit_ids))
        return frozenset(chain_of(unit.task_id, unit.session_id) for unit in units)

    def _instead(self, fact: MemoryUnit) -> list[MemoryUnit]:
        assert fact.fact is not None
        others = self._state.facts_about(fact.fact.entity, fact.fact.attribute)
        return [each for each in others if each.status is Status.CURRENT]

    def _facts(self, unit_ids: Sequence[str]) -> list[MemoryUnit]:
        return [unit for unit in self._state.units(self._state.rows(unit_ids)) if unit.fact is not None]

    def _before(self, unit_id: str, relation: Relation, depth: int = 1) -> list[str]:
        if self._state.known(unit_id) is None:
            return []
        return [each.unit_id for each in self._state.graph.ancestors(unit_id, {relation}, depth=depth)]

    def _after(self, unit_id: str, relation: Relation) -> list[str]:
        if self._state.known(unit_id) is None:
            return []
        return [each.unit_id for each in self._state.graph.descendants(unit_id, {relation}, depth=1)]
