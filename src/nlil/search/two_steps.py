"""All chains of two steps with exact statistics: p(X, Y) :- r1(X, Z1), r2(Z1, Y), all variables distinct.

To walk every path of two steps takes the square of each degree, and a hub of a million edges has 10^12 of them. So
chains are found from facts instead. The Z1 of a fact p(a, b) are next to a and to b: whoever has fewer edges is walked,
and looked up at the other end. That gives the support of every chain for every target, in the time of a walk over the
smaller ends of all facts.

Only then are bodies counted, and only where a rule can come of it: a chain joins at least as many pairs as the largest
of its Z1 leads to from each X, which is known without walking. A chain whose support is too small for that is not
walked, nor is any chain further than its support could bear.
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
from .options import ChainRows, Task, join_rows

FIRST_SIZE = 2**12
"""Chains of a target that there is room for at first."""
SHARD_FACTS = 2**17
"""Facts of a target up to which their chains are one task."""
SHARD_EDGES = 2**24
"""Edges of a first step, for all chains that begin with it, up to which their bodies are one task."""
FEW = 4
"""Entities of a span that are looked at one by one, to see which of them a chain may not end at."""
HASH_MULTIPLIER = np.int64(-7046029254386353131)  # 2^64 / golden ratio, as a signed number


# support: from facts ----------------------------------------------------------------------------------


class Supports(NamedTuple):
    """The support of chains for targets: key = r1 * num_codes + r2, `target` is a place among the targets.

    Attributes:
        key: chains.
        target: their targets.
        support: facts of the target for which the chain holds.
    """

    key: Longs
    target: Longs
    support: Longs

    @classmethod
    def join(cls, parts: Sequence[Supports], least: int = 0) -> Supports:
        """Add up all `parts`, sorted by chain and target; leave out what has not the `least` support."""
        none = np.zeros(0, np.int64)
        key, target, support = (np.concatenate((none, *column)) for column in zip((none,) * 3, *parts))
        order = np.lexsort((target, key))
        key, target, support = key[order], target[order], support[order]
        first = np.flatnonzero(run_starts(key, target))
        support = np.add.reduceat(support, first) if len(first) else support
        first, support = first[support >= least], support[support >= least]
        return cls(key[first], target[first], support)


class Shard(NamedTuple):
    """Part `number` of `parts` of the work for one target, or for one first step: `of` is its number."""

    of: int
    number: int
    parts: int

    @classmethod
    def cut(cls, work: Iterable[int], most: int) -> list[Shard]:
        """Cut the `work` of each target or step into as few shards as have at most so much each."""
        sizes = [-(-amount // most) or 1 for amount in work]
        return [cls(i, number, parts) for i, parts in enumerate(sizes) for number in range(parts)]

    def range(self, size: int) -> slice:
        """Return which of `size` pieces are in this shard."""
        return slice(size * self.number // self.parts, size * (self.number + 1) // self.parts)


class Chains(NamedTuple):
    """A hash table of chains r1 * num_codes + r2: for how many facts each holds, and for which it held last.

    Attributes:
        key: the chain of each place, -1 where there is none.
        facts: for how many it holds.
        last: the number of a fact.
    """

    key: Longs
    facts: Ids
    last: Ids

    @classmethod
    def of(cls, size: int) -> Chains:
        """Make a table of `size` places, a power of 2."""
        return cls(np.full(size, -1, np.int64), np.zeros(size, np.int32), np.full(size, -1, np.int32))


class Marks(NamedTuple):
    """Scratch of one thread: the edges of one entity by where they lead.

    Attributes:
        stamp: by entity, the number of the entity whose edges lead there, as far as they are marked.
        last: by entity, the last of these edges.
        before: of each edge of the marked entity, the one before it that leads to the same place, or -1.
    """

    stamp: Ids
    last: Longs
    before: Longs


@compiled
def _place(chains: Chains, key: int) -> np.int64:
    """Where the key stands in the table, or the free place where it belongs."""
    mask = len(chains.key) - 1
    place = ((key * HASH_MULTIPLIER) >> 20) & mask
    while chains.key[place] >= 0 and chains.key[place] != key:
        place = (place + 1) & mask
    return place


@compiled
def _note(chains: Chains, used: int, key: int, fact: int) -> int:
    """One chain holds for a fact, once or more; returns how many chains there are, `used` before."""
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
    """Mark the edges of a node by where they lead."""
    first = graph.pointer[node]
    for e in range(first, graph.pointer[node + 1]):
        there = graph.neighbour[e]
        marks.before[e - first] = marks.last[there] if marks.stamp[there] == stamp else -1
        marks.stamp[there] = stamp
        marks.last[there] = e


@compiled
def _step_pair(graph: Graph, code: int, back: int, forwards: bool) -> np.int64:
    """The chain of a step from the smaller end and a step from the larger end to the same entity."""
    if forwards:  # the smaller end is X
        return np.int64(code) * graph.num_codes + (back ^ 1)
    return np.int64(back) * graph.num_codes + (code ^ 1)


@compiled
def _look_up(graph: Graph, small: int, large: int, forwards: bool, fact: int, chains: Chains, used: int) -> int:
    """The chains of one fact: for each edge of its smaller end, all edges from there to the larger one are looked up.

    Returns how many chains there are then, negative where there was no room for all of them.
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
    """The same where the edges of the larger end are marked."""
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
    """The chains of the facts from `begin` on, which are sorted by their larger end, until the table is half full.

    Returns the first fact that is left, the last stamp, and how many chains the table has.
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
    """Counts for how many facts of a target each chain of two steps holds; the scratch arrays of one thread."""

    def __init__(self, task: Task) -> None:
        graph = task.graph
        self.task, self.graph = task, graph
        degree = np.diff(graph.pointer)
        self.marks = Marks(
            np.zeros(graph.num_entities, np.int32),
            np.zeros(graph.num_entities, np.int64),
            np.zeros(int(degree.max(initial=1)), np.int64),
        )
        self.stamp = 0
        # To look an entity up takes a search in each of its spans; to mark an edge, about as long as one of these.
        self.lookup = 2 * int((degree * np.diff(graph.node_span)).sum() // max(len(graph.code), 1) + 1)
        self.degree = degree

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The scratch arrays."""
        return self.marks, self.degree

    def chains(self, shard: Shard) -> tuple[int, Supports]:
        """Return the target (its place), and its chains with their support by the facts of a `shard`.

        Those of a whole target have enough support. The target is -1 where the search is stopped: what some facts say
        is no statistic.
        """
        target, (small, large, forwards) = shard.of, self._facts(shard)
        room = 1 << max(FIRST_SIZE, 8 * self.graph.num_codes).bit_length()
        found, begin, used, flag = Chains.of(room), 0, 0, self.task.options.flag
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
        """Of each fact between two entities the end with fewer edges, the other end, and whether the first is X."""
        facts = self.task.kb.facts.of(int(self.task.targets[shard.of]))
        facts = facts[facts.subject != facts.object]
        forwards = self.degree[facts.subject] <= self.degree[facts.object]
        small = np.where(forwards, facts.subject, facts.object)
        large = np.where(forwards, facts.object, facts.subject)
        order = np.argsort(large, kind="stable")[shard.range(len(large))]
        return small[order], large[order], forwards[order]


# bodies: where a rule can come of it ------------------------------------------------------------------


@compiled
def _least_bodies(graph: Graph, first: int, least: Longs, flag: Flag) -> None:
    """least[r2]: at least so many pairs are joined by `first` and r2."""
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
                if size > FEW:
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
    """The pairs that `first` and each second step join, and by target in `pca` those of its subjects.

    No further start is looked at after `most_pairs`. Returns the last epoch.
    """
    for k in range(len(second)):
        body[k], epoch = _body(graph, facts, first, second[k], most_pairs[k], epoch, seen, pca[k], flag)
    return epoch


@compiled
def _body(
    graph: Graph, facts: TargetFacts, first: int, second: int, most_pairs: int, epoch: int, seen: Longs, pca: Longs,
    flag: Flag,
) -> tuple[int, int]:  # fmt: skip
    """The same for one second step; (pairs, last epoch)."""
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
    """Counts the bodies of chains of two steps that `supports` names; the scratch arrays of one thread."""

    def __init__(self, task: Task, supports: Supports) -> None:
        self.task, self.supports = task, supports
        self.seen, self.epoch = np.zeros(task.graph.num_entities, np.int64), 0

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The scratch arrays."""
        return (self.seen,)

    def rows(self, shard: Shard) -> ChainRows:
        """Return the chains of length 2 that begin with one step code, by target and second step.

        They are those of a `shard` of the second steps.
        """
        first, graph, options, supports = shard.of, self.task.graph, self.task.options, self.supports
        low, high = np.searchsorted(supports.key, (first * graph.num_codes, (first + 1) * graph.num_codes))
        if low == high:
            return join_rows([], 2)
        least = np.zeros(graph.num_codes, np.int64)
        _least_bodies(graph, first, least, options.flag)
        second, target, support = supports.key[low:high] % graph.num_codes, *(c[low:high] for c in supports[1:])
        can = options.enough(support, least[second])
        if shard.parts > 1:
            seconds = np.unique(second[can])
            can &= np.isin(second, seconds[shard.range(len(seconds))])
        second, target, support = second[can], target[can], support[can]
        chain, of_row = np.unique(second, return_inverse=True)
        body, pca = self._count(first, chain, np.maximum.reduceat(support, np.searchsorted(second, chain)))
        if options.flag[0]:
            return join_rows([], 2)
        mine = np.flatnonzero(options.enough(support, body[of_row]))
        mine = mine[np.lexsort((second[mine], target[mine]))]
        steps = np.stack((np.full(len(mine), first), second[mine]), axis=1).astype(np.int32)
        of_row, target = of_row[mine], target[mine]
        return steps, np.stack((target, support[mine], body[of_row], pca[of_row, target]))

    def _count(self, first: int, second: Longs, support: Longs) -> tuple[Longs, np.ndarray]:
        """Body size of each chain, and PCA body of each chain and target.

        A body that no `support` could bear is not counted to its end, so that less than the least confidence is left.
        """
        task, least = self.task, self.task.options.min_confidence
        most = np.full(len(second), NO_LIMIT) if not least else (support / least).astype(np.int64) + 1
        body, pca = np.zeros(len(second), np.int64), np.zeros((len(second), len(task.targets)), np.int64)
        self.epoch = _bodies(
            task.graph, task.facts, first, second, most, self.epoch, self.seen, body, pca, task.options.flag
        )
        return body, pca


def two_step_chains(task: Task) -> ChainRows:
    """Count all chains of length 2, by first step, target and second step."""
    graph, options = task.graph, task.options
    first = task.for_share(1 / 2)  # where time is short, hubs must not take that of all other rules
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
