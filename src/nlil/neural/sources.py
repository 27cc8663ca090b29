"""Sources and their rows: where the paths of a block of queries start, and every node they can reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..data.arrays import Longs, Mask
from ..data.kb import KnowledgeBase
from ..kernel.calculus import ranges
from .roads import Roads
from .space import PADDING, Kind, Shape, Space

NOBODY = -1


@dataclass(frozen=True)
class Limits:
    """Effort on one query, in edges. A step that would pass the limit is not taken from that source at all."""

    step_edges: int = 1024
    meet_edges: int = 2048
    raw: int = 4  # edges looked at for each one that the vocabulary may use


@dataclass(frozen=True, eq=False)
class Queries:
    """x, y (NOBODY for unary targets) of G targets x B queries; rows that are padding have x = NOBODY.

    `hide`: the query's own fact is to be hidden (it is a fact, or x's classes are one exclusive group).
    """

    x: Longs
    y: Longs
    label: np.ndarray  # float32
    hide: Mask

    @property
    def real(self) -> Mask:
        return self.x != NOBODY


@dataclass(frozen=True, eq=False)
class Tables:
    """The spaces of the block's targets as lookup tables over (target, code)."""

    operator: Tensor  # int64 (G, codes): position in the vocabulary, or -1
    statement: Tensor  # int64 (G, codes): position of the predicate, for both of its codes, or -1
    hidden: Tensor  # bool (G, codes): codes of the query's own fact
    kind: Tensor  # int64 (G, N)
    id: Tensor  # int64 (G, N)
    walks: Tensor  # bool (G, N)
    is_unary: Tensor  # bool (codes,)

    @classmethod
    def of(cls, kb: KnowledgeBase, spaces: list[Space], device: torch.device) -> Tables:
        count, codes = len(spaces), kb.num_codes
        operator, statement = np.full((2, count, codes), PADDING, np.int64)
        hidden = np.zeros((count, codes), bool)
        for g, space in enumerate(spaces):
            real = np.flatnonzero(space.operator_mask)
            operator[g, space.operators[real]] = real
            real = np.flatnonzero(space.predicate_mask)
            statement[g, 2 * space.predicates[real]] = real
            statement[g, 2 * space.predicates[real] + 1] = real
            own = kb.classes if space.target in kb.classes else {space.target}
            for p in own:
                hidden[g, 2 * p : 2 * p + 2] = True
        starts = [
            [(int(s.kind), s.id, s.walks) if s else (PADDING, PADDING, 0) for s in space.starts] for space in spaces
        ]
        pairs = np.array(starts, np.int64)
        unary = np.repeat([p.arity == 1 for p in kb.predicates], 2)

        def tensor(array: np.ndarray) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(device)

        return cls(
            tensor(operator),
            tensor(statement),
            tensor(hidden),
            tensor(pairs[..., 0]),
            tensor(pairs[..., 1]),
            tensor(pairs[..., 2] > 0),
            tensor(unary),
        )

    def can_hide(self) -> Tensor:
        """bool (G,): whether some code of the own fact is in the vocabulary at all."""
        used = (self.operator >= 0) | (self.statement >= 0)
        start = torch.zeros(len(self.kind), dtype=torch.bool, device=self.kind.device)
        for n in range(self.kind.shape[1]):
            is_set = self.kind[:, n] == Kind.UNARY
            code = torch.where(is_set, 2 * self.id[:, n], 0)
            start |= is_set & self.hidden.gather(1, code[:, None]).squeeze(1)
        return (used & self.hidden).any(1) | start


@dataclass(frozen=True, eq=False)
class Sources:
    """Each distinct (target, start, where it begins, what is hidden); `of_query[g, b, n]` finds it, or -1."""

    target: Tensor
    start: Tensor
    anchor: Tensor  # entity; graph of a UNARY start
    hidden_x: Tensor  # NOBODY: nothing is hidden
    hidden_y: Tensor
    of_query: Tensor

    def __len__(self) -> int:
        return len(self.target)


def find_sources(roads: Roads, tables: Tables, queries: Queries) -> tuple[Sources, Tensor, Tensor]:
    """The sources of the block, and hidden_x, hidden_y of each query (G, B)."""
    device = roads.device
    x, y = (torch.from_numpy(a).to(device) for a in (queries.x, queries.y))
    own_y = torch.where(y == NOBODY, x, y)
    hide = torch.from_numpy(queries.hide).to(device) & tables.can_hide()[:, None]
    hidden_x, hidden_y = (torch.where(hide, a, NOBODY) for a in (x, own_y))
    graph = torch.zeros_like(x) if roads.graph_of is None else roads.graph_of[x.clamp(min=0)]
    kind, id = tables.kind[:, None, :], tables.id[:, None, :]
    by_kind = [x[..., None], y[..., None], graph[..., None], id, torch.zeros_like(x)[..., None]]
    anchor = torch.zeros(*x.shape, kind.shape[-1], dtype=torch.int64, device=device)
    for k, value in enumerate(by_kind):
        anchor = torch.where(kind == k, value, anchor)
    exists = (x[..., None] != NOBODY) & (kind != PADDING)

    count, starts = tables.kind.shape
    pair = (hidden_x + 1) * (roads.num_entities + 1) + hidden_y + 1
    pairs, pair_id = torch.unique(pair, return_inverse=True)
    # What is hidden cannot matter to a start that is everything: one source serves all queries of a target.
    pair_id = torch.where(kind == Kind.ANY, 0, pair_id[..., None])
    size = max(roads.num_entities, roads.num_graphs) + 1
    g = torch.arange(count, device=device)[:, None, None]
    n = torch.arange(starts, device=device)[None, None, :]
    key = ((g * starts + n) * size + anchor) * len(pairs) + pair_id
    unique, inverse = torch.unique(key[exists], return_inverse=True)
    of_query = torch.full(key.shape, NOBODY, dtype=torch.int64, device=device)
    of_query[exists] = inverse
    hidden = pairs[unique % len(pairs)]
    rest = unique // len(pairs)
    sources = Sources(
        rest // size // starts,
        rest // size % starts,
        rest % size,
        hidden // (roads.num_entities + 1) - 1,
        hidden % (roads.num_entities + 1) - 1,
        of_query,
    )
    return sources, hidden_x, hidden_y


def is_hidden(
    tables: Tables, target: Tensor, code: Tensor, node: Tensor, neighbour: Tensor, hidden_x: Tensor, hidden_y: Tensor
) -> Tensor:
    """Whether an edge is the query's own fact, walked either way. (An unary fact has hidden_y = hidden_x.)"""
    forward = code % 2 == 0
    begin, end = torch.where(forward, hidden_x, hidden_y), torch.where(forward, hidden_y, hidden_x)
    return tables.hidden[target, code] & (node == begin) & (neighbour == end)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows by key = source * (N + 1) + node, ascending. The row of a start that is everything has node N."""

    key: Tensor
    depth: Tensor  # fewest steps that lead there
    start: Tensor  # value at length 0
    edges: tuple[tuple[Tensor, Tensor, Tensor, Tensor | None], ...]  # by depth of the first row: row, row, op, weight

    def find(self, key: Tensor) -> tuple[Tensor, Tensor]:
        """(which keys exist, their rows)."""
        if len(self.key) == 0:
            none = torch.zeros(0, dtype=torch.int64, device=key.device)
            return none, none
        row = torch.searchsorted(self.key, key).clamp(max=len(self.key) - 1)
        found = (self.key[row] == key).nonzero().squeeze(1)
        return found, row[found]


def reach_rows(roads: Roads, tables: Tables, sources: Sources, shape: Shape, limits: Limits) -> Rows:
    """All rows within T steps, and the edges between them."""
    key, value = _start_rows(roads, tables, sources)
    key, order = torch.sort(key)
    value = value[order]
    frontier, depths = key, torch.zeros_like(key)
    lists = []
    for _ in range(shape.steps):
        first, second, operator, weight = _expand(roads, tables, sources, frontier, limits)
        lists.append((first, second, operator, weight))
        reached = torch.unique(second)
        known = torch.searchsorted(key, reached).clamp(max=max(len(key) - 1, 0))
        frontier = reached[key[known] != reached] if len(key) else reached
        key, order = torch.sort(torch.cat([key, frontier]))
        depths = torch.cat([depths, torch.full_like(frontier, len(lists))])[order]
        value = torch.cat([value, torch.zeros(len(frontier), dtype=value.dtype, device=value.device)])[order]
    rows = [(torch.searchsorted(key, a), torch.searchsorted(key, b), op, w) for a, b, op, w in lists]
    return Rows(key, depths, value, tuple(rows))


def _start_rows(roads: Roads, tables: Tables, sources: Sources) -> tuple[Tensor, Tensor]:
    """(key, value) of length 0."""
    width = roads.num_entities + 1
    kind, id = tables.kind[sources.target, sources.start], tables.id[sources.target, sources.start]
    index = torch.arange(len(sources), device=roads.device)
    is_set = kind == Kind.UNARY
    single = index[~is_set]
    node = torch.where(kind[single] == Kind.ANY, roads.num_entities, sources.anchor[single])
    some = index[is_set]
    row, position = roads.members(id[some], sources.anchor[some])
    member = roads.member_key[position] % max(roads.num_entities, 1)
    owner = some[row]
    own = tables.hidden[sources.target[owner], 2 * id[owner]] & (member == sources.hidden_x[owner])
    weight = (
        torch.ones(len(member), device=roads.device) if roads.member_weight is None else (roads.member_weight[position])
    )
    key = torch.cat([single * width + node, (owner * width + member)[~own]])
    return key, torch.cat([torch.ones(len(single), device=roads.device), weight[~own]])


def _expand(
    roads: Roads, tables: Tables, sources: Sources, frontier: Tensor, limits: Limits
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Edges (key, key, operator, weight) from the frontier, of the sources whose step fits the limit."""
    width = roads.num_entities + 1
    source, node = frontier // width, frontier % width
    inside = tables.walks[sources.target[source], sources.start[source]]
    degree = torch.where(inside, roads.degree(node.clamp(max=max(roads.num_entities - 1, 0))), 0)
    raw = torch.zeros(len(sources), dtype=torch.int64, device=roads.device).index_add_(0, source, degree)
    keep = inside & (raw[source] <= limits.raw * limits.step_edges)
    frontier, source, node = frontier[keep], source[keep], node[keep]
    kept = [
        _usable(roads, tables, sources, source[piece], node[piece], piece.start)
        for piece in roads.pieces(roads.degree(node))
    ]
    if not kept:
        none = torch.zeros(0, dtype=torch.int64, device=roads.device)
        return none, none, none, None if roads.weight is None else none.float()
    row, position, operator = (torch.cat(column) for column in zip(*kept))
    owner = source[row]
    fits = (torch.bincount(owner, minlength=len(sources))[owner] <= limits.step_edges).nonzero().squeeze(1)
    row, position, operator, owner = row[fits], position[fits], operator[fits], owner[fits]
    weight = None if roads.weight is None else roads.weight[position]
    return frontier[row], owner * width + roads.neighbour[position], operator, weight


def _usable(
    roads: Roads, tables: Tables, sources: Sources, source: Tensor, node: Tensor, offset: int
) -> tuple[Tensor, Tensor, Tensor]:
    """(row, position, operator) of the edges that the vocabulary has and that are not hidden; rows from `offset` on."""
    row, position = roads.edges(node)
    owner = source[row]
    target = sources.target[owner]
    code = roads.code[position]
    operator = tables.operator[target, code]
    own = is_hidden(
        tables, target, code, node[row], roads.neighbour[position], sources.hidden_x[owner], sources.hidden_y[owner]
    )
    ok = ((operator >= 0) & ~own).nonzero().squeeze(1)
    return row[ok] + offset, position[ok], operator[ok]


def source_ranges(sources: Sources, rows: Rows, width: int) -> tuple[Tensor, Tensor]:
    """(low, high): the rows of each source."""
    first = torch.arange(len(sources), device=rows.key.device) * width
    return torch.searchsorted(rows.key, first), torch.searchsorted(rows.key, first + width)


def rows_of(low: Tensor, high: Tensor, source: Tensor) -> tuple[Tensor, Tensor]:
    """(position in `source`, row) of all rows of the given sources."""
    return ranges(low[source], high[source])
