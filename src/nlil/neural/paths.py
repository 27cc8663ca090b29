"""Paths: the part of the soft evaluation of a block of queries that does not depend on attentions, enumerated once.

Soft evaluation multiplies and adds along the same edges in every epoch; only attentions change. QueryPaths has these
edges as index lists. Rows are (source, node): a *source* is one start of one query (shared by queries that cannot
differ), and there is a row for each node that a path of at most T operators reaches.

    moves[t]   step t + 1: value of a row = sum over edges of value of the previous row * attention of the operator
    meets      statement k of query q = sum over edges k between a left row and a right row of
               left value * right value, each first projected on the attention of the argument

`queries` are those of a block, row g for target g; `graph` has the facts in the layout of `attention_graph`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..data.kb import KnowledgeBase
from ..kernel.calculus import ranges, segment_sum
from ..kernel.graph import Graph, TensorGraph
from ..kernel.hidden import hidden_classes, hides_edge
from .products import Products
from .sampling import NO_ENTITY, LabelledQueries
from .space import PADDING, Kind, Shape, Space

MOST_EDGES = 2**21
"""Edges expanded at once: bounds the memory and changes nothing else."""


NUMBER_BYTES = 4
"""Bytes of a value in soft evaluation."""
VALUES_HELD = 3
"""Copies of a value that are held: itself, what its gradient needs, and the gradient."""


@dataclass(frozen=True)
class PathLimits:
    """Limits of the edges per query. A step that would exceed the limit is not taken from that source at all.

    Attributes:
        step_edges: edges of one step.
        meet_edges: edges between the two arguments of a statement.
        raw: edges visited per edge that the vocabulary can use.
    """

    step_edges: int = 1024
    meet_edges: int = 2048
    raw: int = 4


@dataclass(frozen=True, eq=False)
class QueryPaths:
    """One block: `targets` x `queries`, the same number for each target; `real` marks those that are not padding.

    Attributes:
        real: bool (G, B).
        start: float32 (rows,): the value of slot 0.
        moves: left: row, right: target * O + operator.
        left, right: for pairs (row, predicate), a dot product over the slots; the right factor is number
            (target * K + predicate) * N + start.
        meets: segment: (target * B + query) * K + predicate; left 0 is the constant 1, then come the left pairs.
    """

    shape: Shape
    targets: int
    queries: int
    real: Tensor
    start: Tensor
    moves: tuple[Products, ...]
    left: Products
    right: Products
    meets: Products

    @property
    def size(self) -> int:
        """The number of entries of one evaluation."""
        return sum(len(m) for m in self.moves) + len(self.meets) + len(self.left) + len(self.right)

    @property
    def bytes_of_restart(self) -> int:
        """The estimated memory of one evaluation and its gradients, per restart."""
        shape = self.shape
        paths = len(self.start) * (shape.slots + shape.heads * shape.steps)
        arguments = (len(self.left) + len(self.right)) * (shape.slots + 1) * shape.instances
        formulas = self.targets * self.queries * (2 * shape.outputs + shape.predicates)
        return NUMBER_BYTES * VALUES_HELD * (paths * shape.instances + arguments + formulas)


@dataclass(frozen=True, eq=False)
class GivenStatements:
    """A block with given statements, for learning formulas over them. Fields as in `QueryPaths`.

    Attributes:
        real: bool (G, B).
        values: float32 (G, B, K): the truth of each statement for each query.
    """

    shape: Shape
    real: Tensor
    values: Tensor

    @property
    def targets(self) -> int:
        """The number of targets of the block."""
        return self.values.shape[0]

    @property
    def queries(self) -> int:
        """The number of queries per target."""
        return self.values.shape[1]

    @property
    def bytes_of_restart(self) -> int:
        """As in `QueryPaths`."""
        outputs = 2 * self.shape.outputs + self.shape.predicates
        return NUMBER_BYTES * VALUES_HELD * self.targets * self.queries * outputs


def attention_graph(kb: KnowledgeBase, device: str | torch.device = "cpu") -> TensorGraph:
    """Return the graph of `kb` with every fact as an edge, a unary fact as a self-loop, on a `device`.

    One expansion then covers all operators.
    """
    return Graph.of(kb).with_loops().to(device, wide=True)


def pieces(degree: Tensor) -> list[slice]:
    """Return slices of rows with at most `MOST_EDGES` edges (a single row may have more).

    `degree` is the number of edges of each row.
    """
    total = torch.cumsum(degree, 0)
    cuts, low = [], 0
    while low < len(degree):
        before = int(total[low - 1]) if low else 0
        high = max(low + 1, int(torch.searchsorted(total, before + MOST_EDGES, right=True)))
        cuts.append(slice(low, high))
        low = high
    return cuts


def build_paths(
    kb: KnowledgeBase,
    graph: TensorGraph,
    spaces: Sequence[Space],
    shape: Shape,
    queries: LabelledQueries,
    limits: PathLimits | None = None,
    linked: bool = False,
) -> QueryPaths:
    """Enumerate the paths of a block: row g of `queries` belongs to `spaces[g]`.

    Args:
        graph: the facts of `kb` in the layout of `attention_graph`, on the device of the paths.
        limits: beyond them there is only a part of the groundings, taken depth by depth; otherwise it is exact.
        linked: whether only statements between X and Y count (with L = 0 no others can distinguish answers).
    """
    tables = Tables.of(kb, [space.padded(shape) for space in spaces], graph.pointer.device)
    sources = find_sources(graph, tables, queries)
    return _Enumeration(graph, tables, sources, shape, limits or PathLimits(), linked).enumerated(queries)


def last_of_unary(num_graphs: int) -> Kind:
    """Return the last kind of start that a unary statement may have.

    With one graph (`num_graphs`), only X and Y distinguish queries; with many, also the content of the query's graph.
    """
    return Kind.Y if num_graphs == 1 else Kind.CONSTANT


@dataclass(frozen=True, eq=False)
class Tables:
    """The spaces of the block's targets as lookup tables over (target, code), with -1 for missing entries.

    Attributes:
        operator: int64 (G, codes): position in the vocabulary.
        unary: int64 (G, codes): position of the predicate among those of statements, for unary facts.
        forward: the same for edges from the left argument to the right one.
        backward: the same for edges from the right argument to the left one.
        hidden: bool (G, codes): codes of the query's own fact.
        can_hide: bool (G,): whether a code of the own fact is in the vocabulary.
        kind, id, walks: (G, N), columns of the starts.
    """

    operator: Tensor
    unary: Tensor
    forward: Tensor
    backward: Tensor
    hidden: Tensor
    can_hide: Tensor
    kind: Tensor
    id: Tensor
    walks: Tensor

    @classmethod
    def of(cls, kb: KnowledgeBase, spaces: Sequence[Space], device: torch.device) -> Tables:
        """Fill the tables for padded `spaces`, on the `device`."""
        shape = (len(spaces), kb.num_codes)
        operator, statement = np.full((2, *shape), PADDING, np.int64)
        hidden, can_hide = np.zeros(shape, bool), np.zeros(len(spaces), bool)
        starts = np.full((3, len(spaces), len(spaces[0].starts)), PADDING, np.int64)
        for g, space in enumerate(spaces):
            for table, codes in ((operator, space.operators), (statement, 2 * space.predicates)):
                real = np.flatnonzero(codes >= 0)
                table[g, codes[real]] = real
            sets = {start.id for start in space.starts if start is not None and start.kind == Kind.UNARY}
            own = hidden_classes(kb, [space.target])
            can_hide[g] = not own.isdisjoint([*(space.operators // 2), *space.predicates, *sets])
            hidden[g].reshape(-1, 2)[list(own)] = True
            for n, start in enumerate(space.starts):
                starts[:, g, n] = (PADDING, PADDING, 0) if start is None else (start.kind, start.id, start.walks)
        statement[:, 1::2] = statement[:, ::2]
        is_unary = np.repeat([p.arity == 1 for p in kb.predicates], 2)
        is_inverse = np.arange(kb.num_codes) % 2 == 1
        roles = (is_unary & ~is_inverse, ~is_unary & ~is_inverse, ~is_unary & is_inverse)
        arrays = (
            operator,
            *(np.where(role, statement, PADDING) for role in roles),
            hidden,
            can_hide,
            starts[0],
            starts[1],
            starts[2] > 0,
        )
        return cls(*(torch.from_numpy(np.ascontiguousarray(array)).to(device) for array in arrays))


@dataclass(frozen=True, eq=False)
class Sources:
    """The distinct combinations of (target, start, anchor, hidden fact).

    Attributes:
        target, start: positions of these.
        anchor: the entity; for a UNARY start, the graph.
        hidden: (sources, 2): the ends of the hidden fact, or NO_ENTITY.
        of_query: (G * B, N): the source of each start of each query, or -1.
        hidden_of_query: (G * B, 2).
    """

    target: Tensor
    start: Tensor
    anchor: Tensor
    hidden: Tensor
    of_query: Tensor
    hidden_of_query: Tensor

    def __len__(self) -> int:
        return len(self.target)


def find_sources(graph: TensorGraph, tables: Tables, queries: LabelledQueries) -> Sources:
    """Return the sources of the block; `tables` has the spaces of its targets."""
    device = graph.pointer.device
    x, y, hide = (torch.from_numpy(a).to(device) for a in (queries.x, queries.y, queries.hide))
    hide = hide & tables.can_hide[:, None]
    ends = torch.stack([x, torch.where(y == NO_ENTITY, x, y)], -1)  # a unary fact ends where it begins
    hidden = torch.where(hide[..., None], ends, NO_ENTITY)
    number = graph.graph_of[x.clamp(min=0)] if len(graph.graph_of) else torch.zeros_like(x)
    kind, id = tables.kind[:, None, :], tables.id[:, None, :]
    anchor = torch.zeros(*x.shape, kind.shape[-1], dtype=torch.int64, device=device)
    places = {Kind.X: x[..., None], Kind.Y: y[..., None], Kind.UNARY: number[..., None], Kind.CONSTANT: id}
    for k, place in places.items():
        anchor = torch.where(kind == k, place, anchor)
    exists = (x[..., None] != NO_ENTITY) & (kind != PADDING)

    width = graph.num_entities + 1
    pairs, pair = torch.unique((hidden[..., 0] + 1) * width + hidden[..., 1] + 1, return_inverse=True)
    # For a start without paths, only members of its own set can be hidden; for other starts, constants and "everything"
    # nothing can. Queries for which nothing is hidden share one source per target.
    own = (kind == Kind.UNARY) & tables.hidden.gather(1, 2 * tables.id.where(tables.kind == Kind.UNARY, 0))[:, None, :]
    pair = torch.where(tables.walks[:, None, :] | own, pair[..., None], 0)
    count, starts = tables.kind.shape
    size = max(graph.num_entities, graph.num_graphs) + 1
    start = torch.arange(count * starts, device=device).view(count, 1, starts)
    key = (start * size + anchor) * len(pairs) + pair
    unique, inverse = torch.unique(key[exists], return_inverse=True)
    of_query = torch.full_like(key, PADDING)
    of_query[exists] = inverse
    begin, found = unique // len(pairs), pairs[unique % len(pairs)]
    return Sources(
        begin // size // starts,
        begin // size % starts,
        begin % size,
        torch.stack([found // width - 1, found % width - 1], -1),
        of_query.view(-1, starts),
        hidden.view(-1, 2),
    )


class PathEdges(NamedTuple):
    """Steps from row `first` to row `second`, initially as keys: the `operator`, and the `weight` of soft facts."""

    first: Tensor
    second: Tensor
    operator: Tensor
    weight: Tensor | None


class Entries(NamedTuple):
    """statement[query, predicate] += weight * left row * right row; left = -1: the statement is unary."""

    query: Tensor
    predicate: Tensor
    left: Tensor
    right: Tensor
    weight: Tensor


class _Enumeration:
    """Enumerates the rows of the sources, the edges between them, and where two sources meet.

    Rows are sorted by key = source * (entities + 1) + node; the start "everything" is the node after the last entity.
    """

    def __init__(
        self, graph: TensorGraph, tables: Tables, sources: Sources, shape: Shape, limits: PathLimits, linked: bool
    ) -> None:
        self.graph, self.tables, self.sources, self.limits = graph, tables, sources, limits
        self.shape, self.linked, self.width = shape, linked, graph.num_entities + 1
        self.none = torch.zeros(0, dtype=torch.int64, device=graph.pointer.device)
        self.key, self.start = self._start_rows()
        self.depth = torch.zeros_like(self.key)  # the fewest steps to a row
        self.edges = self._reach()
        self.row_degree = self._degree(self.key % self.width)
        first = torch.arange(len(sources), device=graph.pointer.device) * self.width
        self.low, self.high = (torch.searchsorted(self.key, ends) for ends in (first, first + self.width))
        self.cost = self._cost()
        # The depth up to which the edges of a source's rows stay within the limit; -1 if not even the start's do.
        self.affordable = (self.cost <= limits.raw * limits.meet_edges).sum(1) - 1
        count = len(tables.kind)
        self.target = torch.arange(count, device=graph.pointer.device).repeat_interleave(len(sources.of_query) // count)

    # rows -----------------------------------------------------------------------------------------

    def _start_rows(self) -> tuple[Tensor, Tensor]:
        """Return (key, value) of the starts."""
        graph, tables, sources = self.graph, self.tables, self.sources
        kind, id = (table[sources.target, sources.start] for table in (tables.kind, tables.id))
        is_set = kind == Kind.UNARY
        single, some = (~is_set).nonzero().squeeze(1), is_set.nonzero().squeeze(1)
        node = torch.where(kind[single] == Kind.ANY, graph.num_entities, sources.anchor[single])
        row, position = graph.members_in(id[some], sources.anchor[some])
        member, owner = graph.member[position], some[row]
        seen = ~self._is_hidden(sources.target[owner], 2 * id[owner], member, member, sources.hidden[owner])
        weight = graph.member_weight
        value = weight[position] if len(weight) else torch.ones(len(member), device=member.device)
        key = torch.cat([single * self.width + node, (owner * self.width + member)[seen]])
        value = torch.cat([torch.ones(len(single), device=graph.pointer.device), value[seen]])
        key, order = torch.sort(key)
        return key, value[order]

    def _reach(self) -> list[PathEdges]:
        """Add all rows within T steps; return the edges between rows, by the depth of the first row."""
        frontier, found = self.key, []
        for depth in range(1, self.shape.steps + 1):
            found.append(self._expand(frontier))
            reached = torch.unique(found[-1].second)
            known, _ = self._find(reached)
            frontier = reached[~known]
            self.key, order = torch.sort(torch.cat([self.key, frontier]))
            self.depth = torch.cat([self.depth, torch.full_like(frontier, depth)])[order]
            self.start = torch.cat([self.start, self.start.new_zeros(len(frontier))])[order]
        return [
            edges._replace(**{end: torch.searchsorted(self.key, getattr(edges, end)) for end in ("first", "second")})
            for edges in found
        ]

    def _find(self, key: Tensor) -> tuple[Tensor, Tensor]:
        """Return which keys are rows, and their rows."""
        row = torch.searchsorted(self.key, key).clamp(max=max(len(self.key) - 1, 0))
        return (self.key[row] == key if len(self.key) else torch.zeros_like(key, dtype=torch.bool)), row

    def _expand(self, frontier: Tensor) -> PathEdges:
        """Return the edges from the frontier, as keys, for sources whose step stays within the limit."""
        graph, sources, limits = self.graph, self.sources, self.limits
        source, node = frontier // self.width, frontier % self.width
        degree = self._degree(node).where(self.tables.walks[sources.target[source], sources.start[source]], 0)
        looked = degree.new_zeros(len(sources)).index_add_(0, source, degree)
        keep = (degree > 0) & (looked[source] <= limits.raw * limits.step_edges)
        frontier, source, node = frontier[keep], source[keep], node[keep]
        row, position, operator = self._usable(
            self.tables.operator, node, sources.target[source], sources.hidden[source]
        )
        owner = source[row]
        fits = torch.bincount(owner, minlength=len(sources))[owner] <= limits.step_edges
        row, position, operator, owner = row[fits], position[fits], operator[fits], owner[fits]
        weight = graph.weight[position] if len(graph.weight) else None
        return PathEdges(frontier[row], owner * self.width + graph.neighbour[position], operator, weight)

    def _degree(self, node: Tensor) -> Tensor:
        """Return the number of edges of each node; 0 for "everything"."""
        entities = self.graph.num_entities
        degree = self.graph.degree(node.clamp(max=max(entities - 1, 0)))
        return degree.where(node < entities, 0)

    def _usable(self, table: Tensor, node: Tensor, target: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return (row, position, choice) of the visible edges of each node for which the table has a choice."""
        graph, found = self.graph, [(self.none, self.none, self.none)]
        for piece in pieces(graph.degree(node)):
            row, position = graph.edges_of(node[piece])
            row = row + piece.start
            choice = table[target[row], graph.code[position]]
            known = choice >= 0
            row, position, choice = row[known], position[known], choice[known]
            own = self._is_hidden(target[row], graph.code[position], node[row], graph.neighbour[position], hidden[row])
            found.append((row[~own], position[~own], choice[~own]))
        row, position, choice = (torch.cat(column) for column in zip(*found))
        return row, position, choice

    def _is_hidden(self, target: Tensor, code: Tensor, node: Tensor, neighbour: Tensor, hidden: Tensor) -> Tensor:
        """Return whether an edge is the query's own fact, in either direction."""
        return self.tables.hidden[target, code] & hides_edge(code & ~1, *hidden.T, code, node, neighbour)

    # where rows meet --------------------------------------------------------------------------------

    def _meets(self) -> Entries:
        """Return the edges of statement predicates between a left and a right row of the same query."""
        tables, of_query, starts = self.tables, self.sources.of_query, self.shape.starts
        parts = [Entries(self.none, self.none, self.none, self.none, self.none.float())]
        for left, right in product(range(starts), repeat=2):
            parts += self._pair(left, right)
        for right in range(0 if self.linked else starts):
            about = tables.kind[self.target, right] <= last_of_unary(self.graph.num_graphs)
            query = (about & (of_query[:, right] != PADDING)).nonzero().squeeze(1)
            which, row, predicate, _, weight = self._statement_edges(tables.unary, query, right)
            parts.append(Entries(query[which], predicate, torch.full_like(row, PADDING), row, weight))
        return self._within(Entries(*map(torch.cat, zip(*parts))))

    def _cost(self) -> Tensor:
        """Return (sources, depths): the number of edges of the rows of each source up to each depth."""
        deepest = int(self.depth.max()) + 1 if len(self.depth) else 1
        cost = self.depth.new_zeros(len(self.sources), deepest)
        cost.view(-1).index_add_(0, self.key // self.width * deepest + self.depth, self.row_degree)
        return cost.cumsum(1)

    def _pair(self, left: int, right: int) -> list[Entries]:
        """Return the entries of P_k(left, right), walked from the cheaper side.

        Only queries for which it depends on the head count: one start must be X or Y (both if linked).
        """
        one, two = (self.tables.kind[self.target, start] for start in (left, right))
        from_left, from_right = (self.sources.of_query[:, start] for start in (left, right))
        wanted = (one <= Kind.Y) & (two <= Kind.Y) & (one != two) if self.linked else (one <= Kind.Y) | (two <= Kind.Y)
        wanted = wanted & (from_left != PADDING) & (from_right != PADDING)
        if not bool(wanted.any()):
            return []
        named = wanted & (one != Kind.ANY) & (two != Kind.ANY)
        cheaper = self.cost[from_left, -1] <= self.cost[from_right, -1]
        cases = (
            (self._bare, wanted & (two == Kind.ANY), True),
            (self._bare, wanted & (one == Kind.ANY), False),
            (self._linked, named & cheaper, True),
            (self._linked, named & ~cheaper, False),
        )
        found = []
        for entries, chosen, forward in cases:
            query = chosen.nonzero().squeeze(1)
            if len(query):
                found.append(entries(query, *((left, right) if forward else (right, left)), forward))
        return found

    def _statement_edges(
        self, table: Tensor, query: Tensor, start: int
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Return (position in query, row, predicate, neighbour, weight) of the edges of each query's start."""
        source = self.sources.of_query[query, start]
        which, row = ranges(self.low[source], self.high[source])
        fits = (self.depth[row] <= self.affordable[source[which]]) & (self.row_degree[row] > 0)
        which, row = which[fits], row[fits]
        owner = query[which]
        index, position, predicate = self._usable(
            table, self.key[row] % self.width, self.target[owner], self.sources.hidden_of_query[owner]
        )
        weight = torch.ones(len(index), device=index.device)
        if len(self.graph.weight):
            weight = self.graph.weight[position]
        return which[index], row[index], predicate, self.graph.neighbour[position], weight

    def _linked(self, query: Tensor, start: int, other: int, forward: bool) -> Entries:
        """Return P_k between a row of one start and a row of the `other`, the right argument if `forward`."""
        table = self.tables.forward if forward else self.tables.backward
        which, row, predicate, neighbour, weight = self._statement_edges(table, query, start)
        found, far = self._find(self.sources.of_query[query[which], other] * self.width + neighbour)
        near, far = row[found], far[found]
        ends = (near, far) if forward else (far, near)
        return Entries(query[which[found]], predicate[found], *ends, weight[found])

    def _bare(self, query: Tensor, start: int, anything: int, forward: bool) -> Entries:
        """Return P_k between a row and anything: the sum of the weights of the row's edges."""
        table = self.tables.forward if forward else self.tables.backward
        which, row, predicate, _, weight = self._statement_edges(table, query, start)
        key = (which * len(self.key) + row) * table.shape[1] + predicate
        _, counts = torch.unique_consecutive(key, return_counts=True)
        first = torch.cumsum(counts, 0) - counts
        query, row, predicate = query[which[first]], row[first], predicate[first]
        far = self.low[self.sources.of_query[query, anything]]
        ends = (row, far) if forward else (far, row)
        return Entries(query, predicate, *ends, segment_sum(weight, counts))

    def _within(self, entries: Entries) -> Entries:
        """Return the entries of each query, depth by depth, up to the limit."""
        depth = self.depth[entries.right]
        depth = depth + torch.where(entries.left >= 0, self.depth[entries.left.clamp(min=0)], 0)
        deepest = int(depth.max()) + 1 if len(depth) else 1
        count = depth.new_zeros(len(self.target), deepest)
        count.view(-1).index_add_(0, entries.query * deepest + depth, torch.ones_like(depth))
        fits = (count.cumsum(1) <= self.limits.meet_edges)[entries.query, depth]
        return Entries(*(column[fits] for column in entries))

    # the lists of edges -----------------------------------------------------------------------------

    def enumerated(self, queries: LabelledQueries) -> QueryPaths:
        """Drop rows that lead to no statement, number the others, and sort the lists."""
        shape, entries = self.shape, self._meets()
        (count, block), k = queries.x.shape, shape.predicates
        used = self._used(entries)
        number = torch.cumsum(used, 0) - 1
        owner = self.key[used] // self.width
        target, start = self.sources.target[owner], self.sources.start[owner]
        moves = []
        for t in range(1, shape.steps + 1):  # step t starts at every row within t - 1 steps
            lists = self.edges[:t]
            first, second = torch.cat([edges.first for edges in lists]), torch.cat([edges.second for edges in lists])
            operator = torch.cat([edges.operator for edges in lists])
            weights = [edges.weight for edges in lists if edges.weight is not None]
            keep = used[second]
            weight = torch.cat(weights)[keep] if weights else None
            first, second = number[first[keep]], number[second[keep]]
            choice = target[first] * shape.operators + operator[keep]
            moves.append(Products.of(second, first, choice, weight, len(owner), len(owner), count * shape.operators))

        def project(row: Tensor, predicate: Tensor) -> tuple[Products, Tensor]:
            unique, inverse = torch.unique(row * k + predicate, return_inverse=True)
            row, predicate = unique // k, unique % k
            choice = (target[row] * k + predicate) * shape.starts + start[row]
            pair = torch.arange(len(row), device=row.device)
            return Products.of(pair, row, choice, None, len(row), len(owner), count * k * shape.starts), inverse

        binary = entries.left >= 0
        left, left_pair = project(number[entries.left[binary]], entries.predicate[binary])
        right, right_pair = project(number[entries.right], entries.predicate)
        left_index = torch.zeros_like(entries.left)
        left_index[binary] = left_pair + 1  # 0 is the constant
        weight = entries.weight if bool((entries.weight != 1).any()) else None
        segment = entries.query * k + entries.predicate
        meets = Products.of(segment, left_index, right_pair, weight, count * block * k, len(left) + 1, len(right))
        real = torch.from_numpy(queries.real).to(self.graph.pointer.device)
        return QueryPaths(shape, count, block, real, self.start[used], tuple(moves), left, right, meets)

    def _used(self, entries: Entries) -> Tensor:
        """Return which rows are part of a statement, or on a path to such a row."""
        used = torch.zeros_like(self.key, dtype=torch.bool)
        used[entries.left[entries.left >= 0]] = True
        used[entries.right] = True
        for _ in self.edges:
            for edges in self.edges:
                used[edges.first[used[edges.second]]] = True
        return used
