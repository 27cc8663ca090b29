"""Rules with a constant in the head, for all targets at once, with exact statistics.

    q(X, c) :- k(X, d)      anchored        q is a step code, so q(c, Y) :- k(d, Y) is the same shape
    q(X, c) :- k(X, Z1)     half-anchored   (X and Z1 distinct)
    q(X, c) :- true         prior

The facts of a head q(X, c) are the span of c along q ^ 1: its neighbours are the x. The loop over the edges of those
x counts every body at once; a body k(X, d) is a span too, that of d along k ^ 1. The fact q(x, c) is hidden from its
own body: there it supports neither the head's own span, nor its mirror image at a self-loop q(c, c), nor k(X, Z1) with
k = q where x has no other q-edge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..data.arrays import Ids, Longs
from ..data.kb import KnowledgeBase
from ..kernel.bodies import ANY_NODE, NO_STEP, X_NODE, Y_NODE
from ..kernel.compiled import compiled
from ..kernel.graph import Graph, find_span
from ..kernel.hidden import hides_edge
from ..kernel.pool import Pool, workers
from ..kernel.ruleset import FIRST, SECOND, RuleSet
from ..kernel.sorting import sort_range
from .options import CountOptions, Task

if TYPE_CHECKING:
    from .tensors import TensorCounter


@compiled
def _add_bodies(graph: Graph, x: int, q: int, c: int, count: Ids, lost: Ids, touched: Longs, num_touched: int) -> int:
    """Add 1 to the count of each body that holds of x without the fact q(x, c), and to `lost` of those that hold of x
    only by that fact. A body k(X, d) is a span, the bodies k(X, Z1) are numbered behind the spans.

    touched[:num_touched] lists the bodies that have been added to; returns the new num_touched.
    """
    e, end = graph.pointer[x], graph.pointer[x + 1]
    while e < end:
        k, leaves, is_lost = graph.code[e], False, False
        while e < end and graph.code[e] == k:
            d = graph.neighbour[e]
            is_own = hides_edge(q, x, c, k, x, d)
            num_touched = _add(graph.back_span[e], is_own, count, lost, touched, num_touched)
            leaves, is_lost = leaves or (d != x and not is_own), is_lost or (d != x and is_own)
            e += 1
        if leaves or is_lost:
            num_touched = _add(len(graph.span_node) + k, not leaves, count, lost, touched, num_touched)
    return num_touched


@compiled
def _add(body: int, is_lost: bool, count: Ids, lost: Ids, touched: Longs, num_touched: int) -> int:
    if count[body] == 0 and lost[body] == 0:
        touched[num_touched] = body
        num_touched += 1
    if is_lost:
        lost[body] += 1
    else:
        count[body] += 1
    return num_touched


@compiled
def _anchored_of(
    graph: Graph, code: int, begin: int, end: int, size: Longs, min_support: int, min_confidence: float, capacity: int
) -> tuple[int, int, int, Longs]:
    """Rules of the heads begin .. end of a code, until `capacity` rows; (next head, rows it takes, rows, columns).

    `size` says how many entities each body holds of.
    """
    columns = np.empty((6, capacity), np.int64)
    num_spans, num_codes, n = len(graph.span_node), graph.num_codes, graph.num_entities
    count, lost, pca = np.zeros(len(size), np.int32), np.zeros(len(size), np.int32), np.zeros(len(size), np.int32)
    touched = np.empty(len(size), np.int64)
    rows = 0
    if code % 2 == 0:
        for i in range(graph.code_pointer[code], graph.code_pointer[code + 1]):
            _add_bodies(graph, graph.span_node[graph.code_span[i]], code, -1, pca, lost, touched, 0)
    for place in range(begin, end):
        head = graph.code_span[place]
        low, high, c = graph.span_pointer[head], graph.span_pointer[head + 1], graph.span_node[head]
        if high - low < min_support:
            continue
        num_touched, kept = 0, 0
        for m in range(low, high):
            num_touched = _add_bodies(graph, graph.neighbour[m], code, c, count, lost, touched, num_touched)
        for i in range(num_touched):
            body = touched[i]
            least = max(min_support, 1, min_confidence * (size[body] - lost[body]))
            if count[body] >= least:
                if rows + kept < capacity:
                    is_span = body < num_spans
                    step = np.int64(graph.span_code[body] ^ 1) if is_span else num_codes + body - num_spans
                    columns[0, rows + kept] = step * n + (graph.span_node[body] if is_span else 0)
                kept += 1
        if rows + kept > capacity:
            return place, kept, rows, columns
        sort_range(columns[0], rows, rows + kept)
        for i in range(rows, rows + kept):
            step, d = columns[0, i] // n, columns[0, i] % n
            body = num_spans + step - num_codes
            if step < num_codes:
                body = find_span(graph, d, step ^ 1)
            columns[0, i], columns[1, i] = c, step if step < num_codes else step - num_codes
            columns[2, i], columns[3, i] = d if step < num_codes else ANY_NODE, count[body]
            columns[4, i] = size[body] - lost[body]
            columns[5, i] = (pca[body] if code % 2 == 0 else size[body]) - lost[body]
        for i in range(num_touched):
            count[touched[i]], lost[touched[i]] = 0, 0
        rows += kept
    return end, 0, rows, columns


def body_sizes(graph: Graph) -> Longs:
    """Count the entities that each body holds of.

    Bodies are the spans k(X, d), and behind them for each code k that there is an edge k to another entity.
    """
    beyond_self = np.bincount(graph.span_code[graph.leaves()], minlength=graph.num_codes)
    return np.concatenate((np.diff(graph.span_pointer), beyond_self))


def anchored_rows(graph: Graph, code: int, sizes: Longs, options: CountOptions, budget: int) -> Longs:
    """Count anchored and half-anchored rules of all heads q(X, c) for the step `code` q.

    It takes up to `budget` bytes at a time.

    Rows of the result: the constant of the head, step and end of the body, support, body size, PCA body. The end of a
    half-anchored rule is any other entity (ANY_NODE). `sizes` are those of `body_sizes`.
    """
    begin, end = graph.code_pointer[code ^ 1], graph.code_pointer[(code ^ 1) + 1]
    capacity, parts = max(budget // 48, 1), [np.zeros((6, 0), np.int64)]
    while begin < end:
        begin, needed, rows, columns = _anchored_of(
            graph, code, begin, end, sizes, options.min_support, options.min_confidence, capacity
        )
        parts.append(columns[:, :rows].copy())
        capacity = max(capacity, needed)
    return np.concatenate(parts, axis=1)


def prior_rows(graph: Graph, code: int, min_support: int) -> Longs:
    """Count q(X, c) :- true for every c, q being the step `code`: its body has no step and holds for every entity.

    Rows as of `anchored_rows`.
    """
    spans = graph.code_span[graph.code_pointer[code ^ 1] : graph.code_pointer[(code ^ 1) + 1]]
    support = np.diff(graph.span_pointer)[spans]
    spans, support = spans[support >= min_support], support[support >= min_support]
    subjects = graph.code_pointer[code + 1] - graph.code_pointer[code]
    rows = np.empty((6, len(spans)), np.int64)
    rows[0], rows[1], rows[2], rows[3] = graph.span_node[spans], NO_STEP, ANY_NODE, support
    rows[4], rows[5] = graph.num_entities, subjects if code % 2 == 0 else graph.num_entities
    return rows


def rules_of(kb: KnowledgeBase, graph: Graph, code: int, rows: Longs) -> RuleSet:
    """Make rules of `rows`: q(X, c) for an even `code`, q(c, Y) for an odd one.

    Both have the same spans, seen from the other argument.
    """
    constant, step, end, support, body_size, pca_body = rows
    low, high = graph.edges(constant, code ^ 1)
    return RuleSet.of_lines(
        kb,
        step[:, None],
        head=code >> 1,
        head_entity=constant,
        fixed=SECOND if code % 2 == 0 else FIRST,
        start=X_NODE if code % 2 == 0 else Y_NODE,
        end=end,
        distinct=(step != NO_STEP) & (end == ANY_NODE),
        support=support,
        body_size=body_size,
        head_size=high - low,
        pca_body=pca_body,
    )


def priors(kb: KnowledgeBase, target: int, min_support: int) -> list[RuleSet]:
    """Return p(X, c) :- true and p(c, Y) :- true of a binary `target`."""
    graph, codes = Graph.of(kb), (2 * target, 2 * target + 1)
    return [rules_of(kb, graph, code, prior_rows(graph, code, min_support)) for code in codes]


def constant_rules(task: Task, tensors: TensorCounter | None) -> list[RuleSet]:
    """Return anchored, half-anchored rules and priors, direction by direction of each target.

    On a device with `tensors`.
    """
    kb, graph, options = task.kb, task.graph, task.options
    codes = [int(code) for t in task.targets for code in (2 * t, 2 * t + 1)]

    def part(code: int, rows: Longs) -> RuleSet:
        return rules_of(kb, graph, code, np.concatenate((rows, prior_rows(graph, code, options.min_support)), axis=1))

    if tensors is not None:
        parts: list[RuleSet] = []
        for code, rows in tensors.anchored(codes):
            if parts and options.is_late:
                break
            parts.append(part(code, rows))
            task.progress("constants", len(parts), len(codes))
        return parts
    pool: Pool[None] = workers(lambda: None, options.threads)
    budget, sizes = max(options.memory // (4 * pool.threads), 2**20), body_sizes(graph)

    def constant(_: None, code: int) -> RuleSet:
        return part(code, anchored_rows(graph, code, sizes, options, budget))

    return pool.map(constant, codes, "constants", task.progress, options.stop)
