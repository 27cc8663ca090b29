"""Strata: an order of the target predicates in which every negated one is complete before it is used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..errors import RuleError
from ..logic.predicate import Predicate
from ..logic.rule import Rule
from .normal import leaves, normal_form

Edges = dict[tuple[Predicate, Predicate], bool]


def strata(rules: Iterable[Rule]) -> dict[Predicate, int]:
    """The stratum of each target: at least that of every target it uses, above every target it negates."""
    rules = list(rules)
    targets = sorted({rule.target for rule in rules})
    edges = _dependencies(rules, targets)
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


def _dependencies(rules: Iterable[Rule], targets: Iterable[Predicate]) -> Edges:
    """(head, target used in its body) -> whether some use is negated."""
    known, edges = set(targets), Edges()
    for rule in rules:
        for leaf in leaves(normal_form(rule.body)):
            for used in {step.predicate for step in leaf.statement.steps} & known:
                edges[rule.target, used] = edges.get((rule.target, used), False) or leaf.negated
    return edges


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
    """A shortest way from start to goal along the dependencies; empty where there is none."""
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
