"""The temporal-causal graph of one scope: NetworkX, unit ids as nodes, typed links as edges.

Tags and entities are not nodes: paths through such hubs would connect everything with everything. Searches are bounded
and walk NetworkX's own adjacency; nothing copies the graph.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import chain

import networkx as nx

from prism_core.errors import CausalCycleError
from prism_core.types import ACYCLIC_RELATIONS, Link, Relation

BYTES_PER_NODE = 900
BYTES_PER_EDGE = 700


@dataclass(frozen=True, slots=True)
class Reached:
    """A node a walk came to, with its distance in links and the link it came through."""

    unit_id: str
    depth: int
    link: Link | None


class ScopeGraph:
    """Links between the units of one scope.

    Attributes:
        graph: unit ids as nodes, a `Link` on every edge, keyed by relation.
        links: number of edges; counting them is not cheap.
    """

    def __init__(self) -> None:
        self.graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
        self.links = 0

    @property
    def nbytes(self) -> int:
        """Estimated size in bytes."""
        return int(BYTES_PER_NODE * self.graph.number_of_nodes() + BYTES_PER_EDGE * self.links)

    def add_unit(self, unit_id: str) -> None:
        """Add a node; adding it again changes nothing."""
        self.graph.add_node(unit_id)

    def add_link(self, link: Link) -> None:
        """Add an edge, or replace the one of the same source, target and relation."""
        self.links += not self.graph.has_edge(link.source, link.target, key=link.relation)
        self.graph.add_edge(link.source, link.target, key=link.relation, link=link)

    def remove_link(self, link: Link) -> None:
        """Remove the edge of a link's source, target and relation; removing what is not there changes nothing."""
        if self.graph.has_edge(link.source, link.target, key=link.relation):
            self.graph.remove_edge(link.source, link.target, key=link.relation)
            self.links -= 1

    def check_acyclic(self, link: Link, beside: Mapping[str, Sequence[str]] | None = None) -> None:
        """Refuse a link that would run against the arrow of time.

        Args:
            link: the link.
            beside: targets by source of links of such relations that will be there too.

        Raises:
            CausalCycleError: if its relation is acyclic and its target already leads to its source.
        """
        if link.relation not in ACYCLIC_RELATIONS:
            return
        if link.source == link.target:
            raise CausalCycleError(link.relation, [link.source, link.target])
        further = beside or {}
        # A new unit leads nowhere, so the usual case ends at the first step.
        came_from: dict[str, str] = {}
        queue = deque([link.target])
        while queue:
            node = queue.popleft()
            for following in chain(self._targets(node, ACYCLIC_RELATIONS), further.get(node, ())):
                if following == link.source:
                    came_from[following] = node
                    raise CausalCycleError(link.relation, [link.source, *_trace(came_from, link.source, link.target)])
                if following not in came_from:
                    came_from[following] = node
                    queue.append(following)

    def is_acyclic(self) -> bool:
        """Whether the relations that follow the arrow of time are free of cycles."""
        edges = [(source, target) for source, target, kind in self.graph.edges(keys=True) if kind in ACYCLIC_RELATIONS]
        return bool(nx.is_directed_acyclic_graph(nx.DiGraph(edges)))

    def ancestors(self, unit_id: str, relations: Collection[Relation], *, depth: int) -> Iterator[Reached]:
        """Walk links backwards, breadth first, nearest first; the start itself is not yielded."""
        return self._walk(unit_id, relations, depth, backwards=True)

    def descendants(self, unit_id: str, relations: Collection[Relation], *, depth: int) -> Iterator[Reached]:
        """Walk links forwards, breadth first, nearest first; the start itself is not yielded."""
        return self._walk(unit_id, relations, depth, backwards=False)

    def neighbours(self, unit_id: str, relations: Collection[Relation]) -> Iterator[str]:
        """The units one link away in either direction, by one of these relations."""
        for adjacency in (self.graph._pred, self.graph._succ):
            for neighbour, edges in adjacency[unit_id].items():
                if any(relation in relations for relation in edges):
                    yield neighbour

    def distances(
        self, start: str, costs: Mapping[Relation, float], *, max_nodes: int, ends: Container[str] = frozenset()
    ) -> dict[str, float]:
        """Cheapest typed path from a node, in either direction (Dijkstra), until `max_nodes` are settled.

        Args:
            start: where to begin.
            costs: cost of a link, by relation; others are not walked.
            max_nodes: how many nodes are settled at most.
            ends: nodes that are reached and not passed through, such as what many units have in common.
        """
        settled: dict[str, float] = {}
        heap = [(0.0, start)]
        successors, predecessors = self.graph._succ, self.graph._pred
        while heap and len(settled) < max_nodes:
            cost, node = heappop(heap)
            if node in settled:
                continue
            settled[node] = cost
            if node in ends and node != start:
                continue
            for adjacency in (successors, predecessors):
                for neighbour, edges in adjacency[node].items():
                    if neighbour not in settled:
                        step = min((costs[relation] for relation in edges if relation in costs), default=None)
                        if step is not None:
                            heappush(heap, (cost + step, neighbour))
        return settled

    def _walk(self, start: str, relations: Collection[Relation], depth: int, *, backwards: bool) -> Iterator[Reached]:
        adjacency = self.graph._pred if backwards else self.graph._succ
        seen = {start}
        queue = deque([(start, 0)])
        while queue:
            node, level = queue.popleft()
            if level == depth:
                continue
            for neighbour, edges in adjacency[node].items():
                links = [data["link"] for relation, data in edges.items() if relation in relations]
                if links and neighbour not in seen:
                    seen.add(neighbour)
                    queue.append((neighbour, level + 1))
                    yield Reached(neighbour, level + 1, max(links, key=_strength))

    def _targets(self, node: str, relations: Collection[Relation]) -> Iterator[str]:
        for target, edges in self.graph._succ.get(node, {}).items():
            if any(relation in relations for relation in edges):
                yield target


def _strength(link: Link) -> tuple[bool, float]:
    # The order of steps explains least, so any other link is named first.
    return link.relation is not Relation.FOLLOWS, link.confidence


def _trace(came_from: Mapping[str, str], last: str, first: str) -> Sequence[str]:
    path = [last]
    while path[-1] != first:
        path.append(came_from[path[-1]])
    return path[::-1]
