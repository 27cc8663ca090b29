"""Ranks and scores of the compiled path against a plain aggregation over the engine's rule values."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlil.data.facts import Facts
from nlil.data.kb import KnowledgeBase
from nlil.evaluation.members import MemberScorer
from nlil.evaluation.plan import body_member, body_range
from nlil.evaluation.ranking import Ranker
from nlil.kernel.aggregation import Aggregation, evidence, frequency_evidence, score, tie_bounds
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.graph import Graph
from nlil.kernel.ruleset import RuleSet
from nlil.logic.formula import Truth
from nlil.logic.rule import Head, Rule, RuleStats, ScoredRule
from nlil.search.count import count_rules
from nlil.search.options import CountOptions
from property import engine_cases
from property.test_counting import bases

AGGREGATIONS = [Aggregation("noisy-or", 5), Aggregation("noisy-or", 2), Aggregation("noisy-or", 0), Aggregation("max")]


def learn(kb: KnowledgeBase, aggregation: Aggregation) -> RuleSet:
    options = CountOptions(min_support=1, min_confidence=0.0, samples=20, candidates=20)
    return replace(count_rules(kb, np.arange(kb.num_predicates), options).rules, aggregation=aggregation)


def plain_score(fired: list[tuple[float, bool]], aggregation: Aggregation) -> float:
    """(weight, is prior) of the rules that fire -> score, as the documentation says it."""
    if aggregation.kind == "max":
        return max((weight for weight, _ in fired), default=0.0)
    others = sorted((weight for weight, prior in fired if not prior), reverse=True)
    kept = others[: aggregation.top] if aggregation.top else others
    return 1 - math.prod(1 - w for w in [*kept, *(weight for weight, prior in fired if prior)])


def plain_scores(
    rules: RuleSet, kb: KnowledgeBase, target: int, x: np.ndarray, y: np.ndarray | None, hide: bool = True
) -> list[float]:
    evaluator = Evaluator(kb)
    fired: list[list[tuple[float, bool]]] = [[] for _ in x]
    for scored in rules.for_target(kb.predicates[target]):
        values = evaluator.values(scored.rule, x, y, hide=hide)
        for i in np.flatnonzero(values > 0):
            fired[i].append((values[i] * scored.weight, isinstance(scored.rule.body, Truth)))
    return [plain_score(f, rules.aggregation) for f in fired]


seeds = st.one_of(st.none(), st.integers(0, 100))


def softened(kb: KnowledgeBase, seed: int | None) -> KnowledgeBase:
    """The base with a weight for every fact, unless the seed is None."""
    if seed is None:
        return kb
    weight = np.random.default_rng(seed).choice([0.0, 0.2, 0.45, 0.5, 0.9, 1.0], len(kb.facts)).astype(np.float32)
    return replace(kb, facts=replace(kb.facts, weight=weight))


@settings(deadline=None, max_examples=40)
@given(bases(), st.sampled_from(AGGREGATIONS), st.integers(0, 1), seeds)
def test_evidence_of_a_query_is_the_plain_aggregation(
    kb: KnowledgeBase, aggregation: Aggregation, direction: int, seed: int | None
) -> None:
    rules = learn(kb, aggregation)
    kb = softened(kb, seed)
    ranker = Ranker(rules, kb, threads=1)
    fact = kb.binary[:1]
    target, ends = int(fact.predicate[0]), (int(fact.subject[0]), int(fact.object[0]))
    known, answer = ends[direction], ends[1 - direction]
    got = score(ranker.evidence(target, direction, known, hidden_end=answer))
    hidden = kb.with_facts(kb.facts[np.arange(len(kb.facts)) != int(np.flatnonzero(~kb.facts.is_unary)[0])])
    candidates = np.arange(kb.num_entities)
    pair = (np.full_like(candidates, known), candidates)
    x, y = pair if direction == 0 else pair[::-1]
    assert got == pytest.approx(plain_scores(rules, hidden, target, x, y, hide=False), abs=2e-9)


def _answers(kb: KnowledgeBase, target: int, direction: int, known: int) -> np.ndarray:
    facts = kb.facts.of(target)
    ends = (facts.subject, facts.object)
    return ends[1 - direction][ends[direction] == known]


@settings(deadline=None, max_examples=40)
@given(bases(), st.sampled_from(AGGREGATIONS), seeds)
def test_evidence_of_members_is_the_plain_aggregation(
    kb: KnowledgeBase, aggregation: Aggregation, seed: int | None
) -> None:
    rules = learn(kb, aggregation)
    kb = softened(kb, seed)
    everyone = np.arange(kb.num_entities, dtype=np.int32)
    for target in (i for i, p in enumerate(kb.predicates) if p.arity == 1):
        got = score(MemberScorer(rules, kb, np.array([target]), threads=1).evidence(everyone)[:, 0])
        expected = plain_scores(rules, kb, target, everyone.astype(np.int64), None)
        assert got == pytest.approx(expected, abs=2e-9)


@settings(deadline=None, max_examples=100)
@given(engine_cases.bases(), st.lists(engine_cases.rules(st.just(Head.of(engine_cases.BIG))), min_size=1, max_size=3))
def test_evidence_of_members_from_any_rules(kb: KnowledgeBase, bodies: list[Rule]) -> None:
    scored = [ScoredRule(r, RuleStats(1, 2, 3), w) for r, w in zip(bodies, (0.5, 0.25, 0.8))]
    rules = RuleSet.of(kb, scored, AGGREGATIONS[2])
    everyone = np.arange(kb.num_entities, dtype=np.int32)
    target = kb.predicate_id(engine_cases.BIG)
    got = score(MemberScorer(rules, kb, np.array([target]), threads=1).evidence(everyone)[:, 0])
    assert got == pytest.approx(plain_scores(rules, kb, target, everyone.astype(np.int64), None), abs=2e-9)


@settings(deadline=None, max_examples=20)
@given(bases(), seeds)
def test_ranks_are_those_of_sorting(kb: KnowledgeBase, seed: int | None) -> None:
    rules = learn(kb, AGGREGATIONS[0])
    kb = softened(kb, seed)
    ranker = Ranker(rules, kb, threads=2)
    facts = kb.binary[:4]
    ranks = ranker.rank(facts, kb.facts, hide=True)
    for fact, direction, above, tied in zip(ranks.fact, ranks.direction, ranks.above, ranks.tied):
        ends = (int(facts.subject[fact]), int(facts.object[fact]))
        known, answer = ends[direction], ends[1 - direction]
        scores = score(ranker.evidence(int(facts.predicate[fact]), int(direction), known, answer))
        rivals = np.setdiff1d(np.arange(kb.num_entities), _answers(kb, int(facts.predicate[fact]), direction, known))
        assert above == (scores[rivals] > scores[answer]).sum()
        assert tied == (scores[rivals] == scores[answer]).sum() + 1
    assert (ranks.optimistic <= ranks.realistic).all()
    assert (ranks.realistic <= ranks.pessimistic).all()


@settings(deadline=None, max_examples=10)
@given(bases(), st.sampled_from(AGGREGATIONS), st.sampled_from([1, 2**30]), st.integers(1, 3), st.booleans())
def test_every_fact_is_ranked_as_if_alone(
    kb: KnowledgeBase, aggregation: Aggregation, memory: int, threads: int, hide: bool
) -> None:
    """Facts of the base and others, all asked at few entities: queries are shared, but not with a hidden fact."""
    ranker = Ranker(learn(kb, aggregation), kb, threads, memory)
    pairs = np.array([(p, s, o) for p in np.unique(kb.binary.predicate) for s in range(3) for o in range(3)], np.int32)
    facts, done = Facts(*pairs.T), []
    ranks = ranker.rank(facts, kb.facts, hide, lambda stage, finished, total, note="": done.append((finished, total)))
    assert ranks.fact.tolist() == [row for _, _, rows in ranker.groups(facts) for row in rows]
    for fact, direction, above, tied in zip(ranks.fact, ranks.direction, ranks.above, ranks.tied):
        target, ends = int(facts.predicate[fact]), (int(facts.subject[fact]), int(facts.object[fact]))
        known, answer = ends[direction], ends[1 - direction]
        scores = score(ranker.evidence(target, int(direction), known, answer if hide else -1))
        rivals = np.setdiff1d(np.arange(kb.num_entities), [*_answers(kb, target, direction, known), answer])
        assert above == (scores[rivals] > scores[answer]).sum()
        assert tied == (scores[rivals] == scores[answer]).sum() + 1
    assert [finished for finished, _ in done] == sorted({finished for finished, _ in done})
    assert done[-1] == (2 * len(facts), 2 * len(facts))


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from("abc")] * 2), min_size=1, max_size=5))
def test_bodies_are_the_entities_that_have_such_an_edge(pairs: list[tuple[str, str]]) -> None:
    graph = Graph.of(KnowledgeBase.from_facts([(s, "knows", o) for s, o in pairs]))
    bodies = range(graph.num_spans + 2 * graph.num_codes)
    found = [[body_member(graph, body, place) for place in range(*body_range(graph, body))] for body in bodies]
    rows = [[x for x in members if x >= 0] for members in found]
    triples = list(zip(graph.neighbour, graph.code, graph.node))
    items = zip(graph.span_code ^ 1, graph.span_node)
    expected = [sorted({x for y, k, x in triples if (k, y) == item}) for item in items]
    for code in (0, 1):
        expected += [sorted({x for y, k, x in triples if k == code and not (apart and x == y)}) for apart in (0, 1)]
    assert rows == expected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_tie_bounds_hold_exactly_what_rounds_to_the_same_score(weights: list[float]) -> None:
    total = evidence(np.array(weights)).sum()
    low, high = tie_bounds(np.array(total))
    assert low <= total < high
    # The last digits of a float near 1 move the border by a few parts in a million.
    slack = 2 + total // 10**6
    for other, same in ((low + slack, True), (low - slack, False), (high - slack, True), (high + slack, False)):
        if (low <= other < high) == same and 0 <= other < 2**45:
            assert (abs(score(other) - score(total)) < 1e-10) == same


@settings(deadline=None, max_examples=20)
@given(bases(), st.integers(0, 1), seeds)
def test_ties_are_broken_by_the_number_of_facts(kb: KnowledgeBase, direction: int, seed: int | None) -> None:
    kb = softened(kb, seed)
    rules = learn(kb.crisp, Aggregation("noisy-or", 5, by_frequency=True))
    target = int(kb.binary.predicate[0])
    layout, _ = Ranker(rules, kb, 1).target_plan(target, direction)
    facts = kb.binary.of(target)
    count = np.bincount(facts.subject if direction else facts.object, minlength=kb.num_entities)
    by_frequency = dict(zip(layout.prior_candidate.tolist(), (layout.weighed_prior - layout.prior).tolist()))
    expected = frequency_evidence(count)
    assert {entity: value for entity, value in by_frequency.items() if value} == {
        entity: expected[entity] for entity in np.flatnonzero(expected).tolist()
    }
