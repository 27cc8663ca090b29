"""reach: the entities at the end of a line of steps from one start, by depth-first search.

The compiled twin of `phi` for a single start and crisp facts; counting, ranking and explaining of line
rules all walk with it. Distinct variables are exact: a path never revisits an entity. Two prunings keep
that cheap without changing the answer:
- not distinct: an entity is expanded once at each depth;
- distinct with three moves: the last-but-one entity is expanded for two different predecessors at most,
  since no end can be ruled out by both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.arrays import Longs, Mask
from .edges import EdgeIndex
from .kernels import compiled

NO_LIMIT = 2**62


class WalkSpace(NamedTuple):
    """Scratch of one thread for lines of up to `len(node) - 1` steps. clock[0] is an epoch that never repeats."""

    node: Longs
    position: Longs
    stop: Longs
    visit_epoch: np.ndarray
    visit_count: np.ndarray
    seen: Longs
    ends: Longs
    clock: Longs


def walk_space(num_entities: int, most_steps: int) -> WalkSpace:
    depth = most_steps + 1
    return WalkSpace(
        np.zeros(depth, np.int64),
        np.zeros(depth, np.int64),
        np.zeros(depth, np.int64),
        np.full((depth, num_entities), -1, np.int64),
        np.zeros((depth, num_entities), np.int8),
        np.full(num_entities, -1, np.int64),
        np.zeros(max(num_entities, 1), np.int64),
        np.zeros(1, np.int64),
    )


@compiled
def code_range(edges: EdgeIndex, node: int, code: int) -> tuple[int, int]:
    """The edges of `node` with step `code`."""
    low, high = edges.pointer[node], edges.pointer[node + 1]
    top = high
    while low < high:
        middle = (low + high) // 2
        if edges.code[middle] < code:
            low = middle + 1
        else:
            high = middle
    high = low
    while high < top and edges.code[high] == code:
        high += 1
    return low, high


@compiled
def has_unary(edges: EdgeIndex, node: int, predicate: int) -> bool:
    for i in range(edges.unary_pointer[node], edges.unary_pointer[node + 1]):
        if edges.unary_predicate[i] == predicate:
            return True
    return False


@compiled
def _open(edges: EdgeIndex, space: WalkSpace, steps: Longs, is_unary: Mask, depth: int, hidden_group: Mask,
          start: int) -> None:
    """Set up the edges to try from the node at `depth`; a filter is one try at the node itself."""
    code = steps[depth]
    node = space.node[depth]
    if is_unary[code >> 1]:
        holds = has_unary(edges, node, code >> 1) and not (hidden_group[code >> 1] and node == start)
        space.position[depth], space.stop[depth] = 0, 1 if holds else 0
    else:
        space.position[depth], space.stop[depth] = code_range(edges, node, code)


@compiled
def reach(edges: EdgeIndex, space: WalkSpace, steps: Longs, num_steps: int, is_unary: Mask, start: int, distinct: bool,
          hidden_code: int, hidden_end: int, hidden_group: Mask, limit: int) -> int:
    """Ends of the line from `start` into space.ends, each once; returns how many (at most `limit`).

    Hidden: the edge `hidden_code` from start to hidden_end, also walked backwards (hidden_end = -1: none),
    and at `start` the unary predicates marked in `hidden_group`.
    """
    space.clock[0] += 1
    epoch = space.clock[0]
    moves = 0
    for i in range(num_steps):
        moves += not is_unary[steps[i] >> 1]
    found = 0
    depth = 0
    space.node[0] = start
    if num_steps == 0:
        space.ends[0] = start
        return 1
    _open(edges, space, steps, is_unary, 0, hidden_group, start)
    while depth >= 0:
        if space.position[depth] >= space.stop[depth]:
            depth -= 1
            continue
        here = space.node[depth]
        e = space.position[depth]
        space.position[depth] += 1
        there = here
        if not is_unary[steps[depth] >> 1]:
            there = edges.neighbour[e]
            code = steps[depth]
            if hidden_end >= 0 and (
                (code == hidden_code and here == start and there == hidden_end)
                or (code == (hidden_code ^ 1) and here == hidden_end and there == start)
            ):
                continue
            if distinct:
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
                if found >= limit:
                    return found
            continue
        most = 127
        if not distinct:
            most = 1
        elif moves == 3 and depth + 2 == num_steps and num_steps == 3:
            most = 2
        if space.visit_epoch[depth + 1, there] != epoch:
            space.visit_epoch[depth + 1, there] = epoch
            space.visit_count[depth + 1, there] = 0
        if most < 127:
            if space.visit_count[depth + 1, there] >= most:
                continue
            space.visit_count[depth + 1, there] += 1
        depth += 1
        space.node[depth] = there
        _open(edges, space, steps, is_unary, depth, hidden_group, start)
    return found
