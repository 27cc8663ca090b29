"""Conjunctions of statements, found by counting: `p(X, Y) :- q(X, Z1), r(Z1, Y), s(Y, X), t(X, c)`.

Statements are the chains of one and two steps that were counted for a target, and what can be said of X or of Y alone.
Two are joined where both together are clearly more often right than either alone, then three in the same way. One
product of matrices counts all pairs of statements. Those are proposed first that raise what is known of the facts most,
given the chains and what was proposed before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..data.arrays import Doubles, Longs
from ..data.kb import KnowledgeBase
from ..kernel.bodies import NO_STEP, X_NODE, Y_NODE
from ..kernel.graph import Graph
from ..kernel.hidden import can_hide
from ..kernel.ruleset import RuleSet
from ..logic.formula import And
from ..logic.rule import Head, Rule, RuleStats, ScoredRule
from ..logic.simplify import formula_key
from .board import Board, Relations, products, smoothed
from .filters import all_filters
from .options import CountOptions
from .typed import GAIN

MOST_ENTITIES = 4096
"""Of a base in which conjunctions are looked for: every pair of entities has a place in an array."""
CHAINS = 150
"""Chains of a target that may be joined, most confident first."""
FILTERS = 60
"""Filters on X, and as many on Y, that may be joined: those that help some chain most."""
PAIRS, TRIPLES = 500, 40
"""Conjunctions that are compared fact by fact; of two statements, those that a third is looked for."""
FILTER_BLOCK = 10_000


class Candidates(NamedTuple):
    """Conjunctions of columns of a board (-1 fills up) with their counts."""

    columns: Longs
    support: Longs
    others: Longs
    worth: Doubles

    def best(self, count: int) -> Candidates:
        order = np.lexsort((*self.columns.T[::-1], -self.worth))[:count]
        return Candidates(self.columns[order], self.support[order], self.others[order], self.worth[order])


class Conjunctions:
    """Finds conjunctions for one target after another."""

    def __init__(self, kb: KnowledgeBase, body: KnowledgeBase | None, options: CountOptions) -> None:
        self.kb, self.options = kb.crisp, options
        graph = Graph.of((kb if body is None else body).crisp)
        self.filters = all_filters(graph, options.constants, max(options.min_support, 2))
        self.relations = Relations(graph, options.memory)
        self.is_unary = np.array([p.arity == 1 for p in kb.predicates], bool)

    def proposals(self, rules: RuleSet, target: int, count: int) -> list[ScoredRule]:
        """The `count` most useful conjunctions for a target; `rules` has its chains."""
        rows = self._chains(rules, target)
        steps = rules.bodies.lines.steps[rules.line[rows[:CHAINS]]]
        board = Board.of_chains(self.kb, target, self.filters, self.relations, steps)
        if not board.num_chains:
            return []
        board = board.with_filters(*self._helpful(board))
        pairs = self._pairs(board)
        found = _joined(pairs, self._triples(board, pairs.best(TRIPLES))).best(PAIRS)
        chains = board.facts[:, : board.num_chains]
        known = (chains * smoothed(chains.sum(axis=0), board.others[:, : board.num_chains].sum(axis=0))).max(axis=1)
        return [self._scored(board, found, i) for i in chosen(board, found, known, count)]

    def _chains(self, rules: RuleSet, target: int) -> Longs:
        """Rows of its chains of one and two moves, most confident first."""
        lines = rules.bodies.lines
        is_chain = (lines.end == Y_NODE) & (lines.start == X_NODE) & lines.distinct & (lines.lengths <= 2)
        for step in lines.steps.T.astype(np.int64):
            is_chain &= (step == NO_STEP) | ~self.is_unary[step >> 1]
        rows = np.flatnonzero((rules.head == target) & np.append(is_chain, False)[rules.line])
        return rows[np.lexsort((rows, -rules.weights[rows]))]

    # filters ----------------------------------------------------------------------------------------

    def _helpful(self, board: Board) -> tuple[Longs, Longs]:
        """The filters on X, and those on Y, that help some chain most."""
        support, others = board.facts.sum(axis=0), board.others.sum(axis=0, dtype=np.int64)
        before = smoothed(support, others)
        found = []
        for side, (here, other) in enumerate(((board.x, board.other_x), (board.y, board.other_y))):
            of_facts = _by_entity(board.facts, here, self.kb.num_entities)
            of_others = _by_entity(board.others, other, self.kb.num_entities)
            worth = np.zeros(len(self.filters.code))
            for begin in range(0, len(worth), FILTER_BLOCK):
                rows = np.arange(begin, min(begin + FILTER_BLOCK, len(worth)))
                member = self.filters.member[rows]
                worth[rows] = self._worth(member @ of_facts, member @ of_others, before).max(axis=1)
            # Filters along the target itself held of some facts only through them: count these again.
            for row in np.flatnonzero((worth > 0) & can_hide(2 * board.target, self.filters.code)):
                holds = board.holds_of_facts(int(row), side)
                again = board.facts[holds].sum(axis=0), (self.filters.member[row] @ of_others)[0]
                worth[row] = self._worth(*again, before).max()
            best = np.lexsort((np.arange(len(worth)), -worth))[:FILTERS]
            found.append(best[worth[best] > 0])
        return found[0], found[1]

    def _worth(self, support: np.ndarray, others: np.ndarray, before: np.ndarray) -> Doubles:
        """What a conjunction says more of the facts than its best part, in nats; 0 where that is not clear."""
        after = smoothed(support, others)
        enough = (support >= self.options.min_support) & (support >= self.options.min_confidence * (support + others))
        clear = enough & (after >= GAIN * before)
        return np.where(clear, support * np.log(np.maximum(after, 1e-9) / np.maximum(before, 1e-9)), 0.0)

    # pairs and triples --------------------------------------------------------------------------------

    def _pairs(self, board: Board) -> Candidates:
        chains = board.num_chains
        support = products(board.facts[:, :chains], board.facts)
        others = products(board.others[:, :chains], board.others)
        alone = smoothed(np.diagonal(support), np.diagonal(others))
        before = np.zeros_like(support, dtype=np.float64) + alone[:, None]
        before[:, :chains] = np.maximum(before[:, :chains], alone[None, :])
        worth = self._worth(support, others, before)
        worth[np.tril_indices(chains)] = 0
        worth[:, chains:][:, self._is_class(board)] = 0  # typed chains say this already
        left, right = np.nonzero(worth)
        columns = np.stack((left, right, np.full_like(left, -1)), axis=1)
        return Candidates(
            columns, support[left, right].astype(np.int64), others[left, right].astype(np.int64), worth[left, right]
        ).best(PAIRS)

    def _is_class(self, board: Board) -> np.ndarray:
        codes = [self.filters.code[row] for rows in board.filter_rows for row in rows]
        return self.is_unary[np.array(codes, np.int64) >> 1]

    def _triples(self, board: Board, pairs: Candidates) -> Candidates:
        """The pairs and one statement more."""
        one, two = pairs.columns[:, 0], pairs.columns[:, 1]
        support = products(board.facts[:, one] & board.facts[:, two], board.facts)
        others = products(board.others[:, one] & board.others[:, two], board.others)
        before = smoothed(pairs.support, pairs.others)[:, None]
        worth = self._worth(support, others, before)
        pair, third = np.nonzero(worth)
        columns = np.sort(np.stack((one[pair], two[pair], third), axis=1), axis=1)
        _, first = np.unique(columns, axis=0, return_index=True)
        worth = worth + pairs.worth[:, None]
        pair, third = pair[first], third[first]
        return Candidates(
            columns[first],
            support[pair, third].astype(np.int64),
            others[pair, third].astype(np.int64),
            worth[pair, third],
        )

    def _scored(self, board: Board, found: Candidates, row: int) -> ScoredRule:
        columns = [int(c) for c in found.columns[row] if c >= 0]
        parts = sorted((board.statement(c) for c in columns), key=formula_key)
        rule = Rule(Head.of(self.kb.predicates[board.target]), And(*parts), distinct=True)
        with_fact = np.bitwise_and.reduce([board.others[:, c] for c in columns])[board.has_fact]
        support = int(found.support[row])
        stats = RuleStats(
            support, support + int(found.others[row]), len(board.x), support + int(with_fact.sum(dtype=np.int64))
        )
        return ScoredRule(rule, stats, stats.smoothed)


def chosen(board: Board, found: Candidates, known: Doubles, count: int) -> Iterator[int]:
    """Best first: what raises the known confidence of the facts most; then what is known has been raised."""
    holds = np.stack(
        [np.bitwise_and.reduce([board.facts[:, c] for c in row if c >= 0]) for row in found.columns]
        or [np.zeros(len(known), np.uint8)]
    ).astype(bool)
    level = np.log(smoothed(found.support, found.others))
    before = np.log(np.maximum(known, 1e-3))
    left = np.ones(len(level), bool)
    for _ in range(min(count, len(level))):
        gain = np.where(left, (np.maximum(level[:, None] - before[None, :], 0) * holds[: len(level)]).sum(axis=1), -1)
        best = int(np.argmax(gain))
        if gain[best] <= 0:
            return
        yield best
        left[best] = False
        before[holds[best]] = np.maximum(before[holds[best]], level[best])


def _joined(one: Candidates, two: Candidates) -> Candidates:
    columns, support, others, worth = (np.concatenate(parts) for parts in zip(one, two))
    return Candidates(columns, support, others, worth)


def _by_entity(holds: np.ndarray, entity: Longs, num_entities: int) -> np.ndarray:
    """(entities, columns): for how many rows of each entity a column holds."""
    order = np.argsort(entity, kind="stable")
    some, first = np.unique(entity[order], return_index=True)
    result = np.zeros((num_entities, holds.shape[1]), np.float32)
    if len(some):
        result[some] = np.add.reduceat(holds[order], first, axis=0, dtype=np.float32)
    return result
