"""Where chains lead from the known end of a block of queries: enumerated once, whatever the attentions are.

Rows are (source, node); a source is one query (equal ones share it). A row exists where a chain of at most T
operators leads. `moves[t]` lists the edges of step t + 1 between rows: one sparse product per step and all ranks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nlil.data.arrays import Ids, Longs, Mask
from nlil.data.facts import Facts
from nlil.data.kb import KnowledgeBase
from nlil.kernel.calculus import ranges
from nlil.neural.plan import Products
from nlil.neural.roads import Roads
from nlil.neural.sources import NOBODY, Limits
from nlil.neural.space import PADDING, operators_of

SMALL_WORLD = 2048
"""Entities of a graph up to which every unary query has rows of its own."""
BYTES_PER_EDGE = 96
BYTES_PER_EDGE_AND_STEP = 32


@dataclass(frozen=True, eq=False)
class ChainQueries:
    """p(x, ?) has the code 2p and knows x; p(?, y) has 2p + 1 and knows y; u(?) has 2u and knows NOBODY.

    `hide`: the query's own fact is in the base and may not be walked.
    """

    code: Longs
    known: Longs
    answer: Longs
    hide: Mask

    @classmethod
    def of(cls, facts: Facts, hide: Mask) -> ChainQueries:
        """Both directions of binary facts, one query for a unary fact: first those with an even code, in order."""
        p, s, o = (a.astype(np.int64) for a in (facts.predicate, facts.subject, facts.object))
        binary = ~facts.is_unary
        return cls(
            np.concatenate((2 * p, 2 * p[binary] + 1)),
            np.concatenate((np.where(binary, s, NOBODY), o[binary])),
            np.concatenate((np.where(binary, o, s), s[binary])),
            np.concatenate((hide, hide[binary])),
        )

    def __len__(self) -> int:
        return len(self.code)

    def __getitem__(self, rows: Longs | Mask | slice) -> ChainQueries:
        return ChainQueries(self.code[rows], self.known[rows], self.answer[rows], self.hide[rows])


@dataclass(frozen=True, eq=False)
class Walks:
    """A block of queries, ready for any attentions."""

    codes: Longs  # the different query codes of the block
    key: Tensor  # int64 (rows,): source * num_entities + node, ascending
    start: Tensor  # float32 (rows,): u_0
    moves: tuple[Products, ...]  # left: row, right: position of the query's code * operators + operator
    by_code: Products  # each row beside the position of its query's code
    by_source: Products  # each row beside its source
    into_source: Products  # the rows of each source, added up
    source_of: Longs  # source of each query
    answer: Tensor  # int64 (queries,): row of the answer; NOBODY where no chain leads there

    @property
    def size(self) -> int:
        """Edges that one evaluation walks."""
        return sum(len(m) for m in self.moves)


class ChainMap:
    """The base as chain operators: every step along a predicate, and last "stay", which keeps everything."""

    def __init__(self, kb: KnowledgeBase, steps: int, limits: Limits, device: str = "cpu") -> None:
        self.kb, self.steps, self.limits = kb, steps, limits
        self.roads = Roads.of(kb, device)
        self.device = self.roads.device
        self.operators: Ids = operators_of(kb, np.arange(kb.num_predicates, dtype=np.int32))
        self.stay = len(self.operators)
        operator = np.full(kb.num_codes, PADDING, np.int64)
        operator[self.operators] = np.arange(self.stay)
        is_class = np.zeros(kb.num_predicates, bool)
        is_class[list(kb.classes)] = True
        self.operator, self.is_class = self._put(operator), self._put(is_class)
        graph = np.zeros(kb.num_entities, np.int64) if kb.graph_of is None else kb.graph_of.astype(np.int64)
        self.graph = np.where(kb.domain, graph, kb.num_graphs)
        self.members = np.argsort(self.graph, kind="stable")
        # The last graph is nobody's: entities of other splits.
        self.member_pointer = np.searchsorted(self.graph[self.members], np.arange(kb.num_graphs + 2))
        self.is_small = np.diff(self.member_pointer) <= SMALL_WORLD

    @property
    def num_operators(self) -> int:
        return self.stay + 1

    def _put(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    # blocks ---------------------------------------------------------------------------------------

    def work(self) -> tuple[Longs, Longs]:
        """At most so many edges a query walks: (by its known entity, for unary queries by graph)."""
        pointer, neighbour = self.roads.pointer.cpu().numpy(), self.roads.neighbour.cpu().numpy()
        degree = np.diff(pointer) + 1.0
        node = np.repeat(np.arange(len(degree)), np.diff(pointer))
        edges, before = degree.copy(), np.zeros_like(degree)
        for _ in range(self.steps - 1):
            edges, before = np.minimum(degree + np.bincount(node, edges[neighbour], len(degree)), degree.sum()), edges
            if np.array_equal(edges, before):
                break
        by_graph = np.bincount(self.graph, degree, self.kb.num_graphs + 1)
        return edges.astype(np.int64), by_graph.astype(np.int64)

    def parts(self, queries: ChainQueries, work: tuple[Longs, Longs], memory: int) -> Iterator[ChainQueries]:
        """Runs of the queries whose walks fit into the memory."""
        by_entity, by_graph = work
        graph = self.graph[queries.answer]
        each = np.where(queries.known == NOBODY, by_graph[graph], by_entity[queries.known])
        each[(queries.known == NOBODY) & ~(queries.hide & self.is_small[graph])] = 1  # they share one source
        most = max(memory // (BYTES_PER_EDGE + self.steps * BYTES_PER_EDGE_AND_STEP), 1)
        low, total = 0, 0
        for i, edges in enumerate(each):
            if total and total + edges > most:
                yield queries[low:i]
                low, total = i, 0
            total += int(edges)
        if low < len(queries):
            yield queries[low:]

    def walks(self, queries: ChainQueries) -> Walks:
        sources, source_of = self._sources(queries)
        codes, position = np.unique(sources[:, 0], return_inverse=True)
        key, start = self._start(sources)
        key, start, lists = self._reach(key, start, sources, self._hidden_members(queries, source_of))
        source = key // self.kb.num_entities
        code = self._put(position.reshape(-1).astype(np.int64))[source]
        rows = torch.arange(len(key), device=self.device)
        one = torch.zeros_like(rows)
        moves = self._moves(key, lists, code, len(codes))
        wanted = self._put(source_of * self.kb.num_entities + queries.answer)
        row = torch.searchsorted(key, wanted).clamp(max=max(len(key) - 1, 0))
        return Walks(
            codes,
            key,
            start,
            moves,
            _products(rows, rows, code, None, len(key), len(key), len(codes)),
            _products(rows, rows, source, None, len(key), len(key), len(sources)),
            _products(source, rows, one, None, len(sources), len(key), 1),
            source_of,
            torch.where(key[row] == wanted, row, NOBODY),
        )

    def _sources(self, queries: ChainQueries) -> tuple[Longs, Longs]:
        """(code, known, hidden end, graph, group) of each source; source of each query.

        A unary query starts from its whole graph, so in a large one the queries of a block share their source,
        and what one of them hides is hidden from all.
        """
        unary = queries.known == NOBODY
        graph = np.where(unary, self.graph[queries.answer], 0)
        group = np.where(queries.hide, np.where(self.is_small[graph], queries.answer, self.kb.num_entities), NOBODY)
        hidden = np.where(queries.hide & ~unary, queries.answer, NOBODY)
        columns = (queries.code, queries.known, hidden, graph, np.where(unary, group, NOBODY))
        sources, source_of = np.unique(np.stack(columns, 1), axis=0, return_inverse=True)
        return sources, source_of.reshape(-1).astype(np.int64)

    def _hidden_members(self, queries: ChainQueries, source_of: Longs) -> Tensor:
        """Keys whose unary facts of the own predicate (or class group) are hidden."""
        mine = (queries.known == NOBODY) & queries.hide
        return self._put(np.unique(source_of[mine] * self.kb.num_entities + queries.answer[mine]))

    def _start(self, sources: Longs) -> tuple[Tensor, Tensor]:
        """u_0: all at the known entity; of a unary query spread over its graph."""
        known, graph = self._put(sources[:, 1]), self._put(sources[:, 3])
        pointer = self._put(self.member_pointer)
        low = torch.where(known == NOBODY, pointer[graph], 0)
        high = torch.where(known == NOBODY, pointer[graph + 1], 1)
        source, position = ranges(low, high)
        node = torch.where(known[source] == NOBODY, self._put(self.members)[position], known[source])
        key, order = torch.sort(source * self.kb.num_entities + node)
        return key, (1.0 / (high - low)[source[order]]).float()

    # steps ----------------------------------------------------------------------------------------

    def _reach(self, key: Tensor, start: Tensor, sources: Longs, hidden: Tensor) -> tuple[Tensor, Tensor, list]:
        """All rows within T steps, and by the depth of its first row every edge (row, row, operator, weight)."""
        table = self._put(sources)
        frontier, lists = key, []
        for _ in range(self.steps):
            lists.append(self._expand(frontier, table, hidden))
            reached = torch.unique(lists[-1][1])
            place = torch.searchsorted(key, reached).clamp(max=max(len(key) - 1, 0))
            frontier = reached[key[place] != reached]
            key, order = torch.sort(torch.cat([key, frontier]))
            start = torch.cat([start, start.new_zeros(len(frontier))])[order]
        return key, start, [(torch.searchsorted(key, a), torch.searchsorted(key, b), o, w) for a, b, o, w in lists]

    def _expand(self, frontier: Tensor, sources: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Edges from the frontier, of the sources whose step fits the limit; everyone may stay."""
        width, roads = self.kb.num_entities, self.roads
        source, node = frontier // width, frontier % width
        edges = torch.zeros(len(sources), dtype=torch.int64, device=self.device)
        edges.index_add_(0, source, roads.degree(node))
        within = edges[source] <= self.limits.step_edges
        row, position = roads.edges(node[within])
        first = frontier[within][row]
        code, neighbour, owner = roads.code[position], roads.neighbour[position], first // width
        ok = ~self._is_own_fact(first, code, neighbour, sources[owner], hidden)
        weight = torch.ones(len(row), device=self.device) if roads.weight is None else roads.weight[position]
        second = owner * width + neighbour
        stay = torch.full_like(frontier, self.stay)
        return (
            torch.cat([first[ok], frontier]),
            torch.cat([second[ok], frontier]),
            torch.cat([self.operator[code[ok]], stay]),
            torch.cat([weight[ok], torch.ones_like(stay).float()]),
        )

    def _is_own_fact(self, first: Tensor, code: Tensor, neighbour: Tensor, source: Tensor, hidden: Tensor) -> Tensor:
        """Whether an edge is the query's own fact, walked either way."""
        own, predicate, node = source[:, 0] // 2, code // 2, first % self.kb.num_entities
        # An edge along the query's own code leads from the known to the hidden end, along the inverse code back.
        along = code == source[:, 0]
        begin, end = torch.where(along, source[:, 1], source[:, 2]), torch.where(along, source[:, 2], source[:, 1])
        same = own == predicate
        is_own = same & (source[:, 2] != NOBODY) & (node == begin) & (neighbour == end)
        if not len(hidden):
            return is_own
        place = torch.searchsorted(hidden, first).clamp(max=len(hidden) - 1)
        return is_own | ((same | (self.is_class[own] & self.is_class[predicate])) & (hidden[place] == first))

    def _moves(self, key: Tensor, lists: list, code: Tensor, num_codes: int) -> tuple[Products, ...]:
        """Step t leaves from every row within t - 1 steps; once nothing new is reached all steps are the same."""
        moves: list[Products] = []
        for t in range(1, self.steps + 1):
            if moves and not len(lists[t - 1][0]):
                moves.append(moves[-1])
                continue
            first, second, operator, weight = (torch.cat([e[i] for e in lists[:t]]) for i in range(4))
            choice = code[first] * self.num_operators + operator
            moves.append(
                _products(
                    second,
                    first,
                    choice,
                    None if self.roads.weight is None else weight,
                    len(key),
                    len(key),
                    num_codes * self.num_operators,
                )
            )
        return tuple(moves)


def _products(segment: Tensor, left: Tensor, right: Tensor, weight: Tensor | None, *sizes: int) -> Products:
    order = torch.argsort(segment, stable=True)
    return Products(
        segment[order].int(), left[order].int(), right[order].int(), None if weight is None else weight[order], *sizes
    )
