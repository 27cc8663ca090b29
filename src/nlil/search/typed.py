"""Typed variants of chains: one unary filter on one variable, kept where it raises confidence.

    p(X, Y) :- q(X, Z1), r(Z1, Y)   becomes   p(X, Y) :- q(X, Z1), person(Z1), r(Z1, Y)

One pass over a chain of one or two steps counts all its variants: for each start a, each distinct
(variable, unary predicate, b) whose filtered body holds.
"""

from __future__ import annotations

import numpy as np

from ..data.arrays import Ids
from ..kernel.bodies import NO_STEP
from ..kernel.compiled import compiled
from ..kernel.graph import Graph, TargetFacts
from ..logic.rule import SMOOTHING
from .chains import Chains, _mark_objects
from .hash_table import first_visit, new_table, next_epoch
from .options import CountOptions

MOST_VARIANTS = 5
"""Variants kept for one chain, best first."""
GAIN = 1.1
"""A variant is kept when its smoothed confidence is at least this many times the chain's."""


class TypedCounter:
    """Scratch of one thread for chains of up to two steps over `num_predicates` predicates."""

    def __init__(self, graph: Graph, num_predicates: int) -> None:
        self.mark = np.full((graph.num_entities, 2), -1, np.int64)
        self.table = new_table(2**16)
        self.epoch = 0
        self.counts = np.zeros((3, 3, num_predicates), np.int64)


@compiled
def _count_typed(graph, facts, steps, target, epoch, table, mark, counts):
    """counts[what, variable, u]: what = support, body, PCA body of the chain filtered by u(variable).

    Variables are 0: X, 1: Z1 (two steps only), 2: Y. Returns the last epoch, negative when the table is too small.
    """
    num_predicates = counts.shape[2]
    num_keys = np.int64(3) * num_predicates * graph.num_entities
    mask = len(table) - 1
    for i in range(graph.code_pointer[steps[0]], graph.code_pointer[steps[0] + 1]):
        span = graph.code_span[i]
        a = graph.span_node[span]
        epoch = next_epoch(epoch, num_keys, table, mark)
        _mark_objects(facts, a, mark, epoch)
        has_target = False
        for t in range(facts.subject_pointer[a], facts.subject_pointer[a + 1]):
            has_target = has_target or facts.subject_target[t] == target
        entries = 0
        for first in range(graph.span_pointer[span], graph.span_pointer[span + 1]):
            z = graph.neighbour[first]
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


def typed_variants(
    graph: Graph, facts: TargetFacts, chains: Chains, row: int, counter: TypedCounter, options: CountOptions
) -> Chains:
    """The best filtered variants of one chain; their steps are one longer, filters included."""
    steps, target = chains.steps[row], int(chains.target[row])
    steps = steps[steps != NO_STEP]
    while True:
        counter.counts[:] = 0
        counter.epoch = _count_typed(
            graph, facts, steps, target, counter.epoch, counter.table, counter.mark, counter.counts
        )
        if counter.epoch >= 0:
            break
        counter.epoch = -counter.epoch
        counter.table = new_table(len(counter.table))
    support, body, pca = counter.counts
    base = chains.support[row] / (chains.body_size[row] + SMOOTHING)
    gain = support / (body + SMOOTHING)
    enough = (support >= max(options.min_support, 1)) & (gain >= GAIN * base)
    variable, predicate = np.nonzero(enough)
    best = np.lexsort((predicate, variable, -gain[variable, predicate]))[:MOST_VARIANTS]
    variable, predicate = variable[best], predicate[best]
    rows = [_with_filter(steps, v, p) for v, p in zip(variable.tolist(), predicate.tolist())]
    return Chains(
        np.full(len(rows), target, np.int32),
        np.array(rows, np.int32).reshape(len(rows), len(steps) + 1),
        support[variable, predicate], body[variable, predicate], pca[variable, predicate],
    )  # fmt: skip


def _with_filter(steps: Ids, variable: int, predicate: int) -> list[int]:
    place = 0 if variable == 0 else 1 if variable == 1 else len(steps)
    return [*steps[:place].tolist(), 2 * predicate, *steps[place:].tolist()]
