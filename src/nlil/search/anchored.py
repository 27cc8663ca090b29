"""Rules with a constant in the head, for all targets at once, with exact statistics.

    q(X, c) :- k(X, d)      anchored        q is a step code, so q(c, Y) :- k(d, Y) is the same shape
    q(X, c) :- k(X, Z1)     half-anchored   (X and Z1 distinct)
    q(X, c) :- true         prior

A head q(X, c) is an item (q, c); its facts are the item's members x. The loop over the edges of those
x counts every body at once. Hidden: the fact q(x, c) is no evidence for itself. It is the body's only
support where body and head are the same item, where the body is its mirror image at a self-loop
(q(c, c) seen as k = inverse of q, d = c), or, half-anchored with k = q, where x has no other q-edge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.arrays import Ids
from ..kernel.compiled import compiled
from ..kernel.graph import Graph
from ..kernel.sorting import sort_range

HALF = -1
"""`body` of a half-anchored rule is HALF - code."""
PRIOR = -(2**31) + 1
"""`body` of a prior."""


@dataclass(frozen=True, eq=False)
class Anchored:
    """Rows: head item, body (item, HALF - code, or PRIOR), support, body size, PCA body."""

    head: Ids
    body: Ids
    support: Ids
    body_size: Ids
    pca_body: Ids

    def __len__(self) -> int:
        return len(self.head)

    @classmethod
    def join(cls, parts: list[Anchored]) -> Anchored:
        none = np.zeros(0, np.int32)
        parts = [*parts, cls(none, none, none, none, none)]
        columns = ("head", "body", "support", "body_size", "pca_body")
        return cls(*(np.concatenate([getattr(p, c) for p in parts]).astype(np.int32) for c in columns))


@compiled
def _pca_bodies(graph, heads, item_pca, code_pca):
    """For the entities that have an edge of the heads' code: how many have each item, each other code."""
    item_pca[:] = 0
    code_pca[:] = 0
    code = graph.item_code[heads]
    i = graph.code_pointer[code]
    while i < graph.code_pointer[code + 1]:
        x = graph.code_node[i]
        while i < graph.code_pointer[code + 1] and graph.code_node[i] == x:
            i += 1
        last = -1
        for e in range(graph.pointer[x], graph.pointer[x + 1]):
            item_pca[graph.item_of_edge[e]] += 1
            if graph.code[e] != last and graph.neighbour[e] != x:
                last = graph.code[e]
                code_pca[last] += 1


@compiled
def _codes_beyond_self(graph, count):
    """count[k] = the entities with an edge k to another entity: the body size of `k(X, Z1)`."""
    count[:] = 0
    for x in range(graph.num_entities):
        last = -1
        for e in range(graph.pointer[x], graph.pointer[x + 1]):
            if graph.code[e] != last and graph.neighbour[e] != x:
                last = graph.code[e]
                count[last] += 1


@compiled
def _count_bodies(graph, head, item_count, touched, code_count):
    """Edges of the head's members by item and by code; returns (items touched, members with no other q-edge)."""
    num_touched = 0
    lonely = 0
    q, c = graph.item_code[head], graph.item_entity[head]
    for m in range(graph.item_pointer[head], graph.item_pointer[head + 1]):
        x = graph.item_member[m]
        last = -1
        other = False
        for e in range(graph.pointer[x], graph.pointer[x + 1]):
            k, d = graph.code[e], graph.neighbour[e]
            item = graph.item_of_edge[e]
            mirrored = x == c and k == (q ^ 1) and d == c
            if item != head and not mirrored:
                if item_count[item] == 0:
                    touched[num_touched] = item
                    num_touched += 1
                item_count[item] += 1
            if k == q:
                other = other or (d != c and d != x)
            elif k != last and d != x:
                last = k
                code_count[k] += 1
        if other:
            code_count[q] += 1
        elif x != c:
            lonely += 1
    return num_touched, lonely


@compiled
def _has_self_loop(graph, q, c):
    for e in range(graph.pointer[c], graph.pointer[c + 1]):
        if graph.code[e] == q and graph.neighbour[e] == c:
            return True
    return False


@compiled
def _anchored_of(graph, begin, end, bodies_beyond_self, min_support, min_confidence, capacity):
    """Rules of the head items begin .. end (all of one code), until `capacity` rows; (next head, rows, columns)."""
    num_items = len(graph.item_code)
    columns = np.empty((5, capacity), np.int32)
    rows = 0
    item_count = np.zeros(num_items, np.int32)
    touched = np.empty(num_items, np.int32)
    code_count = np.zeros(graph.num_codes, np.int64)
    item_pca = np.zeros(num_items, np.int64)
    code_pca = np.zeros(graph.num_codes, np.int64)
    q = graph.item_code[begin]
    if q % 2 == 0:
        _pca_bodies(graph, begin, item_pca, code_pca)
    head = begin
    while head < end:
        members = graph.item_pointer[head + 1] - graph.item_pointer[head]
        if members < min_support:
            head += 1
            continue
        code_count[:] = 0
        num_touched, lonely = _count_bodies(graph, head, item_count, touched, code_count)
        if rows + num_touched + graph.num_codes + 1 > capacity:
            for i in range(num_touched):
                item_count[touched[i]] = 0
            break
        c = graph.item_entity[head]
        loop = _has_self_loop(graph, q, c)
        sort_range(touched, 0, num_touched)
        for i in range(num_touched):
            item = touched[i]
            support = item_count[item]
            item_count[item] = 0
            body = graph.item_pointer[item + 1] - graph.item_pointer[item]
            pca = item_pca[item] if q % 2 == 0 else body
            if loop and graph.item_code[item] == (q ^ 1) and graph.item_entity[item] == c:
                body -= 1
                pca -= 1
            if support >= min_support and support >= min_confidence * body:
                columns[0, rows], columns[1, rows], columns[2, rows] = head, item, support
                columns[3, rows], columns[4, rows] = body, pca
                rows += 1
        for k in range(graph.num_codes):
            support = code_count[k]
            body = bodies_beyond_self[k]
            pca = code_pca[k] if q % 2 == 0 else body
            if k == q:
                body -= lonely
                pca = body
            if support >= min_support and support >= min_confidence * body:
                columns[0, rows], columns[1, rows], columns[2, rows] = head, -1 - k, support
                columns[3, rows], columns[4, rows] = body, pca
                rows += 1
        head += 1
    return head, rows, columns


def anchored_rules(graph: Graph, code: int, min_support: int, min_confidence: float, budget: int) -> Anchored:
    """Anchored and half-anchored rules of all heads q(X, c) for the step code q."""
    begin = int(np.searchsorted(graph.item_code, code))
    end = int(np.searchsorted(graph.item_code, code, side="right"))
    beyond_self = np.zeros(graph.num_codes, np.int64)
    _codes_beyond_self(graph, beyond_self)
    # A head touches no more items than there are; five columns of four bytes a row.
    least = len(graph.item_code) + graph.num_codes + 1
    parts = []
    while begin < end:
        members = graph.item_pointer[begin : end + 1]
        capacity = max(least, min(budget // 20, least + 64 * int(members[-1] - members[0])))
        begin, rows, columns = _anchored_of(graph, begin, end, beyond_self, min_support, min_confidence, capacity)
        parts.append(Anchored(*columns[:, :rows].copy()))
    return Anchored.join(parts)


def priors(graph: Graph, code: int, min_support: int) -> Anchored:
    """q(X, c) :- true for every c: its body holds for every entity."""
    begin, end = np.searchsorted(graph.item_code, (code, code + 1))
    head = np.arange(begin, end, dtype=np.int32)
    support = np.diff(graph.item_pointer)[begin:end]
    head, support = head[support >= min_support], support[support >= min_support]
    size = np.full(len(head), graph.num_entities, np.int32)
    subjects = len(np.unique(graph.code_node[graph.code_pointer[code] : graph.code_pointer[code + 1]]))
    pca = np.full(len(head), subjects, np.int32) if code % 2 == 0 else size
    return Anchored(head, np.full(len(head), PRIOR, np.int32), support.astype(np.int32), size, pca)
