"""All chains of two steps with exact statistics: p(X, Y) :- r1(X, Z1), r2(Z1, Y), all variables distinct.

Walking every path of two steps takes the square of each degree: 10^12 steps for a hub of a million edges. Chains are
therefore found from facts. For a fact p(a, b), the entities Z1 are neighbours of both a and b: the edges of the end
with fewer edges are walked, and each neighbour is looked up at the other end. This gives the support of every chain for
every target in one pass over the smaller ends of all facts.

Bodies are counted afterwards, and only if a rule can result. A lower bound is known without walking: from each X a
chain reaches at least as many Y as its largest Z1 does. Chains whose support is too small for that bound are not
walked, and counting a chain stops when the body becomes too large for its support.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..data.arrays import Flag, Ids, Longs, Mask, run_starts
from ..kernel.compiled import compiled
from ..kernel.graph import Graph, TargetFacts, find_span, first_at_least
from ..kernel.pool import workers
from ..kernel.walk import NO_LIMIT
from .options import ChainRows, CountingTask, join_rows

FIRST_SIZE = 2**12
"""Initial size of the hash table of a target's chains."""
SHARD_FACTS = 2**17
"""Limit of the facts of one target per task."""
SHARD_EDGES = 2**24
"""Limit of the edges per task, over all chains with one first step."""
EXACT_SPAN = 4
"""In spans up to this size, ends that are not distinct are counted exactly; larger spans are assumed to have 2."""
HASH_MULTIPLIER = np.int64(-7046029254386353131)  # 2^64 / golden ratio, as a signed number


# support: from facts ----------------------------------------------------------------------------------


class Supports(NamedTuple):
    """The support of chains for targets.

    Attributes:
        key: the chains, as r1 * num_codes + r2.
        target: their targets, as positions among the targets.
        support: the number of target facts for which the chain holds.
    """

    key: Longs
    target: Longs
    support: Longs

    @classmethod
    def join(cls, parts: Sequence[Supports], least: int = 0) -> Supports:
        """Sum all `parts`, sorted by chain and target; drop chains with less than the `least` support."""
        none = np.zeros(0, np.int64)
        key, target, support = (np.concatenate((none, *column)) for column in zip((none,) * 3, *parts))
        order = np.lexsort((target, key))
        key, target, support = key[order], target[order], support[order]
        first = np.flatnonzero(run_starts(key, target))
        support = np.add.reduceat(support, first) if len(first) else support
        first, support = first[support >= least], support[support >= least]
        return cls(key[first], target[first], support)


class Shard(NamedTuple):
    """Part `number` of `parts` of the work for one target or one first step, whose number is `of`."""

    of: int
    number: int
    parts: int

    @classmethod
    def cut(cls, work: Iterable[int], most: int) -> list[Shard]:
        """Split the `work` of each target or step into as few shards as possible, of at most `most` each."""
        sizes = [-(-amount // most) or 1 for amount in work]
        return [cls(i, number, parts) for i, parts in enumerate(sizes) for number in range(parts)]

    def range(self, size: int) -> slice:
        """Return the range of this shard within `size` items."""
        return slice(size * self.number // self.parts, size * (self.number + 1) // self.parts)


class Chains(NamedTuple):
    """A hash table of chains r1 * num_codes + r2.

    Attributes:
        key: the chain of each slot, or -1.
        facts: the number of facts for which it holds.
        last: the number of the last fact for which it held.
    """

    key: Longs
    facts: Ids
    last: Ids

    @classmethod
    def of(cls, size: int) -> Chains:
        """Make a table of `size` slots, a power of 2."""
        return cls(np.full(size, -1, np.int64), np.zeros(size, np.int32), np.full(size, -1, np.int32))


class Marks(NamedTuple):
    """Scratch space of one thread: the edges of one entity, grouped by neighbour.

    Attributes:
        stamp: by neighbour, the number of the entity whose edges were marked last.
        last: by neighbour, the last edge of that entity to it.
        before: by edge of that entity, the previous edge to the same neighbour, or -1.
    """

    stamp: Ids
    last: Longs
    before: Longs


@compiled
def _place(chains: Chains, key: int) -> np.int64:
    """Return the slot of the key, or the free slot for it."""
    mask = len(chains.key) - 1
    place = ((key * HASH_MULTIPLIER) >> 20) & mask
    while chains.key[place] >= 0 and chains.key[place] != key:
        place = (place + 1) & mask
    return place


@compiled
def _note(chains: Chains, used: int, key: int, fact: int) -> int:
    """Record that a chain holds for a fact, once per fact; return the number of chains, before the call `used`."""
    place = _place(chains, key)
    if chains.key[place] < 0:
        chains.key[place] = key
        used += 1
    if chains.last[place] != fact:
        chains.last[place] = fact
        chains.facts[place] += 1
    return used


@compiled
def _copy(old: Chains, new: Chains) -> None:
    for i in range(len(old.key)):
        if old.key[i] >= 0:
            place = _place(new, old.key[i])
            new.key[place], new.facts[place], new.last[place] = old.key[i], old.facts[i], old.last[i]


@compiled
def _mark_edges(graph: Graph, node: int, stamp: int, marks: Marks) -> None:
    """Mark the edges of a node by their neighbours."""
    first = graph.pointer[node]
    for e in range(first, graph.pointer[node + 1]):
        there = graph.neighbour[e]
        marks.before[e - first] = marks.last[there] if marks.stamp[there] == stamp else -1
        marks.stamp[there] = stamp
        marks.last[there] = e


@compiled
def _step_pair(graph: Graph, code: int, back: int, forwards: bool) -> np.int64:
    """Return the chain of a step from the smaller end and a step from the larger end to the same entity."""
    if forwards:  # the smaller end is X
        return np.int64(code) * graph.num_codes + (back ^ 1)
    return np.int64(back) * graph.num_codes + (code ^ 1)


@compiled
def _look_up(graph: Graph, small: int, large: int, forwards: bool, fact: int, chains: Chains, used: int) -> int:
    """Find the chains of one fact: for each neighbour of its smaller end, look up all edges to the larger end.

    Returns the number of chains in the table, negated if it became too full.
    """
    for e in range(graph.pointer[small], graph.pointer[small + 1]):
        z = graph.neighbour[e]
        if z == small or z == large:
            continue
        if 2 * used > len(chains.key):
            return -used
        for span in range(graph.node_span[z], graph.node_span[z + 1]):
            low, high = graph.span_pointer[span], graph.span_pointer[span + 1]
            place = first_at_least(graph.neighbour, low, high, large)
            if place < high and graph.neighbour[place] == large:
                key = _step_pair(graph, graph.code[e], graph.span_code[span] ^ 1, forwards)
                used = _note(chains, used, key, fact)
    return used


@compiled
def _meet(
    graph: Graph, small: int, large: int, forwards: bool, fact: int, stamp: int, marks: Marks, chains: Chains, used: int
) -> int:
    """Do the same with the edges of the larger end marked."""
    first = graph.pointer[large]
    for e in range(graph.pointer[small], graph.pointer[small + 1]):
        z = graph.neighbour[e]
        if marks.stamp[z] != stamp or z == small or z == large:
            continue
        if 2 * used > len(chains.key):
            return -used
        f = marks.last[z]
        while f >= 0:
            key = _step_pair(graph, graph.code[e], graph.code[f], forwards)
            used = _note(chains, used, key, fact)
            f = marks.before[f - first]
    return used


@compiled
def _close(
    graph: Graph, small: Ids, large: Ids, forwards: Mask, begin: int, lookup: int, stamp: int, marks: Marks,
    chains: Chains, used: int, flag: Flag,
) -> tuple[int, int, int]:  # fmt: skip
    """Find the chains of the facts from `begin` on, sorted by their larger end, until the table is half full.

    Returns the next fact, the last stamp, and the number of chains in the table.
    """
    i = begin
    while i < len(small):
        end, edges = i, 0
        while end < len(small) and large[end] == large[i]:
            edges += graph.pointer[small[end] + 1] - graph.pointer[small[end]]
            end += 1
        marked = lookup * edges > graph.pointer[large[i] + 1] - graph.pointer[large[i]]
        if marked:
            stamp += 1
            _mark_edges(graph, large[i], stamp, marks)
        while i < end:
            if flag[0]:
                return i, stamp, used
            if marked:
                used = _meet(graph, small[i], large[i], forwards[i], i, stamp, marks, chains, used)
            else:
                used = _look_up(graph, small[i], large[i], forwards[i], i, chains, used)
            if used < 0:
                return i, stamp, -used
            i += 1
    return i, stamp, used


class SupportCounter:
    """Counts the facts of a target for which each chain of two steps holds; holds the scratch space of one thread."""

    def __init__(self, task: CountingTask) -> None:
        graph = task.graph
        self.task, self.graph = task, graph
        degree = np.diff(graph.pointer)
        self.marks = Marks(
            np.zeros(graph.num_entities, np.int32),
            np.zeros(graph.num_entities, np.int64),
            np.zeros(int(degree.max(initial=1)), np.int64),
        )
        self.stamp = 0
        # Looking up an entity takes a binary search in each of its spans; marking an edge takes about as long as one.
        self.lookup = 2 * int((degree * np.diff(graph.node_span)).sum() // max(len(graph.code), 1) + 1)
        self.degree = degree

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The scratch arrays."""
        return self.marks, self.degree

    def chains(self, shard: Shard) -> tuple[int, Supports]:
        """Return the position of the target, and its chains with their support among the facts of a `shard`.

        If the shard is the whole target, only chains with enough support are returned. The position is -1 if the search
        was stopped, since counts of a part of the facts are not exact.
        """
        target, (small, large, forwards) = shard.of, self._facts(shard)
        size = 1 << max(FIRST_SIZE, 8 * self.graph.num_codes).bit_length()
        found, begin, used, flag = Chains.of(size), 0, 0, self.task.options.flag
        while begin < len(small):
            begin, self.stamp, used = _close(
                self.graph, small, large, forwards, begin, self.lookup, self.stamp, self.marks, found, used, flag
            )
            if flag[0]:
                return -1, Supports.join([])
            if 2 * used > len(found.key):
                larger = Chains.of(4 * len(found.key))
                _copy(found, larger)
                found = larger
        enough = found.facts >= (max(self.task.options.min_support, 1) if shard.parts == 1 else 1)
        key, support = found.key[enough], found.facts[enough].astype(np.int64)
        return target, Supports(key, np.full(len(key), target), support)

    def _facts(self, shard: Shard) -> tuple[Ids, Ids, Mask]:
        """Return for each fact the end with fewer edges, the other end, and whether the first is X; no self-loops."""
        facts = self.task.kb.facts.of(int(self.task.targets[shard.of]))
        facts = facts[facts.subject != facts.object]
        forwards = self.degree[facts.subject] <= self.degree[facts.object]
        small = np.where(forwards, facts.subject, facts.object)
        large = np.where(forwards, facts.object, facts.subject)
        order = np.argsort(large, kind="stable")[shard.range(len(large))]
        return small[order], large[order], forwards[order]


# bodies of chains that can become rules ------------------------------------------------------------------


@compiled
def _least_bodies(graph: Graph, first: int, least: Longs, flag: Flag) -> None:
    """Write a lower bound of the number of pairs that `first` and r2 join into least[r2]."""
    most = np.zeros(graph.num_codes, np.int64)
    touched = np.empty(graph.num_codes, np.int64)
    for i in range(graph.code_pointer[first], graph.code_pointer[first + 1]):
        if flag[0]:
            return
        span = graph.code_span[i]
        a, num_touched = graph.span_node[span], 0
        for e in range(graph.span_pointer[span], graph.span_pointer[span + 1]):
            z = graph.neighbour[e]
            if z == a:
                continue
            for s in range(graph.node_span[z], graph.node_span[z + 1]):
                low, high = graph.span_pointer[s], graph.span_pointer[s + 1]
                size = high - low
                if size > EXACT_SPAN:
                    size -= 2
                else:
                    for f in range(low, high):
                        size -= graph.neighbour[f] == a or graph.neighbour[f] == z
                second = graph.span_code[s]
                if size > most[second]:
                    if most[second] == 0:
                        touched[num_touched] = second
                        num_touched += 1
                    most[second] = size
        for k in range(num_touched):
            least[touched[k]] += most[touched[k]]
            most[touched[k]] = 0


@compiled
def _bodies(
    graph: Graph, facts: TargetFacts, first: int, second: Longs, most_pairs: Longs, epoch: int, seen: Longs,
    body: Longs, pca: np.ndarray, flag: Flag,
) -> int:  # fmt: skip
    """Count the pairs that `first` and each second step join, in `body`; those of a target's subjects in `pca`.

    Stops at the start where `most_pairs` is reached. Returns the last epoch.
    """
    for k in range(len(second)):
        body[k], epoch = _body(graph, facts, first, second[k], most_pairs[k], epoch, seen, pca[k], flag)
    return epoch


@compiled
def _body(
    graph: Graph, facts: TargetFacts, first: int, second: int, most_pairs: int, epoch: int, seen: Longs, pca: Longs,
    flag: Flag,
) -> tuple[int, int]:  # fmt: skip
    """Do the same for one second step; return (pairs, last epoch)."""
    body = 0
    for i in range(graph.code_pointer[first], graph.code_pointer[first + 1]):
        if body >= most_pairs or flag[0]:
            break
        span = graph.code_span[i]
        a, low, high = graph.span_node[span], graph.span_pointer[span], graph.span_pointer[span + 1]
        found = 0
        epoch += 1
        for e in range(low, high):
            z = graph.neighbour[e]
            if z == a:
                continue
            s = find_span(graph, z, second)
            if s < 0:
                continue
            for f in range(graph.span_pointer[s], graph.span_pointer[s + 1]):
                b = graph.neighbour[f]
                if seen[b] != epoch and b != a and b != z:
                    seen[b] = epoch
                    found += 1
        if found:
            body += found
            for t in range(facts.subject_pointer[a], facts.subject_pointer[a + 1]):
                pca[facts.subject_target[t]] += found
    return body, epoch


class BodyCounter:
    """Counts the bodies of the chains of two steps in `supports`; holds the scratch space of one thread."""

    def __init__(self, task: CountingTask, supports: Supports) -> None:
        self.task, self.supports = task, supports
        self.seen, self.epoch = np.zeros(task.graph.num_entities, np.int64), 0

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The scratch arrays."""
        return (self.seen,)

    def rows(self, shard: Shard) -> ChainRows:
        """Return the chains of length 2 with one first step, by target and second step.

        The second steps are those of the `shard`.
        """
        first, graph, options, supports = shard.of, self.task.graph, self.task.options, self.supports
        low, high = np.searchsorted(supports.key, (first * graph.num_codes, (first + 1) * graph.num_codes))
        if low == high:
            return join_rows([], 2)
        least = np.zeros(graph.num_codes, np.int64)
        _least_bodies(graph, first, least, options.flag)
        second, target, support = supports.key[low:high] % graph.num_codes, *(c[low:high] for c in supports[1:])
        possible = options.enough(support, least[second])
        if shard.parts > 1:
            seconds = np.unique(second[possible])
            possible &= np.isin(second, seconds[shard.range(len(seconds))])
        second, target, support = second[possible], target[possible], support[possible]
        chain, of_row = np.unique(second, return_inverse=True)
        body, pca = self._count(first, chain, np.maximum.reduceat(support, np.searchsorted(second, chain)))
        if options.flag[0]:
            return join_rows([], 2)
        rows = np.flatnonzero(options.enough(support, body[of_row]))
        rows = rows[np.lexsort((second[rows], target[rows]))]
        steps = np.stack((np.full(len(rows), first), second[rows]), axis=1).astype(np.int32)
        of_row, target = of_row[rows], target[rows]
        return steps, np.stack((target, support[rows], body[of_row], pca[of_row, target]))

    def _count(self, first: int, second: Longs, support: Longs) -> tuple[Longs, np.ndarray]:
        """Return the body size of each chain, and the PCA body of each chain and target.

        Counting a body stops when its size puts the confidence below the least one, even with the largest `support`.
        """
        task, least = self.task, self.task.options.min_confidence
        most = np.full(len(second), NO_LIMIT) if not least else (support / least).astype(np.int64) + 1
        body, pca = np.zeros(len(second), np.int64), np.zeros((len(second), len(task.targets)), np.int64)
        self.epoch = _bodies(
            task.graph, task.facts, first, second, most, self.epoch, self.seen, body, pca, task.options.flag
        )
        return body, pca


def two_step_chains(task: CountingTask) -> ChainRows:
    """Count all chains of length 2, by first step, target and second step."""
    graph, options = task.graph, task.options
    first = task.for_share(1 / 2)  # if time is short, hubs must leave some for other rules
    pool = workers(lambda: SupportCounter(first), options.threads, options.memory)
    shards = Shard.cut(task.facts.size.tolist(), SHARD_FACTS)
    found = pool.map(SupportCounter.chains, shards, "chains", task.progress, first.options.stop)
    done, wanted = Counter(target for target, _ in found), Counter(shard.of for shard in shards)
    whole = [supports for target, supports in found if done[target] == wanted[target]]
    supports = Supports.join(whole, max(options.min_support, 1))
    chains = np.bincount(np.unique(supports.key) // graph.num_codes, minlength=graph.num_codes)
    second = task.for_share(1 / 2)
    bodies = workers(lambda: BodyCounter(second, supports), options.threads, options.memory)
    shards = Shard.cut((chains * graph.code_edges).tolist(), SHARD_EDGES)
    steps, counts = join_rows(bodies.map(BodyCounter.rows, shards, "bodies", task.progress, second.options.stop), 2)
    order = np.lexsort((steps[:, 1], counts[0], steps[:, 0]))
    return steps[order], counts[:, order]
