"""Whole-base counts of rules in text."""

from __future__ import annotations

import numpy as np
import pytest

import kbs
from nlil.data.facts import Facts
from nlil.data.kb import KnowledgeBase
from nlil.errors import LimitError
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.statistics import rule_stats
from nlil.logic.parse import parse_rule
from nlil.logic.predicate import Predicate
from nlil.logic.rule import RuleStats


def stats(kb, text, negatives=None):
    return rule_stats(Evaluator(kb), parse_rule(text), negatives)


def test_a_fact_does_not_support_itself():
    assert stats(kbs.family(), "uncle(X, Y) :- uncle(X, Y).") == RuleStats(0, 0, 2, 0)
    assert stats(kbs.family(), "married(X, Y) :- married(Y, X).") == RuleStats(2, 2, 2, 2)


def test_body_size_and_pca_body():
    # Siblings share a mother: bea and tom are uncle or aunt to the children of bea, also bea herself.
    rule = "uncle(X, Y) :- mother(Z1, X), mother(Z1, Z2), mother(Z2, Y)."
    assert stats(kbs.family(), rule) == RuleStats(support=2, body_size=4, head_size=2, pca_body=2)
    assert stats(kbs.family(), "aunt(X, dora) :- female(X), \\+ aunt(X, dora).") == RuleStats(1, 4, 1, 1)


def test_unary_heads_have_no_pca():
    assert stats(kbs.even(), "even(X) :- zero(X).") == RuleStats(1, 1, 4, None)
    assert stats(kbs.even(), "even(X) :- succ(Z1, X), succ(Z2, Z1), even(Z2).") == RuleStats(3, 3, 4, None)


def test_pairs_lie_in_one_graph():
    assert stats(kbs.street(), "part_of(X, Y) :- true.") == RuleStats(1, 16 + 9, 1, 4)


def test_given_negatives_are_the_only_ones():
    kb = KnowledgeBase.from_facts([("a", "r", "b"), ("c", "r", "d"), ("a", "p", "b"), ("c", "p", "e")])
    # p(a, b) is a fact, so it is no negative; r(e, e) is none of p.
    rows = [("p", "a", "b"), ("p", "c", "d"), ("p", "a", "e"), ("r", "e", "e")]
    ids = [(kb.predicate_id(Predicate(p, 2)), kb.entities.id(s), kb.entities.id(o)) for p, s, o in rows]
    false = Facts(*np.asarray(ids, np.int32).T)
    assert stats(kb, "p(X, Y) :- r(X, Y).", false) == RuleStats(1, 2, 2, 2)
    assert stats(kb, "p(X, Y) :- r(X, Y).") == RuleStats(1, 2, 2, 2)
    assert stats(kb, "p(X, Y) :- true.", false) == RuleStats(2, 4, 2, 4)


def test_facts_below_one_half_do_not_count():
    kb = KnowledgeBase.from_facts([("a", "p", "", 0.4), ("b", "p", "", 0.5), ("a", "q"), ("b", "q"), ("c", "q")])
    assert stats(kb, "p(X) :- q(X).") == RuleStats(1, 3, 1, None)


def test_another_class_of_an_object_tells_nothing():
    """`\\+ car(X)` would rule out every car; its label is hidden, so the body holds for all seven objects."""
    count = len(kbs.street().members(kbs.street().predicate_id(Predicate("person", 1))))
    assert stats(kbs.street(), "person(X) :- \\+ car(X).") == RuleStats(count, 7, count, None)


def test_objects_of_graphs_without_facts_are_not_asked():
    kb = kbs.street()
    only_first = kb.with_facts(kb.facts[kb.graph_of[kb.facts.subject] == 0])
    asked = stats(only_first, "person(X) :- true.")
    assert asked.body_size == int((kb.graph_of == 0).sum()) < kb.num_entities


def test_a_rule_that_holds_nearly_everywhere_is_not_counted_to_the_end():
    rule = parse_rule("uncle(X, Y) :- mother(Z1, X), mother(Z1, Z2), mother(Z2, Y).")  # holds for two that are no facts
    assert rule_stats(Evaluator(kbs.family()), rule, max_answers=2) == stats(kbs.family(), str(rule))
    with pytest.raises(LimitError, match="holds for more than 1 tuples that are not facts"):
        rule_stats(Evaluator(kbs.family()), rule, max_answers=1)
