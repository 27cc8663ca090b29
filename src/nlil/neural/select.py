"""Which of the counted rules of a target are kept, and in which order they are preferred."""

from __future__ import annotations

from ..data.kb import KnowledgeBase
from ..errors import LimitError, RuleError
from ..kernel.fixpoint import fixpoint_stats, is_recursive
from ..kernel.truths import TruthTable
from ..logic.formula import Not, Or, Statement, X
from ..logic.predicate import Step
from ..logic.rule import Rule, ScoredRule
from .candidates import Judge, as_candidate, f1
from .neighbours import Parts
from .refine import Refiner

JUDGED = 20
"""Recursive rules of a target whose least fixpoint is computed."""
JOINED = 60
"""Statements of other rules that may be joined to the best one."""
PRUNED = 5
"""Best rules of a target from which superfluous parts are taken."""
MAX_DERIVED = 1_000_000
RECURSIVE = 3
"""Recursive rules to which base cases are joined, ..."""
CONFIDENT = 0.95
"""... if these hold with this confidence."""


def select(
    kb: KnowledgeBase,
    judge: Judge,
    scored: list[ScoredRule],
    min_support: int,
    min_confidence: float,
    parts: Parts | None = None,
) -> list[ScoredRule]:
    """The rules worth keeping, the best single explanation first, then by confidence.

    A recursive rule explains as much as its least fixpoint derives when no fact of the target is given.
    With `parts` to make new statements of, the best rules are changed as long as that makes them better.
    """
    by_f1 = sorted(scored, key=_explains)
    lean = [judge.pruned(rule) for rule in by_f1[:PRUNED]]
    single = [s for s in by_f1 if isinstance(s.rule.body, (Statement, Not))][:JOINED]
    lean += [judge.pruned(judge.extended(rule, single)) for rule in lean[:1]]
    if parts is not None and lean:
        lean += _refined(judge, [*lean, *by_f1], parts)
    pool = {s.rule: s for s in (*lean, *by_f1)}
    good = [s for s in pool.values() if s.stats.support >= min_support and s.stats.confidence >= min_confidence]
    if not good:
        return []
    good += _with_base_cases(kb, judge, sorted(good, key=_explains))
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


def _refined(judge: Judge, best: list[ScoredRule], parts: Parts) -> list[ScoredRule]:
    """Small changes of the best rules, where their truth at every tuple fits into memory."""
    if max(f1(s.stats) for s in best) == 1:
        return []
    table = TruthTable(judge.counts, best[0].rule)
    if not table.exists:
        return []
    new = judge.scored(Refiner(best[0].rule.head, table, parts).refined([s.rule.body for s in best]))
    return [judge.pruned(s) for s in sorted(new, key=_explains)]


def _with_base_cases(kb: KnowledgeBase, judge: Judge, by_f1: list[ScoredRule]) -> list[ScoredRule]:
    """Recursive rules for a unary target, joined with what they may begin from: `zero(X)` has one fact among many,
    so training hardly ever sees it, but nothing is derived without it."""
    target = by_f1[0].rule.target
    recursive = [s for s in by_f1 if is_recursive([s.rule], target)][:RECURSIVE]
    if target.arity != 1 or not recursive or by_f1[0] not in recursive:
        return []
    heads = [
        Rule(by_f1[0].rule.head, Statement(X, (Step(p),)))
        for p, count in zip(kb.predicates, kb.predicate_counts)
        if p.arity == 1 and p != target and count
    ]
    bases = [s for s in judge.scored(heads[:JOINED]) if s.stats.support and s.stats.confidence >= CONFIDENT]
    rules = [as_candidate(Rule(s.rule.head, Or(s.rule.body, base.rule.body))) for s in recursive for base in bases]
    return judge.scored(dict.fromkeys(rule for rule in rules if rule is not None))


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
