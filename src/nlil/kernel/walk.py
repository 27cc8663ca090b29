"""reach: the entities at the end of a line of steps from one start, by depth-first search.

This is the compiled version of `phi` for a single start and crisp facts; counting, ranking and explaining line rules
all use it. Distinct variables are exact: a path never revisits an entity. Two kinds of pruning keep that cheap without
changing the answer:
- not distinct: an entity is expanded once at each depth;
- distinct, moves only: an entity with more than `FEW_EDGES` edges is expanded again only if that can lead to new ends
  (`is_needless`).
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from ..data.arrays import Doubles, Flag, Ids, Longs, Mask
from .bodies import NO_STEP, Lines, reversed_steps
from .compiled import compiled
from .graph import Graph, has_unary, span_edges
from .hidden import HiddenFact, hides, hides_member

NO_LIMIT = 2**62
BLOCKING = 8
"""Numbers that `is_needless` stores for an entity and depth."""
FEW_EDGES = 8
"""Up to this many edges, walking them again is cheaper than testing whether they can lead to new ends."""


class WalkSpace(NamedTuple):
    """Scratch space of one thread for lines of up to `len(node) - 1` steps.

    Attributes:
        node: by depth, the entity of the path so far.
        position: by depth, the next edge to try.
        stop: by depth, the end of these edges.
        visit_epoch: by depth and entity, the epoch of the last walk that came there.
        visit_count: by depth and entity, the number of sets in `blocking`.
        blocking: by depth and entity, the sets of `is_needless`.
        old_sets: a copy of one row of `blocking`.
        seen: by entity, the epoch of the last walk that ended there.
        ends: the entities found.
        clock: clock[0] is the current epoch; epochs never repeat.
        flag: flag[0] is not 0 once work must stop; results after that are not used.
        few: entities with at most this many edges are not tested by `is_needless`.
        product: for `spread`, by depth: the product of weights along the path.
        value: for `spread`, by entity: its degree as an end.
        layer: for `spread`, the entities of this step and of the next.
        amount: for `spread`, by entity: what arrived in this step and the next.

    The last four are None where `spread` is not called: an array counts as seven arguments of every compiled call.
    """

    node: Longs
    position: Longs
    stop: Longs
    visit_epoch: np.ndarray
    visit_count: np.ndarray
    blocking: Ids
    old_sets: Ids
    seen: Longs
    ends: Longs
    clock: Longs
    flag: Flag
    few: int
    product: Doubles
    value: Doubles
    layer: np.ndarray
    amount: np.ndarray


def walk_space(
    num_entities: int, most_steps: int, few: int = FEW_EDGES, flag: Flag | None = None, spreads: bool = True
) -> WalkSpace:
    """Make scratch space for lines of `most_steps` on a base of `num_entities`; `few` and `flag` as in WalkSpace.

    `spreads` adds the space for `spread`. Epochs begin at 1, so all arrays start as zeros: parts that no walk reaches
    take no memory.
    """
    depth, of_spread = most_steps + 1, cast(tuple[Any, ...], (None,) * 4)
    if spreads:
        layers = (2, max(num_entities, 1))
        of_spread = np.zeros(depth), np.zeros(num_entities), np.zeros(layers, np.int64), np.zeros(layers)
    return WalkSpace(
        np.zeros(depth, np.int64),
        np.zeros(depth, np.int64),
        np.zeros(depth, np.int64),
        np.zeros((depth, num_entities), np.int64),
        np.zeros((depth, num_entities), np.int8),
        np.zeros((max(most_steps - 2, 0), num_entities, BLOCKING), np.int32),
        np.zeros(BLOCKING, np.int32),
        np.zeros(num_entities, np.int64),
        np.zeros(max(num_entities, 1), np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.uint8) if flag is None else flag,
        few,
        *of_spread,
    )


class Walked(NamedTuple):
    """Lines for compiled loops: `backwards` are the steps from the end, `lengths` the numbers of steps.

    Node i is before step i: nodes up to `first_move` are the start, nodes after `last_move` the end.
    `steps`, `start`, `end` and `distinct` are the columns of Lines.
    """

    steps: np.ndarray
    backwards: np.ndarray
    lengths: Longs
    start: Longs
    end: Longs
    distinct: Mask
    first_move: Longs
    last_move: Longs

    @classmethod
    def of(cls, lines: Lines, is_unary: Mask) -> Walked:
        """Lay out `lines`; `is_unary` is the `unary_mask` of the predicates."""
        steps, lengths = lines.steps.astype(np.int64), lines.lengths.astype(np.int64)
        backwards = reversed_steps(steps, lengths, is_unary)
        first, last = np.full(len(steps), lines.width), np.full(len(steps), -1)
        for i, step in enumerate(steps.T):
            is_move = (step != NO_STEP) & ~is_unary[step >> 1]
            first[is_move] = np.minimum(first[is_move], i)
            last[is_move] = i
        start, end = lines.start.astype(np.int64), lines.end.astype(np.int64)
        return cls(steps, backwards, lengths, start, end, lines.distinct, first, last)


def expected_steps(graph: Graph, steps: np.ndarray) -> float:
    """Estimate by mean fan-outs how many edges of `graph` are visited when each line is walked from one entity.

    `steps` has a row of codes for each line.
    """
    num_nodes = np.diff(graph.code_pointer)
    fan_out = np.where(num_nodes > 0, graph.code_edges / np.maximum(num_nodes, 1), 1.0)  # a filter stays at its node
    fan_out = np.append(fan_out, 0.0)  # NO_STEP
    return float(np.cumprod(fan_out[steps], axis=1).sum())


@compiled
def _open(graph: Graph, space: WalkSpace, steps: Longs, depth: int, hidden: HiddenFact) -> None:
    """Set up the edges to try from the node at `depth`; a filter is one try at the node itself."""
    code = steps[depth]
    node = space.node[depth]
    if graph.is_unary[code >> 1]:
        holds = has_unary(graph, node, code >> 1) and not hides_member(hidden, code >> 1, node)
        space.position[depth], space.stop[depth] = 0, 1 if holds else 0
    else:
        space.position[depth], space.stop[depth] = span_edges(graph, node, code)


@compiled
def is_needless(space: WalkSpace, depth: int, length: int, epoch: int) -> bool:
    """Return whether earlier visits of node[depth] already found all ends that the current path can lead to.

    The rest of a path avoids the entities before it. A continuation that no earlier visit could take therefore
    intersects the prefix of each of them: `blocking` holds the minimal such sets, of at most as many entities as are
    still to come. If all of these sets also intersect the current prefix, this visit adds no continuation. If there
    could be too many sets, none are stored and nothing is pruned. `space` has the path, `length` is the number of steps
    of the line, `epoch` that of this walk.
    """
    before, left = depth - 1, length - depth
    if before == 0 or before**left * left > BLOCKING:
        return False
    there = space.node[depth]
    sets = space.blocking[depth - 2, there]
    if space.visit_epoch[depth, there] != epoch:
        space.visit_epoch[depth, there] = epoch
        space.visit_count[depth, there] = before
        sets[:] = -1
        for i in range(before):
            sets[i * left] = space.node[1 + i]
        return False
    num_sets, missed = space.visit_count[depth, there], False
    for i in range(num_sets):
        missed = missed or not _meets(space, sets, i * left, left, before)
    if not missed:
        return True
    old = space.old_sets
    for i in range(BLOCKING):  # loops: assigning a slice to a slice takes seconds to compile
        old[i] = sets[i]
        sets[i] = -1
    kept = 0
    for i in range(num_sets):
        if _meets(space, old, i * left, left, before):
            for j in range(left):
                sets[kept * left + j] = old[i * left + j]
            kept += 1
        elif old[i * left + left - 1] < 0:
            for j in range(before):
                place = 0
                while old[i * left + place] >= 0:
                    sets[kept * left + place] = old[i * left + place]
                    place += 1
                sets[kept * left + place] = space.node[1 + j]
                kept += 1
    space.visit_count[depth, there] = kept
    return False


@compiled
def _meets(space: WalkSpace, sets: Ids, begin: int, size: int, before: int) -> bool:
    """Return whether one of sets[begin : begin + size] is among node[1 .. before]."""
    for i in range(begin, begin + size):
        for j in range(1, before + 1):
            if sets[i] == space.node[j]:
                return True
    return False


@compiled
def reach(
    graph: Graph,
    space: WalkSpace,
    steps: Longs,
    num_steps: int,
    start: int,
    distinct: bool,
    hidden: HiddenFact,
    limit: int,
    constant: int,
) -> int:
    """Write the distinct ends of a line from `start` into space.ends; return their number, at most `limit`.

    If the line ends at a `constant`, that is its only end; it is not a variable, so the path may pass through it too.

    Args:
        graph: the facts; weights are ignored.
        space: scratch space of this thread.
        steps: the codes of the line; the first `num_steps` count.
        start: an entity id.
        distinct: whether a path may not revisit an entity.
        hidden: the fact that may not be used.
        limit: NO_LIMIT for all ends.
        constant: an entity id, or -1.
    """
    space.clock[0] += 1
    epoch = space.clock[0]
    moves, last_move = 0, -1
    for i in range(num_steps):
        if not graph.is_unary[steps[i] >> 1]:
            moves, last_move = moves + 1, i
    if constant >= 0 and moves == 0 and start != constant:
        return 0
    found = 0
    depth = 0
    space.node[0] = start
    if num_steps == 0:
        space.ends[0] = start
        return 1
    _open(graph, space, steps, 0, hidden)
    while depth >= 0:
        if space.position[depth] >= space.stop[depth]:
            depth -= 1
            continue
        here = space.node[depth]
        e = space.position[depth]
        space.position[depth] += 1
        there = here
        if not graph.is_unary[steps[depth] >> 1]:
            there = graph.neighbour[e]
            if hides(hidden, steps[depth], here, there):
                continue
            if constant >= 0 and depth == last_move:
                if there != constant:
                    continue
            elif distinct:
                repeated = False
                for i in range(depth + 1):
                    repeated = repeated or space.node[i] == there
                if repeated:
                    continue
        if depth + 1 == num_steps:
            if space.seen[there] != epoch:
                space.seen[there] = epoch
                space.ends[found] = there
                found += 1
                if found >= limit or constant >= 0:
                    return found
            continue
        if space.flag[0]:
            return 0
        space.node[depth + 1] = there
        if not distinct:
            if space.visit_epoch[depth + 1, there] == epoch:
                continue
            space.visit_epoch[depth + 1, there] = epoch
        _open(graph, space, steps, depth + 1, hidden)
        many = distinct and space.stop[depth + 1] - space.position[depth + 1] > space.few
        if not (many and moves == num_steps and constant < 0 and is_needless(space, depth + 1, num_steps, epoch)):
            depth += 1
    return found
