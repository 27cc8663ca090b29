"""Whole-base statistics of one rule: integers, with each target fact hidden while it is tested.

`kb` is the base that ids refer to; where `facts` are selected, only the head of `rule` matters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..data.arrays import Longs, Mask
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..errors import LimitError
from ..logic.rule import Rule, RuleStats
from .bodies import IdHead

if TYPE_CHECKING:
    from .evaluator import Evaluator


def rule_stats(
    evaluator: Evaluator, rule: Rule, negatives: Facts | None = None, max_answers: float = math.inf
) -> RuleStats:
    """Return support, body size, head size and PCA body of `rule`, over the facts of `evaluator` of weight >= .5.

    The body size is the number of head tuples whose body holds: facts are hidden from themselves, and an object queried
    for its class hides all its classes. A unary target ranges over `kb.domain`. With given `negatives` of the target,
    other tuples are unknown and the body size is the number of covered positives and negatives. Raises LimitError if a
    query exceeds the memory budget, or if the body holds for more than `max_answers` tuples that are not facts.
    """
    evaluator = evaluator.crisp
    facts = matching(evaluator.kb, rule, evaluator.kb.facts)
    holds = _holds(evaluator, rule, facts)
    support = int(holds.sum())
    with_fact = np.zeros(evaluator.kb.num_entities, bool)
    with_fact[target_facts(evaluator.kb, rule, evaluator.kb.facts).subject] = True
    false = false_facts(evaluator.kb, rule, negatives, facts)
    if false is not None:
        parts = iter([false.subject[_holds(evaluator, rule, false)].astype(np.int64)])
    else:
        parts = _other_subjects(evaluator, rule, facts)
    others = others_with_fact = 0
    for subjects in parts:  # a body may hold for more tuples than fit into memory
        others += len(subjects)
        others_with_fact += int(with_fact[subjects].sum())
        if others > max_answers:
            raise LimitError(f"the rule {rule} holds for more than {max_answers:,.0f} tuples that are not facts")
    pca_body = support + others_with_fact if rule.target.arity == 2 else None
    return RuleStats(support, support + others, len(facts), pca_body)


def matching(kb: KnowledgeBase, rule: Rule, facts: Facts) -> Facts:
    """Return the facts that the head can match: its predicate, its constants, both arguments in one graph."""
    facts = target_facts(kb, rule, facts)
    head = IdHead.of(kb, rule)
    keep: Mask = np.ones(len(facts), bool)
    if head.subject >= 0:
        keep &= facts.subject == head.subject
    if head.object is not None and head.object >= 0:
        keep &= facts.object == head.object
    return facts[keep]


def false_facts(kb: KnowledgeBase, rule: Rule, negatives: Facts | None, facts: Facts) -> Facts | None:
    """Return those of the given `negatives` that the head can match and that are not among `facts`.

    Returns None if the target has no negatives: its other tuples are then false.
    """
    if negatives is None or not len(negatives.of(kb.predicate_id(rule.target))):
        return None
    false = matching(kb, rule, negatives.crisp().unique())
    return false[~false.isin(facts)]


def target_facts(kb: KnowledgeBase, rule: Rule, facts: Facts) -> Facts:
    """Return the facts of the target whose arguments are in one graph."""
    facts = facts.of(kb.predicate_id(rule.target))
    if rule.target.arity == 1 or kb.graph_of is None:
        return facts
    return facts[kb.graph_of[facts.subject] == kb.graph_of[facts.object]]


def fact_keys(kb: KnowledgeBase, facts: Facts) -> Longs:
    """Return one integer for each of `facts` of one target; the object of a unary fact is -1."""
    return facts.subject.astype(np.int64) * (kb.num_entities + 1) + facts.object + 1


def _holds(evaluator: Evaluator, rule: Rule, facts: Facts) -> Mask:
    y = facts.object.astype(np.int64) if rule.target.arity == 2 else None
    return evaluator.values(rule, facts.subject.astype(np.int64), y, hide=True) > 0


def _other_subjects(evaluator: Evaluator, rule: Rule, facts: Facts) -> Iterator[Longs]:
    """Yield the subjects of all head tuples, other than facts, whose body holds, in blocks."""
    from .evaluator import sparse_answers  # imports torch

    if rule.target.arity == 1:
        # A class query hides all classes of the object, whether it has this one or not.
        is_class = evaluator.kb.predicate_id(rule.target) in evaluator.kb.classes
        everything = np.arange(evaluator.kb.num_entities)
        holds = (evaluator.values(rule, everything, hide=is_class) > 0) & evaluator.kb.domain
        holds[facts.subject] = False
        yield np.flatnonzero(holds)
        return
    known = fact_keys(evaluator.kb, facts)
    n = evaluator.kb.num_entities
    head = IdHead.of(evaluator.kb, rule)
    ids = np.asarray([head.subject]) if head.subject >= 0 else np.arange(n)
    for block, rows in sparse_answers(evaluator, rule, evaluator.ids(ids)):
        subject = ids[block][rows.query.cpu().numpy()]
        keys = subject * (n + 1) + rows.node.cpu().numpy() + 1
        yield subject[~np.isin(keys, known, kind="sort")]
