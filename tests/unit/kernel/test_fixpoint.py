"""Rule sets judged by what they derive when no target fact is given."""

from __future__ import annotations

import pytest

import kbs
from nlil.data.facts import Facts
from nlil.data.kb import KnowledgeBase
from nlil.errors import LimitError, RuleError
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.fixpoint import fixpoint_stats, is_recursive, uses
from nlil.kernel.statistics import rule_stats
from nlil.kernel.strata import cycle_with, stratify
from nlil.logic.parse import parse_rule
from nlil.logic.predicate import Predicate
from nlil.logic.rule import RuleStats

EVEN, ODD, P = (Predicate(name, 1) for name in ("even", "odd", "p"))
BASE = "even(X) :- zero(X)."
STEP = "even(X) :- even(Z2), succ(Z2, Z1), succ(Z1, X)."
BOTH_WAYS = "even(X) :- even(Z2), succ(Z2, Z1), succ(Z1, X) ; succ(X, Z3), succ(Z3, Z4), even(Z4)."
FROM_ODD, FROM_EVEN = "even(X) :- odd(Z1), succ(Z1, X).", "odd(X) :- even(Z1), succ(Z1, X)."


def rules(*texts):
    return [parse_rule(text) for text in texts]


def even_and_odd():
    return kbs.knowledge_base(kbs.EVEN + "".join(f"n{i} odd\n" for i in (1, 3, 5)))


def test_a_rule_that_is_perfect_one_step_at_a_time_derives_nothing():
    kb = kbs.even()
    assert rule_stats(Evaluator(kb), parse_rule(BOTH_WAYS)) == RuleStats(4, 4, 4)
    assert fixpoint_stats(kb, rules(BOTH_WAYS), EVEN) == RuleStats(0, 0, 4)


def test_the_right_program_derives_everything():
    assert fixpoint_stats(kbs.even(), rules(BASE, STEP), EVEN) == RuleStats(4, 4, 4)


def test_what_defines_the_target_in_a_circle_is_taken_away_too():
    kb = even_and_odd()
    assert fixpoint_stats(kb, rules(FROM_ODD, FROM_EVEN), EVEN) == RuleStats(0, 0, 4)
    assert fixpoint_stats(kb, rules(BASE, FROM_ODD, FROM_EVEN), EVEN) == RuleStats(4, 4, 4)
    assert fixpoint_stats(kb, rules(BASE, FROM_ODD, FROM_EVEN), ODD) == RuleStats(3, 3, 3)


def test_other_predicates_keep_their_facts():
    """odd is used and has a rule, which does not lead back to even: its given facts stay, and more are derived."""
    kb = kbs.knowledge_base(kbs.EVEN + "n1 odd\n")
    assert fixpoint_stats(kb, rules(FROM_ODD), EVEN) == RuleStats(1, 1, 4)
    assert fixpoint_stats(kb, rules(FROM_ODD, "odd(X) :- succ(X, n4)."), EVEN) == RuleStats(2, 2, 4)


def test_recursion_that_derives_false_facts_is_seen():
    every = "even(X) :- even(Z1), succ(Z1, X)."
    assert fixpoint_stats(kbs.even(), rules(BASE, every), EVEN) == RuleStats(support=4, body_size=7, head_size=4)


def test_binary_targets():
    kb = KnowledgeBase.from_facts(["apb", "bpc", "cpd", "aqb", "bqc", "cqd", "aqc", "bqd", "dqa"])
    closure = rules("q(X, Y) :- p(X, Y).", "q(X, Y) :- q(X, Z1), p(Z1, Y).")
    assert fixpoint_stats(kb, closure, Predicate("q", 2)) == RuleStats(support=5, body_size=6, head_size=6)


def test_truth_can_be_given():
    kb = kbs.even()
    fewer = kb.facts[kb.facts.subject < 3]
    assert fixpoint_stats(kb, rules(BASE, STEP), EVEN, truth=fewer) == RuleStats(2, 4, 2)
    assert fixpoint_stats(kb, rules(BASE, STEP), EVEN, truth=Facts.empty()) == RuleStats(0, 4, 0)


def test_only_facts_that_count_are_given():
    facts = [("a", "p"), ("b", "p"), ("c", "p", "", 0.4), ("a", "q", "", 0.4), ("b", "q", "", 0.6)]
    assert fixpoint_stats(KnowledgeBase.from_facts(facts), rules("p(X) :- q(X)."), P) == RuleStats(1, 1, 2)


def test_negation_that_leads_back_is_refused_and_elsewhere_it_does_not_matter():
    kb = even_and_odd()
    negated = "odd(X) :- succ(Z1, X), \\+ odd(X)."
    with pytest.raises(RuleError, match=r"odd/1 -> odd/1"):
        fixpoint_stats(kb, rules(negated), ODD)
    assert fixpoint_stats(kb, rules(BASE, STEP, negated), EVEN) == RuleStats(4, 4, 4)
    stratified = rules(BASE, STEP, "odd(X) :- succ(Z1, X), \\+ even(X).")
    assert fixpoint_stats(kb, stratified, ODD) == RuleStats(3, 3, 3)


@pytest.mark.parametrize("program", [(BASE, STEP), ("even(X) :- true.",)])
def test_too_many_derived_facts_are_refused(program):
    kb = kbs.even()
    enough = fixpoint_stats(kb, rules(*program), EVEN).body_size
    assert fixpoint_stats(kb, rules(*program), EVEN, max_facts=enough).body_size == enough
    with pytest.raises(LimitError, match=f"more than {enough - 1} facts"):
        fixpoint_stats(kb, rules(*program), EVEN, max_facts=enough - 1)


def test_recursion_is_direct_or_through_others():
    assert is_recursive(rules(BASE, STEP), EVEN)
    assert not is_recursive(rules(BASE, FROM_ODD), EVEN)
    assert is_recursive(rules(FROM_ODD, FROM_EVEN), EVEN)
    assert is_recursive(rules("even(X) :- zero(X), \\+ even(X)."), EVEN)
    beside = rules(STEP, "p(X) :- even(X).")
    assert not is_recursive(beside, P)
    assert cycle_with(uses(beside), P) == {P}
    assert cycle_with(uses(rules(FROM_ODD, FROM_EVEN, "odd(X) :- p(X).")), EVEN) == {EVEN, ODD}


def test_strata_are_above_what_they_negate() -> None:
    """a uses b, b negates c; c and d use each other."""
    uses = {("a", "b"): False, ("b", "c"): True, ("c", "d"): False, ("d", "c"): False}
    assert stratify("abcd", uses) == {"a": 1, "b": 1, "c": 0, "d": 0}
    with pytest.raises(RuleError, match=r"c negate d, which depends on c again \(c -> d -> c\)"):
        stratify("abcd", {**uses, ("c", "d"): True})
