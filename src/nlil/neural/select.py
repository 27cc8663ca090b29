"""Which of the counted rules of a target are kept, and in which order they are preferred."""

from __future__ import annotations

from ..data.kb import KnowledgeBase
from ..engine.fixpoint import fixpoint_stats, is_recursive
from ..errors import LimitError, RuleError
from ..logic.formula import Not, Statement
from ..logic.rule import ScoredRule
from .candidates import Judge, f1

JUDGED = 20
"""Recursive rules of a target whose least fixpoint is computed."""
JOINED = 60
"""Statements of other rules that may be joined to the best one."""
PRUNED = 5
"""Best rules of a target from which superfluous parts are taken."""
MAX_DERIVED = 1_000_000


def select(kb: KnowledgeBase, judge: Judge, scored: list[ScoredRule], min_support: int, min_confidence: float
           ) -> list[ScoredRule]:
    """The rules worth keeping, the best single explanation first, then by confidence.

    A recursive rule explains as much as its least fixpoint derives when no fact of the target is given.
    """
    by_f1 = sorted(scored, key=_explains)
    lean = [judge.pruned(rule) for rule in by_f1[:PRUNED]]
    single = [s for s in by_f1 if isinstance(s.rule.body, (Statement, Not))][:JOINED]
    lean += [judge.pruned(judge.extended(rule, single)) for rule in lean[:1]]
    pool = {s.rule: s for s in (*lean, *by_f1)}
    good = [s for s in pool.values() if s.stats.support >= min_support and s.stats.confidence >= min_confidence]
    if not good:
        return []
    best = _best(kb, sorted(good, key=_explains))
    if best.stats.support == best.stats.body_size == best.stats.head_size:
        return [best]  # explains every fact and nothing else: no other rule can add to it
    rest = sorted((s for s in good if s.rule != best.rule), key=lambda s: (-s.stats.smoothed, s.rule.length))
    kept, seen = [best], {(best.stats.support, best.stats.body_size)}
    for s in rest:
        # A longer rule with the same counts says the same of the data.
        if (s.stats.support, s.stats.body_size) not in seen:
            seen.add((s.stats.support, s.stats.body_size))
            kept.append(s)
    return kept


def _explains(scored: ScoredRule) -> tuple[float, int, str]:
    return (-f1(scored.stats), scored.rule.length, str(scored.rule))


def _best(kb: KnowledgeBase, by_f1: list[ScoredRule]) -> ScoredRule:
    """The first, unless it is recursive and another derives more from nothing."""
    if not is_recursive([by_f1[0].rule], by_f1[0].rule.target):
        return by_f1[0]
    judged = []
    for rank, scored in enumerate(by_f1[:JUDGED]):
        value = f1(scored.stats)
        if is_recursive([scored.rule], scored.rule.target):
            try:
                value = f1(fixpoint_stats(kb, [scored.rule], scored.rule.target, max_facts=MAX_DERIVED))
            except (RuleError, LimitError):
                value = 0.0  # negation through itself, or more than can be derived
        judged.append((-value, rank))
    return by_f1[min(judged)[1]]
