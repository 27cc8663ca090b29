"""Explanations and disputes against brute force, and against what evaluation says about the same facts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import oracle
from nlil.data.facts import NO_OBJECT, Facts
from nlil.data.kb import KnowledgeBase
from nlil.evaluation.prediction import predict
from nlil.evaluation.ranking import Ranker
from nlil.explanation.disputes import check
from nlil.explanation.firing import Firing
from nlil.explanation.why import explain
from nlil.kernel.aggregation import Aggregation
from nlil.kernel.exclusion import Exclusion
from nlil.kernel.ruleset import RuleSet
from nlil.logic.formula import Truth
from nlil.logic.predicate import Fact, Predicate, Step
from nlil.logic.rule import Head, Rule, RuleStats, ScoredRule
from nlil.logic.text import fact_text
from nlil.search.count import count_rules
from nlil.search.options import CountOptions
from property.engine_cases import BIG, KNOWS, LIKES, NAMES, PREDICATES, RED, bases, rules
from property.test_ranking import plain_score

entities = st.integers(0, len(NAMES) - 1)
aggregations = st.sampled_from(
    [Aggregation("noisy-or", 5), Aggregation("noisy-or", 2), Aggregation("noisy-or", 0), Aggregation("max")]
)

# Half of the sets have none: exclusions must not be all that is tested.
exclusions = st.one_of(
    st.just([]),
    st.lists(
        st.sampled_from(
            [
                Exclusion(target, step, 3.5, 7)
                for target, other in ((KNOWS, LIKES), (LIKES, KNOWS), (KNOWS, KNOWS))
                for step in (Step(other), Step(other, inverse=True))
                if step != Step(target)
            ]
        ),
        max_size=3,
        unique=True,
    ),
).map(tuple)


def excluded_by(seen: oracle.World, of: RuleSet, fact: Fact) -> list[Fact]:
    """The facts that count and rule `fact` out."""
    pairs = {False: fact.arguments, True: fact.arguments[::-1]}
    found = [Fact(e.step.predicate, pairs[e.step.inverse]) for e in of.exclusions if e.target == fact.predicate]
    return [f for f in found if seen.weight.get(f, 0) >= 0.5]


def within_graphs(kb: KnowledgeBase) -> KnowledgeBase:
    """Without the edges between two graphs, which no reader makes."""
    if kb.graph_of is None:
        return kb
    facts = kb.facts
    return kb.with_facts(facts[facts.is_unary | (kb.graph_of[facts.subject] == kb.graph_of[facts.object])])


def counted(kb: KnowledgeBase, aggregation: Aggregation, target: Predicate) -> RuleSet:
    options = CountOptions(max_length=3, min_support=1, min_confidence=0.0, samples=10, candidates=10)
    found = count_rules(kb, np.array([kb.predicate_id(target)]), options).rules
    return replace(found, aggregation=aggregation)


# Few different weights, so that there are ties at the last place that counts.
weights = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.8, 1.0])
written = st.builds(
    lambda rule, weight: ScoredRule(rule, RuleStats(1, 2, 3, None if rule.target.arity == 1 else 2), weight),
    rules(),
    weights,
)


def fired_by(
    world: oracle.World, of: RuleSet, query: tuple[str, ...], target: Predicate, hide: bool
) -> list[tuple[float, bool]]:
    """(value times weight, is prior) of each rule that holds."""
    found = []
    for scored in of.for_target(target):
        value = oracle.value(world, scored.rule, query, hide)
        if value > 0:
            is_prior = isinstance(scored.rule.body, Truth) and scored.rule.head != Head.of(KNOWS)
            found.append((value * scored.weight, is_prior))
    return found


def the_fact(kb: KnowledgeBase, target: Predicate, x: int, y: int) -> Fact:
    return Fact(target, tuple(kb.entities.names([x, y][: target.arity])))


def check_explanation(kb: KnowledgeBase, of: RuleSet, fact: Fact) -> None:
    """Everything that an explanation says is true."""
    world = oracle.World.of(kb)
    hidden = oracle.own_facts(world, Rule(Head.of(fact.predicate), Truth()), fact.arguments)
    seen = world.without(hidden)
    got = explain(of, kb, fact, top=3, groundings=2, misses=2)
    fired = fired_by(world, of, fact.arguments, fact.predicate, hide=True)
    excluding = excluded_by(seen, of, fact)
    assert got.num_fired == len(fired)
    assert got.score == pytest.approx(0 if excluding else plain_score(fired, of.aggregation), abs=2e-9)
    assert (got.excluded is None) == (not excluding)
    assert got.excluded is None or (got.excluded.by in excluding and not got.misses and "excluded: " in str(got))
    assert got.known == (fact in world.weight)
    assert got.score == predict(of, kb, fact_text(fact))[0].score
    shown = explain(of, kb, fact, top=10**6, groundings=1, misses=0)
    assert sum(s.share for s in shown.supports) == pytest.approx(got.score, abs=1e-9)
    assert sum(s.share for s in got.supports) + got.other_share == pytest.approx(got.score, abs=1e-9)
    assert len(shown.supports) == got.num_counted == shown.num_counted
    assert shown.supports[: len(got.supports)] == tuple(replace(s, groundings=s.groundings[:1]) for s in got.supports)
    for support in got.supports:
        value = oracle.value(world, support.rule, fact.arguments, hide=True)
        assert value > 0
        assert support.value == pytest.approx(value)
        assert 1 <= len(support.groundings) == min(2, support.num_groundings)
        assert all(f in seen.weight for g in support.groundings for f in g.facts)
    for miss in got.misses:
        assert oracle.value(world, miss.rule, fact.arguments, hide=True) == 0
        assert oracle.is_head_tuple(world, miss.rule, fact.arguments)
    assert str(got)
    assert got.to_dict()["score"] == got.score


@given(bases(), st.sampled_from([BIG, RED, KNOWS, KNOWS]), entities, entities, aggregations, exclusions)
@settings(deadline=None, max_examples=50)
def test_counted_rules_are_explained_truly(kb, target, x, y, aggregation, exclusions):
    kb = within_graphs(kb)
    of = replace(counted(kb, aggregation, target), exclusions=exclusions)
    check_explanation(kb, of, the_fact(kb, target, x, y))


@given(
    bases(),
    st.lists(written, min_size=1, max_size=12),
    st.sampled_from([BIG, KNOWS, KNOWS]),
    entities,
    entities,
    aggregations,
    exclusions,
)
@settings(deadline=None, max_examples=80)
def test_written_rules_are_explained_truly(kb, scored, target, x, y, aggregation, exclusions):
    kb = within_graphs(kb)
    of = replace(RuleSet.of(kb, scored, aggregation), exclusions=exclusions)
    check_explanation(kb, of, the_fact(kb, target, x, y))


@given(bases(graphs=False), st.lists(written, max_size=6), aggregations, exclusions, st.data())
@settings(deadline=None, max_examples=60)
def test_rivals_are_judged_as_the_ranker_does(kb, scored, aggregation, exclusions, data):
    """The fact that the data has is hidden while another answer is judged."""
    of = replace(RuleSet.of(kb, scored, aggregation), exclusions=exclusions)
    of = RuleSet.join([counted(kb, aggregation, KNOWS), of])
    assert of.exclusions == exclusions
    target = kb.predicate_id(KNOWS)
    facts = kb.facts.of(target)
    assume(len(facts))
    row = data.draw(st.integers(0, len(facts) - 1))
    own = x, y = int(facts.subject[row]), int(facts.object[row])
    ranker, firing = Ranker(of, kb, threads=1), Firing(of, kb)
    for direction, pairs in enumerate(([(x, r) for r in range(len(NAMES))], [(r, y) for r in range(len(NAMES))])):
        total = ranker.evidence(target, direction, own[direction], own[1 - direction])
        got = [firing.pair(target, *pair, hidden=own).shares(of.aggregation).evidence for pair in pairs]
        assert got == total.tolist()


# disputes -----------------------------------------------------------------------------------------------


@st.composite
def functional_bases(draw) -> KnowledgeBase:
    """`knows` has one object for each subject or one subject for each object, `likes` is anything."""
    once = draw(st.dictionaries(entities, entities, min_size=1))
    pairs = list(once.items()) if draw(st.booleans()) else [(o, s) for s, o in once.items()]
    rows = [(1, s, o) for s, o in pairs]
    rows += draw(st.lists(st.tuples(st.just(2), entities, entities), max_size=12))
    rows += draw(st.lists(st.tuples(st.sampled_from([0, 3]), entities, st.just(NO_OBJECT)), min_size=1, max_size=6))
    kb = draw(bases(weighted=False, graphs=False))
    return kb.with_facts(Facts(*np.asarray(rows, np.int32).T))


def expected_disputes(kb: KnowledgeBase, of: RuleSet) -> dict[Fact, float]:
    """fact -> margin, by trying every competitor."""
    world = oracle.World.of(kb)
    margins: dict[Fact, float] = {}

    def weigh(fact: Fact, rivals: list[Fact], seen: oracle.World, hide: bool) -> None:
        def value(f: Fact) -> float:
            if excluded_by(seen.without({fact}), of, f):
                return 0.0
            return round(plain_score(fired_by(seen, of, f.arguments, f.predicate, hide), of.aggregation), 9)

        margin = max((value(r) for r in rivals if r not in world.weight), default=0.0) - value(fact)
        if margin > 1e-8:
            margins[fact] = max(margin, margins.get(fact, 0.0))

    for fact in world.weight:
        if fact.predicate in world.classes and fact.predicate in of.targets:
            others = [Fact(c, fact.arguments) for c in sorted(world.classes & set(of.targets))]
            weigh(fact, others, world, hide=True)
        if fact.predicate.arity == 2 and fact.predicate in of.targets:
            same = [f for f in world.weight if f.predicate == fact.predicate]
            for place in (0, 1):
                ends = [f.arguments[place] for f in same]
                if sum(ends.count(e) == 1 for e in set(ends)) >= 0.9 * len(set(ends)):
                    pairs = [(fact.arguments[0], e) if place == 0 else (e, fact.arguments[1]) for e in world.entities]
                    weigh(fact, [Fact(fact.predicate, p) for p in pairs], world.without({fact}), hide=False)
    return margins


@given(functional_bases(), st.lists(written, min_size=1, max_size=8), aggregations, exclusions)
@settings(deadline=None, max_examples=40)
def test_disputes_are_those_of_brute_force(kb, scored, aggregation, exclusions):
    of = replace(RuleSet.of(kb, scored, aggregation), exclusions=exclusions)
    compare_disputes(kb, of)


@given(functional_bases(), aggregations)
@settings(deadline=None, max_examples=15)
def test_disputes_of_counted_rules(kb, aggregation):
    options = CountOptions(max_length=2, min_support=1, min_confidence=0.0)
    of = count_rules(kb, np.arange(len(PREDICATES)), options).rules
    assume(len(of) < 400)
    compare_disputes(kb, replace(of, aggregation=aggregation))


def compare_disputes(kb: KnowledgeBase, of: RuleSet) -> None:
    got = check(of, kb, top=0, threads=1)
    expected = expected_disputes(kb, of)
    assert {d.fact: d.margin for d in got if d.margin > 1e-8} == pytest.approx(expected, abs=1e-8)
    assert got == sorted(got, key=lambda d: (-d.margin, d.fact))
    assert check(of, kb, top=2, threads=2, memory=2**20) == got[:2]
    for dispute in got:
        assert dispute.margin == pytest.approx(dispute.competitor_score - dispute.own_score, abs=1e-9)
        assert dispute.own_score == explain(of, kb, dispute.fact).score
        assert dispute.reasons
        assert {s.rule.target for s in dispute.reasons} == {dispute.competitor.predicate}
