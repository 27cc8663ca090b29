"""What the survey of a theory says rules do, against the plain driver."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nlil.data.kb import KnowledgeBase
from nlil.evaluation.members import MemberScorer
from nlil.evaluation.ranking import Ranker
from nlil.kernel.aggregation import Aggregation
from nlil.kernel.bodies import Y_NODE
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.ruleset import RuleSet
from nlil.logic.rule import Head, Rule, RuleStats, ScoredRule
from nlil.theory.build import make_theory
from nlil.theory.firings import TargetSample, survey, survey_members
from property import engine_cases
from property.engine_cases import BIG, KNOWS, SIZE
from property.test_counting import bases
from property.test_ranking import learn


def of(kb: KnowledgeBase, rules: list[Rule]) -> RuleSet:
    return RuleSet.of(kb, [ScoredRule(rule, RuleStats(1, 2, 2, 2), 0.5) for rule in rules], Aggregation("noisy-or", 0))


binary = engine_cases.rules(engine_cases.heads.filter(lambda head: head.predicate == KNOWS))
unary = engine_cases.rules(st.just(Head.of(BIG)))


@settings(deadline=None, max_examples=60)
@given(engine_cases.bases(weighted=False, graphs=False), st.lists(binary, min_size=1, max_size=4, unique=True))
def test_hits_and_wrong_proposals_are_those_of_the_plain_driver(kb: KnowledgeBase, rules: list[Rule]) -> None:
    check_survey(kb, of(kb, rules))


@settings(deadline=None, max_examples=20)
@given(bases())
def test_the_same_for_rules_that_counting_finds(kb: KnowledgeBase) -> None:
    rules = learn(kb, Aggregation("noisy-or", 0))
    rows = np.flatnonzero(~rules.is_prior)
    check_survey(kb, rules.take(rows[:: max(len(rows) // 24, 1)]))  # some of every shape


def check_survey(kb: KnowledgeBase, rules: RuleSet) -> None:
    ranker = Ranker(rules, kb, 1)
    for target in np.unique(rules.head[[rules.predicates[h].arity == 2 for h in rules.head]]).tolist():
        facts = kb.facts.of(target)
        hits = survey(ranker, TargetSample(target, facts, facts[:0], 1.0), ranker.pool.scratch())
        mine = ranker.rules_of(target)
        true = {(int(s), int(o)) for s, o in zip(facts.subject, facts.object)}
        expected, wrong = set(), np.zeros_like(hits.wrong)
        is_seen = ~mine.is_prior
        everyone = np.arange(kb.num_entities)
        for i, (s, o) in enumerate(zip(facts.subject.tolist(), facts.object.tolist())):
            without = evaluator_without(kb, target, s, o)
            for r, direction in product(np.flatnonzero(is_seen).tolist(), (0, 1)):
                x, y = (
                    (np.full(kb.num_entities, s), everyone) if direction == 0 else (everyone, np.full(len(everyone), o))
                )
                holds = without.values(mine.rule(r), x, y, hide=False) > 0
                for pair in zip(x[holds].tolist(), y[holds].tolist()):
                    if pair == (s, o):
                        expected.add((r, direction * len(facts) + i))
                    elif pair not in true:
                        wrong[direction, r] += 1
        seen = is_seen[hits.rule]
        assert set(zip(hits.rule[seen].tolist(), hits.query[seen].tolist())) == expected
        assert (hits.wrong[:, is_seen] == wrong[:, is_seen]).all()


def evaluator_without(kb: KnowledgeBase, target: int, subject: int, object_: int) -> Evaluator:
    """The plain driver on a base that does not have the fact."""
    facts = kb.facts
    own = (facts.predicate == target) & (facts.subject == subject) & (facts.object == object_)
    return Evaluator(replace(kb, facts=facts[~own]))


@settings(deadline=None, max_examples=40)
@given(engine_cases.bases(weighted=False, graphs=False), st.lists(unary, min_size=1, max_size=4, unique=True))
def test_members_are_told_from_others(kb: KnowledgeBase, rules: list[Rule]) -> None:
    found = of(kb, rules)
    target = kb.predicate_id(BIG)
    members = np.unique(kb.facts.of(target).subject)
    others = np.setdiff1d(np.arange(SIZE, dtype=np.int32), members)
    hits = survey_members(MemberScorer(found, kb, np.array([target], np.int32), 1), members, others, 1.0)
    evaluator = Evaluator(kb)
    for r in range(len(found)):
        values = evaluator.values(found.rule(r), np.arange(SIZE), hide=True)
        assert hits.query[hits.rule == r].tolist() == np.flatnonzero(values[members] > 0).tolist()
        assert hits.wrong[0, r] == np.count_nonzero(values[others] > 0)


@settings(deadline=None, max_examples=20)
@given(bases())
def test_a_theory_is_the_same_on_any_number_of_threads_and_its_sizes_are_nested(kb: KnowledgeBase) -> None:
    pool = learn(kb, Aggregation("noisy-or", 5))
    one, two = (make_theory(pool, kb, 3, threads=threads) for threads in (1, 2))
    assert one.rows.tolist() == two.rows.tolist()
    small, large = (set(one.rows[one.chosen(pool, size)].tolist()) for size in (1, 3))
    assert small <= large
    counts = np.bincount(pool.head[one.rows[one.chosen(pool)]])
    assert counts.max(initial=0) <= 3
    rules = one.rules(pool)
    assert [str(s.rule) for s in rules] == [str(pool.rule(int(r))) for r in one.rows[one.chosen(pool)]]


def test_a_filter_before_the_first_move_hides_nothing_less() -> None:
    """Two facts of one subject: the chain through each of them holds only while that fact is not hidden."""
    facts = [
        ("a", "knows", "b"),
        ("a", "knows", "c"),
        ("b", "to", "d"),
        ("c", "to", "e"),
        ("a", "knows", "d"),
        ("a", "big"),
    ]
    kb = KnowledgeBase.from_facts([*facts, ("a", "knows", "e")])
    big, knows, to = (2 * kb.predicate_id(kb.predicate(name)) for name in ("big", "knows", "to"))
    counts = dict.fromkeys(("support", "body_size", "head_size", "pca_body"), 2)
    rules = RuleSet.of_lines(kb, np.array([[big, knows, to]], np.int32), head=knows // 2, end=Y_NODE, **counts)
    check_survey(kb, replace(rules, aggregation=Aggregation("noisy-or", 0)))
