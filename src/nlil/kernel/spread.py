"""spread: to what degree a line holds at each of its ends, from one start. Compiled loops for soft facts.

    value(end) = min(1, sum over the paths to the end of the product of the weights of their facts)

`walk.reach` only asks whether there is a path, and may prune; here every path counts. With distinct variables a path
never revisits an entity. Without them, the paths that meet at an entity are summed there, step by step.
"""

from __future__ import annotations

import numpy as np

from ..data.arrays import Longs
from .compiled import compiled
from .graph import Graph, find_member, span_edges
from .hidden import HiddenFact, hides, hides_member
from .walk import WalkSpace


@compiled
def spread(
    graph: Graph,
    space: WalkSpace,
    steps: Longs,
    num_steps: int,
    start: int,
    distinct: bool,
    hidden: HiddenFact,
    end: int,
    is_constant: bool,
    number: int,
) -> int:
    """Write the distinct ends of a line from `start` into space.ends and their degrees into space.value.

    Returns the number of ends. `steps`, `num_steps`, `distinct` and `hidden` are those of `walk.reach`. If
    the line ends at a given entity (`end` >= 0), that is its only end; it is not a variable, so the path may pass
    through it too, as through a start that `is_constant`. Other entities must be in the graph `number` (-1: any).
    """
    first_move, last_move = num_steps, -1
    for i in range(num_steps):
        if not graph.is_unary[steps[i] >> 1]:
            first_move, last_move = min(first_move, i), i
    if end >= 0 and last_move < 0 and start != end:
        return 0
    space.layer[0, 0], space.amount[0, start] = start, 1.0
    if distinct:
        found = _distinct_paths(
            graph, space, steps, num_steps, start, hidden, end, last_move,
            first_move + 1 if is_constant else 0, number,
        )  # fmt: skip
    else:
        found = _layers(graph, space, steps, num_steps, hidden, end, last_move, number)
    for k in range(found):
        b = space.ends[k]
        space.value[b] = min(1.0, space.value[b])
    return found


@compiled
def membership(graph: Graph, node: int, predicate: int) -> float:
    """Return the weight of the fact predicate(node) of `graph`; 0 if there is none."""
    place = find_member(graph, node, predicate)
    if place < 0:
        return 0.0
    return np.float64(graph.member_weight[place]) if len(graph.member_weight) else 1.0


@compiled
def edge_weight(graph: Graph, edge: int) -> float:
    """Return the weight of edge number `edge` of `graph`."""
    return np.float64(graph.weight[edge]) if len(graph.weight) else 1.0


@compiled
def _arrive(space: WalkSpace, epoch: int, found: int, there: int, value: float) -> int:
    if space.seen[there] != epoch:
        space.seen[there] = epoch
        space.ends[found] = there
        space.value[there] = 0.0
        found += 1
    space.value[there] += value
    return found


@compiled
def _distinct_paths(
    graph: Graph,
    space: WalkSpace,
    steps: Longs,
    num_steps: int,
    start: int,
    hidden: HiddenFact,
    end: int,
    last_move: int,
    first_variable: int,
    number: int,
) -> int:
    """Search all paths depth-first whose entities, from node `first_variable` on, are different."""
    space.clock[0] += 1
    epoch, found, depth = space.clock[0], 0, 0
    space.node[0], space.product[0] = start, 1.0
    entering = True
    while depth >= 0:
        here, value = space.node[depth], space.product[depth]
        if depth == num_steps:
            found = _arrive(space, epoch, found, here, value)
            depth, entering = depth - 1, False
            continue
        code = steps[depth]
        if graph.is_unary[code >> 1]:
            weight = 0.0
            if entering and not hides_member(hidden, code >> 1, here):
                weight = membership(graph, here, code >> 1)
            if weight > 0.0:
                space.node[depth + 1], space.product[depth + 1] = here, value * weight
                depth += 1
            else:
                depth, entering = depth - 1, False
            continue
        if entering:
            space.position[depth], space.stop[depth] = span_edges(graph, here, code)
        entering = False
        while space.position[depth] < space.stop[depth] and not entering:
            e = space.position[depth]
            space.position[depth] += 1
            there = graph.neighbour[e]
            if hides(hidden, code, here, there):
                continue
            if end >= 0 and depth == last_move:
                entering = there == end
            else:
                entering = number < 0 or graph.graph_of[there] == number
                for i in range(first_variable, depth + 1):
                    if space.node[i] == there:
                        entering = False
            if entering:
                space.node[depth + 1], space.product[depth + 1] = there, value * edge_weight(graph, e)
        depth += 1 if entering else -1
    return found


@compiled
def _layers(
    graph: Graph,
    space: WalkSpace,
    steps: Longs,
    num_steps: int,
    hidden: HiddenFact,
    end: int,
    last_move: int,
    number: int,
) -> int:
    """Proceed step by step; what arrives at an entity is merged."""
    size = 1
    for depth in range(num_steps):
        space.clock[0] += 1
        epoch, now, code, reached = space.clock[0], depth & 1, steps[depth], 0
        for k in range(size):
            here = space.layer[now, k]
            value = space.amount[now, here]
            if graph.is_unary[code >> 1]:
                weight = 0.0 if hides_member(hidden, code >> 1, here) else membership(graph, here, code >> 1)
                if weight > 0.0:
                    space.layer[1 - now, reached], space.amount[1 - now, here] = here, value * weight
                    reached += 1
                continue
            low, high = span_edges(graph, here, code)
            for e in range(low, high):
                there = graph.neighbour[e]
                if end >= 0 and depth == last_move:
                    if there != end:
                        continue
                elif number >= 0 and graph.graph_of[there] != number:
                    continue
                if hides(hidden, code, here, there):
                    continue
                if space.seen[there] != epoch:
                    space.seen[there] = epoch
                    space.layer[1 - now, reached], space.amount[1 - now, there] = there, 0.0
                    reached += 1
                space.amount[1 - now, there] += value * edge_weight(graph, e)
        size = reached
    space.clock[0] += 1
    for k in range(size):
        b = space.layer[num_steps & 1, k]
        space.ends[k], space.value[b], space.seen[b] = b, space.amount[num_steps & 1, b], space.clock[0]
    return size
