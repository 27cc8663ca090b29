"""Shares add up to the score, and the score is the one that `predict` gives: whatever the rules, from both sides.

A fact that the data has is hidden while it is explained, so the prediction to compare with is made without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nlil
from nlil.data.kb import KnowledgeBase
from nlil.explanation.why import SIDES, Explanation
from nlil.kernel.aggregation import KINDS, Aggregation
from nlil.kernel.ruleset import RuleSet
from nlil.logic.predicate import Fact
from nlil.logic.rule import RuleStats, ScoredRule
from oracle import World
from property.engine_cases import BIG, KNOWS, NAMES, bases, rules
from property.test_explanation import aggregations, entities, excluded_by, within_graphs
from property.test_weighing import any_weighed, firm, rule_sets


def without(kb: KnowledgeBase, fact: Fact) -> KnowledgeBase:
    own = [
        kb.fact(*row) == fact
        for row in zip(kb.facts.predicate.tolist(), kb.facts.subject.tolist(), kb.facts.object.tolist())
    ]
    return kb.with_facts(kb.facts[~np.array(own, bool)])


def predicted(of: RuleSet, kb: KnowledgeBase, explanation: Explanation) -> float:
    """The score of the fact among all answers to the query that the explanation names."""
    answers = nlil.predict(of, without(kb, explanation.fact), str(explanation.query), top=len(NAMES))
    place = 1 if explanation.fact.predicate.arity == 2 and explanation.side == "object" else 0
    return next((a.score for a in answers if a.entity == explanation.fact.arguments[place]), 0.0)


def shares_add_up(of: RuleSet, kb: KnowledgeBase, fact: Fact) -> list[Explanation]:
    found = [nlil.explain(of, kb, fact, top=10**6, groundings=1, misses=0, side=side) for side in SIDES]
    for got in found:
        assert sum(s.share for s in got.supports) == pytest.approx(got.score, abs=1e-12)
        assert got.score == predicted(of, kb, got)
        few = nlil.explain(of, kb, fact, top=1, groundings=0, misses=0, side=got.side)
        assert sum(s.share for s in few.supports) + few.other_share == pytest.approx(got.score, abs=1e-12)
        assert few.score == got.score
    return found


@given(bases().map(within_graphs), st.one_of(any_weighed, aggregations), entities, entities, st.data())
@settings(deadline=None, max_examples=40)
def test_binary_facts(kb: KnowledgeBase, aggregation: Aggregation, x: int, y: int, data: st.DataObject) -> None:
    """Chains, anchored and half-anchored rules, priors, typed rules, formulas; with and without exclusions."""
    of = replace(data.draw(rule_sets(kb)), aggregation=aggregation)
    fact = Fact(KNOWS, (NAMES[x], NAMES[y]))
    found = shares_add_up(of, kb, fact)
    assert [str(got.query) for got in found] == [f"knows({NAMES[x]}, ?)", f"knows(?, {NAMES[y]})"]
    assert {s.rule for s in found[0].supports} == {s.rule for s in found[1].supports} or aggregation.weighing
    ruling = excluded_by(World.of(without(kb, fact)), of, fact)
    for got in found:
        assert (got.excluded is not None) == bool(ruling)
        assert got.excluded is None or (got.score == 0 and got.excluded.by in ruling and not got.misses)
        assert all(s.share == 0 for s in got.supports) or not ruling


def some_rules(
    found: Sequence[nlil.Rule], weights: Sequence[float], kb: KnowledgeBase, aggregation: Aggregation
) -> RuleSet:
    scored = [ScoredRule(rule, RuleStats(1, 2, 3, None), weight) for rule, weight in zip(found, weights)]
    return RuleSet.of(kb, scored, aggregation)


@given(
    bases(),
    st.lists(rules(), max_size=10, unique=True),
    st.lists(firm, min_size=10, max_size=10),
    st.one_of(any_weighed, aggregations),
    entities,
)
@settings(deadline=None, max_examples=40)
def test_unary_facts(
    kb: KnowledgeBase, found: list[nlil.Rule], weights: list[float], aggregation: Aggregation, x: int
) -> None:
    """One side only; kinds of rules are not told apart. Of a class all other classes are hidden as well."""
    of = some_rules([r for r in found if r.target == BIG], weights, kb, aggregation)
    assert [str(got.query) for got in shares_add_up(of, kb, Fact(BIG, (NAMES[x],)))] == ["big(?)"] * 2


def one_sided(query: float, answer: float) -> Aggregation:
    factor = {"query constant": query, "answer constant": answer}
    return Aggregation("noisy-or", 5, tuple((factor.get(kind, 0.5), 0.5) for kind in KINDS))


@pytest.mark.parametrize(("query", "answer"), [(1.0, 0.25), (0.25, 1.0), (1.0, 0.0)])
def test_the_two_sides_differ_where_a_rule_names_one_of_them(query: float, answer: float) -> None:
    kb = KnowledgeBase.from_facts([("a", "q", "c"), ("a", "p", "z"), ("b", "p", "b")])
    rule = ScoredRule(nlil.parse_rule("p(X, b) :- q(X, c)."), RuleStats(1, 2, 3, 2), 0.5)
    of = RuleSet.of(kb, [rule], one_sided(query, answer))
    got = {side: nlil.explain(of, kb, "p(a, b)", side=side) for side in SIDES}
    # p(a, ?) proposes the rule's constant as the answer; p(?, b) has it in the question.
    assert got["object"].score == pytest.approx(1 - 0.5**answer, abs=1e-3)
    assert got["subject"].score == pytest.approx(1 - 0.5**query, abs=1e-3)
    assert nlil.explain(of, kb, "p(a, b)") == got["object"]
    assert "answers p(a, ?); not in the data" in str(got["object"])
    assert "answers p(?, b); not in the data" in str(got["subject"])
    assert [got[side].to_dict()["query"] for side in SIDES] == ["p(a, ?)", "p(?, b)"]


def test_a_side_that_is_none() -> None:
    kb = KnowledgeBase.from_facts([("a", "p", "b")])
    with pytest.raises(nlil.NlilError, match="side: expected object or subject, got 'left'"):
        nlil.explain(RuleSet.empty(kb), kb, "p(a, b)", side="left")  # type: ignore[arg-type]
