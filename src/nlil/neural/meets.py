"""Where two paths meet: the edges of statement predicates between a left and a right row of the same query."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..kernel.calculus import segment_sum
from .roads import Roads
from .sources import NOBODY, Limits, Rows, Sources, Tables, is_hidden, rows_of, source_ranges
from .space import Kind


@dataclass(frozen=True, eq=False)
class Entries:
    """statement[query, predicate] += weight * left row * right row; left = -1: the statement is unary."""

    query: Tensor
    predicate: Tensor
    left: Tensor
    right: Tensor
    weight: Tensor

    @classmethod
    def join(cls, parts: list[Entries], device: torch.device) -> Entries:
        if not parts:
            none = torch.zeros(0, dtype=torch.int64, device=device)
            return cls(none, none, none, none, torch.zeros(0, device=device))
        return cls(*(torch.cat([getattr(p, name) for p in parts]) for name in cls.__dataclass_fields__))

    def take(self, keep: Tensor) -> Entries:
        return Entries(*(getattr(self, name)[keep] for name in self.__dataclass_fields__))


def last_of_unary(num_graphs: int) -> Kind:
    """The last kind of start that a unary statement may have: with one graph only X and Y tell queries apart,
    with many also what else the query's own graph holds."""
    return Kind.Y if num_graphs == 1 else Kind.CONSTANT


class Meeting:
    """Finds the entries of one block."""

    def __init__(
        self,
        roads: Roads,
        tables: Tables,
        sources: Sources,
        rows: Rows,
        hidden: tuple[Tensor, Tensor],
        limits: Limits,
        linked: bool,
    ) -> None:
        self.roads, self.tables, self.sources, self.rows, self.limits = roads, tables, sources, rows, limits
        self.hidden_x, self.hidden_y = (h.flatten() for h in hidden)
        self.linked = linked
        self.width = roads.num_entities + 1
        self.low, self.high = source_ranges(sources, rows, self.width)
        node = rows.key % self.width
        inside = node < roads.num_entities
        self.degree = torch.where(inside, roads.degree(node.clamp(max=max(roads.num_entities - 1, 0))), 0)
        self.reach = self._affordable()

    def _affordable(self) -> Tensor:
        """For each source the depth up to which its rows' edges fit the limit, -1 when not even the start's do."""
        steps = int(self.rows.depth.max()) if len(self.rows.depth) else 0
        owner = self.rows.key // self.width
        cost = torch.zeros(len(self.sources), steps + 1, dtype=torch.int64, device=self.roads.device)
        cost.view(-1).index_add_(0, owner * (steps + 1) + self.rows.depth, self.degree)
        self.cost = cost.cumsum(1)
        return (self.cost <= self.limits.raw * self.limits.meet_edges).sum(1) - 1

    def entries(self) -> Entries:
        count, starts = self.tables.kind.shape
        of_query = self.sources.of_query.reshape(-1, starts)
        target = torch.arange(count, device=self.roads.device).repeat_interleave(self.sources.of_query.shape[1])
        parts = []
        for left in range(starts):
            for right in range(starts):
                query = self._asked(of_query, target, left, right)
                if len(query):
                    parts += self._pair(
                        query,
                        target[query],
                        of_query[query, left],
                        of_query[query, right],
                        self.tables.kind[target[query], left],
                        self.tables.kind[target[query], right],
                    )
        for right in range(0 if self.linked else starts):
            about = self.tables.kind[target, right] <= last_of_unary(self.roads.num_graphs)
            query = ((of_query[:, right] != NOBODY) & about).nonzero().squeeze(1)
            if len(query):
                parts.append(self._unary(query, target[query], of_query[query, right]))
        return self._within(Entries.join(parts, self.roads.device), len(of_query))

    def _asked(self, of_query: Tensor, target: Tensor, left: int, right: int) -> Tensor:
        """Queries for which this pair of starts is a statement about the head: one of them X or Y (both if linked)."""
        exists = (of_query[:, left] != NOBODY) & (of_query[:, right] != NOBODY)
        a, b = self.tables.kind[target, left], self.tables.kind[target, right]
        head_a, head_b = a <= Kind.Y, b <= Kind.Y
        wanted = (head_a & head_b & (a != b)) if self.linked else (head_a | head_b)
        return (exists & wanted).nonzero().squeeze(1)

    def _pair(
        self, query: Tensor, target: Tensor, left: Tensor, right: Tensor, kind_left: Tensor, kind_right: Tensor
    ) -> list[Entries]:
        parts = []
        for forward, side, other, kind in ((True, left, right, kind_right), (False, right, left, kind_left)):
            some = (kind == Kind.ANY).nonzero().squeeze(1)
            if len(some):
                parts.append(self._bare(query[some], target[some], side[some], other[some], forward))
        both = ((kind_left != Kind.ANY) & (kind_right != Kind.ANY)).nonzero().squeeze(1)
        cheaper = self.cost[left[both], -1] <= self.cost[right[both], -1]
        for forward in (True, False):
            some = both[cheaper == forward]
            if len(some):
                side, other = (left, right) if forward else (right, left)
                parts.append(self._linked(query[some], target[some], side[some], other[some], forward))
        return parts

    def _edges(
        self, query: Tensor, target: Tensor, source: Tensor, unary: bool, forward: bool = True
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """(position in query, row, predicate, neighbour, weight) of the statement edges of each query's source.

        `forward`: edges P_k(row, neighbour); otherwise P_k(neighbour, row).
        """
        roads = self.roads
        which, row = rows_of(self.low, self.high, source)
        fits = (self.rows.depth[row] <= self.reach[source[which]]) & (self.degree[row] > 0)
        which, row = which[fits], row[fits]
        parts = [
            self._statement_edges(query, target, which[piece], row[piece], unary, forward)
            for piece in roads.pieces(self.degree[row])
        ]
        if not parts:
            none = torch.zeros(0, dtype=torch.int64, device=roads.device)
            return none, none, none, none, none.float()
        columns = [torch.cat(column) for column in zip(*parts)]
        return columns[0], columns[1], columns[2], columns[3], columns[4]

    def _statement_edges(
        self, query: Tensor, target: Tensor, which: Tensor, row: Tensor, unary: bool, forward: bool
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        roads, tables = self.roads, self.tables
        node = self.rows.key[row] % self.width
        index, position = roads.edges(node)
        code = roads.code[position]
        predicate = tables.statement[target[which[index]], code]
        ok = (predicate >= 0) & (tables.is_unary[code] == unary) & (code % 2 == (0 if forward else 1))
        index, position, code, predicate = index[ok], position[ok], code[ok], predicate[ok]
        which, row, node = which[index], row[index], node[index]
        neighbour = roads.neighbour[position]
        own = is_hidden(
            tables, target[which], code, node, neighbour, self.hidden_x[query[which]], self.hidden_y[query[which]]
        )
        seen = (~own).nonzero().squeeze(1)
        weight = torch.ones(len(seen), device=roads.device) if roads.weight is None else roads.weight[position[seen]]
        return which[seen], row[seen], predicate[seen], neighbour[seen], weight

    def _linked(self, query: Tensor, target: Tensor, side: Tensor, other: Tensor, forward: bool) -> Entries:
        """P_k between a row of one source and a row of the other."""
        which, row, predicate, neighbour, weight = self._edges(query, target, side, False, forward)
        found, far = self.rows.find(other[which] * self.width + neighbour)
        row, predicate, weight = row[found], predicate[found], weight[found]
        left, right = (row, far) if forward else (far, row)
        return Entries(query[which[found]], predicate, left, right, weight)

    def _bare(self, query: Tensor, target: Tensor, side: Tensor, anything: Tensor, forward: bool) -> Entries:
        """P_k between a row and anything: the weights of the row's edges, summed."""
        which, row, predicate, _, weight = self._edges(query, target, side, False, forward)
        key = (which * len(self.rows.key) + row) * self.tables.statement.shape[1] + predicate
        unique, inverse = torch.unique_consecutive(key, return_inverse=True)
        total = segment_sum(weight, torch.bincount(inverse, minlength=len(unique)))
        first = torch.zeros(len(unique), dtype=torch.int64, device=key.device).scatter_(
            0, inverse.flip(0), torch.arange(len(key) - 1, -1, -1, device=key.device)
        )
        which, row, predicate = which[first], row[first], predicate[first]
        far = self.low[anything[which]]
        left, right = (row, far) if forward else (far, row)
        return Entries(query[which], predicate, left, right, total)

    def _unary(self, query: Tensor, target: Tensor, source: Tensor) -> Entries:
        """P_k of a row, for unary P_k."""
        which, row, predicate, _, weight = self._edges(query, target, source, True)
        return Entries(query[which], predicate, torch.full_like(row, NOBODY), row, weight)

    def _within(self, entries: Entries, num_queries: int) -> Entries:
        """Per query the shallow entries, depth by depth, as long as they fit the limit."""
        depth = self.rows.depth[entries.right]
        depth = depth + torch.where(entries.left >= 0, self.rows.depth[entries.left.clamp(min=0)], 0)
        deepest = int(depth.max()) + 1 if len(depth) else 1
        count = torch.zeros(num_queries, deepest, dtype=torch.int64, device=depth.device)
        count.view(-1).index_add_(0, entries.query * deepest + depth, torch.ones_like(depth))
        fits = count.cumsum(1) <= self.limits.meet_edges
        return entries.take(fits[entries.query, depth].nonzero().squeeze(1))
