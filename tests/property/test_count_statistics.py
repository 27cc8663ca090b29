"""Rules counted body by body have the statistics that each has alone."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from nlil.data.kb import KnowledgeBase
from nlil.kernel.counting import count_statistics
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.ruleset import RuleSet
from nlil.kernel.statistics import rule_stats
from nlil.logic.parse import parse_rule
from nlil.logic.rule import Rule, RuleStats, ScoredRule
from property.engine_cases import bases, rules


@settings(deadline=None, max_examples=150)
@given(bases(weighted=True), st.lists(rules(), min_size=1, max_size=12))
def test_the_same_integers(kb: KnowledgeBase, some: list[Rule]) -> None:
    given_rules = RuleSet.of(kb, [ScoredRule(rule, RuleStats(7, 7, 7, 7), 0.5) for rule in some])
    counted = count_statistics(given_rules, kb, threads=1)
    evaluator = Evaluator(kb)
    for row, rule in enumerate(some):
        assert counted.stats(row) == rule_stats(evaluator, rule), str(rule)


@settings(deadline=None, max_examples=30)
@given(bases(weighted=False), st.lists(rules(), min_size=1, max_size=12))
def test_threads_change_nothing(kb: KnowledgeBase, some: list[Rule]) -> None:
    given_rules = RuleSet.of(kb, [ScoredRule(rule, RuleStats(0, 0, 0, 0), 0.5) for rule in some])
    one, three = (count_statistics(given_rules, kb, threads=threads) for threads in (1, 3))
    assert [one.stats(row) for row in range(len(one))] == [three.stats(row) for row in range(len(three))]


def test_a_fact_with_a_constant_does_not_support_itself() -> None:
    """p(a, c) is the only fact of a; b has another one."""
    kb = KnowledgeBase.from_facts([("a", "p", "c"), ("b", "p", "c"), ("b", "p", "d")])
    found = RuleSet.of(kb, [ScoredRule(parse_rule("p(X, c) :- p(X, Z1)."), RuleStats(0, 0, 0), 0.0)])
    assert count_statistics(found, kb).support.tolist() == [1]
