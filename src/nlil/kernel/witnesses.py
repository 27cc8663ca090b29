"""The witnesses of one statement for one query: the entities on its line. Lazy, by ids.

A walk from the start goes only through nodes from which the far end can still be reached, so the first witnesses are
cheap however many there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..data.arrays import Ids, ranges
from ..data.kb import KnowledgeBase
from .bodies import ANY_NODE, X_NODE, Y_NODE, Line
from .graph import Graph
from .hidden import Hidden


@dataclass(frozen=True)
class Witness:
    """The entity ids along the line (`nodes`), and the product of the weights of the facts between them (`weight`)."""

    nodes: tuple[int, ...]
    weight: float


@dataclass(frozen=True, eq=False)
class LineQuery:
    """One `line` of one query on `kb`, with the entity ids `x` and `y` (None for a unary head).

    With `distinct`, variables stand for different entities; `hidden` is what the query may not see (None: nothing).
    """

    kb: KnowledgeBase
    line: Line
    distinct: bool
    x: int
    y: int | None
    hidden: Hidden | None = None

    @cached_property
    def graph(self) -> Graph:
        """The facts as arrays."""
        return Graph.of(self.kb)

    def known(self, anchor: int) -> int | None:
        """Return the entity at an `anchor` of the line; None if it may be any."""
        if anchor == X_NODE:
            return self.x
        if anchor == Y_NODE:
            return self.y
        return None if anchor == ANY_NODE else anchor

    # the facts that this query sees ---------------------------------------------------------------

    def membership(self, node: int, predicate: int) -> float:
        """Return the weight of predicate(node); 0 if it is not a fact or is hidden."""
        if self.hidden is not None and self.hidden.member(self.x, predicate, node):
            return 0.0
        graph = self.graph
        members = graph.members(predicate)
        position = int(np.searchsorted(members, node))
        if position == len(members) or members[position] != node:
            return 0.0
        first = graph.member_pointer[predicate]
        return float(graph.member_weight[first + position]) if len(graph.member_weight) else 1.0

    def filter_weight(self, node: int, i: int) -> float:
        """Return the product of the weights of the filters of node `i` for the entity `node`."""
        weight = 1.0
        for predicate in self.line.filters[i]:
            weight *= self.membership(node, predicate)
        return weight

    def moves(self, node: int, i: int) -> Iterator[tuple[int, float]]:
        """Yield (next entity, weight) from `node` along step `i`, by id.

        Skips entities from which the end cannot be reached.
        """
        code, graph = self.line.codes[i], self.graph
        low, high = graph.edges(node, code)
        neighbours, allowed = graph.neighbour[low:high], self.hopeful[i + 1]
        if allowed is None:
            positions = np.arange(high - low)
        elif not len(allowed):
            return
        else:  # a search in what is sorted: `isin` would sort both again
            places = np.minimum(np.searchsorted(allowed, neighbours), len(allowed) - 1)
            positions = np.flatnonzero(allowed[places] == neighbours)
        for position in positions.tolist():
            target = int(neighbours[position])
            if not self._is_own_fact(code, node, target):
                yield target, float(graph.weight[low + position]) if len(graph.weight) else 1.0

    def _is_own_fact(self, code: int, source: int, target: int) -> bool:
        return self.hidden is not None and bool(self.hidden.edge(self.x, self.y, code, source, target))

    # which nodes to try ---------------------------------------------------------------------------

    @cached_property
    def block(self) -> Ids:
        """The entities of the query's graph."""
        if self.kb.graph_of is None:
            return np.arange(self.kb.num_entities, dtype=np.int32)
        return np.flatnonzero(self.kb.graph_of == self.kb.graph_of[self.x]).astype(np.int32)

    @cached_property
    def hopeful(self) -> list[Ids | None]:
        """For each node the entities from which the rest of the line can be walked, ascending; None: not restricted."""
        result: list[Ids | None] = [None] * len(self.line.anchors)
        after: Ids | None = None
        for i in reversed(range(len(self.line.anchors))):
            here = None if after is None else self._sources(after, self.line.codes[i])
            known = self.known(self.line.anchors[i])
            own = None if known is None else np.asarray([known], np.int32)
            for predicate in self.line.filters[i]:
                members = self.graph.members(predicate)
                own = members if own is None else np.intersect1d(own, members, assume_unique=True)
            here = own if here is None else here if own is None else np.intersect1d(here, own, assume_unique=True)
            result[i] = after = here
        return result

    def _sources(self, targets: Ids, code: int) -> Ids:
        """Return the entities with a step `code` into `targets`."""
        low, high = self.graph.edges(targets, code ^ 1)
        return np.unique(self.graph.neighbour[ranges(low, high - low)])

    def starts(self) -> list[int]:
        """Return the entities at which the line may begin, ascending."""
        known, hopeful = self.known(self.line.anchors[0]), self.hopeful[0]
        if known is not None:
            return [known]
        if hopeful is not None and self.kb.graph_of is None:
            return hopeful.tolist()
        return (self.block if hopeful is None else np.intersect1d(self.block, hopeful, assume_unique=True)).tolist()

    def allows(self, nodes: tuple[int, ...], node: int) -> bool:
        """Return whether `node` may follow `nodes`: it is in the query's graph, and variables are distinct."""
        i, graphs = len(nodes), self.kb.graph_of
        anchor = self.line.anchors[i]
        known = self.known(anchor)
        if known is not None and node != known:
            return False
        if anchor == ANY_NODE and graphs is not None and graphs[node] != graphs[self.x]:
            return False
        if not self.distinct or anchor >= 0:
            return True
        others = {a for a in self.line.ends if a in (X_NODE, Y_NODE) and a != anchor}
        if any(node == self.known(a) for a in others):
            return False
        return all(node != nodes[j] for j in range(i) if self.line.anchors[j] == ANY_NODE)

    # answers --------------------------------------------------------------------------------------

    def equation_holds(self, node: int) -> bool:
        """Return whether `node` satisfies the equation of the line; true without one."""
        equal = self.line.equal
        return equal is None or (node == self.known(equal) and not (self.distinct and equal < 0))

    def witnesses(self) -> Iterator[Witness]:
        """Yield every grounding of the line with a weight above 0, by ids."""
        for node in self.starts():
            if self.equation_holds(node):
                yield from self._extend((), node, 1.0)

    def _extend(self, nodes: tuple[int, ...], node: int, weight: float) -> Iterator[Witness]:
        i = len(nodes)
        if not self.allows(nodes, node):
            return
        weight *= self.filter_weight(node, i)
        if weight == 0.0:
            return
        if i == len(self.line.codes):
            yield Witness((*nodes, node), weight)
            return
        for target, edge_weight in self.moves(node, i):
            yield from self._extend((*nodes, node), target, weight * edge_weight)

    def totals(self) -> tuple[int, float]:
        """Return (number of witnesses, sum of their weights); counted by node if paths do not matter."""
        if self.distinct or not self.line.codes:
            weights = [w.weight for w in self.witnesses()]
            return len(weights), sum(weights)
        here: dict[int, tuple[int, float]] = {}
        for node in self.starts():
            self._add(here, (), node, 1, 1.0)
        for i in range(len(self.line.codes)):
            there: dict[int, tuple[int, float]] = {}
            for node, (count, weight) in here.items():
                for target, edge_weight in self.moves(node, i):
                    if edge_weight > 0.0:
                        self._add(there, (0,) * (i + 1), target, count, weight * edge_weight)
            here = there
        return sum(c for c, _ in here.values()), sum(w for _, w in here.values())

    def _add(
        self, frontier: dict[int, tuple[int, float]], before: tuple[int, ...], node: int, count: int, weight: float
    ) -> None:
        passed = self.filter_weight(node, len(before)) if self.allows(before, node) else 0.0
        if passed > 0.0:
            old_count, old_weight = frontier.get(node, (0, 0.0))
            frontier[node] = (old_count + count, old_weight + weight * passed)

    def furthest(self) -> tuple[int, list[int]]:
        """Return how many steps of the line can be satisfied, and the entities where these walks end."""
        known = self.known(self.line.anchors[0])
        reached, where = 0, {known} if known is not None else set(self.block.tolist())
        stack: list[tuple[tuple[int, ...], int, int]] = [((), node, 0) for node in where]
        seen: set[tuple[object, int]] = set()
        while stack:
            nodes, node, steps = stack.pop()
            key = ((nodes, node) if self.distinct else node, len(nodes))
            if key in seen or not self.allows(nodes, node):
                continue
            seen.add(key)
            for predicate in (*self.line.filters[len(nodes)], None):
                if steps > reached:
                    reached, where = steps, set()
                if steps == reached:
                    where.add(node)
                if predicate is None:
                    stack += [((*nodes, node), t, steps + 1) for t in self._any_moves(node, len(nodes))]
                elif self.membership(node, predicate) == 0.0:
                    break
                steps += 1
        return reached, sorted(where)

    def _any_moves(self, node: int, i: int) -> list[int]:
        """Return all entities along step i, whether the end can be reached from them or not."""
        if i == len(self.line.codes):
            return []
        code, graph = self.line.codes[i], self.graph
        low, high = graph.edges(node, code)
        targets = graph.neighbour[low:high]
        if len(graph.weight):
            targets = targets[graph.weight[low:high] > 0.0]
        return [t for t in targets.tolist() if not self._is_own_fact(code, node, t)]
