"""Recursive rule sets judged by their least fixpoint: what they derive when none of the target's facts is given.

`even(X) :- even(Z2), succ(Z2, Z1), succ(Z1, X) ; succ(X, Z3), succ(Z3, Z4), even(Z4)` is perfect one step
at a time, since every even number has an even neighbour, and derives nothing: it has no base case.

`edges` lead from a node to the nodes that it uses.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

import numpy as np

from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..logic.predicate import Predicate
from ..logic.rule import Rule, RuleStats
from .exclusion import Exclusion
from .materialize import materialize

Node = TypeVar("Node", bound=Hashable)


def is_recursive(rules: Iterable[Rule], target: Predicate) -> bool:
    """Return whether the target occurs in a body of its own rules, or of the rules for what these bodies use."""
    return target in reach(uses(rules), target)


def fixpoint_stats(
    kb: KnowledgeBase,
    rules: Sequence[Rule],
    target: Predicate,
    truth: Facts | None = None,
    max_facts: int | None = None,
) -> RuleStats:
    """Return what the rules derive for `target` from the other facts of weight >= .5, against its facts in `truth`.

    support = true target facts derived, body size = target tuples derived, head size = target facts.
    `truth` defaults to the facts of kb. The facts of predicates that define the target in a circle are
    taken away with its own: `even` from given `odd` facts would be a leak. Negation through such a circle
    has no least fixpoint and is a RuleError; more than `max_facts` derived facts are a LimitError.
    """
    derived = least_fixpoint(kb, rules, circle(uses(rules), target), max_facts)
    return compared(kb, derived, kb.facts if truth is None else truth, target)


def least_fixpoint(
    kb: KnowledgeBase,
    rules: Sequence[Rule],
    removed: AbstractSet[Predicate],
    max_facts: int | None = None,
    exclusions: Iterable[Exclusion] = (),
) -> Facts:
    """Return all that `rules` derive from `kb` when the facts of the `removed` predicates are not given.

    Only rules that they need are used. Facts that are not given exclude nothing either. `exclusions` rule facts out;
    more than `max_facts` derived facts are a LimitError, None: no limit.
    """
    bodies = uses(rules)
    needed = set(removed).union(*(reach(bodies, predicate) for predicate in removed))
    given = kb.crisp.without([kb.predicate_id(predicate) for predicate in removed])
    # Every rule counts fully: a fact is derived or not, and no round is spent on making one more certain.
    taken = [(rule, 1.0) for rule in rules if rule.target in needed]
    return materialize(given, taken, max_facts=max_facts, exclusions=exclusions).facts


def compared(kb: KnowledgeBase, derived: Facts, truth: Facts, target: Predicate) -> RuleStats:
    """Count the `derived` facts of `target` against its `truth`, over the entities of `kb`."""
    number = kb.predicate_id(target)
    mine, true = (facts[kb.domain[facts.subject]].unique() for facts in (derived.of(number), truth.crisp().of(number)))
    size = kb.num_entities + 1
    keys = [facts.subject.astype(np.int64) * size + facts.object + 1 for facts in (mine, true)]
    return RuleStats(int(np.isin(keys[0], keys[1], kind="sort").sum()), len(mine), len(true))


def uses(rules: Iterable[Rule]) -> dict[Predicate, set[Predicate]]:
    """head -> the predicates of the bodies of its rules."""
    found: dict[Predicate, set[Predicate]] = {}
    for rule in rules:
        found.setdefault(rule.target, set()).update(rule.predicates)
    return found


def reach(edges: Mapping[Node, AbstractSet[Node]], start: Node) -> set[Node]:
    """Return all that is reached from `start` in one step or more."""
    seen: set[Node] = set()
    waiting = [start]
    while waiting:
        new = edges.get(waiting.pop(), set()) - seen
        seen |= new
        waiting += new
    return seen


def circle(edges: Mapping[Node, AbstractSet[Node]], start: Node) -> set[Node]:
    """Return `start` and all that it leads to and that leads back to it."""
    return {start} | {node for node in reach(edges, start) if start in reach(edges, node)}
