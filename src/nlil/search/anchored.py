"""Counting rules with a constant in the head: every body of a head at once, with exact statistics.

    q(X, c) :- k(X, d)      anchored        q is a step code, so q(c, Y) :- k(d, Y) is the same shape
    q(X, c) :- k(X, Z1)     half-anchored   (X and Z1 distinct)
    q(X, c) :- true         prior

The facts of a head q(X, c) are the span of c along q ^ 1: its neighbours are the x. The loop over the edges of those
x counts every body at once; a body k(X, d) is a span too, that of d along k ^ 1. The fact q(x, c) is hidden from its
own body: there it supports neither the head's own span, nor its mirror image at a self-loop q(c, c), nor k(X, Z1) with
k = q where x has no other q-edge.

So a rule is two numbers, that of the head's span and that of its body, and three counts: see `room.ROW`.
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
from .room import BODY, BODY_SIZE, CONFIDENCES, HEAD, PCA_BODY, ROW, SUPPORT, Needs, Room

LOOKUP = 8
"""Edges that are walked in the time of looking up one body."""
NEARLY = 1e-6
"""So that no rounding loses a rule; what is kept in the end is decided by whole numbers."""


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
def _look_up(
    graph: Graph, x: int, q: int, c: int, least: Longs, count: Ids, lost: Ids, touched: Longs, num: int
) -> None:
    """Do what `_add_bodies` does, but only for the first `num` of `touched`, and where x can help to reach `least`."""
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
    """Scratch of one thread, all zeros between two calls: by body, how many entities there are of some kind.

    Attributes:
        held: neighbours of the head that the body holds of.
        lost: those that it holds of only by the hidden fact.
        pca: entities with an edge along the step of the head that it holds of.
        touched: bodies with a count.
        least: of each of these, the count that a rule needs.
    """

    held: Ids
    lost: Ids
    pca: Ids
    touched: Ids
    least: Ids

    @classmethod
    def of(cls, num_bodies: int) -> Tally:
        """Make room for `num_bodies`."""
        held, lost, pca, least = np.zeros((4, num_bodies), np.int32)
        return cls(held, lost, pca, np.zeros(num_bodies, span_numbers(num_bodies)), least)


@compiled
def _add_pca(graph: Graph, code: int, amount: int, pca: Ids) -> None:
    """Add `amount` to every body once for each entity with an edge along `code` that it holds of."""
    for i in range(graph.code_pointer[code], graph.code_pointer[code + 1]):
        x = graph.span_node[graph.code_span[i]]
        for span in range(graph.node_span[x], graph.node_span[x + 1]):
            low, high = graph.span_pointer[span], graph.span_pointer[span + 1]
            for e in range(low, high):
                pca[graph.back_span[e]] += amount
            if high - low > 1 or graph.neighbour[low] != x:
                pca[len(graph.span_node) + graph.span_code[span]] += amount


@compiled
def _walk_head(graph: Graph, head: int, code: int, size: Longs, needs: Needs, tally: Tally, flag: Flag) -> int:
    """Count the bodies of one head; returns how many of them were touched, -1 where it was stopped.

    Who has most edges by far is not walked: a rule needs the support of somebody else too, so its bodies are known
    then, and are looked up.
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
def _least(needs: Needs, body_size: int) -> int:
    """The least support of a rule whose body holds of so many entities."""
    # Support and smoothed confidence together are the grade.
    by_grade = needs.grade / CONFIDENCES * (body_size + SMOOTHING) / (body_size + SMOOTHING + 1)
    return max(needs.support, 1, math.ceil(max(needs.confidence * body_size, by_grade - NEARLY)))


@compiled
def _anchored_of(
    graph: Graph, code: int, begin: int, end: int, size: Longs, needs: Needs, capacity: int, tally: Tally, flag: Flag
) -> tuple[int, int, int, Longs]:
    """Rules of the heads begin .. end of a code, until `capacity` rows; (next head, rows it takes, rows, columns).

    `size` says how many entities each body holds of.
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
    """Count the entities that each body holds of.

    Bodies are the spans k(X, d), and behind them for each code k that there is an edge k to another entity.
    """
    beyond_self = np.bincount(graph.span_code[graph.leaves()], minlength=graph.num_codes)
    return np.concatenate((np.diff(graph.span_pointer), beyond_self))


class HeadCounter:
    """Counts rules of some heads of `graph`; the scratch of one thread. `sizes` are those of `body_sizes`."""

    def __init__(self, graph: Graph, sizes: Longs) -> None:
        self.graph, self.sizes, self.tally = graph, sizes, Tally.of(len(sizes))
        self._code = 1  # the step whose entities tally.pca counts; an odd one counts none

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The scratch arrays."""
        return self.tally

    def _turn_to(self, code: int) -> None:
        """Let tally.pca count the entities with an edge along `code`; for the heads of one code that is done once."""
        if code != self._code:
            for step, amount in ((self._code, -1), (code, 1)):
                if step % 2 == 0:
                    _add_pca(self.graph, step, amount, self.tally.pca)
            self._code = code

    def rows(self, heads: Heads, room: Room, budget: int, flag: Flag = NEVER) -> Iterator[Longs]:
        """Count anchored and half-anchored rules of `heads`, some of them at a time.

        Rows are those of `room.ROW`, by head; of one head the anchored rules by step and end, then the half-anchored
        by step. `room` says which rules are wanted, a result takes about `budget` bytes, and nothing comes after the
        `flag` is set.
        """
        code, begin, end = heads
        capacity = max(budget // (8 * ROW), 1)
        self._turn_to(code)
        while begin < end and not flag[0]:
            begin, needed, rows, columns = _anchored_of(
                self.graph, code, begin, end, self.sizes, room.needs, capacity, self.tally, flag
            )
            yield columns[:, :rows]
            capacity = max(capacity, needed)


class Heads(NamedTuple):
    """Heads q(X, c) of one step q, `code`: the spans code_span[begin : end] of a graph, which are those along q ^ 1."""

    code: int
    begin: int
    end: int

    @classmethod
    def of(cls, graph: Graph, code: int) -> Heads:
        """Return all heads of a step."""
        return cls(code, int(graph.code_pointer[code ^ 1]), int(graph.code_pointer[(code ^ 1) + 1]))

    def cut(self, graph: Graph, min_support: int, most: int) -> list[tuple[Heads, int]]:
        """Cut them into parts of about `most` edges to walk; returns each with its number of edges.

        Heads with less than `min_support` facts are not walked.
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
    """The edges that are walked for each head."""
    edges = np.zeros(end - begin, np.int64)
    for place in range(begin, end):
        low, high = graph.span_pointer[graph.code_span[place]], graph.span_pointer[graph.code_span[place] + 1]
        largest = 0
        for m in range(low, high if high - low >= min_support else low):
            degree = graph.pointer[graph.neighbour[m] + 1] - graph.pointer[graph.neighbour[m]]
            edges[place - begin] += degree
            largest = max(largest, degree)
        # Who has most edges by far is looked up; whoever it is, something is to be done for each head.
        edges[place - begin] += high - low - largest
    return edges


def prior_rows(graph: Graph, code: int, min_support: int) -> Longs:
    """Count q(X, c) :- true for every c, q being the step `code`: its body has no step and holds for every entity.

    Rows as of `HeadCounter.rows`; this body is numbered behind all others.
    """
    spans = graph.code_span[graph.code_pointer[code ^ 1] : graph.code_pointer[(code ^ 1) + 1]]
    support = graph.span_pointer[spans + 1] - graph.span_pointer[spans]
    spans, support = spans[support >= min_support], support[support >= min_support]
    subjects = graph.code_pointer[code + 1] - graph.code_pointer[code]
    rows = np.empty((ROW, len(spans)), np.int64)
    rows[HEAD], rows[BODY], rows[SUPPORT] = spans, graph.num_spans + graph.num_codes, support
    rows[BODY_SIZE], rows[PCA_BODY] = graph.num_entities, subjects if code % 2 == 0 else graph.num_entities
    return rows
