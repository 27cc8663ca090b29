"""Recursive rule sets, judged by their least fixpoint: what they derive without any given fact of the target.

`even(X) :- even(Z2), succ(Z2, Z1), succ(Z1, X) ; succ(X, Z3), succ(Z3, Z4), even(Z4)` is perfect one step at a time,
since every even number has an even neighbour, but derives nothing: it has no base case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..logic.predicate import Predicate
from ..logic.rule import Rule, RuleStats
from .exclusion import Exclusion
from .materialize import materialize
from .strata import cycle_with, reachable


def is_recursive(rules: Iterable[Rule], target: Predicate) -> bool:
    """Return whether `target` is used, directly or indirectly, by the bodies of its own `rules`."""
    return target in reachable(uses(rules), target)


def fixpoint_stats(
    kb: KnowledgeBase,
    rules: Sequence[Rule],
    target: Predicate,
    truth: Facts | None = None,
    max_facts: int | None = None,
) -> RuleStats:
    """Compare the facts of `target` that `rules` derive from other facts of weight >= .5 with those in `truth`.

    support = true target facts derived, body size = target tuples derived, head size = target facts. `truth` defaults
    to the facts of `kb`. Facts of predicates that are mutually defined with the target are removed too: `even` from
    given `odd` facts would be a leak. Raises RuleError if negation leads back to its own head, and LimitError for more
    than `max_facts` derived facts.
    """
    derived = least_fixpoint(kb, rules, cycle_with(uses(rules), target), max_facts)
    return compare_facts(kb, derived, kb.facts if truth is None else truth, target)


def least_fixpoint(
    kb: KnowledgeBase,
    rules: Sequence[Rule],
    removed: AbstractSet[Predicate],
    max_facts: int | None = None,
    exclusions: Iterable[Exclusion] = (),
) -> Facts:
    """Return the facts that `rules` derive from `kb` without the facts of the `removed` predicates.

    Only the rules that these predicates need are used. Removed facts exclude nothing either. `exclusions` rule out
    facts; more than `max_facts` derived facts raise LimitError (None: no limit).
    """
    bodies = uses(rules)
    needed = set(removed).union(*(reachable(bodies, predicate) for predicate in removed))
    given = kb.crisp.without([kb.predicate_id(predicate) for predicate in removed])
    # Every rule counts fully: a fact is derived or not, and no round is spent on raising confidences.
    taken = [(rule, 1.0) for rule in rules if rule.target in needed]
    return materialize(given, taken, max_facts=max_facts, exclusions=exclusions).facts


def compare_facts(kb: KnowledgeBase, derived: Facts, truth: Facts, target: Predicate) -> RuleStats:
    """Compare the `derived` facts of `target` with its facts in `truth`, over the entities of `kb`."""
    number = kb.predicate_id(target)
    found, true = (facts[kb.domain[facts.subject]].unique() for facts in (derived.of(number), truth.crisp().of(number)))
    return RuleStats(int(found.isin(true).sum()), len(found), len(true))


def uses(rules: Iterable[Rule]) -> dict[Predicate, set[Predicate]]:
    """Return the predicates in the bodies of each head of `rules`."""
    found: dict[Predicate, set[Predicate]] = {}
    for rule in rules:
        found.setdefault(rule.target, set()).update(rule.predicates)
    return found
