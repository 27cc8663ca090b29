"""Counting rules with a constant in the head: every body of a head at once, with exact statistics.

    q(X, c) :- k(X, d)      anchored        q is a step code, so q(c, Y) :- k(d, Y) is the same shape
    q(X, c) :- k(X, Z1)     half-anchored   (X and Z1 distinct)
    q(X, c) :- true         prior

The facts of a head q(X, c) are the span of c along q ^ 1: its neighbours are the x. One loop over the edges of these x
counts every body at once, since a body k(X, d) is a span too: that of d along k ^ 1. The fact q(x, c) is hidden from
its own bodies: it supports neither q(X, c), nor the inverse at a self-loop q(c, c), nor k(X, Z1) with k = q if x has no
other edge q.

A rule is therefore two numbers (the span of its head, its body) and three counts: see `top_rules.ROW`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..data.arrays import Flag, Ids, Longs
from ..kernel.compiled import compiled
from ..kernel.graph import Graph, find_span, first_at_least, span_edges, span_numbers
from ..kernel.hidden import hides_edge
from ..kernel.sorting import sort_range
from ..logic.rule import SMOOTHING
from .options import NEVER
from .top_rules import BODY, BODY_SIZE, CONFIDENCES, HEAD, PCA_BODY, ROW, SUPPORT, Thresholds, TopRules

LOOKUP = 8
"""Looking up one body takes about as long as walking this many edges."""
NEARLY = 1e-6
"""Tolerance, so that rounding loses no rule; the final decision is made with integers."""


@compiled
def _add_bodies(graph: Graph, x: int, q: int, c: int, count: Ids, lost: Ids, touched: Longs, num_touched: int) -> int:
    """Add 1 to `count` of each body that holds for x without the fact q(x, c), and to `lost` of each that needs it.

    A body k(X, d) has the number of its span; the bodies k(X, Z1) follow the spans. touched[:num_touched] lists the
    bodies with a count; returns the new num_touched.
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
def _look_up(
    graph: Graph, x: int, q: int, c: int, least: Longs, count: Ids, lost: Ids, touched: Longs, num: int
) -> None:
    """Do the same as `_add_bodies`, but only for the first `num` of `touched` that can still reach `least` with x."""
    num_spans = len(graph.span_node)
    for i in range(num):
        body = touched[i]
        if count[body] + 1 < least[i]:
            continue
        if body < num_spans:
            low, high = graph.span_pointer[body], graph.span_pointer[body + 1]
            place = first_at_least(graph.neighbour, low, high, x)
            if place < high and graph.neighbour[place] == x:
                is_own = hides_edge(q, x, c, graph.span_code[body] ^ 1, x, graph.span_node[body])
                _add(body, is_own, count, lost, touched, num)
            continue
        low, high = span_edges(graph, x, body - num_spans)
        leaves, is_lost = False, False
        for e in range(low, high):
            d = graph.neighbour[e]
            is_own = hides_edge(q, x, c, body - num_spans, x, d)
            leaves, is_lost = leaves or (d != x and not is_own), is_lost or (d != x and is_own)
            if leaves:
                break
        if leaves or is_lost:
            _add(body, not leaves, count, lost, touched, num)


class Tally(NamedTuple):
    """Scratch space of one thread: numbers of entities by body, all zeros between two calls.

    Attributes:
        held: neighbours of the head for which the body holds.
        lost: neighbours for which it holds only through the hidden fact.
        pca: entities with an edge along the step of the head for which it holds.
        touched: the bodies with a count.
        least: for each of these, the support that a rule needs.
    """

    held: Ids
    lost: Ids
    pca: Ids
    touched: Ids
    least: Ids

    @classmethod
    def of(cls, num_bodies: int) -> Tally:
        """Make the arrays for `num_bodies`."""
        held, lost, pca, least = np.zeros((4, num_bodies), np.int32)
        return cls(held, lost, pca, np.zeros(num_bodies, span_numbers(num_bodies)), least)


@compiled
def _add_pca(graph: Graph, code: int, amount: int, pca: Ids) -> None:
    """Add `amount` to every body for each entity that has an edge along `code` and for which the body holds."""
    for i in range(graph.code_pointer[code], graph.code_pointer[code + 1]):
        x = graph.span_node[graph.code_span[i]]
        for span in range(graph.node_span[x], graph.node_span[x + 1]):
            low, high = graph.span_pointer[span], graph.span_pointer[span + 1]
            for e in range(low, high):
                pca[graph.back_span[e]] += amount
            if high - low > 1 or graph.neighbour[low] != x:
                pca[len(graph.span_node) + graph.span_code[span]] += amount


@compiled
def _walk_head(graph: Graph, head: int, code: int, size: Longs, needs: Thresholds, tally: Tally, flag: Flag) -> int:
    """Count the bodies of one head; return the number of touched bodies, or -1 if the search was stopped.

    A hub, with far more edges than all other neighbours together, is not walked: a rule needs support from another
    neighbour too, so only the bodies found there are looked up.
    """
    low, high, c = graph.span_pointer[head], graph.span_pointer[head + 1], graph.span_node[head]
    edges, largest = 0, low
    for m in range(low, high):
        degree = graph.pointer[graph.neighbour[m] + 1] - graph.pointer[graph.neighbour[m]]
        edges += degree
        if degree > graph.pointer[graph.neighbour[largest] + 1] - graph.pointer[graph.neighbour[largest]]:
            largest = m
    hub = graph.neighbour[largest]
    degree = graph.pointer[hub + 1] - graph.pointer[hub]
    is_hub = needs.support > 1 and degree > LOOKUP * (edges - degree)
    touched = 0
    for m in range(low, high):
        if flag[0]:
            return -1
        if m != largest or not is_hub:
            touched = _add_bodies(graph, graph.neighbour[m], code, c, tally.held, tally.lost, tally.touched, touched)
    if is_hub:
        for i in range(touched):
            body = tally.touched[i]
            tally.least[i] = _least(needs, size[body] - tally.lost[body] - 1)
        _look_up(graph, hub, code, c, tally.least, tally.held, tally.lost, tally.touched, touched)
    for i in range(touched):
        body = tally.touched[i]
        tally.least[i] = _least(needs, size[body] - tally.lost[body])
    return touched


@compiled
def _least(needs: Thresholds, body_size: int) -> int:
    """Return the least support of a rule whose body holds for this many entities."""
    # The grade combines support and smoothed confidence.
    by_grade = needs.grade / CONFIDENCES * (body_size + SMOOTHING) / (body_size + SMOOTHING + 1)
    return max(needs.support, 1, math.ceil(max(needs.confidence * body_size, by_grade - NEARLY)))


@compiled
def _anchored_of(
    graph: Graph,
    code: int,
    begin: int,
    end: int,
    size: Longs,
    needs: Thresholds,
    capacity: int,
    tally: Tally,
    flag: Flag,
) -> tuple[int, int, int, Longs]:
    """Count the rules of the heads begin .. end of a code, up to `capacity` rows.

    Returns (next head, rows it needs, number of rows, columns). `size` is the number of entities for which each body
    holds.
    """
    columns = np.empty((ROW, capacity), np.int64)
    num_spans, num_codes, n = len(graph.span_node), graph.num_codes, graph.num_entities
    count, lost, touched = tally.held, tally.lost, tally.touched
    rows = 0
    for place in range(begin, end):
        head = graph.code_span[place]
        if graph.span_pointer[head + 1] - graph.span_pointer[head] < needs.support:
            continue
        num_touched, kept = _walk_head(graph, head, code, size, needs, tally, flag), 0
        if num_touched < 0:
            return end, 0, rows, columns
        for i in range(num_touched):
            body = touched[i]
            if count[body] >= tally.least[i]:
                if rows + kept < capacity:
                    is_span = body < num_spans
                    step = np.int64(graph.span_code[body] ^ 1) if is_span else num_codes + body - num_spans
                    columns[BODY, rows + kept] = step * n + (graph.span_node[body] if is_span else 0)
                kept += 1
        fits = rows + kept <= capacity
        if fits:
            sort_range(columns[BODY], rows, rows + kept)
        for i in range(rows, rows + kept if fits else rows):
            step, d = columns[BODY, i] // n, columns[BODY, i] % n
            body = num_spans + step - num_codes
            if step < num_codes:
                body = find_span(graph, d, step ^ 1)
            columns[HEAD, i], columns[BODY, i], columns[SUPPORT, i] = head, body, count[body]
            columns[BODY_SIZE, i] = size[body] - lost[body]
            columns[PCA_BODY, i] = (tally.pca[body] if code % 2 == 0 else size[body]) - lost[body]
        for i in range(num_touched):
            count[touched[i]], lost[touched[i]] = 0, 0
        if not fits:
            return place, kept, rows, columns
        rows += kept
    return end, 0, rows, columns


def body_sizes(graph: Graph) -> Longs:
    """Return the number of entities for which each body holds.

    The bodies are the spans k(X, d), then for each code k the body k(X, Z1): an edge k to another entity.
    """
    beyond_self = np.bincount(graph.span_code[graph.leaves()], minlength=graph.num_codes)
    return np.concatenate((np.diff(graph.span_pointer), beyond_self))


class HeadCounter:
    """Counts rules of heads of `graph`; holds the scratch space of one thread. `sizes` are the `body_sizes`."""

    def __init__(self, graph: Graph, sizes: Longs) -> None:
        self.graph, self.sizes, self.tally = graph, sizes, Tally.of(len(sizes))
        self._code = 1  # the step whose entities tally.pca counts; none for odd codes

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The scratch arrays."""
        return self.tally

    def _count_pca(self, code: int) -> None:
        """Make tally.pca count the entities with an edge along `code`; once for all heads of a code."""
        if code != self._code:
            for step, amount in ((self._code, -1), (code, 1)):
                if step % 2 == 0:
                    _add_pca(self.graph, step, amount, self.tally.pca)
            self._code = code

    def rows(self, heads: Heads, best: TopRules, budget: int, flag: Flag = NEVER) -> Iterator[Longs]:
        """Yield the anchored and half-anchored rules of `heads`, in blocks of about `budget` bytes.

        Rows are those of `top_rules.ROW`, by head; within a head, anchored rules by step and end, then half-anchored
        rules by step. `best` has the thresholds for rules; nothing is yielded once the `flag` is set.
        """
        code, begin, end = heads
        capacity = max(budget // (8 * ROW), 1)
        self._count_pca(code)
        while begin < end and not flag[0]:
            begin, needed, rows, columns = _anchored_of(
                self.graph, code, begin, end, self.sizes, best.thresholds, capacity, self.tally, flag
            )
            yield columns[:, :rows]
            capacity = max(capacity, needed)


class Heads(NamedTuple):
    """Heads q(X, c) of one step q, the `code`: the spans code_span[begin : end] of a graph, which run along q ^ 1."""

    code: int
    begin: int
    end: int

    @classmethod
    def of(cls, graph: Graph, code: int) -> Heads:
        """Return all heads of a step."""
        return cls(code, int(graph.code_pointer[code ^ 1]), int(graph.code_pointer[(code ^ 1) + 1]))

    def cut(self, graph: Graph, min_support: int, most: int) -> list[tuple[Heads, int]]:
        """Split the heads into parts of about `most` edges to walk; return each part with its number of edges.

        Heads with fewer than `min_support` facts are not walked.
        """
        edges = np.cumsum(_edges_of_heads(graph, self.code, self.begin, self.end, min_support))
        if not len(edges) or not edges[-1]:
            return []
        last = np.append(np.flatnonzero(np.diff(edges // most)), len(edges) - 1)
        first = np.append(0, last[:-1] + 1)
        size = np.diff(edges[last], prepend=0)
        found = zip((first + self.begin).tolist(), (last + 1 + self.begin).tolist(), size.tolist())
        return [(Heads(self.code, begin, end), count) for begin, end, count in found]


@compiled
def _edges_of_heads(graph: Graph, code: int, begin: int, end: int, min_support: int) -> Longs:
    """Return the number of edges that are walked for each head."""
    edges = np.zeros(end - begin, np.int64)
    for place in range(begin, end):
        low, high = graph.span_pointer[graph.code_span[place]], graph.span_pointer[graph.code_span[place] + 1]
        largest = 0
        for m in range(low, high if high - low >= min_support else low):
            degree = graph.pointer[graph.neighbour[m] + 1] - graph.pointer[graph.neighbour[m]]
            edges[place - begin] += degree
            largest = max(largest, degree)
        # A hub is looked up instead of walked; every neighbour costs at least one step.
        edges[place - begin] += high - low - largest
    return edges


def prior_rows(graph: Graph, code: int, min_support: int) -> Longs:
    """Count q(X, c) :- true for every c, where q is the step `code`; the body holds for every entity.

    Rows are those of `HeadCounter.rows`; the body `true` has the last number.
    """
    spans = graph.code_span[graph.code_pointer[code ^ 1] : graph.code_pointer[(code ^ 1) + 1]]
    support = graph.span_pointer[spans + 1] - graph.span_pointer[spans]
    spans, support = spans[support >= min_support], support[support >= min_support]
    subjects = graph.code_pointer[code + 1] - graph.code_pointer[code]
    rows = np.empty((ROW, len(spans)), np.int64)
    rows[HEAD], rows[BODY], rows[SUPPORT] = spans, graph.num_spans + graph.num_codes, support
    rows[BODY_SIZE], rows[PCA_BODY] = graph.num_entities, subjects if code % 2 == 0 else graph.num_entities
    return rows
