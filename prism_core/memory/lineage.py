"""What units have to do with the facts they state: which say the same, and which say what no longer holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from prism_core.storage.state import ScopeState, chain_of
from prism_core.types import MemoryUnit, Relation, Status


class Lineage:
    """Facts and the units that state them, as one scope's links tell. Thread-safe."""

    def __init__(self, state: ScopeState) -> None:
        self._state = state

    def sources(self, fact: MemoryUnit) -> Sequence[str]:
        """Ids of the units that state a fact."""
        if fact.fact is None:
            return ()
        with self._state.lock:
            return self._ends(fact.id, forwards=False)

    def outdated(self, units: Iterable[MemoryUnit]) -> Mapping[str, str]:
        """What holds now instead of what a unit states, by unit id; empty text where nothing does any more.

        Units of which everything they state still holds are left out.
        """
        now: dict[str, str] = {}
        with self._state.lock:
            for unit in units:
                stated = self._facts(self._ends(unit.id, forwards=True))
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

    def _ends(self, unit_id: str, *, forwards: bool) -> list[str]:
        if self._state.known(unit_id) is None:
            return []
        adjacency = self._state.graph.graph._succ if forwards else self._state.graph.graph._pred
        return [other for other, links in adjacency[unit_id].items() if Relation.SUMMARIZES in links]
