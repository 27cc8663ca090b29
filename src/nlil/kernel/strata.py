"""Strata: an order of predicates in which every negated one is complete before it is used.

A node is a predicate, of rules in names, in ids, or of logic programs. `edges` lead from a node to the nodes that it
uses.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import TypeVar

from ..errors import RuleError

Node = TypeVar("Node", bound=Hashable)


def stratify(nodes: Iterable[Node], uses: Mapping[tuple[Node, Node], bool]) -> dict[Node, int]:
    """Return the stratum of each of the `nodes`, from 0; a node that another one negates has a lower one.

    Args:
        nodes: The predicates of the heads.
        uses: (head, predicate in its body, also one of the nodes) -> whether some use is negated. RuleError if negation
            leads back to its own head.
    """
    edges: dict[Node, list[Node]] = {}
    for head, used in uses:
        edges.setdefault(head, []).append(used)
    for (head, used), negated in uses.items():
        if negated and (path := _path(used, head, edges)):
            chain = " -> ".join(map(str, [head, *path]))
            raise RuleError(
                f"the rules for {head} negate {used}, which depends on {head} again ({chain}); "
                "negation must not lead back to its own head: leave one of these rules out"
            )
    level = dict.fromkeys(nodes, 0)
    changed = True
    while changed:
        changed = False
        for (head, used), negated in uses.items():
            least = level[used] + negated
            if level[head] < least:
                level[head], changed = least, True
    return level


def _path(start: Node, goal: Node, edges: Mapping[Node, Iterable[Node]]) -> list[Node]:
    """Return a shortest path from `start` to `goal`; empty if there is none."""
    came_from = {start: start}
    queue = [start]
    for node in queue:
        for used in edges.get(node, ()):
            if used not in came_from:
                came_from[used] = node
                queue.append(used)
    if goal not in came_from:
        return []
    path = [goal]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]


def reachable(edges: Mapping[Node, AbstractSet[Node]], start: Node) -> set[Node]:
    """Return the nodes that can be reached from `start` in one or more steps."""
    seen: set[Node] = set()
    waiting = [start]
    while waiting:
        new = edges.get(waiting.pop(), set()) - seen
        seen |= new
        waiting += new
    return seen


def cycle_with(edges: Mapping[Node, AbstractSet[Node]], start: Node) -> set[Node]:
    """Return `start` and all nodes on a cycle with it."""
    return {start} | {node for node in reachable(edges, start) if start in reachable(edges, node)}
