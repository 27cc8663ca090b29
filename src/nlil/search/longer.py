"""Chains longer than two steps: grown from facts, then counted exactly.

Exhaustive counting stops at length 2. Longer bodies are proposed from paths between the two ends of sampled target
facts. The most frequent are kept, their confidence is estimated on a sample of starts, and the best are counted exactly
over the whole base. All effort is bounded by counts (`samples`, `candidates`, steps per fact), never by time.

Steps that lead to the same entities, such as `hypernym` and `hyponym` backwards, are synonyms. A chain of four steps
that all have a synonym can be written in sixteen equivalent ways. Chains are proposed in one spelling; spellings that
differ in one step are counted too, since a fact may be known under one name and not under the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ..data.arrays import Floats, Ids, Longs
from ..kernel.compiled import compiled
from ..kernel.graph import Graph
from ..kernel.pool import Pool, workers
from ..kernel.sorting import sort_unique
from ..kernel.walk import WalkSpace, walk_space
from ..logic.rule import smoothed_confidence
from ..progress import Stop
from .chains import ChainCounter
from .options import ChainRows, CountingTask, join_rows

MOST_EDGES = 200_000
"""Limit of the edges visited to find paths between the ends of one fact."""
MOST_LOOKED = 20_000_000
"""Limit of the edges visited for one target; after that, no further fact is sampled."""
FULL_FACTS, MIN_SHARE = 2_000, 0.15
"""A target with this many facts gets all candidates; with fewer facts, a proportional share, but at least this one."""
ESTIMATE_STARTS = 100
"""Starts on which the confidence of a candidate is estimated."""
ESTIMATE_PAIRS = 500
"""The estimate stops early after this many pairs."""
ESTIMATED = 5
"""Candidates estimated for each one that is counted."""
ESTIMATE_BLOCK = 64
"""Candidates per task."""
SYNONYM_SHARE = 0.8
"""Two steps are synonyms if each has this share of the other's pairs."""
MOST_SPELLED = 4
"""Longer chains are counted in one spelling only."""


# proposals --------------------------------------------------------------------------------------------


class Proposer:
    """Finds bodies of `length` steps from facts; holds the scratch space of one thread. `synonym`: see `synonyms`."""

    def __init__(self, task: CountingTask, length: int, synonym: Ids, stop: Stop | None = None) -> None:
        """Look at no further fact after `stop`."""
        self.task, self.length, self.synonym = task, length, synonym
        self.space = walk_space(task.graph.num_entities, length, flag=None if stop is None else stop.flag)
        self.buffer = np.zeros(2**16, np.int64)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The scratch arrays."""
        return self.space, self.buffer

    def proposals(self, target: int, keep: int) -> Longs:
        """Return the `keep` most frequent bodies among sampled facts of `target`, as numbers in base num_codes."""
        facts, options = self.task.facts, self.task.options
        random = np.random.default_rng((options.seed, self.length, target))
        sample = np.flatnonzero(facts.target == target)
        if len(sample) > options.samples:
            sample = sample[np.sort(random.choice(len(sample), options.samples, replace=False))]
        sample = sample[random.permutation(len(sample))]
        subject = (np.searchsorted(facts.pointer, sample, side="right") - 1).astype(np.int32)
        body, count = np.unique(self._bodies(subject, facts.object[sample]), return_counts=True)
        often = count >= min(options.min_support, 2)
        body, count = body[often], count[often]
        return body[np.lexsort((body, -count))[:keep]]

    def _bodies(self, subject: Ids, object: Ids) -> Longs:
        """Return the bodies that lead from one end of a fact to the other, once per fact; synonyms are merged.

        Stops at the fact where MOST_LOOKED edges have been visited.
        """
        graph, out, used, looked, fact = self.task.graph, np.zeros(2**14, np.int64), 0, 0, 0
        while True:
            fact, used, looked, more = _bodies_of_facts(
                graph, subject, object, fact, self.length, self.synonym, self.space, self.buffer, out, used, looked
            )
            if not more:
                return out[:used]
            if more > len(self.buffer):
                self.buffer = np.zeros(2 * more, np.int64)
            out = np.concatenate((out[:used], np.zeros(used + 2 * more, np.int64)))


@compiled
def _bodies_of_facts(
    graph: Graph,
    subject: Ids,
    object: Ids,
    fact: int,
    length: int,
    synonym: Ids,
    space: WalkSpace,
    buffer: Longs,
    out: Longs,
    used: int,
    looked: int,
) -> tuple[int, int, int, int]:
    """Continue at `fact`; return (next fact, used part of `out`, edges visited, space needed to continue or 0)."""
    while fact < len(subject) and looked <= MOST_LOOKED and not space.flag[0]:
        a, b = subject[fact], object[fact]
        if a != b:
            found, more = _paths_between(graph, a, b, length, synonym, space, buffer, MOST_EDGES)
            if found > min(len(buffer), len(out) - used):
                return fact, used, looked, found
            looked += more
            for i in range(sort_unique(buffer, 0, found)):
                out[used] = buffer[i]
                used += 1
        fact += 1
    return fact, used, looked, 0


@compiled
def _paths_between(
    graph: Graph, a: int, b: int, length: int, synonym: Ids, space: WalkSpace, out: Longs, most_edges: int
) -> tuple[int, int]:
    """Write the bodies of simple paths a .. b into `out`, as numbers in base num_codes.

    Returns their number, which may exceed `out`, and the number of edges visited. Depth-first over the first length - 1
    steps; a neighbour of b closes the path.
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
        prefix[depth + 1] = prefix[depth] * base + synonym[graph.code[e]]
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
                        out[found] = prefix[depth + 1] * base + synonym[graph.code[f] ^ 1]
                    found += 1
        else:
            for f in range(graph.pointer[there], graph.pointer[there + 1]):
                if graph.neighbour[f] == b:
                    if found < len(out):
                        out[found] = prefix[depth + 1] * base + synonym[graph.code[f]]
                    found += 1
    return found, looked


def most_candidates(facts: Longs, most: int) -> Longs:
    """Return how many of `most` bodies to count for targets with these numbers of `facts`.

    Few facts cannot distinguish many bodies.
    """
    return np.rint(most * np.clip(facts / FULL_FACTS, MIN_SHARE, 1)).astype(np.int64)


def unpack(bodies: Longs, length: int, num_codes: int) -> Ids:
    """Return `bodies`, numbers in base `num_codes`, as rows of steps."""
    steps = np.empty((len(bodies), length), np.int32)
    for place in reversed(range(length)):
        bodies, steps[:, place] = np.divmod(bodies, num_codes)
    return steps


def synonyms(graph: Graph) -> Ids:
    """Return for each code the least code that is its synonym, or the code itself."""
    pairs, pair = np.unique(graph.node.astype(np.int64) * graph.num_entities + graph.neighbour, return_inverse=True)
    holds = csr_array((np.ones(len(pair), np.int32), (graph.code, pair)), shape=(graph.num_codes, len(pairs)))
    shared = (holds @ holds.T).tocoo()
    size = np.bincount(graph.code, minlength=graph.num_codes)
    row, column = shared.coords
    same = shared.data >= SYNONYM_SHARE * np.maximum(size[row], size[column])
    synonym = np.arange(graph.num_codes, dtype=np.int32)
    np.minimum.at(synonym, row[same], column[same].astype(np.int32))
    return synonym


def spellings(steps: Ids, synonym: Ids) -> Ids:
    """Return the distinct rows of `steps` and those that differ from one of them by one `synonym`, sorted."""
    if steps.shape[1] > MOST_SPELLED:
        return steps
    rows = [steps]
    for place in range(steps.shape[1]):
        for code in np.unique(steps[:, place]):
            for other in np.flatnonzero(synonym == synonym[code]):
                changed = steps[steps[:, place] == code].copy()
                changed[:, place] = other
                rows.append(changed)
    return np.unique(np.concatenate(rows), axis=0)


# counting ---------------------------------------------------------------------------------------------


class Estimates(NamedTuple):
    """The estimated smoothed confidence of bodies for targets, where it is high enough.

    Attributes:
        body: row numbers of the steps.
        target: positions of the targets.
        confidence: the estimates, from every n-th start.
    """

    body: Longs
    target: Longs
    confidence: Floats

    def best(self, most: Longs) -> Longs:
        """Return the bodies among the `most` best of at least one target, ascending; ties go to the lower number."""
        order = np.lexsort((self.body, -self.confidence, self.target))
        target = self.target[order]
        rank = np.arange(len(order)) - np.searchsorted(target, target)
        return np.unique(self.body[order[rank < most[target]]])


def estimates(pool: Pool[ChainCounter], task: CountingTask, steps: Ids, stage: str, stop: Stop | None) -> Estimates:
    """Estimate the confidence of the bodies `steps`, as far as `stop` allows.

    `pool` has the threads; `stage` names the work for `task.progress`.
    """
    edges, min_confidence = task.graph.code_edges, task.options.min_confidence

    def estimate(counter: ChainCounter, body: int) -> tuple[Longs, Longs, Floats]:
        stride = max(1, int(edges[steps[body, 0]]) // ESTIMATE_STARTS)
        support, size, _ = counter.count(steps[body], stride, ESTIMATE_PAIRS)
        target = np.flatnonzero((support > 0) & (support >= min_confidence * size))
        smoothed = smoothed_confidence(stride * support[target], stride * size)
        return np.full(len(target), body), target, smoothed.astype(np.float32)

    # Bodies with the same last steps come one after the other and share the edges of these steps.
    order = np.lexsort(steps.T)

    def block(counter: ChainCounter, begin: int) -> list[tuple[Longs, Longs, Floats]]:
        return [estimate(counter, body) for body in order[begin : begin + ESTIMATE_BLOCK].tolist()]

    found = pool.map(block, range(0, len(steps), ESTIMATE_BLOCK), stage, task.progress, stop)
    none = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32)
    return Estimates(*map(np.concatenate, zip(none, *(body for batch in found for body in batch))))


def longer_chains(task: CountingTask, length: int) -> ChainRows:
    """Propose from sampled facts, estimate on sampled starts, count the best exactly."""
    options, num_targets = task.options, len(task.targets)
    synonym, most = synonyms(task.graph), most_candidates(task.facts.size, options.candidates)

    def propose(proposer: Proposer, target: int) -> Longs:
        return proposer.proposals(target, ESTIMATED * int(most[target]))

    # No stage may take all the time, or nothing would be counted.
    stage, stop = f"length {length}: propose", options.stop_after(1 / 3)
    proposers = workers(lambda: Proposer(task, length, synonym, stop), options.threads, options.memory)
    proposed = proposers.map(propose, range(num_targets), stage, task.progress, stop)
    del proposers  # frees their scratch space
    bodies = np.unique(np.concatenate([np.zeros(0, np.int64), *proposed]))
    steps = unpack(bodies, length, task.graph.num_codes)
    pool = workers(lambda: ChainCounter(task, length), options.threads, options.memory)
    guessed = estimates(pool, task, steps, f"length {length}: estimate", options.stop_after(1 / 2))
    picked = spellings(steps[guessed.best(most)], synonym)

    def count(counter: ChainCounter, place: int) -> tuple[int, ChainRows]:
        return place, counter.rows(picked[place])

    # One body per task, since one may take a second. The most costly come first, unless there is a time limit.
    is_timed = options.stop is not None and options.stop.is_timed
    order = range(len(picked)) if is_timed else by_effort(task.graph, picked).tolist()
    counted = pool.map(count, order, f"length {length}: count", task.progress, options.stop)
    return join_rows([rows for _, rows in sorted(counted, key=lambda pair: pair[0])], length)


def by_effort(graph: Graph, steps: Ids) -> Longs:
    """Return the order of the bodies by effort, the most costly first.

    The effort is the number of paths, estimated by mean fan-outs.
    """
    size = graph.code_edges
    ways = size / np.maximum(np.diff(graph.code_pointer), 1)
    return np.argsort(-size[steps[:, 0]] * ways[steps[:, 1:]].prod(axis=1), kind="stable")
