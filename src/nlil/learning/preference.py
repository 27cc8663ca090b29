"""Which rules of a target are kept: distinct ones and, with `top_rules`, those with the best F1."""

from __future__ import annotations

import numpy as np

from ..data.arrays import Doubles, Ids, Mask
from ..kernel.ruleset import RuleSet
from ..logic.formula import Formula
from ..logic.simplify import canonical


def rule_f1(rules: RuleSet) -> Doubles:
    """Return the F1 of each rule's answers against all facts of the target.

    A head with a constant matches only some of them; measured against these alone, a rule for one fact would be as good
    as one that explains the target.
    """
    size = np.zeros(len(rules.predicates), np.int64)
    np.maximum.at(size, rules.head, rules.head_size)
    return 2 * rules.support / np.maximum(rules.body_size.astype(np.int64) + size[rules.head], 1)


def preferred(rules: RuleSet, targets: Ids, most: int, first_explains: bool = False) -> RuleSet:
    """Return the `most` rules of each target (0: all) with the best F1; ties go to the first by `order`.

    By confidence, a rule about two facts could beat one that explains the target.

    Args:
        rules: with statistics.
        targets: predicates whose rules are kept.
        most: the number of rules per target.
        first_explains: whether the first rule of a unary target is its best explanation; that of a recursive one is
            judged by its least fixpoint, which F1 does not consider.
    """
    if not most:
        return rules
    f1 = rule_f1(rules)
    order = rules.order()
    keep: list[int] = []
    for target in targets:
        rows = order[rules.head[order] == target]
        by_f1 = rows[np.argsort(-f1[rows], kind="stable")].tolist()
        if first_explains and rules.predicates[target].arity == 1 and by_f1:
            by_f1.insert(0, min(by_f1))
        keep += list(dict.fromkeys(by_f1))[:most]
    return rules.take(np.sort(np.array(keep, np.int64)))


def without_repeats(rules: RuleSet, suspects: Mask) -> RuleSet:
    """Return the rules without repetitions: of equivalent rules with equal counts, the first is kept.

    Attentions write `female(X), nephew(Y, X)` where counting writes a chain with a filter and distinct entities.
    Bodies are compared in canonical form, ignoring `distinct`: with equal counts it changes nothing on this base.

    Args:
        rules: with statistics.
        suspects: the rules that may repeat another one; two other rules are never considered equal.
    """
    columns = (rules.head, rules.head_entity, rules.fixed, rules.support, rules.body_size)
    _, group = np.unique(np.stack([c.astype(np.int64) for c in columns], 1), axis=0, return_inverse=True)
    keep = np.ones(len(rules), bool)
    first: dict[tuple[int, Formula], int] = {}
    for row in np.flatnonzero(np.isin(group, group[suspects])).tolist():
        same = first.setdefault((int(group[row]), canonical(rules.rule(row)).body), row)
        keep[row] = same == row or not (suspects[row] or suspects[same])
    return rules.take(keep)
