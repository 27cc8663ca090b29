"""Chains with exact statistics, for every target at once: one given chain, or all chains of one step.

    p(X, Y) :- r(X, Y)              p(X, Y) :- r1(X, Z1), r2(Z1, Y)        all variables distinct

The body size counts the pairs (a, b) that the chain connects, the support those with a target fact p(a, b), and the PCA
body those where a has any target fact. With distinct variables a chain of two or more steps cannot use p(a, b) itself,
so nothing needs to be hidden; of one step, the target itself is excluded as a body.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..data.arrays import Ids, Longs
from ..kernel.compiled import compiled
from ..kernel.graph import Graph, TargetFacts
from ..kernel.hidden import is_own_fact
from ..kernel.walk import NO_LIMIT, WalkSpace, is_needless, walk_space
from .options import ChainRows, CountingTask, join_rows

CHEAP = 50
"""Up to this many continuations, walking them again is cheaper than testing whether they can lead to new ends."""
MAX_WAYS = 1 << 30


@compiled
def mark_objects(facts: TargetFacts, a: int, mark: Longs, epoch: int) -> None:
    """Set mark[b] = (`epoch`, first fact of the pair (a, b)) for every b with a target fact of `a` in `facts`."""
    for f in range(facts.pointer[a], facts.pointer[a + 1]):
        b = facts.object[f]
        if mark[b, 0] != epoch:
            mark[b, 0] = epoch
            mark[b, 1] = f


# one chain --------------------------------------------------------------------------------------------


class ChainEdges(NamedTuple):
    """Scratch space of one thread: by step, the edges of one chain from which its end can be reached.

    Consecutive chains that end in the same steps share the edges of these steps.

    Attributes:
        span: (steps, entities, 2), the range of the edges of an entity; its begin is stored as ~begin if not `cheap`.
        neighbour: (steps, edges).
        ways: (steps, entities, 2), the chain an entry was written for, and the number of continuations, at most
            MAX_WAYS.
        chain: by step, the number of the chain for which this step and the following were written.
        steps: by step, the code it was written for; -1 if only for some starts.
        cheap: up to this many continuations are walked again without a test (CHEAP).
    """

    span: Ids
    neighbour: Ids
    ways: Ids
    chain: Longs
    steps: Ids
    cheap: int


@compiled
def _fill_edges(graph: Graph, steps: Ids, path: ChainEdges, with_starts: bool) -> None:
    """Fill `path` for this chain from its last step back to the first (or second), reusing steps that are the same."""
    same, number = len(steps), 1
    while same > 0 and path.steps[same - 1] == steps[same - 1]:
        same -= 1
    for depth in range(len(steps)):
        number = max(number, path.chain[depth] + 1)
    for depth in range(same - 1, -1, -1):
        path.chain[depth] = number
        path.steps[depth] = steps[depth] if depth > 0 or with_starts else -1
        is_last = depth == len(steps) - 1
        if depth == 0 and not with_starts:
            return
        kept = 0
        for i in range(graph.code_pointer[steps[depth]], graph.code_pointer[steps[depth] + 1]):
            span = graph.code_span[i]
            here, begin, ways = graph.span_node[span], kept, 0
            for e in range(graph.span_pointer[span], graph.span_pointer[span + 1]):
                there = graph.neighbour[e]
                if here == there or not (is_last or path.ways[depth + 1, there, 0] == path.chain[depth + 1]):
                    continue
                path.neighbour[depth, kept] = there
                kept += 1
                ways += 1 if is_last else path.ways[depth + 1, there, 1]
            if kept > begin:
                path.ways[depth, here, 0], path.ways[depth, here, 1] = number, min(ways, MAX_WAYS)
                path.span[depth, here, 0] = begin if ways <= path.cheap else ~begin
                path.span[depth, here, 1] = kept


@compiled
def _fill_start(graph: Graph, span: int, length: int, path: ChainEdges) -> None:
    """Fill the first step of `path` for one start, that of this span."""
    here, kept = graph.span_node[span], 0
    for e in range(graph.span_pointer[span], graph.span_pointer[span + 1]):
        there = graph.neighbour[e]
        if here != there and (length == 1 or path.ways[1, there, 0] == path.chain[1]):
            path.neighbour[0, kept] = there
            kept += 1
    if kept:
        path.ways[0, here, 0] = path.chain[0]
        path.span[0, here, 0], path.span[0, here, 1] = 0, kept


@compiled
def _ends(space: WalkSpace, path: ChainEdges, start: int, length: int) -> int:
    """Write the ends of the chain from `start`, all entities distinct, into space.ends; return their number."""
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
        if space.flag[0]:
            return 0
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
def _count_chain(
    graph: Graph,
    facts: TargetFacts,
    steps: Ids,
    stride: int,
    most_pairs: int,
    space: WalkSpace,
    path: ChainEdges,
    mark: Longs,
    support: Longs,
    pca: Longs,
) -> int:
    """Add to the support and PCA body of each target; return the body size.

    Only every `stride`-th start counts, and no start after `most_pairs` pairs.
    """
    is_sample = stride > 1
    _fill_edges(graph, steps, path, not is_sample)
    body = 0
    for i in range(graph.code_pointer[steps[0]] + stride - 1, graph.code_pointer[steps[0] + 1], stride):
        if body >= most_pairs or space.flag[0]:
            break
        a = graph.span_node[graph.code_span[i]]
        if is_sample:
            _fill_start(graph, graph.code_span[i], len(steps), path)
        if path.ways[0, a, 0] != path.chain[0]:
            continue
        found = _ends(space, path, a, len(steps))
        body += found
        if found == 0:
            continue
        for t in range(facts.subject_pointer[a], facts.subject_pointer[a + 1]):
            pca[facts.subject_target[t]] += found
        if facts.pointer[a] == facts.pointer[a + 1]:
            continue
        mark_objects(facts, a, mark, space.clock[0])
        for k in range(found):
            b = space.ends[k]
            if mark[b, 0] == space.clock[0]:
                f = mark[b, 1]
                while f < facts.pointer[a + 1] and facts.object[f] == b:
                    support[facts.target[f]] += 1
                    f += 1
    return body


class ChainCounter:
    """Counts chains of `length` steps for all targets; holds the scratch space of one thread."""

    def __init__(self, task: CountingTask, length: int) -> None:
        graph, shape = task.graph, (length, task.graph.num_entities, 2)
        self.task = task
        self.space: WalkSpace = walk_space(graph.num_entities, length, flag=task.options.flag)
        self.mark = np.full((graph.num_entities, 2), -1, np.int64)
        self.path = ChainEdges(
            np.zeros(shape, np.int32),
            np.zeros((length, int(graph.code_edges.max(initial=0))), np.int32),
            np.zeros(shape, np.int32),
            np.zeros(length, np.int64),
            np.full(length, -1, np.int32),
            CHEAP,
        )

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The scratch arrays."""
        return self.space, self.mark, self.path

    def count(self, steps: Ids, stride: int = 1, most_pairs: int = NO_LIMIT) -> tuple[Longs, int, Longs]:
        """Return (support by target, body size, PCA body by target) of one chain.

        Only every `stride`-th start counts, and no start after `most_pairs` pairs.
        """
        graph, facts = self.task.graph, self.task.facts
        support, pca = np.zeros((2, len(self.task.targets)), np.int64)
        body = _count_chain(graph, facts, steps, stride, most_pairs, self.space, self.path, self.mark, support, pca)
        return support, body, pca

    def rows(self, steps: Ids) -> ChainRows:
        """Return the rules with this chain as body, for every target with enough support and confidence.

        There are none if the search was stopped before everything was counted.
        """
        support, body, pca = self.count(steps)
        enough = self.task.options.enough(support, body) & (self.space.flag[0] == 0)
        if len(steps) == 1:
            enough &= ~is_own_fact(2 * self.task.targets, steps[0])
        target = np.flatnonzero(enough)
        counts = np.empty((4, len(target)), np.int64)  # filled in place: np.stack takes longer than most chains
        counts[0], counts[1], counts[2], counts[3] = target, support[target], body, pca[target]
        return np.repeat(steps[None, :], len(target), axis=0), counts


def one_step_chains(task: CountingTask) -> ChainRows:
    """Count p(X, Y) :- r(X, Y) and p(X, Y) :- r(Y, X), X and Y distinct; by target and step."""
    counter = ChainCounter(task, 1)
    codes = np.arange(task.graph.num_codes, dtype=np.int32)[:, None]
    steps, counts = join_rows([counter.rows(code) for code in codes], 1)
    order = np.lexsort((steps[:, 0], counts[0]))
    return steps[order], counts[:, order]
