"""Typed variants of chains: one unary filter on one variable, kept if it raises the confidence.

    p(X, Y) :- q(X, Z1), r(Z1, Y)   becomes   p(X, Y) :- q(X, Z1), person(Z1), r(Z1, Y)

One pass over a chain of one or two steps counts all its variants: for each start a, each distinct (variable, unary
predicate, b) for which the filtered body holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.arrays import Flag, Ids, Longs, Mask
from ..kernel.compiled import compiled
from ..kernel.graph import Graph, TargetFacts
from ..kernel.pool import workers
from ..logic.rule import smoothed_confidence
from .chains import mark_objects
from .options import ChainRows, CountingTask, join_rows

MOST_VARIANTS = 5
"""Variants kept for one chain, best first."""
GAIN = 1.1
"""A variant is kept if its smoothed confidence is at least this many times that of the chain, and"""
CHANCE = 3.0
"""if its support is so many standard errors above that of as many answers drawn from those of the chain at random. Many
variants are tried, and a filter that has nothing to do with the target often raises the confidence of a few answers."""
LARGEST_ENTRY = 2**62
HASH_MULTIPLIER = np.int64(-7046029254386353131)  # 2^64 / golden ratio, as a signed number


@compiled
def _count_typed(
    graph: Graph, facts: TargetFacts, steps: Ids, target: int, epoch: int, table: Longs, mark: Longs, counts: Longs,
    flag: Flag,
) -> int:  # fmt: skip
    """Fill counts[what, variable, u]: support, body size and PCA body of the chain filtered by u(variable).

    Variables are 0: X, 1: Z1 (two steps only), 2: Y. Returns the last epoch, negative if the table is too small. The
    counts are invalid once the `flag` is set.
    """
    num_predicates = counts.shape[2]
    num_keys = np.int64(3) * num_predicates * graph.num_entities
    mask = len(table) - 1
    for i in range(graph.code_pointer[steps[0]], graph.code_pointer[steps[0] + 1]):
        span = graph.code_span[i]
        a = graph.span_node[span]
        epoch = next_epoch(epoch, num_keys, table, mark)
        mark_objects(facts, a, mark, epoch)
        has_target = False
        for t in range(facts.subject_pointer[a], facts.subject_pointer[a + 1]):
            has_target = has_target or facts.subject_target[t] == target
        entries = 0
        for first in range(graph.span_pointer[span], graph.span_pointer[span + 1]):
            z = graph.neighbour[first]
            if flag[0]:
                return epoch
            if z == a:
                continue
            low, high = first, first + 1
            if len(steps) == 2:
                low, high = graph.pointer[z], graph.pointer[z + 1]
            for e in range(low, high):
                b = z
                if len(steps) == 2:
                    b = graph.neighbour[e]
                    if graph.code[e] != steps[1] or b == a or b == z:
                        continue
                holds = False
                if mark[b, 0] == epoch:
                    f = mark[b, 1]
                    while f < facts.pointer[a + 1] and facts.object[f] == b:
                        holds = holds or facts.target[f] == target
                        f += 1
                for variable in range(3):
                    node = a if variable == 0 else b if variable == 2 else z
                    if variable == 1 and len(steps) == 1:
                        continue
                    for u in range(graph.unary_pointer[node], graph.unary_pointer[node + 1]):
                        predicate = graph.unary_predicate[u]
                        key = (np.int64(variable) * num_predicates + predicate) * graph.num_entities + b
                        if first_visit(table, mask, epoch, num_keys, key):
                            entries += 1
                            if 2 * entries > len(table):
                                return -epoch
                            counts[0, variable, predicate] += holds
                            counts[1, variable, predicate] += 1
                            counts[2, variable, predicate] += has_target
    return epoch


def is_above_chance(support: Longs, body_size: Longs, support_of_chain: int, body_size_of_chain: int) -> Mask:
    """Return which variants, with this `support` and `body_size`, are right more often than chance has it.

    Chance draws their answers from those of the chain, which has `support_of_chain` and `body_size_of_chain`.

    >>> is_above_chance(np.array([30, 36, 4]), np.array([50, 50, 4]), 100, 200).tolist()
    [False, True, False]
    """
    share = support_of_chain / max(body_size_of_chain, 1)
    left = (body_size_of_chain - body_size) / max(body_size_of_chain - 1, 1)
    error = np.sqrt(body_size * share * (1 - share) * np.maximum(left, 0))
    return np.asarray(support - share * body_size > CHANCE * error)


class TypedCounter:
    """Counts the typed variants of chains of up to two steps; holds the scratch space of one thread."""

    def __init__(self, task: CountingTask) -> None:
        self.task, self.table, self.epoch = task, new_table(2**16), 0
        self.mark = np.full((task.graph.num_entities, 2), -1, np.int64)
        self.counts = np.zeros((3, 3, task.kb.num_predicates), np.int64)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The scratch arrays."""
        return self.table, self.mark, self.counts

    def rows(self, steps: Ids, counts: Longs) -> ChainRows:
        """Return the best variants of one chain with its `counts`; the filter is one more of their `steps`.

        There are none if the search was stopped.
        """
        task, flag, (target, support, body_size, _) = self.task, self.task.options.flag, counts.tolist()
        while True:
            self.counts[:] = 0
            self.epoch = _count_typed(
                task.graph, task.facts, steps, target, self.epoch, self.table, self.mark, self.counts, flag
            )
            if flag[0]:
                return join_rows([], len(steps) + 1)
            if self.epoch >= 0:
                break
            self.epoch, self.table = -self.epoch, new_table(len(self.table))
        smoothed = smoothed_confidence(self.counts[0], self.counts[1])
        enough = self.counts[0] >= max(task.options.min_support, 1)
        enough &= smoothed >= GAIN * smoothed_confidence(support, body_size)
        enough &= is_above_chance(self.counts[0], self.counts[1], support, body_size)
        variable, predicate = np.nonzero(enough)
        best = np.lexsort((predicate, variable, -smoothed[variable, predicate]))[:MOST_VARIANTS]
        variable, predicate = variable[best], predicate[best]
        codes, places = steps.tolist(), (0, 1, len(steps))
        rows = [
            [*codes[: places[v]], 2 * p, *codes[places[v] :]] for v, p in zip(variable.tolist(), predicate.tolist())
        ]
        found = np.array(rows, np.int32).reshape(len(best), len(steps) + 1)
        counts = np.empty((4, len(best)), np.int64)
        counts[0], counts[1:] = target, self.counts[:, variable, predicate]
        return found, counts


def typed_chains(task: CountingTask, chains: ChainRows) -> ChainRows:
    """Count the typed variants of those `chains` whose confidence is below 1, chain by chain."""
    steps, counts = chains
    pool = workers(lambda: TypedCounter(task), task.options.threads, task.options.memory)

    def variants(counter: TypedCounter, row: int) -> ChainRows:
        return counter.rows(steps[row], counts[:, row])

    rows = np.flatnonzero(counts[1] < counts[2]).tolist()
    return join_rows(pool.map(variants, rows, "typed", task.progress, task.options.stop), steps.shape[1] + 1)


# a hash set of numbers that is emptied in constant time ----------------------------


@compiled
def first_visit(table: Longs, mask: int, epoch: int, num_keys: int, key: int) -> bool:
    """Return whether `key` (below `num_keys`) is new in this `epoch`, and add it to `table`.

    Open addressing over entries epoch * num_keys + key: entries of older epochs count as empty, so a new epoch starts
    with an empty table. `mask` is the size of the table, a power of 2, minus 1.
    """
    floor = epoch * num_keys
    entry = floor + key
    slot = ((key * HASH_MULTIPLIER) >> 20) & mask
    while True:
        found = table[slot]
        if found == entry:
            return False
        if found < floor:
            table[slot] = entry
            return True
        slot = (slot + 1) & mask


@compiled
def next_epoch(epoch: int, num_keys: int, table: Longs, mark: Longs) -> int:
    """Return the epoch after this `epoch`.

    If its entries, for keys below `num_keys`, would exceed 64 bits, `table` and `mark` are cleared and epochs start
    again.
    """
    if epoch + 1 < LARGEST_ENTRY // num_keys:
        return epoch + 1
    table[:] = -1
    mark[:] = -1
    return 1


def new_table(entries: int) -> Longs:
    """Return a table for up to `entries` keys per epoch."""
    return np.full(max(16, 1 << (2 * entries - 1).bit_length()), -1, np.int64)
