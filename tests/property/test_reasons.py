"""Reasons against brute force: whatever the rules, their shares add up, and a fact is worth what its absence costs."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import nlil
from nlil.data.kb import KnowledgeBase
from nlil.explanation.contrast import Contrast
from nlil.explanation.why import SIDES, Explainer, Explanation
from nlil.kernel.aggregation import Aggregation
from nlil.kernel.ruleset import RuleSet
from nlil.logic.predicate import Fact, Predicate
from property.engine_cases import BIG, KNOWS, NAMES, RED, bases, rules
from property.test_explanation import aggregations, counted, entities, within_graphs
from property.test_shares import some_rules, without
from property.test_weighing import any_weighed, firm, rule_sets


def facts_of(kb: KnowledgeBase) -> list[Fact]:
    columns = (kb.facts.predicate.tolist(), kb.facts.subject.tolist(), kb.facts.object.tolist())
    return [kb.fact(*row) for row in zip(*columns)]


def reasons_are_right(of: RuleSet, kb: KnowledgeBase, fact: Fact) -> list[Explanation]:
    found = [nlil.explain(of, kb, fact, top=10**6, groundings=3, misses=3, side=side) for side in SIDES]
    for got in found:
        assert sum(reason.share for reason in got.reasons) == pytest.approx(got.score, abs=1e-12)
        told = [item.rule for reason in got.reasons for item in reason.rules]
        if got.excluded is None:
            assert sorted(map(str, told)) == sorted(str(s.rule) for s in got.supports)
        assert got.reasons == nlil.explain(of, kb, fact, top=0, misses=0, side=got.side).reasons
        falls = {}
        for other in facts_of(kb):
            score = Explainer(of, without(kb, other)).score(fact, got.side)
            if score < got.score:
                falls[other] = score
        assert {one.fact: one.score for one in got.facts} == falls
        assert [one.fall for one in got.facts] == [got.score - one.score for one in got.facts]
        assert [one.fall for one in got.facts] == sorted((one.fall for one in got.facts), reverse=True)
        assert str(got)
        assert str(got.listing)
        assert got.to_dict()["sentence"].endswith(".")
    return found


@given(bases().map(within_graphs), st.one_of(any_weighed, aggregations), entities, entities, st.data())
@settings(deadline=None, max_examples=30)
def test_binary_facts(kb: KnowledgeBase, aggregation: Aggregation, x: int, y: int, data: st.DataObject) -> None:
    of = replace(data.draw(rule_sets(kb)), aggregation=aggregation)
    reasons_are_right(of, kb, Fact(KNOWS, (NAMES[x], NAMES[y])))


@given(
    bases(),
    st.lists(rules(), max_size=10, unique=True),
    st.lists(firm, min_size=10, max_size=10),
    st.one_of(any_weighed, aggregations),
    entities,
)
@settings(deadline=None, max_examples=30)
def test_unary_facts(
    kb: KnowledgeBase, found: list[nlil.Rule], weights: list[float], aggregation: Aggregation, x: int
) -> None:
    of = some_rules([r for r in found if r.target == BIG], weights, kb, aggregation)
    reasons_are_right(of, kb, Fact(BIG, (NAMES[x],)))


@given(
    bases(weighted=False, graphs=False),
    st.sampled_from([KNOWS, BIG]),
    st.one_of(any_weighed, st.sampled_from([Aggregation("noisy-or", 2), Aggregation("max", 5)])),
    st.integers(0, 100),
)
@settings(deadline=None, max_examples=30)
def test_counted_rules_of_crisp_facts(kb: KnowledgeBase, target: Predicate, aggregation: Aggregation, row: int) -> None:
    """Many rules fire and few count, so that others take the places of those that a fact silences."""
    mine = [fact for fact in facts_of(kb) if fact.predicate == target]
    assume(mine)
    reasons_are_right(counted(kb, aggregation, target), kb, mine[row % len(mine)])


def difference_is_right(got: Contrast, one: Explanation, two: Explanation) -> None:
    """On each side what differs and what is the same add up; no rule that counts as much for both is named."""
    for side, own in zip((got.first, got.second), (one, two)):
        assert side.score == own.score
        differs = sum(reason.share for reason in side.reasons)
        assert differs + side.same_share == pytest.approx(0 if own.excluded else own.score, abs=1e-9)
    if one.excluded is None and two.excluded is None and max(one.score, two.score) < 0.99:  # a score is known to 1e-9
        total = [-math.log1p(-e.score) for e in (one, two)]
        net = [
            sum(reason.share for reason in side.reasons) / (side.score or 1) * of_side
            for side, of_side in zip((got.first, got.second), total)
        ]
        assert net[0] - net[1] == pytest.approx(total[0] - total[1], abs=1e-6)
    assert str(got)


@given(bases().map(within_graphs), st.one_of(any_weighed, aggregations), st.permutations(range(5)), st.data())
@settings(deadline=None, max_examples=40)
def test_two_answers(kb: KnowledgeBase, aggregation: Aggregation, order: list[int], data: st.DataObject) -> None:
    of = replace(data.draw(rule_sets(kb)), aggregation=aggregation)
    a, b, c = (NAMES[i] for i in order[:3])
    for side, rival in zip(SIDES, (Fact(KNOWS, (a, c)), Fact(KNOWS, (c, b)))):
        fact = Fact(KNOWS, (a, b))
        one, two = (nlil.explain(of, kb, f, top=10**6, misses=0, side=side) for f in (fact, rival))
        got = nlil.contrast(of, kb, fact, c, side=side)
        assert (got.first.fact, got.second.fact) == (fact, rival)
        difference_is_right(got, one, two)
        back = nlil.contrast(of, kb, rival, b if side == "object" else a, side=side)
        assert (back.first, back.second) == (got.second, got.first)


@given(
    bases(),
    st.lists(rules(), max_size=12, unique=True),
    st.lists(firm, min_size=12, max_size=12),
    aggregations,
    entities,
)
@settings(deadline=None, max_examples=40)
def test_two_classes(
    kb: KnowledgeBase, found: list[nlil.Rule], weights: list[float], aggregation: Aggregation, x: int
) -> None:
    unary = [rule for rule in found if rule.target.arity == 1]
    of = some_rules(list(dict.fromkeys([*unary, *(_about_red(rule) for rule in unary[:3])])), weights, kb, aggregation)
    one, two = (nlil.explain(of, kb, Fact(p, (NAMES[x],)), top=10**6, misses=0) for p in (BIG, RED))
    difference_is_right(nlil.contrast(of, kb, Fact(BIG, (NAMES[x],)), "red"), one, two)


def _about_red(rule: nlil.Rule) -> nlil.Rule:
    return replace(rule, head=replace(rule.head, predicate=RED))
