"""Strata: an order of the targets in which every negated target is complete before it is used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..errors import RuleError
from ..logic.predicate import Predicate
from .bodies import NO_STEP

if TYPE_CHECKING:
    from ..data.arrays import Longs
    from .ruleset import RuleSet

Edges = dict[tuple[Predicate, Predicate], bool]


def levels(rules: RuleSet) -> Longs:
    """Return the stratum of each of `rules`, by row."""
    predicates = rules.predicates
    pairs = np.unique(rules.head.astype(np.int64) * (len(rules.bodies) + 1) + rules.body)
    head, body = np.divmod(pairs, len(rules.bodies) + 1)
    edges: Edges = {}
    of_line = rules.bodies.line[body] if len(body) else body
    steps = rules.bodies.lines.steps[of_line] if len(body) else np.zeros((0, 1), np.int64)
    uses = (steps != NO_STEP) & (of_line >= 0)[:, None]
    used = np.unique(np.repeat(head, uses.sum(axis=1)) * len(predicates) + (steps[uses] >> 1))
    targets = sorted(predicates[number] for number in np.unique(head).tolist())
    known = set(targets)
    for own, other in zip(*(column.tolist() for column in np.divmod(used, max(len(predicates), 1)))):
        if predicates[other] in known:
            edges[predicates[own], predicates[other]] = False
    _add_programs(edges, rules, head[of_line < 0], body[of_line < 0])
    level = _levels(targets, edges)
    return np.array([level.get(predicate, 0) for predicate in predicates], np.int64)[rules.head]


def _add_programs(edges: Edges, rules: RuleSet, heads: Longs, bodies: Longs) -> None:
    """Add the targets that each head uses in a body of more than one line."""
    targets, steps = set(rules.head.tolist()), rules.bodies.lines.steps
    for head, body in zip(heads.tolist(), bodies.tolist()):
        for alternative in rules.bodies.alternatives(body):
            for negated, lines in enumerate(alternative):
                for code in {code for line in lines for code in steps[line].tolist() if code != NO_STEP}:
                    if code >> 1 in targets:
                        edge = rules.predicates[head], rules.predicates[code >> 1]
                        edges[edge] = edges.get(edge, False) or bool(negated)


def _levels(targets: list[Predicate], edges: Edges) -> dict[Predicate, int]:
    _refuse_negative_cycles(edges)
    level = dict.fromkeys(targets, 0)
    changed = True
    while changed:
        changed = False
        for (head, used), negated in edges.items():
            least = level[used] + negated
            if level[head] < least:
                level[head], changed = least, True
    return level


def _refuse_negative_cycles(edges: Edges) -> None:
    uses: dict[Predicate, list[Predicate]] = {}
    for head, used in edges:
        uses.setdefault(head, []).append(used)
    for (head, used), negated in edges.items():
        if negated and (path := _path(used, head, uses)):
            chain = " -> ".join(map(str, [head, *path]))
            raise RuleError(
                f"the rules for {head} negate {used}, which depends on {head} again ({chain}); "
                "negation must not lead back to its own head: leave one of these rules out"
            )


def _path(start: Predicate, goal: Predicate, uses: Mapping[Predicate, Iterable[Predicate]]) -> list[Predicate]:
    """Return a shortest path from `start` to `goal` along the dependencies; empty if there is none."""
    came_from = {start: start}
    queue = [start]
    for predicate in queue:
        for used in uses.get(predicate, ()):
            if used not in came_from:
                came_from[used] = predicate
                queue.append(used)
    if goal not in came_from:
        return []
    path = [goal]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]
