"""Rules for unary targets: every path from X of up to max_length - 1 moves that ends in a unary predicate.

    q(X) :- u(X)      q(X) :- k(X, Z1), u(Z1)      q(X) :- k(X, Z1), r(Z1, Z2), u(Z2)      ...
    q(X) :- k(X, Z1)  (a bare relation)            q(X) :- k(X, d)  (a constant)            q(X) :- true

All variables distinct. For each entity x the loop lists the bodies that hold, as numbers; body size and
support are then counts of equal numbers. Hidden: q(x), and for a class q every class of x; with distinct
variables that concerns bodies u(X) only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..data.arrays import Ids, Longs
from ..data.kb import KnowledgeBase
from ..kernel.bodies import ANY_NODE, NO_STEP
from ..kernel.compiled import compiled
from ..kernel.graph import Graph
from ..kernel.hidden import hides_membership
from ..kernel.sorting import sort_range
from ..progress import Progress, silent
from .options import CountOptions


@dataclass(frozen=True, eq=False)
class UnaryRules:
    """Rows: target (predicate id), steps padded with NO_STEP, end, support, body size."""

    target: Ids
    steps: Ids
    end: Ids
    support: Longs
    body_size: Longs


class Bodies:
    """Bodies as numbers: a path is digits code + 1 in base num_codes + 1, then predicate + 1 (0: bare);
    k(X, d) is `constants_from` + k * num_entities + d."""

    def __init__(self, graph: Graph, num_predicates: int, moves: int) -> None:
        self.base = graph.num_codes + 1
        self.ends = num_predicates + 1
        while moves > 1 and (self.base**moves * self.ends + graph.num_codes * graph.num_entities) * self.ends >= 2**63:
            moves -= 1  # longer paths, with a target beside them, have no 64-bit number
        self.constants_from = self.base**moves * self.ends
        self.moves = moves
        self.graph = graph

    def decode(self, numbers: Longs, width: int) -> tuple[Ids, Ids]:
        """Steps (n, width) and end of each body."""
        steps = np.full((len(numbers), width), NO_STEP, np.int32)
        end = np.full(len(numbers), ANY_NODE, np.int32)
        constant = numbers >= self.constants_from
        number = numbers[constant] - self.constants_from
        steps[constant, 0], end[constant] = np.divmod(number, max(self.graph.num_entities, 1))
        for row in np.flatnonzero(~constant):
            path, unary = divmod(int(numbers[row]), self.ends)
            digits = []
            while path:
                path, digit = divmod(path, self.base)
                digits.append(digit - 1)
            digits.reverse()
            if unary:
                digits.append(2 * (unary - 1))
            steps[row, : len(digits)] = digits
        return steps, end


@compiled
def _list_bodies(graph, entities, begin, moves, base, ends, constants_from, constants, out, pointer):
    """Bodies that hold for entities[begin:], sorted and once each, until `out` is full; returns the next entity."""
    node = np.zeros(moves + 1, np.int64)
    position = np.zeros(moves + 1, np.int64)
    path = np.zeros(moves + 1, np.int64)
    used = 0
    index = begin
    while index < len(entities):
        x = entities[index]
        start = used
        depth = 0
        node[0] = x
        path[0] = 0
        position[0] = graph.pointer[x]
        fits = True
        arrived = True
        while depth >= 0 and fits:
            here = node[depth]
            if arrived:
                unary = graph.unary_pointer[here + 1] - graph.unary_pointer[here]
                if used + unary + 1 > len(out):
                    fits = False
                    break
                for i in range(graph.unary_pointer[here], graph.unary_pointer[here + 1]):
                    out[used] = path[depth] * ends + graph.unary_predicate[i] + 1
                    used += 1
                if depth > 0:
                    out[used] = path[depth] * ends
                    used += 1
                arrived = False
            if depth == moves or position[depth] == graph.pointer[here + 1]:
                depth -= 1
                continue
            e = position[depth]
            position[depth] += 1
            there = graph.neighbour[e]
            repeated = False
            for i in range(depth + 1):
                repeated = repeated or node[i] == there
            if repeated:
                continue
            depth += 1
            node[depth] = there
            path[depth] = path[depth - 1] * base + graph.code[e] + 1
            position[depth] = graph.pointer[there]
            arrived = True
        if fits and constants:
            fits = used + graph.pointer[x + 1] - graph.pointer[x] <= len(out)
            if fits:
                for e in range(graph.pointer[x], graph.pointer[x + 1]):
                    out[used] = constants_from + np.int64(graph.code[e]) * graph.num_entities + graph.neighbour[e]
                    used += 1
        if not fits:
            return index
        sort_range(out, start, used)
        last = start
        for i in range(start, used):
            if i == start or out[i] != out[last - 1]:
                out[last] = out[i]
                last += 1
        used = last
        index += 1
        pointer[index] = used
    return index


def list_bodies(
    graph: Graph, entities: Ids, bodies: Bodies, moves: int, constants: bool = False, size: int = 2**20
) -> Iterator[tuple[int, Longs, Longs]]:
    """(first entity's place, pointer, bodies) of block after block of entities; those of one are sorted, once each."""
    out = np.zeros(size, np.int64)
    pointer = np.zeros(len(entities) + 1, np.int64)
    begin = 0
    while begin < len(entities):
        pointer[begin] = 0
        end = _list_bodies(
            graph, entities, begin, moves, bodies.base, bodies.ends, bodies.constants_from, constants, out, pointer
        )
        if end == begin:
            out = np.zeros(2 * len(out), np.int64)
            continue
        yield begin, pointer[begin : end + 1], out[: pointer[end]]
        begin = end


def _merge(keys: Longs, counts: Longs, more: Longs, more_counts: Longs) -> tuple[Longs, Longs]:
    both, place = np.unique(np.concatenate((keys, more)), return_inverse=True)
    total = np.bincount(place, weights=np.concatenate((counts, more_counts)), minlength=len(both))
    return both, total.astype(np.int64)


def unary_rules(
    kb: KnowledgeBase, graph: Graph, targets: Ids, options: CountOptions, progress: Progress = silent
) -> UnaryRules:
    """All rules for the unary `targets` (predicate ids) with enough support and confidence."""
    kb = kb.crisp
    bodies = Bodies(graph, kb.num_predicates, max(options.max_length - 1, 0))
    constants = options.constants and kb.graph_of is None
    entities = np.flatnonzero(kb.domain).astype(np.int32)
    targets_of = _targets_of(kb, targets)
    none = np.zeros(0, np.int64)
    body_keys, body_counts, pair_keys, pair_counts = none, none, none, none
    size = min(max(options.memory // 64, 2**16), 2**22)
    for begin, pointer, held in list_bodies(graph, entities, bodies, bodies.moves, constants, size):
        if options.stop is not None and options.stop():
            # Counts of a part of the entities are no statistics: nothing is better than something wrong.
            targets, pair_keys, pair_counts = targets[:0], none, none
            break
        progress("paths", begin, len(entities))
        found, place, count = np.unique(held, return_inverse=True, return_counts=True)
        body_keys, body_counts = _merge(body_keys, body_counts, found, count)
        owner = np.repeat(np.arange(begin, begin + len(pointer) - 1), np.diff(pointer))
        for t in range(len(targets)):
            mine = np.bincount(place[targets_of[t][entities[owner]]], minlength=len(found))
            some = np.flatnonzero(mine)
            pair_keys = np.concatenate((pair_keys, found[some] * len(targets) + t))
            pair_counts = np.concatenate((pair_counts, mine[some]))
    pair_keys, pair_counts = _merge(none, none, pair_keys, pair_counts)
    body, target = np.divmod(pair_keys, max(len(targets), 1))
    sizes = body_counts[np.searchsorted(body_keys, body)]
    progress("paths", len(entities), len(entities))
    return _select(kb, bodies, targets[target] if len(targets) else target, body, pair_counts, sizes, options)


def _select(
    kb: KnowledgeBase, bodies: Bodies, target: Ids, body: Longs, support: Longs, size: Longs, options: CountOptions
) -> UnaryRules:
    keep = (support >= options.min_support) & (support >= options.min_confidence * size)
    # u(X) for the target itself, or class for class, is the query's own fact.
    own = (body < bodies.ends) & (body > 0)
    keep &= ~(own & hides_membership(kb, target, np.where(own, body - 1, 0)))
    steps, end = bodies.decode(body[keep], bodies.moves + 1)
    return UnaryRules(target[keep].astype(np.int32), steps, end, support[keep], size[keep])


def _targets_of(kb: KnowledgeBase, targets: Ids) -> np.ndarray:
    """(targets, entities): does the entity have the target?"""
    table = np.zeros((len(targets), kb.num_entities), bool)
    for t, predicate in enumerate(targets):
        table[t, kb.members(int(predicate))] = True
    return table
