"""Joins over a Store: a line solved from one fact outward, or from what is already bound.

A solution is a binding (x, y, graph), None where the line does not say, with the confidence of its best
grounding: the weakest fact of it, maximal over groundings.
"""

from __future__ import annotations

from dataclasses import dataclass

from .bodies import ANY_NODE, X_NODE, Y_NODE, IdLine
from .store import EMPTY, FactKey, Store

Binding = tuple[int | None, int | None, int | None]
Solutions = dict[Binding, float]
UNBOUND: Binding = (None, None, None)


@dataclass(frozen=True)
class Occurrence:
    """Where a fact fits on a line: filter of node `node`, or (when `is_move`) the step from `node` to the next."""

    line: IdLine
    node: int
    is_move: bool

    def ends(self, fact: FactKey) -> tuple[int, int]:
        """The entities that the fact puts on `node` and on the node after it (the same one for a filter)."""
        if not self.is_move:
            return fact[1], fact[1]
        return (fact[2], fact[1]) if self.line.codes[self.node] & 1 else (fact[1], fact[2])


def occurrences(line: IdLine) -> list[tuple[int, Occurrence]]:
    """(predicate, where) for every atom of the line."""
    filters = [(p, Occurrence(line, i, False)) for i, run in enumerate(line.filters) for p in run]
    return filters + [(code >> 1, Occurrence(line, i, True)) for i, code in enumerate(line.codes)]


@dataclass(frozen=True, eq=False)
class LineJoin:
    """Solves lines over a store."""

    store: Store
    distinct: bool

    def _keeps_paths(self, line: IdLine) -> bool:
        """Whether the nodes between the ends matter: to compare them, or because only they tell the graph."""
        return self.distinct or (self.store.graph_of is not None and min(line.anchors[0], line.anchors[-1]) >= 0)

    def from_fact(self, where: Occurrence, fact: FactKey, confidence: float, bound: Binding = UNBOUND) -> Solutions:
        """Solutions that use `fact` at `where`."""
        line, (a, b) = where.line, where.ends(fact)
        left_start, right_start = where.node, where.node + where.is_move
        here = self._arrive(line, left_start, a, bound)
        if where.is_move:
            here = min(here, self._arrive(line, right_start, b, bound))
            if here and not self._same_graph(line, left_start, a, right_start, b):
                return {}
        if not here:
            return {}
        lefts = self._walk(line, left_start, 0, a, min(here, confidence), bound)
        rights = self._walk(line, right_start, len(line.codes), b, 1.0, bound)
        solutions: Solutions = {}
        for left, one in lefts.items():
            for right, two in rights.items():
                # A filter's node heads both walks; a step's ends head one each.
                nodes = left[::-1] + (right[1:] if self._keeps_paths(line) and not where.is_move else right)
                self._add(solutions, line, nodes, min(one, two), bound)
        return solutions

    def solve(self, line: IdLine, bound: Binding) -> Solutions:
        """All solutions that agree with `bound`."""
        if self._known(line.anchors[0], bound) is None and self._known(line.anchors[-1], bound) is not None:
            line = line.reversed()
        start = self._known(line.anchors[0], bound)
        if start is None and line.equal is not None:
            start = self._known(line.equal, bound)
        solutions: Solutions = {}
        if start is None and line.predicates:
            predicate, where = min(occurrences(line), key=lambda pair: self.store.size(pair[0]))
            for fact, confidence in self.store.facts(predicate):
                for binding, found in self.from_fact(where, fact, confidence, bound).items():
                    solutions[binding] = max(found, solutions.get(binding, 0.0))
            return solutions
        for entity in self.store.entities(bound[2]) if start is None else [start]:
            here = self._arrive(line, 0, entity, bound)
            if here:
                for nodes, confidence in self._walk(line, 0, len(line.codes), entity, here, bound).items():
                    ends = nodes if self._keeps_paths(line) else (entity, *nodes)
                    self._add(solutions, line, ends, confidence, bound)
        return solutions

    def best(self, line: IdLine, bound: Binding) -> float:
        return max(self.solve(line, bound).values(), default=0.0)

    def _known(self, anchor: int, bound: Binding) -> int | None:
        if anchor == ANY_NODE:
            return None
        return anchor if anchor >= 0 else bound[0] if anchor == X_NODE else bound[1]

    def _arrive(self, line: IdLine, i: int, entity: int, bound: Binding) -> float:
        """The weakest filter of node i at `entity`; 0 if the entity may not stand there."""
        anchor = line.anchors[i]
        if anchor != ANY_NODE:
            known = self._known(anchor, bound)
            if known is not None and known != entity:
                return 0.0
        if anchor < 0 and bound[2] is not None and self.store.graph(entity) != bound[2]:
            return 0.0
        weakest = 1.0
        for predicate in line.filters[i]:
            weakest = min(weakest, self.store.members[predicate].get(entity, 0.0))
        return weakest

    def _same_graph(self, line: IdLine, i: int, a: int, j: int, b: int) -> bool:
        """Neighbouring variables lie in the query's graph, so in the same one; a constant is just an entity."""
        if self.store.graph_of is None or line.anchors[i] >= 0 or line.anchors[j] >= 0:
            return True
        return self.store.graph(a) == self.store.graph(b)

    def _walk(
        self, line: IdLine, start: int, stop: int, entity: int, confidence: float, bound: Binding
    ) -> dict[tuple[int, ...], float]:
        """From node `start` to node `stop`: paths if they matter, else last nodes, each with its best confidence."""
        states: dict[tuple[int, ...], float] = {(entity,): confidence}
        step, keeps_paths = 1 if stop > start else -1, self._keeps_paths(line)
        for i in range(start, stop, step):
            edges = self.store.edges[line.codes[i] if step == 1 else line.codes[i - 1] ^ 1]
            moved: dict[tuple[int, ...], float] = {}
            for path, reached in states.items():
                for target, edge in edges.get(path[-1], EMPTY).items():
                    found = min(reached, edge, self._arrive(line, i + step, target, bound))
                    state = (*path, target) if keeps_paths else (target,)
                    if found > moved.get(state, 0.0) and self._same_graph(line, i, path[-1], i + step, target):
                        moved[state] = found
            states = moved
        return states

    def _add(
        self, solutions: Solutions, line: IdLine, nodes: tuple[int, ...], confidence: float, bound: Binding
    ) -> None:
        """Record a grounding. `nodes` are all nodes where paths are kept, else the two ends."""
        x, y, graph = bound
        ends = [(line.anchors[0], nodes[0]), (line.anchors[-1], nodes[-1])]
        if line.equal is not None:
            ends.append((line.equal, nodes[0]))
        for anchor, entity in ends:
            if anchor == X_NODE:
                if x not in (None, entity):
                    return
                x = entity
            elif anchor == Y_NODE:
                if y not in (None, entity):
                    return
                y = entity
            elif anchor not in (ANY_NODE, entity):
                return
        if self.distinct and not self._all_different(line, nodes, x, y):
            return
        if graph is None and self.store.graph_of is not None:
            graph = self._graph(line, nodes)
        if confidence > solutions.get((x, y, graph), 0.0):
            solutions[x, y, graph] = confidence

    def _graph(self, line: IdLine, nodes: tuple[int, ...]) -> int | None:
        """The graph of the line's variables, which is the query's; None if it has constants only."""
        anchors = line.anchors if len(nodes) == len(line.anchors) else (line.anchors[0], line.anchors[-1])
        return next((self.store.graph(e) for anchor, e in zip(anchors, nodes) if anchor < 0), None)

    def _all_different(self, line: IdLine, nodes: tuple[int, ...], x: int | None, y: int | None) -> bool:
        variables: list[int | None] = [e for a, e in zip(line.anchors, nodes, strict=True) if a == ANY_NODE]
        variables += [x] * (X_NODE in line.ends) + [y] * (Y_NODE in line.ends)
        return len(set(variables)) == len(variables)
