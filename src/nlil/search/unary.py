"""Rules for unary targets: every path from X of up to max_length - 1 moves that ends in a unary predicate.

    q(X) :- u(X)      q(X) :- k(X, Z1), u(Z1)      q(X) :- k(X, Z1), r(Z1, Z2), u(Z2)      ...
    q(X) :- k(X, Z1)  (a bare relation)            q(X) :- k(X, d)  (a constant)            q(X) :- true

A body whose last atom changes no count is left out: k(X, Z1), u(Z1) where every such Z1 is a u, or k(X, Z1), r(Z1, Z2)
where each X has such a Z2.

All variables are distinct. For each entity x the loop lists the bodies that hold, as numbers; body size and support are
then counts of equal numbers. Hidden are q(x) and, for a class q, every class of x; with distinct variables this affects
only bodies u(X).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from ..data.arrays import Flag, Ids, Longs
from ..data.kb import KnowledgeBase
from ..kernel.bodies import ANY_NODE, NO_STEP, unary_mask
from ..kernel.compiled import compiled
from ..kernel.graph import Graph
from ..kernel.hidden import class_mask, hides_membership
from ..kernel.ruleset import RuleSet
from ..kernel.sorting import sort_unique
from ..progress import Progress, silent
from .options import NEVER, CountOptions


class Numbering(NamedTuple):
    """Bodies as numbers: a path is digits code + 1 in base num_codes + 1, then predicate + 1 (0: bare).

    k(X, d) is `constants_from` + k * num_entities + d. `base` is num_codes + 1, `ends` is num_predicates + 1, `moves`
    is the largest number of edges of a path.
    """

    base: int
    ends: int
    moves: int
    constants_from: int
    num_entities: int

    @classmethod
    def of(cls, graph: Graph, num_predicates: int, moves: int) -> Numbering:
        """Number paths of up to `moves` edges in a base of `num_predicates`.

        The paths are shorter if (path, target) would not fit into 64 bits.
        """
        base, ends = graph.num_codes + 1, num_predicates + 1
        while moves > 1 and (base**moves * ends + graph.num_codes * graph.num_entities) * ends >= 2**63:
            moves -= 1
        return cls(base, ends, moves, base**moves * ends, graph.num_entities)

    def decode(self, numbers: Longs) -> tuple[Ids, Ids]:
        """Return the steps (n, moves + 1), padded with NO_STEP, and the end of each body of `numbers`."""
        constant = numbers >= self.constants_from
        path, unary = np.divmod(np.where(constant, 0, numbers), self.ends)
        steps: Ids = np.full((len(numbers), self.moves + 1), NO_STEP, np.int32)
        for place in reversed(range(self.moves)):
            path, digit = np.divmod(path, self.base)
            steps[:, place] = digit - 1
        steps[:, -1] = np.where(unary > 0, 2 * (unary - 1), NO_STEP)
        steps = np.take_along_axis(steps, np.argsort(steps == NO_STEP, axis=1, kind="stable"), axis=1)
        end = np.full(len(numbers), ANY_NODE, np.int32)
        number = numbers[constant] - self.constants_from
        steps[constant, 0], end[constant] = np.divmod(number, max(self.num_entities, 1))
        return steps, end

    def without_last(self, numbers: Longs) -> Longs:
        """Return the `numbers` of the bodies without their last atom; 0 for a single atom."""
        path, unary = np.divmod(np.where(numbers >= self.constants_from, 0, numbers), self.ends)
        return np.where(unary > 0, path, path // self.base) * self.ends


@compiled
def _put(out: Longs, used: int, value: int) -> int:
    """Set out[used] = value if it fits; return used + 1."""
    if used < len(out):
        out[used] = value
    return used + 1


@compiled
def _list_bodies(
    graph: Graph, entities: Ids, begin: int, bodies: Numbering, moves: int, constants: bool, out: Longs, pointer: Longs,
    flag: Flag,
) -> tuple[int, int]:  # fmt: skip
    """Write the distinct bodies of entities[begin:], sorted, into `out` until it is full or the `flag` is set.

    Returns the next entity, and the space that its bodies need.
    """
    node = np.zeros(moves + 1, np.int64)
    position = np.zeros(moves + 1, np.int64)
    path = np.zeros(moves + 1, np.int64)
    used = 0
    for index in range(begin, len(entities)):
        x, start, depth, arrived = entities[index], used, 0, True
        node[0], position[0] = x, graph.pointer[x]
        while depth >= 0:
            here = node[depth]
            if arrived:
                for i in range(graph.unary_pointer[here], graph.unary_pointer[here + 1]):
                    used = _put(out, used, path[depth] * bodies.ends + graph.unary_predicate[i] + 1)
                if depth > 0:
                    used = _put(out, used, path[depth] * bodies.ends)
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
            if flag[0]:
                return index, 0
            if not repeated:
                depth, arrived = depth + 1, True
                node[depth], position[depth] = there, graph.pointer[there]
                path[depth] = path[depth - 1] * bodies.base + graph.code[e] + 1
        if constants:
            for e in range(graph.pointer[x], graph.pointer[x + 1]):
                number = np.int64(graph.code[e]) * graph.num_entities + graph.neighbour[e]
                used = _put(out, used, bodies.constants_from + number)
        if used > len(out):
            return index, used - start
        used = sort_unique(out, start, used)
        pointer[index + 1] = used
    return len(entities), 0


def list_bodies(
    graph: Graph,
    entities: Ids,
    bodies: Numbering,
    moves: int,
    constants: bool = False,
    size: int = 2**20,
    flag: Flag = NEVER,
) -> Iterator[tuple[int, Longs, Longs]]:
    """Yield (position of the first entity, pointer, bodies) of blocks of `entities`.

    The bodies of an entity are distinct and sorted. They have up to `moves` edges; with `constants` there are also
    k(X, d). A block has at most `size` bodies, unless one entity has more. Ends early once the `flag` is set.
    """
    out = np.zeros(size, np.int64)
    pointer = np.zeros(len(entities) + 1, np.int64)
    begin = 0
    while begin < len(entities) and not flag[0]:
        pointer[begin] = 0
        end, needed = _list_bodies(graph, entities, begin, bodies, moves, constants, out, pointer, flag)
        if end > begin:
            yield begin, pointer[begin : end + 1], out[: pointer[end]]
        if needed > len(out):
            out = np.zeros(2 * needed, np.int64)
        begin = end


def _merge(keys: Longs, counts: Longs, more: Longs, more_counts: Longs) -> tuple[Longs, Longs]:
    both, place = np.unique(np.concatenate((keys, more)), return_inverse=True)
    total = np.bincount(place, weights=np.concatenate((counts, more_counts)), minlength=len(both))
    return both, total.astype(np.int64)


def unary_rules(
    kb: KnowledgeBase, graph: Graph, targets: Ids, options: CountOptions, progress: Progress = silent
) -> list[RuleSet]:
    """Return all rules for the unary `targets` with enough support and confidence, then their priors."""
    bodies = Numbering.of(graph, kb.num_predicates, max(options.max_length - 1, 0))
    counted = options.stages("rules for unary targets", partial(_counts, kb, graph, targets, bodies, options, progress))
    pair_keys, support, body_keys, body_counts = (counted[name] for name in COUNTS)
    body, position = np.divmod(pair_keys, len(targets))
    target, body_size = targets[position], body_counts[np.searchsorted(body_keys, body)]
    keep = options.enough(support, body_size)
    # u(X) is the query's own fact if u is the target, or both are classes.
    own = (body < bodies.ends) & (body > 0)
    keep &= ~(own & hides_membership(class_mask(kb), target, np.where(own, body - 1, 0)))
    shorter = bodies.without_last(body)  # holds for the same entities if for as many
    keep &= (shorter == 0) | (body_size < body_counts[np.searchsorted(body_keys, shorter)])
    steps, end = bodies.decode(body[keep])
    moves = ((steps != NO_STEP) & ~unary_mask(kb.predicates)[steps >> 1]).sum(axis=1)
    rules = RuleSet.of_lines(
        kb,
        steps,
        head=target[keep],
        end=end,
        distinct=(moves > 1) | ((moves == 1) & (end == ANY_NODE)),
        support=support[keep],
        body_size=body_size[keep],
        head_size=kb.predicate_counts[target[keep]],
    )
    return [rules, unary_priors(kb, targets)]


COUNTS = ("pair_keys", "support", "body_keys", "body_counts")
"""The arrays of `_counts`."""


def _counts(
    kb: KnowledgeBase, graph: Graph, targets: Ids, bodies: Numbering, options: CountOptions, progress: Progress
) -> dict[str, Longs]:
    """Return how many entities each body holds for, and how many members of each target (named as in COUNTS).

    A pair of a body and a target has the number body * num_targets + position of the target.
    """
    constants = options.constants and kb.graph_of is None
    entities = np.flatnonzero(kb.domain).astype(np.int32)
    members = np.zeros((len(targets), kb.num_entities), bool)
    for row, target in zip(members, targets.tolist()):
        row[kb.members(target)] = True
    none = np.zeros(0, np.int64)
    body_keys, body_counts, pair_keys, pair_counts = none, none, none, none
    size = min(max(options.memory // 64, 2**16), 2**22)
    for begin, pointer, held in list_bodies(graph, entities, bodies, bodies.moves, constants, size, options.flag):
        if options.is_late:
            break
        progress("paths", begin, len(entities))
        found, place, count = np.unique(held, return_inverse=True, return_counts=True)
        body_keys, body_counts = _merge(body_keys, body_counts, found, count)
        owner = np.repeat(entities[begin : begin + len(pointer) - 1], np.diff(pointer))
        for t, member in enumerate(members):
            counts = np.bincount(place[member[owner]], minlength=len(found))
            some = np.flatnonzero(counts)
            pair_keys = np.concatenate((pair_keys, found[some] * len(targets) + t))
            pair_counts = np.concatenate((pair_counts, counts[some]))
    if options.is_late:
        # Counts over a part of the entities are not exact, so nothing is returned.
        pair_keys, pair_counts = none, none
    pair_keys, support = _merge(none, none, pair_keys, pair_counts)
    progress("paths", len(entities), len(entities))
    return dict(zip(COUNTS, (pair_keys, support, body_keys, body_counts), strict=True))


def unary_priors(kb: KnowledgeBase, targets: Ids) -> RuleSet:
    """Return p(X) :- true of the unary targets."""
    size, everyone = kb.predicate_counts[targets], int(kb.domain.sum())
    no_steps = np.full((len(targets), 1), NO_STEP)
    return RuleSet.of_lines(kb, no_steps, head=targets, support=size, body_size=everyone, head_size=size)
