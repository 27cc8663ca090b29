"""The board of one target: which statements hold for which of its facts, and for which other pairs of entities.

A statement is a chain from X to Y, or a filter on X or on Y. All entities of a chain are distinct, so it never walks
through the fact that it is asked about: only filters along the target itself must be told to overlook that fact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix

from ..data.arrays import Doubles, Longs, Mask
from ..data.kb import KnowledgeBase
from ..kernel.array_cache import ArrayCache
from ..kernel.bodies import ANY_NODE, NO_STEP
from ..kernel.graph import Graph
from ..kernel.hidden import hides_edge, num_seen
from ..logic.formula import Statement, X, Y
from ..logic.rule import SMOOTHING
from .filters import Filters

MOST_OTHERS = 300_000
"""Pairs of entities that are no facts, of one target; chains that would need more are left out."""


class Relations:
    """The pairs x * n + y that chains of up to two steps join, all their entities distinct; kept by chain."""

    def __init__(self, graph: Graph, memory: int) -> None:
        self.n, self.graph = graph.num_entities, graph
        self.cache = ArrayCache(memory // 8)
        self.steps: dict[int, csr_matrix] = {}

    def keys(self, steps: tuple[int, ...]) -> Longs:
        """Ascending."""
        return self.cache.get(steps, lambda: self._keys(steps))

    def _keys(self, steps: tuple[int, ...]) -> Longs:
        reached = self._step(steps[0])
        for code in steps[1:]:
            reached = reached @ self._step(code)
        pairs = reached.tocoo()
        apart = pairs.row != pairs.col
        return np.unique(pairs.row[apart].astype(np.int64) * self.n + pairs.col[apart])

    def _step(self, code: int) -> csr_matrix:
        if code not in self.steps:
            self.steps[code] = self._edges_of(code)
        return self.steps[code]

    def _edges_of(self, code: int) -> csr_matrix:
        node, neighbour = self.graph.edges_along(code)
        apart = node != neighbour
        ones = np.ones(int(apart.sum()), np.float32)
        return csr_matrix((ones, (node[apart], neighbour[apart])), (self.n, self.n))


@dataclass(frozen=True, eq=False)
class Board:
    """Columns: chains, then filters on X, then filters on Y. `facts` and `others` say where they hold."""

    kb: KnowledgeBase
    target: int
    filters: Filters
    x: Longs  # of the facts
    y: Longs
    other_x: Longs  # of the other pairs
    other_y: Longs
    steps: tuple[tuple[int, ...], ...]
    filter_rows: tuple[Longs, Longs]
    facts: np.ndarray  # (facts, columns) uint8
    others: np.ndarray

    @classmethod
    def of_chains(
        cls, kb: KnowledgeBase, target: int, filters: Filters, relations: Relations, steps: np.ndarray
    ) -> Board:
        """Of the given chains, best first, as many as fit."""
        n, mine = kb.num_entities, kb.facts.of(target)
        x, y = mine.subject.astype(np.int64), mine.object.astype(np.int64)
        fact_keys = x * n + y
        place = np.full(n * n, -1, np.int32)
        place[fact_keys] = -2 - np.arange(len(x))
        kept, rows_of, size = [], [], 0
        for row in steps:
            chain = tuple(int(code) for code in row if code != NO_STEP)
            keys = relations.keys(chain)
            at = place[keys]
            new = keys[at == -1]
            if size + len(new) > MOST_OTHERS:
                continue
            place[new] = np.arange(size, size + len(new))
            size += len(new)
            kept.append(chain)
            rows_of.append(place[keys])
        facts, others = np.zeros((len(x), len(kept)), np.uint8), np.zeros((size, len(kept)), np.uint8)
        for column, rows in enumerate(rows_of):
            facts[-2 - rows[rows < 0], column] = 1
            others[rows[rows >= 0], column] = 1
        pairs = np.flatnonzero(place >= 0)
        key = np.empty(size, np.int64)
        key[place[pairs]] = pairs
        none = np.zeros(0, np.int64)
        return cls(kb, target, filters, x, y, key // n, key % n, tuple(kept), (none, none), facts, others)

    def with_filters(self, on_x: Longs, on_y: Longs) -> Board:
        facts, others = [self.facts], [self.others]
        for side, rows in enumerate((on_x, on_y)):
            for row in rows.tolist():
                holds = self.filters.holds(row, self.kb.num_entities)
                others.append(holds[(self.other_x, self.other_y)[side]][:, None])
                facts.append(self.holds_of_facts(row, side)[:, None])
        return Board(
            self.kb,
            self.target,
            self.filters,
            self.x,
            self.y,
            self.other_x,
            self.other_y,
            self.steps,
            (on_x, on_y),
            np.concatenate(facts, axis=1, dtype=np.uint8),
            np.concatenate(others, axis=1, dtype=np.uint8),
        )

    def holds_of_facts(self, row: int, side: int) -> Mask:
        """For which facts a filter on X (side 0) or on Y (side 1) holds, each fact hidden from itself."""
        here, there = (self.x, self.y) if side == 0 else (self.y, self.x)
        code, end = int(self.filters.code[row]), int(self.filters.end[row])
        holds = self.filters.holds(row, self.kb.num_entities)[here]
        if end != ANY_NODE:
            return holds & ~hides_edge(2 * self.target + side, here, there, code, here, end)
        # `q(X, Z)` of distinct variables: an edge to oneself is none. All edges along the target itself are facts.
        own = hides_edge(2 * self.target + side, here, there, code, here, there) & (here != there)
        degree = np.bincount(here[own], minlength=self.kb.num_entities)[here]
        return holds & ~(own & (num_seen(degree, own) == 0))

    @property
    def num_chains(self) -> int:
        return len(self.steps)

    @cached_property
    def has_fact(self) -> Mask:
        """Of each other pair: has its x some fact?"""
        found = np.zeros(self.kb.num_entities, bool)
        found[self.x] = True
        return found[self.other_x]

    def column(self, index: int) -> tuple[int, int]:
        """(side, row of the filters) of a column that is no chain."""
        index -= self.num_chains
        first = len(self.filter_rows[0])
        side = 0 if index < first else 1
        return side, int(self.filter_rows[side][index - first * side])

    def statement(self, index: int) -> Statement:
        if index < self.num_chains:
            return Statement(X, tuple(self.kb.step(code) for code in self.steps[index]), Y)
        side, row = self.column(index)
        return self.filters.statement(self.kb, row, (X, Y)[side])


def smoothed(support: np.ndarray, others: np.ndarray) -> Doubles:
    return support / (support + others + float(SMOOTHING))


def products(left: np.ndarray, right: np.ndarray, block: int = 2**14) -> np.ndarray:
    """left.T @ right of 0 and 1: exact, as no count comes near 2^24."""
    result = np.zeros((left.shape[1], right.shape[1]), np.float32)
    for begin in range(0, len(left), block):
        rows = slice(begin, begin + block)
        result += left[rows].T.astype(np.float32) @ right[rows].astype(np.float32)
    return result
