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

from typing import NamedTuple

import numpy as np

from ..data.arrays import Longs
from ..kernel.bodies import ANY_NODE, NO_STEP
from ..kernel.compiled import compiled
from ..kernel.graph import Graph, find_span
from ..kernel.hidden import hides_edge
from ..kernel.sorting import sort_range


class Anchored(NamedTuple):
    """Rows: the constant of the head, step and end of the body, support, body size, PCA body.

    A prior has no step (NO_STEP); the end of a half-anchored rule is any other entity (ANY_NODE).
    """

    head: Longs
    step: Longs
    end: Longs
    support: Longs
    body_size: Longs
    pca_body: Longs

    @classmethod
    def join(cls, parts: list[Anchored]) -> Anchored:
        none = cls(*np.zeros((len(cls._fields), 0), np.int64))
        return cls(*(np.concatenate(column) for column in zip(none, *parts)))


@compiled
def _pca_bodies(graph, code, item_pca, code_pca):
    """For the entities that have an edge `code`: how many have each body k(X, d), each k(X, Z1)."""
    for i in range(graph.code_pointer[code], graph.code_pointer[code + 1]):
        x = graph.span_node[graph.code_span[i]]
        last = -1
        for e in range(graph.pointer[x], graph.pointer[x + 1]):
            item_pca[graph.back_span[e]] += 1
            if graph.code[e] != last and graph.neighbour[e] != x:
                last = graph.code[e]
                code_pca[last] += 1


@compiled
def _count_bodies(graph, head, item_count, touched, code_count):
    """Edges of the head's members by body; (bodies touched, members whose only q-edge is the fact itself)."""
    num_touched = 0
    lonely = 0
    q, c = graph.span_code[head] ^ 1, graph.span_node[head]
    for m in range(graph.span_pointer[head], graph.span_pointer[head + 1]):
        x = graph.neighbour[m]
        last = -1
        leaves, leaves_otherwise = False, False
        for e in range(graph.pointer[x], graph.pointer[x + 1]):
            k, d = graph.code[e], graph.neighbour[e]
            if hides_edge(q, x, c, k, x, d):
                leaves = leaves or d != x
                continue
            item = graph.back_span[e]
            if item_count[item] == 0:
                touched[num_touched] = item
                num_touched += 1
            item_count[item] += 1
            if k != last and d != x:
                last = k
                code_count[k] += 1
                leaves_otherwise = leaves_otherwise or k == q
        lonely += leaves and not leaves_otherwise
    return num_touched, lonely


@compiled
def _anchored_of(graph, code, begin, end, bodies_beyond_self, min_support, min_confidence, capacity):
    """Rules of the heads begin .. end of a code, until `capacity` rows; (next head, rows it takes, rows, columns)."""
    columns = np.empty((6, capacity), np.int64)
    rows = 0
    item_count = np.zeros(len(graph.span_node), np.int32)  # of entities, so 32 bits are enough
    touched = np.empty(len(graph.span_node), graph.back_span.dtype)
    code_count = np.zeros(graph.num_codes, np.int64)
    item_pca = np.zeros(len(graph.span_node), np.int32)
    code_pca = np.zeros(graph.num_codes, np.int64)
    if code % 2 == 0:
        _pca_bodies(graph, code, item_pca, code_pca)
    for place in range(begin, end):
        head = graph.code_span[place]
        if graph.span_pointer[head + 1] - graph.span_pointer[head] < min_support:
            continue
        code_count[:] = 0
        num_touched, lonely = _count_bodies(graph, head, item_count, touched, code_count)
        c = graph.span_node[head]
        is_loop = _has_edge(graph, c, code, c)
        kept = 0
        for i in range(num_touched):
            item = touched[i]
            body = (
                graph.span_pointer[item + 1]
                - graph.span_pointer[item]
                - _holds_by_itself(graph, item, code, c, is_loop)
            )
            if item_count[item] < min_support or item_count[item] < min_confidence * body:
                item_count[item] = 0
                continue
            if rows + kept < capacity:
                step = np.int64(graph.span_code[item] ^ 1)
                columns[0, rows + kept] = step * graph.num_entities + graph.span_node[item]
            kept += 1
        if rows + kept + graph.num_codes > capacity:
            return place, kept + graph.num_codes, rows, columns
        first = rows
        sort_range(columns[0], rows, rows + kept)
        for rows in range(first, first + kept):
            step, d = columns[0, rows] // graph.num_entities, columns[0, rows] % graph.num_entities
            item = find_span(graph, d, step ^ 1)
            less = _holds_by_itself(graph, item, code, c, is_loop)
            body = graph.span_pointer[item + 1] - graph.span_pointer[item] - less
            columns[1, rows], columns[2, rows], columns[3, rows], columns[4, rows] = step, d, item_count[item], body
            columns[5, rows] = item_pca[item] - less if code % 2 == 0 else body
            item_count[item] = 0
        rows = first + kept
        for k in range(graph.num_codes):
            support = code_count[k]
            body = bodies_beyond_self[k]
            pca = code_pca[k] if code % 2 == 0 else body
            if k == code:
                body -= lonely
                pca = body
            if support >= min_support and support >= min_confidence * body:
                columns[1, rows], columns[2, rows] = k, ANY_NODE
                columns[3, rows], columns[4, rows], columns[5, rows] = support, body, pca
                rows += 1
        columns[0, first:rows] = c
    return end, 0, rows, columns


@compiled
def _holds_by_itself(graph, item, code, c, is_loop):
    """Whether the body of `item` holds of c only by the hidden fact, a self-loop code(c, c)."""
    return is_loop and hides_edge(code, c, c, graph.span_code[item] ^ 1, c, graph.span_node[item])


@compiled
def _has_edge(graph, node, code, neighbour):
    span = find_span(graph, node, code)
    if span < 0:
        return False
    for e in range(graph.span_pointer[span], graph.span_pointer[span + 1]):
        if graph.neighbour[e] == neighbour:
            return True
    return False


def anchored_rules(graph: Graph, code: int, min_support: int, min_confidence: float, budget: int) -> Anchored:
    """Anchored and half-anchored rules of all heads q(X, c) for the step code q, in up to `budget` bytes at a time."""
    begin, end = graph.code_pointer[code ^ 1], graph.code_pointer[(code ^ 1) + 1]
    # The body size of k(X, Z1): the entities with an edge k to another entity.
    beyond_self = np.bincount(graph.span_code[graph.leaves()], minlength=graph.num_codes)
    capacity = max(budget // 48, 1)
    parts = []
    while begin < end:
        begin, needed, rows, columns = _anchored_of(
            graph, code, begin, end, beyond_self, min_support, min_confidence, capacity
        )
        parts.append(Anchored(*columns[:, :rows].copy()))
        capacity = max(capacity, needed)
    return Anchored.join(parts)


def priors(graph: Graph, code: int, min_support: int) -> Anchored:
    """q(X, c) :- true for every c: its body holds for every entity."""
    spans = graph.code_span[graph.code_pointer[code ^ 1] : graph.code_pointer[(code ^ 1) + 1]]
    support = np.diff(graph.span_pointer)[spans]
    head, support = graph.span_node[spans].astype(np.int64)[support >= min_support], support[support >= min_support]

    def same(value: int) -> Longs:
        return np.full(len(head), value, np.int64)

    subjects = graph.code_pointer[code + 1] - graph.code_pointer[code]
    pca = same(subjects if code % 2 == 0 else graph.num_entities)
    return Anchored(head, same(NO_STEP), same(ANY_NODE), support, same(graph.num_entities), pca)
