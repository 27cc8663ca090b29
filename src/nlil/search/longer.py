"""Chains longer than two steps: grown from facts, then counted exactly.

Exhaustive counting stops at length 2. For a longer chain, paths of that length between the two ends of
sampled facts of a target say which bodies have support at all; the most frequent are kept, their
confidence is estimated on a sample of starts, and the best are counted exactly over the whole base.
All effort is bounded by counts (`samples`, `candidates`, steps per fact), never by time.
"""

from __future__ import annotations

import numpy as np

from ..data.arrays import Ids, Longs
from ..kernel.compiled import compiled
from ..kernel.graph import Graph, TargetFacts
from ..kernel.sorting import sort_range
from ..kernel.walk import NO_LIMIT, WalkSpace, walk_space
from ..logic.rule import SMOOTHING
from .chain_walk import chain_edges, count_chain
from .chains import Chains

MOST_EDGES = 200_000
"""Edges that the search for paths between the ends of one fact may look at, ..."""
MOST_LOOKED = 20_000_000
"""... and for all facts of one target; no further fact is sampled then."""
FULL, LEAST_SHARE = 2_000, 0.15
"""Facts of a target for which all candidates are counted; with fewer, fewer are, but this share at least."""
ESTIMATE_STARTS = 100
"""Starts on which the confidence of a candidate is estimated, ..."""
ESTIMATE_PAIRS = 500
"""... fewer when they reach this many pairs."""
ESTIMATED = 5
"""Candidates estimated for each one that is then counted."""


class ChainCounter:
    """Counts bodies for all targets at once; the scratch arrays of one thread."""

    def __init__(
        self, graph: Graph, facts: TargetFacts, num_targets: int, length: int, twin: Ids | None = None
    ) -> None:
        self.graph, self.facts, self.num_targets = graph, facts, num_targets
        self.twin = np.arange(graph.num_codes, dtype=np.int32) if twin is None else twin
        self.space: WalkSpace = walk_space(graph.num_entities, length)
        self.mark = np.full((graph.num_entities, 2), -1, np.int64)
        self.path = chain_edges(graph, length)
        self.buffer = np.zeros(2**16, np.int64)

    def count(self, steps: Ids, stride: int = 1, most_pairs: int = NO_LIMIT) -> tuple[Longs, int, Longs]:
        """Support of each target, body size, PCA body of each target.

        With a stride only every so many-th start counts, and no start after `most_pairs` pairs were reached.
        """
        support, pca = np.zeros(self.num_targets, np.int64), np.zeros(self.num_targets, np.int64)
        body = count_chain(
            self.graph, self.facts, steps, stride, most_pairs, self.space, self.path, self.mark, support, pca
        )
        return support, body, pca

    def bodies(self, subject: Ids, object: Ids, length: int) -> Longs:
        """The bodies of `length` steps that lead from one end of a fact to the other, as mixed-radix numbers, twins as
        one: each once for every fact, one fact after the other until MOST_LOOKED edges were looked at."""
        out, used, looked, fact = np.zeros(2**14, np.int64), 0, 0, 0
        while True:
            fact, used, looked, more = _bodies_of_facts(
                self.graph, subject, object, fact, length, self.twin, self.space, self.buffer, out, used, looked
            )
            if not more:
                return out[:used]
            if more > len(self.buffer):
                self.buffer = np.zeros(2 * more, np.int64)
            out = np.concatenate((out[:used], np.zeros(used + 2 * more, np.int64)))


@compiled
def _bodies_of_facts(graph, subject, object, fact, length, twin, space, buffer, out, used, looked):
    """Goes on at `fact`. Returns where it ended, how much of `out` is used, how many edges were looked at, and how many
    numbers there must be room for to go on: 0 when all is done."""
    while fact < len(subject) and looked <= MOST_LOOKED:
        a, b = subject[fact], object[fact]
        if a != b:
            found, more = _paths_between(graph, a, b, length, twin, space, buffer, MOST_EDGES)
            if found > min(len(buffer), len(out) - used):
                return fact, used, looked, found
            looked += more
            sort_range(buffer, 0, found)
            for i in range(found):
                if i == 0 or buffer[i] != buffer[i - 1]:
                    out[used] = buffer[i]
                    used += 1
        fact += 1
    return fact, used, looked, 0


@compiled
def _paths_between(graph, a, b, length, twin, space, out, most_edges):
    """Bodies of simple paths a .. b into `out` as numbers in base num_codes; how many there are (they may not fit), and
    how many edges were looked at.

    Depth-first over the first length - 1 steps; a node next to b closes the path.
    """
    space.clock[0] += 1
    epoch = space.clock[0]
    for e in range(graph.pointer[b], graph.pointer[b + 1]):
        space.seen[graph.neighbour[e]] = epoch
    found = 0
    looked = 0
    depth = 0
    base = np.int64(graph.num_codes)
    prefix = np.zeros(length + 1, np.int64)
    space.node[0] = a
    space.position[0], space.stop[0] = graph.pointer[a], graph.pointer[a + 1]
    while depth >= 0:
        if space.position[depth] >= space.stop[depth] or looked > most_edges:
            depth -= 1
            continue
        e = space.position[depth]
        space.position[depth] += 1
        looked += 1
        there = graph.neighbour[e]
        if there == b:
            continue
        if depth + 2 == length and space.seen[there] != epoch:
            continue
        repeated = False
        for i in range(depth + 1):
            repeated = repeated or space.node[i] == there
        if repeated:
            continue
        prefix[depth + 1] = prefix[depth] * base + twin[graph.code[e]]
        if depth + 2 < length:
            depth += 1
            space.node[depth] = there
            space.position[depth], space.stop[depth] = graph.pointer[there], graph.pointer[there + 1]
            continue
        # The step from b back to `there`, reversed, closes the path; walk the smaller list.
        back, ahead = graph.pointer[b + 1] - graph.pointer[b], graph.pointer[there + 1] - graph.pointer[there]
        looked += min(back, ahead)
        if back < ahead:
            for f in range(graph.pointer[b], graph.pointer[b + 1]):
                if graph.neighbour[f] == there:
                    if found < len(out):
                        out[found] = prefix[depth + 1] * base + twin[graph.code[f] ^ 1]
                    found += 1
        else:
            for f in range(graph.pointer[there], graph.pointer[there + 1]):
                if graph.neighbour[f] == b:
                    if found < len(out):
                        out[found] = prefix[depth + 1] * base + twin[graph.code[f]]
                    found += 1
    return found, looked


def most_candidates(facts: Longs, most: int) -> Longs:
    """How many bodies to count for targets of so many facts: few facts cannot tell many bodies apart."""
    return np.rint(most * np.clip(facts / FULL, LEAST_SHARE, 1)).astype(np.int64)


def proposals(
    counter: ChainCounter,
    facts: tuple[Ids, Ids],
    length: int,
    samples: int,
    keep: int,
    random: np.random.Generator,
    least: int = 2,
) -> Longs:
    """The bodies that most of the sampled facts (subjects, objects) of one target have, at least `least` of them."""
    subject, object = facts
    if len(subject) > samples:
        chosen = np.sort(random.choice(len(subject), samples, replace=False))
        subject, object = subject[chosen], object[chosen]
    order = random.permutation(len(subject))
    body, count = np.unique(counter.bodies(subject[order], object[order], length), return_counts=True)
    body, count = body[count >= least], count[count >= least]
    return body[np.lexsort((body, -count))[:keep]]


def unpack(bodies: Longs, length: int, num_codes: int) -> Ids:
    """Numbers in base num_codes as rows of steps."""
    steps = np.empty((len(bodies), length), np.int32)
    for place in reversed(range(length)):
        bodies, steps[:, place] = np.divmod(bodies, num_codes)
    return steps


def estimate(counter: ChainCounter, steps: Ids, min_confidence: float) -> np.ndarray:
    """For each target the smoothed confidence of the body on every n-th start; 0 where it is not confident enough."""
    stride = max(1, int(counter.graph.code_edges[steps[0]]) // ESTIMATE_STARTS)
    support, body, _ = counter.count(steps, stride, ESTIMATE_PAIRS)
    smoothed = stride * support / (stride * body + SMOOTHING)
    return np.where(support >= min_confidence * body, smoothed, 0.0)


def counted(counter: ChainCounter, steps: Ids, min_support: int, min_confidence: float) -> Chains:
    """The exact statistics of one body for every target that it supports well enough."""
    support, body, pca = counter.count(steps)
    target = np.flatnonzero((support > 0) & (support >= np.maximum(min_support, min_confidence * body)))
    return Chains(
        target.astype(np.int32),
        np.repeat(steps[None, :], len(target), axis=0),
        support[target],
        np.full(len(target), body, np.int64),
        pca[target],
    )


def by_effort(graph: Graph, steps: Ids) -> Longs:
    """The order of the bodies, those first that lead along most paths if entities had the same number of edges."""
    size = graph.code_edges
    ways = size / np.maximum(np.diff(graph.code_pointer), 1)
    return np.argsort(-size[steps[:, 0]] * ways[steps[:, 1:]].prod(axis=1), kind="stable")
