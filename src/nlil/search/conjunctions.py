"""Conjunctions of statements, found by counting: `p(X, Y) :- q(X, Z1), r(Z1, Y), s(Y, X), t(X, c)`.

Statements are the chains of one and two steps that were counted for a target, and filters on X or on Y. Two statements
are joined if their conjunction is clearly more confident than either alone; a third is added by the same test. One
matrix product counts all pairs of statements. Conjunctions are proposed greedily: next comes the one that most raises
the confidence of the facts, given the chains and earlier proposals.

`found` are conjunctions, as columns of a statement table and counts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_matrix

from ..data.arrays import Doubles, Longs
from ..data.kb import KnowledgeBase
from ..kernel.bodies import X_NODE, Y_NODE, unary_mask
from ..kernel.graph import Graph
from ..kernel.hidden import can_hide
from ..kernel.ruleset import RuleSet
from ..logic.formula import And
from ..logic.rule import Head, Rule, RuleStats, ScoredRule, smoothed_confidence
from ..logic.simplify import formula_key
from .options import CountOptions
from .truth_table import ChainPairs, Filters, StatementTable
from .typed import GAIN

MOST_ENTITIES = 4096
"""Limit for searching conjunctions, which needs arrays over all pairs of entities."""
MOST_CHAINS = 150
"""Chains of a target that may be joined, most confident first."""
MOST_FILTERS = 60
"""Filters on X, and on Y, that may be joined: those that improve a chain most."""
MOST_PAIRS, MOST_TRIPLED = 500, 40
"""Conjunctions that are compared fact by fact; conjunctions of two statements that may get a third."""
FILTER_BLOCK = 10_000
"""Filters counted at a time."""


FoundPairs = tuple[Longs, Doubles]
"""Conjunctions: columns of a table (found, 3), padded with -1; and (3, found) the number of facts and of other pairs
for which they hold, and their gain."""


class Conjunctions:
    """Finds conjunctions, target by target; bodies use the facts of `body` (None: of `kb`)."""

    def __init__(self, kb: KnowledgeBase, body: KnowledgeBase | None, options: CountOptions) -> None:
        self.kb, self.options = kb.crisp, options
        graph = Graph.of((kb if body is None else body).crisp)
        self.filters = Filters.of(graph, options.constants, max(options.min_support, 2))
        self.chain_pairs = ChainPairs(graph, options.memory)
        self.is_unary = unary_mask(kb.predicates)

    def proposals(self, rules: RuleSet, target: int, count: int) -> RuleSet:
        """Return the `count` most useful conjunctions for a target; `rules` has its chains."""
        steps = rules.bodies.lines.steps[rules.line[self._chains(rules, target)[:MOST_CHAINS]]]
        table = StatementTable.of_chains(self.kb, target, self.chain_pairs, steps)
        if not table.num_chains:
            return RuleSet.of(self.kb, [])
        table = table.with_filters(self.filters, self._helpful(table))
        pairs = self._pairs(table)
        triples = self._triples(table, best(pairs, MOST_TRIPLED))
        found = best(
            (np.concatenate((pairs[0], triples[0])), np.concatenate((pairs[1], triples[1]), axis=1)), MOST_PAIRS
        )
        chains, others = table.facts[:, : table.num_chains], table.others[:, : table.num_chains]
        known = (chains * _smoothed(chains.sum(axis=0), others.sum(axis=0))).max(axis=1)
        scored = [self._scored(table, found, i) for i in chosen(table, found, known, count)]
        return RuleSet.of(self.kb, list({s.rule: s for s in scored}.values()))

    def _chains(self, rules: RuleSet, target: int) -> Longs:
        """Return the rows of the target's chains of one and two moves, most confident first."""
        lines = rules.bodies.lines
        is_chain = (lines.end == Y_NODE) & (lines.start == X_NODE) & lines.distinct & (lines.lengths <= 2)
        for step in lines.steps.T.astype(np.int64):
            is_chain &= ~self.is_unary[step >> 1]
        rows = np.flatnonzero((rules.head == target) & np.append(is_chain, False)[rules.line])
        return rows[np.lexsort((rows, -rules.weights[rows]))]

    def _helpful(self, table: StatementTable) -> tuple[Longs, Longs]:
        """Return the filters on X, and those on Y, that improve a chain most."""
        support, others = table.facts.sum(axis=0), table.others.sum(axis=0, dtype=np.int64)
        before = _smoothed(support, others)
        found = []
        for side in (0, 1):
            of_facts = _by_entity(table.facts, table.pairs[side], self.kb.num_entities)
            of_others = _by_entity(table.others, table.other_pairs[side], self.kb.num_entities)
            worth = np.zeros(self.filters.lines.num_lines)
            for begin in range(0, len(worth), FILTER_BLOCK):
                rows = np.arange(begin, min(begin + FILTER_BLOCK, len(worth)))
                member = self.filters.member[rows]
                worth[rows] = self._worth(member @ of_facts, member @ of_others, before).max(axis=1)
            # A filter along the target itself may hold only through the fact in question: count it with that hidden.
            for row in np.flatnonzero((worth > 0) & can_hide(2 * table.target, self.filters.code)):
                holds = table.holds_of_facts(self.filters, int(row), side)
                again = table.facts[holds].sum(axis=0), (self.filters.member[row] @ of_others)[0]
                worth[row] = self._worth(*again, before).max()
            most = np.lexsort((np.arange(len(worth)), -worth))[:MOST_FILTERS]
            found.append(most[worth[most] > 0])
        return found[0], found[1]

    def _worth(self, support: np.ndarray, others: np.ndarray, before: np.ndarray) -> Doubles:
        """Return the gain of a conjunction over its best part: log-likelihood in nats, 0 unless clearly better."""
        after = _smoothed(support, others)
        clear = self.options.enough(support, support + others) & (after >= GAIN * before)
        return np.where(clear, support * np.log(np.maximum(after, 1e-9) / np.maximum(before, 1e-9)), 0.0)

    def _pairs(self, table: StatementTable) -> FoundPairs:
        chains = table.num_chains
        support = products(table.facts[:, :chains], table.facts)
        others = products(table.others[:, :chains], table.others)
        alone = _smoothed(np.diagonal(support), np.diagonal(others))
        before = np.zeros_like(support, dtype=np.float64) + alone[:, None]
        before[:, :chains] = np.maximum(before[:, :chains], alone[None, :])
        worth = self._worth(support, others, before)
        worth[np.tril_indices(chains)] = 0
        worth[:, chains:][:, self.is_unary[table.lines.steps[chains:, 0] >> 1]] = 0  # these are typed chains already
        left, right = np.nonzero(worth)
        columns = np.stack((left, right, np.full_like(left, -1)), axis=1)
        return best((columns, np.stack([counts[left, right] for counts in (support, others, worth)])), MOST_PAIRS)

    def _triples(self, table: StatementTable, pairs: FoundPairs) -> FoundPairs:
        """Return the pairs with one more statement."""
        one, two = pairs[0].T[:2]
        support = products(table.facts[:, one] & table.facts[:, two], table.facts)
        others = products(table.others[:, one] & table.others[:, two], table.others)
        worth = self._worth(support, others, _smoothed(*pairs[1][:2])[:, None])
        pair, third = np.nonzero(worth)
        columns = np.sort(np.stack((one[pair], two[pair], third), axis=1), axis=1)
        _, first = np.unique(columns, axis=0, return_index=True)
        pair, third = pair[first], third[first]
        counts = [counts[pair, third] for counts in (support, others, worth + pairs[1][2][:, None])]
        return columns[first], np.stack(counts)

    def _scored(self, table: StatementTable, found: FoundPairs, row: int) -> ScoredRule:
        columns = without_dead(table, [int(c) for c in found[0][row] if c >= 0])
        parts = sorted((table.statement(c) for c in columns), key=formula_key)
        rule = Rule(Head.of(self.kb.predicates[table.target]), And(*parts), distinct=True)
        with_fact = np.bitwise_and.reduce(table.others[:, columns], axis=1)[table.has_fact]
        support, others = (int(count) for count in found[1][:2, row])
        stats = RuleStats(support, support + others, len(table.facts), support + int(with_fact.sum(dtype=np.int64)))
        return ScoredRule(rule, stats, stats.smoothed)


def without_dead(table: StatementTable, columns: list[int]) -> list[int]:
    """Drop statements that change no count, but keep a chain: the third may make one of the first two redundant.

    `columns` of the `table` are those of the conjunction.
    """

    def counts(columns: list[int]) -> tuple[int, int]:
        holds = (np.bitwise_and.reduce(rows[:, columns], axis=1) for rows in (table.facts, table.others))
        facts, others = (int(truth.sum(dtype=np.int64)) for truth in holds)
        return facts, others

    wanted = counts(columns)
    for column in columns if len(columns) > 2 else ():
        rest = [c for c in columns if c != column]
        if len(rest) > 1 and min(rest) < table.num_chains and counts(rest) == wanted:
            columns = rest
    return columns


def best(found: FoundPairs, count: int) -> FoundPairs:
    """Return the `count` conjunctions with the largest gain."""
    columns, counts = found
    order = np.lexsort((*columns.T[::-1], -counts[2]))[:count]
    return columns[order], counts[:, order]


def products(left: np.ndarray, right: np.ndarray, block: int = 2**14) -> np.ndarray:
    """Return left.T @ right for matrices of 0 and 1, in blocks of `block` rows.

    float32 is exact, since all counts are far below 2^24.
    """
    result = np.zeros((left.shape[1], right.shape[1]), np.float32)
    for begin in range(0, len(left), block):
        rows = slice(begin, begin + block)
        result += left[rows].T.astype(np.float32) @ right[rows].astype(np.float32)
    return result


def chosen(table: StatementTable, found: FoundPairs, known: Doubles, count: int) -> Iterator[int]:
    """Choose up to `count` conjunctions greedily: the one that most raises the confidence of the facts comes next.

    `table` says where statements hold; `known` is the confidence of each fact before.
    """
    columns, counts = found
    # The padding -1 refers to a column of ones.
    facts = np.column_stack((table.facts, np.ones(len(known), np.uint8))).astype(bool)
    holds = np.ascontiguousarray(facts[:, columns].all(axis=2).T)
    level, before = np.log(_smoothed(*counts[:2])), np.log(np.maximum(known, 1e-3))
    left = np.ones(len(level), bool)
    for _ in range(min(count, len(level))):
        gain = np.where(left, (np.maximum(level[:, None] - before[None, :], 0) * holds).sum(axis=1), -1)
        best = int(np.argmax(gain))
        if gain[best] <= 0:
            return
        yield best
        left[best] = False
        before[holds[best]] = np.maximum(before[holds[best]], level[best])


def _by_entity(holds: np.ndarray, entity: Longs, num_entities: int) -> np.ndarray:
    """Return (entities, columns): the number of rows of each entity for which a column holds."""
    rows = np.ones(len(entity), np.float32), (entity, np.arange(len(entity)))
    return csr_matrix(rows, (num_entities, len(entity))) @ holds


def _smoothed(support: np.ndarray, others: np.ndarray) -> Doubles:
    """Return the smoothed confidence of bodies with this support and this number of other pairs."""
    return np.asarray(smoothed_confidence(support, support + others), np.float64)
