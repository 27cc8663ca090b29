"""The truth table of one target: which statements hold for which of its facts, and for which other pairs of entities.

A statement is a line: a chain from X to Y, or a filter on X or on Y. All entities of a chain are distinct, so it never
uses the fact in question; the fact must be hidden only from filters along the target itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, vstack

from ..data.arrays import Ids, Longs, Mask
from ..data.kb import KnowledgeBase
from ..kernel.array_cache import ArrayCache
from ..kernel.bodies import ANY_NODE, NO_STEP, X_NODE, Y_NODE, Bodies, Lines
from ..kernel.graph import Graph
from ..kernel.hidden import hides_edge, num_seen
from ..logic.formula import Formula

MOST_OTHERS = 300_000
"""Limit of the pairs of entities that are not facts, per target; chains that exceed it are left out."""


class ChainPairs:
    """The pairs x * n + y that chains of up to two steps join, all entities distinct; cached by chain.

    The cache takes an eighth of `memory`, in bytes.
    """

    def __init__(self, graph: Graph, memory: int) -> None:
        self.n, self.graph = graph.num_entities, graph
        self.cache = ArrayCache(memory // 8)
        self.steps: dict[int, csr_matrix] = {}

    def keys(self, steps: tuple[int, ...]) -> Longs:
        """Return the pairs of one chain, ascending."""
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
            node, edge = self.graph.edges_along(code)
            neighbour = self.graph.neighbour[edge]
            apart = node != neighbour
            ones = np.ones(int(apart.sum()), np.float32)
            self.steps[code] = csr_matrix((ones, (node[apart], neighbour[apart])), (self.n, self.n))
        return self.steps[code]


class Filters(NamedTuple):
    """Statements about one entity: `lines` q(X, c), q(X, Z) with any Z, u(X); the same lines are used for Y.

    `member` (lines, entities) is 1 where a line holds.
    """

    lines: Lines
    member: csr_matrix

    @classmethod
    def of(cls, graph: Graph, constants: bool, least: int) -> Filters:
        """Collect the filters that hold for at least `least` entities, but not for all.

        With `constants`, these include filters q(X, c).
        """
        n, codes, any_node = graph.num_entities, np.arange(graph.num_codes), np.full(graph.num_codes, ANY_NODE)

        def matrix(code: np.ndarray, entity: np.ndarray) -> csr_matrix:
            return csr_matrix((np.ones(len(code), np.float32), (code, entity)), (graph.num_codes, n))

        ones = np.ones(len(graph.neighbour), np.float32)
        spans = csr_matrix((ones, graph.neighbour, graph.span_pointer), (graph.num_spans, n))
        order = np.lexsort((graph.span_node, graph.span_code ^ 1))[: graph.num_spans if constants else 0]
        leaves = graph.leaves()  # q(X, Z) has distinct variables: a self-loop does not count
        entity = np.repeat(np.arange(n), np.diff(graph.unary_pointer))
        of_codes = matrix(graph.span_code[leaves], graph.span_node[leaves]), matrix(2 * graph.unary_predicate, entity)
        member = vstack((spans[order], *of_codes), format="csr")
        size = np.diff(member.indptr)
        useful = (size >= least) & (size < n)
        code = np.concatenate((graph.span_code[order] ^ 1, codes, codes))[useful]
        end = np.concatenate((graph.span_node[order], any_node, any_node))[useful]
        return cls(Lines.of(code[:, None], X_NODE, end), member[np.flatnonzero(useful)])

    @property
    def code(self) -> Ids:
        """The step of each filter."""
        return self.lines.steps[:, 0]

    def holds(self, row: int) -> Mask:
        """Return for which entities filter `row` holds."""
        found = np.zeros(self.member.shape[1], bool)
        found[self.member.indices[self.member.indptr[row] : self.member.indptr[row + 1]]] = True
        return found


@dataclass(frozen=True, eq=False)
class StatementTable:
    """Where statements hold: column i of `facts` and `others` is about line i of `lines`.

    Lines are chains, then filters on X, then filters on Y.

    Attributes:
        target: a predicate id.
        pairs: (2, facts), x and y.
        other_pairs: (2, others), pairs that are not facts.
        num_chains: the number of chains, which are the first lines.
        facts: (facts, lines) uint8.
        others: (others, lines) uint8.
    """

    kb: KnowledgeBase
    target: int
    pairs: Longs
    other_pairs: Longs
    lines: Lines
    num_chains: int
    facts: np.ndarray
    others: np.ndarray

    @classmethod
    def of_chains(cls, kb: KnowledgeBase, target: int, chain_pairs: ChainPairs, steps: np.ndarray) -> StatementTable:
        """Make the table for `target` of the given chains, best first, up to MOST_OTHERS pairs.

        `chain_pairs` has the pairs of each chain.
        """
        n, target_facts = kb.num_entities, kb.facts.of(target)
        pairs = np.stack((target_facts.subject, target_facts.object)).astype(np.int64)
        place = np.full(n * n, -1, np.int32)
        place[pairs[0] * n + pairs[1]] = -2 - np.arange(len(target_facts))
        kept: list[int] = []
        rows_of, size = [], 0
        for row, chain in enumerate(steps.tolist()):
            keys = chain_pairs.keys(tuple(code for code in chain if code != NO_STEP))
            new = keys[place[keys] == -1]
            if size + len(new) > MOST_OTHERS:
                continue
            place[new] = np.arange(size, size + len(new))
            size += len(new)
            kept.append(row)
            rows_of.append(place[keys])
        facts, others = np.zeros((len(target_facts), len(kept)), np.uint8), np.zeros((size, len(kept)), np.uint8)
        for column, rows in enumerate(rows_of):
            facts[-2 - rows[rows < 0], column] = 1
            others[rows[rows >= 0], column] = 1
        found = np.flatnonzero(place >= 0)
        key = np.empty(size, np.int64)
        key[place[found]] = found
        lines = Lines.of(steps[kept], X_NODE, Y_NODE)
        return cls(kb, target, pairs, np.stack(np.divmod(key, n)), lines, len(kept), facts, others)

    def with_filters(self, filters: Filters, chosen: tuple[Longs, Longs]) -> StatementTable:
        """Return the table with additional columns for the chosen filters on X and on Y."""
        lines, facts, others = [self.lines], [self.facts], [self.others]
        for side, rows in enumerate(chosen):
            start = np.full(len(rows), (X_NODE, Y_NODE)[side], np.int32)
            lines.append(filters.lines.take(rows)._replace(start=start))
            for row in rows.tolist():
                facts.append(self.holds_of_facts(filters, row, side)[:, None])
                others.append(filters.holds(row)[self.other_pairs[side], None])
        return replace(
            self,
            lines=Lines.join(lines),
            facts=np.concatenate(facts, axis=1, dtype=np.uint8),
            others=np.concatenate(others, axis=1, dtype=np.uint8),
        )

    def holds_of_facts(self, filters: Filters, row: int, side: int) -> Mask:
        """Return for which facts filter `row` of `filters` holds, each fact hidden from itself.

        It is on X (`side` 0) or on Y (1).
        """
        here, there = self.pairs[side], self.pairs[1 - side]
        code, end = int(filters.code[row]), int(filters.lines.end[row])
        holds = filters.holds(row)[here]
        if end != ANY_NODE:
            return holds & ~hides_edge(2 * self.target + side, here, there, code, here, end)
        # q(X, Z) has distinct variables: a self-loop does not count. All edges along the target itself are facts.
        own = hides_edge(2 * self.target + side, here, there, code, here, there) & (here != there)
        degree = np.bincount(here[own], minlength=self.kb.num_entities)[here]
        return holds & ~(own & (num_seen(degree, own) == 0))

    @cached_property
    def has_fact(self) -> Mask:
        """For each other pair, whether its x has a fact of the target."""
        return np.isin(self.other_pairs[0], self.pairs[0])

    def statement(self, index: int) -> Formula:
        """Return the line of column `index`."""
        return Bodies.of_lines(self.lines).formula(index, self.kb.predicates, self.kb.entities.name)
