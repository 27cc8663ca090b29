"""The pairs that one chain connects, counted from every start. Compiled loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.arrays import Ids, Longs
from ..kernel.compiled import compiled
from ..kernel.graph import Graph
from ..kernel.walk import is_needless
from .chains import _mark_objects

CHEAP = 50
"""Ways on from an entity up to which they are walked again rather than asked whether they lead anywhere new."""
MANY = 1 << 30


class ChainEdges(NamedTuple):
    """Scratch of one thread: the edges of one chain, by step, from which the rest of it can still be walked."""

    span: Ids  # (steps, entities, 2): from where to where the edges of an entity stand; ~from where not `cheap`
    neighbour: Ids  # (steps, edges)
    ways: Ids  # (steps, entities, 2): the chain that it was written for, and how many ways on there are, MANY at most
    chain: Longs  # (1,): the number of the present chain
    cheap: int


def chain_edges(graph: Graph, length: int, cheap: int = CHEAP) -> ChainEdges:
    most = int(graph.code_edges.max(initial=0))
    shape = (length, graph.num_entities, 2)
    return ChainEdges(
        np.zeros(shape, np.int32),
        np.zeros((length, most), np.int32),
        np.zeros(shape, np.int32),
        np.zeros(1, np.int64),
        cheap,
    )


@compiled
def _keep_alive(graph, steps, path):
    """Fill `path` for this chain, from its last step to its first."""
    path.chain[0] += 1
    chain = path.chain[0]
    for depth in range(len(steps) - 1, -1, -1):
        is_last = depth == len(steps) - 1
        kept = 0
        for i in range(graph.code_pointer[steps[depth]], graph.code_pointer[steps[depth] + 1]):
            span = graph.code_span[i]
            here, begin, ways = graph.span_node[span], kept, 0
            for e in range(graph.span_pointer[span], graph.span_pointer[span + 1]):
                there = graph.neighbour[e]
                if here == there or not (is_last or path.ways[depth + 1, there, 0] == chain):
                    continue
                path.neighbour[depth, kept] = there
                kept += 1
                ways += 1 if is_last else path.ways[depth + 1, there, 1]
            if kept > begin:
                path.ways[depth, here, 0], path.ways[depth, here, 1] = chain, min(ways, MANY)
                path.span[depth, here, 0] = begin if ways <= path.cheap else ~begin
                path.span[depth, here, 1] = kept


@compiled
def _ends(space, path, start, length):
    """The ends of the chain from `start`, all its entities different, into space.ends; returns how many."""
    space.clock[0] += 1
    epoch = space.clock[0]
    found, depth, last = 0, 0, length - 1
    node, seen = space.node, space.seen
    node[0] = start
    seen[start] = epoch
    first = path.span[0, start, 0]
    space.position[0], space.stop[0] = max(first, ~first), path.span[0, start, 1]
    while depth >= 0:
        if depth == last:
            for e in range(space.position[depth], space.stop[depth]):
                there = path.neighbour[depth, e]
                if seen[there] == epoch:
                    continue
                repeated = False
                for i in range(1, length):
                    repeated |= node[i] == there
                if not repeated:
                    seen[there] = epoch
                    space.ends[found] = there
                    found += 1
            depth -= 1
            continue
        if space.position[depth] >= space.stop[depth]:
            depth -= 1
            continue
        there = path.neighbour[depth, space.position[depth]]
        space.position[depth] += 1
        repeated = False
        for i in range(depth + 1):
            repeated |= node[i] == there
        if repeated:
            continue
        node[depth + 1] = there
        first = path.span[depth + 1, there, 0]
        if first < 0:
            if is_needless(space, depth + 1, length, epoch):
                continue
            first = ~first
        depth += 1
        space.position[depth], space.stop[depth] = first, path.span[depth, there, 1]
    return found


@compiled
def count_chain(graph, facts, steps, stride, most_pairs, space, path, mark, support, pca):
    """Adds to the support and PCA body of each target; returns the body size. Only every `stride`-th start counts, and
    no start after `most_pairs` pairs."""
    _keep_alive(graph, steps, path)
    first = graph.code_pointer[steps[0]]
    body = 0
    for i in range(first, graph.code_pointer[steps[0] + 1]):
        if body >= most_pairs:
            break
        a = graph.span_node[graph.code_span[i]]
        if (i - first + 1) % stride or path.ways[0, a, 0] != path.chain[0]:
            continue
        found = _ends(space, path, a, len(steps))
        body += found
        if found == 0:
            continue
        for t in range(facts.subject_pointer[a], facts.subject_pointer[a + 1]):
            pca[facts.subject_target[t]] += found
        if facts.pointer[a] == facts.pointer[a + 1]:
            continue
        _mark_objects(facts, a, mark, space.clock[0])
        for k in range(found):
            b = space.ends[k]
            if mark[b, 0] == space.clock[0]:
                f = mark[b, 1]
                while f < facts.pointer[a + 1] and facts.object[f] == b:
                    support[facts.target[f]] += 1
                    f += 1
    return body


__all__ = ["ChainEdges", "chain_edges", "count_chain"]
