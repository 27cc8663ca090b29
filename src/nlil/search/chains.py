"""All chains of length 1 and 2, with exact statistics for every target at once.

    p(X, Y) :- r(X, Y)              p(X, Y) :- r1(X, Z1), r2(Z1, Y)        all variables distinct

For one first step r1 and each start a the loop visits every distinct (r2, b) that r1 then r2 reaches:
body size counts them, support those with a target fact p(a, b), and the PCA body those of which a has
some target fact. With distinct variables a chain of two or more steps cannot run through p(a, b)
itself, so nothing needs hiding; for one step p(a, b) is excluded as its own body.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.arrays import Ids, Longs
from ..kernel.compiled import compiled
from ..kernel.graph import Graph, TargetFacts
from ..kernel.hidden import is_own_fact
from .hash_table import first_visit, new_table, next_epoch, table_mask


@dataclass(frozen=True, eq=False)
class Chains:
    """Rows: target position, step codes (n, length), support, body size, PCA body."""

    target: Ids
    steps: Ids
    support: Longs
    body_size: Longs
    pca_body: Longs

    @classmethod
    def join(cls, parts: list[Chains], length: int) -> Chains:
        none = np.zeros(0, np.int64)
        parts = [*parts, cls(np.zeros(0, np.int32), np.zeros((0, length), np.int32), none, none, none)]
        columns = ("target", "steps", "support", "body_size", "pca_body")
        return cls(*(np.concatenate([getattr(p, c) for p in parts]) for c in columns))


class Workspace:
    """Scratch arrays of one thread; `epoch` never repeats, so nothing is ever cleared."""

    def __init__(self, graph: Graph, num_targets: int) -> None:
        self.table = new_table(most_reached(graph))
        self.mark = np.full((graph.num_entities, 2), -1, np.int64)
        self.epoch = 0
        self.support = np.zeros((num_targets, graph.num_codes), np.int64)
        self.pca = np.zeros((num_targets, graph.num_codes), np.int64)
        self.body = np.zeros(graph.num_codes, np.int64)


def most_reached(graph: Graph) -> int:
    """The most (r2, b) that one (a, r1) can reach: what the hash table must hold."""
    if not len(graph.code):
        return 1
    reached = np.diff(graph.pointer)[graph.neighbour]
    return int(np.add.reduceat(reached, graph.span_pointer[:-1]).max(initial=1))


@compiled
def _mark_objects(facts, a, mark, epoch):
    """mark[b] = (epoch, first fact of the pair (a, b)) for every b with a target fact of a."""
    for f in range(facts.pointer[a], facts.pointer[a + 1]):
        b = facts.object[f]
        if mark[b, 0] != epoch:
            mark[b, 0] = epoch
            mark[b, 1] = f


@compiled
def _two_steps(graph, facts, first, epoch, table, mark, support, pca, body):
    """Counts for all chains that begin with the step `first`; returns the last epoch used."""
    num_keys = np.int64(graph.num_codes) * graph.num_entities
    count = np.zeros(graph.num_codes, np.int64)
    touched = np.empty(graph.num_codes, np.int64)
    for i in range(graph.code_pointer[first], graph.code_pointer[first + 1]):
        span = graph.code_span[i]
        a, low, high = graph.span_node[span], graph.span_pointer[span], graph.span_pointer[span + 1]
        reached = 0
        for k in range(low, high):
            z = graph.neighbour[k]
            reached += graph.pointer[z + 1] - graph.pointer[z]
        epoch = next_epoch(epoch, num_keys, table, mark)
        _mark_objects(facts, a, mark, epoch)
        mask = table_mask(table, reached)
        alone = high - low == 1  # a single middle entity reaches nothing twice
        num_touched = 0
        for k in range(low, high):
            z = graph.neighbour[k]
            if z == a:
                continue
            for e in range(graph.pointer[z], graph.pointer[z + 1]):
                b = graph.neighbour[e]
                if b == a or b == z:
                    continue
                second = graph.code[e]
                key = np.int64(second) * graph.num_entities + b
                if not alone and not first_visit(table, mask, epoch, num_keys, key):
                    continue
                if count[second] == 0:
                    touched[num_touched] = second
                    num_touched += 1
                count[second] += 1
                if mark[b, 0] == epoch:
                    f = mark[b, 1]
                    while f < facts.pointer[a + 1] and facts.object[f] == b:
                        support[facts.target[f], second] += 1
                        f += 1
        for k in range(num_touched):
            second = touched[k]
            body[second] += count[second]
            for t in range(facts.subject_pointer[a], facts.subject_pointer[a + 1]):
                pca[facts.subject_target[t], second] += count[second]
            count[second] = 0
    return epoch


def chains_from(
    graph: Graph, facts: TargetFacts, first: int, work: Workspace, min_support: int, min_confidence: float
) -> Chains:
    """All chains of length 2 that begin with the step code `first`."""
    work.support[:] = 0
    work.pca[:] = 0
    work.body[:] = 0
    work.epoch = _two_steps(graph, facts, first, work.epoch, work.table, work.mark, work.support, work.pca, work.body)
    enough = work.support >= np.maximum(min_support, min_confidence * work.body)
    target, second = np.nonzero(enough & (work.support > 0))
    steps = np.stack((np.full(len(second), first), second), axis=1).astype(np.int32)
    return Chains(
        target.astype(np.int32), steps, work.support[target, second], work.body[second], work.pca[target, second]
    )


@compiled
def _one_step(graph, facts, target_code, mark, support, pca, body):
    for a in range(graph.num_entities):
        _mark_objects(facts, a, mark, a)
        for e in range(graph.pointer[a], graph.pointer[a + 1]):
            b = graph.neighbour[e]
            if a == b:
                continue
            step = graph.code[e]
            body[step] += 1
            for t in range(facts.subject_pointer[a], facts.subject_pointer[a + 1]):
                pca[facts.subject_target[t], step] += 1
            if mark[b, 0] == a:
                f = mark[b, 1]
                while f < facts.pointer[a + 1] and facts.object[f] == b:
                    if not is_own_fact(target_code[facts.target[f]], step):
                        support[facts.target[f], step] += 1
                    f += 1


def one_step_chains(graph: Graph, facts: TargetFacts, targets: Ids, min_support: int, min_confidence: float) -> Chains:
    """p(X, Y) :- r(X, Y) and p(X, Y) :- r(Y, X), X and Y distinct."""
    shape = (len(targets), graph.num_codes)
    support, pca = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    body = np.zeros(graph.num_codes, np.int64)
    mark = np.full((graph.num_entities, 2), -1, np.int64)
    _one_step(graph, facts, 2 * targets.astype(np.int64), mark, support, pca, body)
    enough = (support > 0) & (support >= np.maximum(min_support, min_confidence * body))
    target, step = np.nonzero(enough)
    return Chains(
        target.astype(np.int32), step[:, None].astype(np.int32), support[target, step], body[step], pca[target, step]
    )
