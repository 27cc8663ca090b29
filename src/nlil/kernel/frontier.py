"""Walk: one line for a block of queries, as sparse rows.

Rows are (query, node, value). Rows of the same query and node are merged after every step, unless `distinct` still
needs to know how they got there; `trail` then holds the earlier body variables.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .bodies import ANY_NODE, X_NODE, Y_NODE, Line
from .calculus import phi, ranges, segment_sum
from .graph import TensorGraph
from .hidden import Hidden


class TooManyRows(Exception):
    """A step would exceed the memory budget; the evaluator catches this and takes fewer queries at a time.

    `rows` is the number of rows that the step would make.
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        super().__init__(rows)


@dataclass(frozen=True, eq=False)
class Queries:
    """A block of `size` queries: entity ids `x` and `y`, and the `graph` number of each (None for a single graph).

    A side that is None is open: `Walk` returns the entities found there.
    """

    x: Tensor | None
    y: Tensor | None
    graph: Tensor | None
    size: int

    def __getitem__(self, rows: Tensor | slice) -> Queries:
        x, y, graph = (None if t is None else t[rows] for t in (self.x, self.y, self.graph))
        size = len(rows) if isinstance(rows, Tensor) else len(range(*rows.indices(self.size)))
        return Queries(x, y, graph, size)

    def known(self, anchor: int, device: torch.device) -> Tensor | None:
        """Return the entity at `anchor` for each query, on `device`; None if it is unknown."""
        if anchor == X_NODE:
            return self.x
        if anchor == Y_NODE:
            return self.y
        if anchor == ANY_NODE:
            return None
        return torch.full((self.size,), anchor, dtype=torch.int64, device=device)


@dataclass(frozen=True, eq=False)
class Rows:
    """A frontier, sorted by `query`: the `value` (float64) at the entity `node`.

    `trail` holds the entities before it.
    """

    query: Tensor
    node: Tensor
    value: Tensor
    trail: tuple[Tensor, ...] = ()

    def take(self, rows: Tensor) -> Rows:
        """Return the given `rows`."""
        return Rows(self.query[rows], self.node[rows], self.value[rows], tuple(t[rows] for t in self.trail))

    def keep(self, mask: Tensor) -> Rows:
        """Return the rows where `mask` is true."""
        return self.take(mask.nonzero().squeeze(1))


@dataclass(frozen=True, eq=False)
class Walk:
    """One `line` on one `graph` for one block of `queries`.

    `hidden` is what each query may not see (None: nothing); with `distinct`, variables stand for different entities;
    more than `max_rows` rows raise TooManyRows.
    """

    graph: TensorGraph
    line: Line
    queries: Queries
    hidden: Hidden | None
    distinct: bool
    max_rows: int

    def run(self) -> Rows:
        """Return rows at the far end of the line."""
        rows = self._arrive(self._start(), 0)
        for i in range(1, len(self.line.anchors)):
            rows = self._arrive(self._move(rows, i), i)
        return rows if self.line.equal is None else self._equate(rows, self.line.equal)

    def _known(self, i: int) -> Tensor | None:
        return self.queries.known(self.line.anchors[i], self.graph.pointer.device)

    def _check(self, total: int) -> None:
        if total > self.max_rows:
            raise TooManyRows(total)

    def _start(self) -> Rows:
        """Return the known start, or every entity of each query's graph."""
        known, device = self._known(0), self.graph.pointer.device
        query = torch.arange(self.queries.size, device=device)
        if known is not None:
            return Rows(query, known, torch.ones(len(query), dtype=torch.float64, device=device))
        number = torch.zeros_like(query) if self.queries.graph is None else self.queries.graph
        low, high = self.graph.graph_pointer[number], self.graph.graph_pointer[number + 1]
        self._check(int((high - low).sum()))
        query, node = ranges(low, high)
        if len(self.graph.graph_of):
            node = self.graph.graph_entity[node].long()
        return Rows(query, node, torch.ones(len(query), dtype=torch.float64, device=device))

    def _move(self, rows: Rows, i: int) -> Rows:
        """Move from node i - 1 to node i; the query's own fact is no edge."""
        graph, code, target = self.graph, self.line.codes[i - 1], self._known(i)
        if target is None:
            low, high = graph.edges(rows.node, code)
            self._check(int((high - low).sum()))
            row, position = ranges(low, high)
            node = graph.neighbour[position].long()
        else:
            row, position = graph.find(rows.node, code, target[rows.query])
            node = target[rows.query[row]]
        value = phi(rows.value, row, weights(graph.weight, position))
        source, query = rows.node[row], rows.query[row]
        trail = tuple(t[row] for t in rows.trail)
        if self.distinct and self._known(i - 1) is None:
            trail += (source,)
        moved = Rows(query, node, value, trail)
        x, y = self.queries.x, self.queries.y
        if self.hidden is None or not self.hidden.hides_step(code) or x is None or y is None:
            return moved
        return moved.keep(~self.hidden.edge(x[query], y[query], code, source, node))

    def _arrive(self, rows: Rows, i: int) -> Rows:
        """Apply the conditions of node i: the query's graph, distinct variables, filters; then merge."""
        graph, known = self.queries.graph, self._known(i)
        if graph is not None and known is None:
            rows = rows.keep(self.graph.graph_of[rows.node] == graph[rows.query])
        if self.distinct:
            rows = self._distinct(rows, i)
        for predicate in self.line.filters[i]:
            rows = self._filter(rows, predicate)
        later = range(i + 1, len(self.line.anchors))
        if not any(self._known(k) is None for k in later):
            # Only unknown variables are compared with the trail; known ones were compared on arrival.
            rows = Rows(rows.query, rows.node, rows.value)
        return self._merge(rows) if not rows.trail and self._may_repeat(i) else rows

    def _distinct(self, rows: Rows, i: int) -> Rows:
        anchor = self.line.anchors[i]
        if anchor >= 0:
            return rows
        differs = torch.ones_like(rows.node, dtype=torch.bool)
        for variable in {X_NODE, Y_NODE}.intersection(self.line.ends) - {anchor}:
            entity = self.queries.known(variable, rows.node.device)
            if entity is not None:
                differs &= rows.node != entity[rows.query]
        if self._known(i) is None:
            for earlier in rows.trail:
                differs &= rows.node != earlier
        return rows.keep(differs)

    def _filter(self, rows: Rows, predicate: int) -> Rows:
        row, position = self.graph.find_members(rows.node, predicate)
        value = phi(rows.value, row, weights(self.graph.member_weight, position))
        kept = rows.take(row)
        kept = Rows(kept.query, kept.node, value, kept.trail)
        if self.hidden is None or predicate not in self.hidden.unary or self.queries.x is None:
            return kept
        return kept.keep(~self.hidden.member(self.queries.x[kept.query], predicate, kept.node))

    def _may_repeat(self, i: int) -> bool:
        """Return whether rows may share (query, node) where it matters; at a closed far end psi sums them."""
        if i == 0 or (i == 1 and self._known(0) is not None):
            return False
        is_open = self.line.anchors[i] in (X_NODE, Y_NODE) and self._known(i) is None
        return is_open or i < len(self.line.anchors) - 1

    def _merge(self, rows: Rows) -> Rows:
        """Merge rows with the same (query, node). Crisp rows only say that the node is reached."""
        key = rows.query * self.graph.num_entities + rows.node
        if self.graph.is_crisp:
            unique = torch.unique(key)
            value = torch.ones(len(unique), dtype=torch.float64, device=key.device)
        else:
            key, order = torch.sort(key, stable=True)
            unique, counts = torch.unique_consecutive(key, return_counts=True)
            value = segment_sum(rows.value[order], counts)
        n = max(self.graph.num_entities, 1)
        return Rows(unique // n, unique % n, value)

    def _equate(self, rows: Rows, equal: int) -> Rows:
        """X = Y, X = c: keep the rows whose node is the other end; an open end is wherever the node is."""
        if self.distinct and equal < 0:
            return rows.take(torch.zeros(0, dtype=torch.int64, device=rows.node.device))
        other = self.queries.known(equal, rows.node.device)
        return rows if other is None else rows.keep(rows.node == other[rows.query])


def weights(weight: Tensor, position: Tensor) -> Tensor | None:
    """Return `weight` at each `position`; None if all facts are crisp and `weight` is empty."""
    return weight[position].double() if len(weight) else None


def estimate(graph: TensorGraph, line: Line) -> float:
    """Estimate the number of rows of a walk along `line` for one query, by the mean fan-out of `graph`.

    The last step to a known end is a lookup.
    """
    rows = total = 1.0
    to_known = line.anchors[-1] != ANY_NODE
    for i, code in enumerate(line.codes):
        if i == 0 and line.anchors[0] >= 0:
            low, high = graph.edges(torch.tensor([line.anchors[0]], device=graph.pointer.device), code)
            rows = float(high - low)
        else:
            rows *= graph.fan_out(code)
        if i < len(line.codes) - 1 or not to_known:
            total += rows
    return total


def oriented(graph: TensorGraph, line: Line, first: int | None = None) -> Line:
    """Return `line` read from the end `first`, or by default from the cheaper known end in `graph`."""
    if not line.codes:
        if first is not None and line.equal == first:
            return Line((first,), line.filters, (), line.anchors[0])
        return line
    if first is not None:
        return line if line.anchors[0] == first else line.reversed()
    if line.anchors[-1] == ANY_NODE:
        return line
    back = line.reversed()
    return back if estimate(graph, back) < estimate(graph, line) else line
