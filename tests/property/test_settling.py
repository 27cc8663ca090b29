"""Ranks from long chains that were walked only as far as needed: those of walking them all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nlil.data.facts import Facts
from nlil.data.kb import KnowledgeBase
from nlil.evaluation.plan import RowsByShape
from nlil.evaluation.ranking import Ranker
from nlil.evaluation.scoring import load_priors, total_of
from nlil.evaluation.settling import SHORT_STEPS, is_settled, most_to_come, score_until_settled
from nlil.kernel.aggregation import KINDS, UNIT, Aggregation, add, clear, score, score_space
from nlil.kernel.exclusion import Exclusion
from nlil.kernel.hidden import HiddenFact
from nlil.kernel.ruleset import RuleSet
from nlil.logic.formula import TRUE, Statement, X, Y
from nlil.logic.predicate import Predicate, Step
from nlil.logic.rule import Head, Rule, RuleStats, ScoredRule
from property.engine_cases import KNOWS, LIKES, rules
from property.engine_cases import bases as engine_bases
from property.engine_cases import steps as any_steps
from property.test_explanation import exclusions
from property.test_weighing import lines

P, Q = Predicate("p", 2), Predicate("q", 2)
ENTITIES = "abcdefg"

facts = st.tuples(st.sampled_from(ENTITIES), st.sampled_from(["p", "q"]), st.sampled_from(ENTITIES))
bases = st.lists(facts, min_size=6, max_size=24).map(
    lambda rows: KnowledgeBase.from_facts([*rows, *((e, "q", e) for e in ENTITIES), ("a", "p", "b")])
)
steps = st.lists(st.builds(Step, st.sampled_from([P, Q]), st.booleans()), min_size=1, max_size=5)
chains = steps.map(lambda moves: Rule(Head.of(P), Statement(X, tuple(moves), Y), True))
# Close to one another and far apart: what decides is sometimes the sum of many weak rules.
weights = st.sampled_from([0.01, 0.1, 0.100000001, 0.2, 0.3, 0.5, 0.9, 0.99, 1.0])
shares = st.sampled_from([0.0, 0.25, 0.5, 1.0])
weighings = st.lists(st.tuples(shares, shares), min_size=len(KINDS), max_size=len(KINDS)).map(tuple)
aggregations = st.one_of(
    st.sampled_from(
        [Aggregation("noisy-or", 2), Aggregation("noisy-or", 5), Aggregation("noisy-or", 0), Aggregation("max")]
    ),
    st.builds(Aggregation, st.just("noisy-or"), st.integers(1, 3), weighings),
)


@st.composite
def rule_sets(draw: st.DrawFn, kb: KnowledgeBase) -> RuleSet:
    found = draw(st.lists(chains, min_size=1, max_size=12, unique=True))
    of = RuleSet.of(kb, [ScoredRule(rule, RuleStats(1, 2, 3, 2), draw(weights)) for rule in found])
    excluded = (Exclusion(P, Step(Q, False), 9.0, 5),) if draw(st.booleans()) else ()
    return replace(of, aggregation=draw(aggregations), exclusions=excluded)


@settings(deadline=None, max_examples=150)
@given(bases, st.data(), st.booleans())
def test_ranks_are_those_of_the_whole_evidence(kb: KnowledgeBase, data: st.DataObject, hide: bool) -> None:
    ranker = Ranker(data.draw(rule_sets(kb)), kb, threads=1)
    target = kb.predicate_id(P)
    pairs = np.array([(target, s, o) for s in range(3) for o in range(kb.num_entities)], np.int32)
    asked = Facts(*pairs.T)
    known = kb.facts + asked[np.array(data.draw(st.lists(st.integers(0, len(asked) - 1), max_size=4)), np.int64)]
    ranks = ranker.rank(asked, known, hide)
    own = {(int(s), int(o)) for s, o in zip(kb.facts.of(target).subject, kb.facts.of(target).object)}
    answers = known.of(target)
    for fact, direction, above, tied in zip(ranks.fact, ranks.direction, ranks.above, ranks.tied):
        ends = (int(asked.subject[fact]), int(asked.object[fact]))
        query, answer = ends[direction], ends[1 - direction]
        scores = score(ranker.evidence(target, direction, query, answer if hide and ends in own else -1))
        sides = (answers.subject, answers.object)
        rivals = np.setdiff1d(np.arange(kb.num_entities), [*sides[1 - direction][sides[direction] == query], answer])
        assert above == (scores[rivals] > scores[answer]).sum()
        assert tied == (scores[rivals] == scores[answer]).sum() + 1


any_chains = st.builds(
    lambda steps, distinct: Rule(Head.of(KNOWS), Statement(X, (Step(LIKES), *steps), Y), distinct),
    st.lists(any_steps, min_size=2, max_size=3),
    st.booleans(),
)


@st.composite
def mixed_sets(draw: st.DrawFn, kb: KnowledgeBase) -> RuleSet:
    """Long chains, with filters or not, beside rules of every other shape."""
    found = draw(st.lists(any_chains, min_size=2, max_size=8, unique=True))
    found += draw(st.lists(lines(), min_size=1, max_size=6, unique=True))
    found += [r for r in draw(st.lists(rules(), max_size=3, unique=True)) if r.target == KNOWS]
    priors = [r.head for r in found if r.body == TRUE]
    found = [r for r in dict.fromkeys(found) if r.body != TRUE or priors.count(r.head) == 1]
    of = RuleSet.of(kb, [ScoredRule(rule, RuleStats(1, 2, 3, 2), draw(weights)) for rule in found])
    return replace(of, aggregation=draw(aggregations), exclusions=draw(exclusions))


@settings(deadline=None, max_examples=60)
@given(engine_bases(weighted=False, graphs=False), st.data())
def test_beside_rules_of_other_shapes_too(kb: KnowledgeBase, data: st.DataObject) -> None:
    of = data.draw(mixed_sets(kb))
    ranker = Ranker(of, kb, threads=1)
    target = kb.predicate_id(KNOWS)
    pairs = np.array([(target, s, o) for s in range(2) for o in range(kb.num_entities)], np.int32)
    asked = Facts(*pairs.T)
    ranks = ranker.rank(asked, kb.facts)
    length = np.where(of.is_program, 0, of.lengths)
    parts = RowsByShape.of(of, ranker._shapes)
    without = np.ones(len(of), bool)
    without[parts.chain[length[parts.chain] > SHORT_STEPS]] = False
    short = Ranker(of.take(without), kb, threads=1).rank(asked, kb.facts)
    answers = kb.facts.of(target)
    walked = np.broadcast_to(ranks.walked, len(ranks.fact))
    for i, (fact, direction, above, tied) in enumerate(zip(ranks.fact, ranks.direction, ranks.above, ranks.tied)):
        ends = (int(asked.subject[fact]), int(asked.object[fact]))
        query, answer = ends[direction], ends[1 - direction]
        scores = score(ranker.evidence(target, int(direction), query, -1))
        sides = (answers.subject, answers.object)
        rivals = np.setdiff1d(np.arange(kb.num_entities), [*sides[1 - direction][sides[direction] == query], answer])
        assert above == (scores[rivals] > scores[answer]).sum()
        assert tied == (scores[rivals] == scores[answer]).sum() + 1
        if not walked[i]:
            assert (above, tied) == (short.above[i], short.tied[i])


def chain_base() -> tuple[KnowledgeBase, RuleSet]:
    """p(a, b) has a strong rule of one step; from a, three steps of q lead to d."""
    kb = KnowledgeBase.from_facts([("a", "r", "b"), ("a", "q", "x"), ("x", "q", "y"), ("y", "q", "d"), ("e", "p", "f")])
    moves = {(Step(Predicate("r", 2)),): 0.9, (Step(Q),) * 3: 0.2}
    rules = [
        ScoredRule(Rule(Head.of(P), Statement(X, steps, Y), True), RuleStats(1, 2, 3, 2), weight)
        for steps, weight in moves.items()
    ]
    return kb, RuleSet.of(kb, rules, Aggregation("noisy-or", 5))


def totals_at_a(answer: str, margin: int) -> dict[str, int]:
    kb, rules = chain_base()
    ranker = Ranker(rules, kb, threads=1)
    layout, _ = ranker.target_plan(kb.predicate_id(P), 0)
    space = ranker.pool.scratch()
    known, wanted = kb.entities.id("a"), np.array([kb.entities.id(answer)], np.int32)
    touched, _ = score_until_settled(
        ranker.graph,
        layout,
        HiddenFact(layout.code, known, -1, -1, ranker.graph.is_unary),
        5,
        False,
        np.zeros((0, 2), np.int64),
        wanted,
        wanted[:0],
        margin * layout.weight[0],
        space,
    )
    found = {name: int(total_of(space, 0, False, kb.entities.id(name))) for name in "bd"}
    clear(space, touched)
    return found


def test_a_chain_that_cannot_change_the_rank_is_not_walked() -> None:
    assert totals_at_a("b", 1)["d"] == 0 < totals_at_a("b", 1)["b"]
    assert totals_at_a("b", 100)["d"] > 0  # with so much weight it could have
    assert totals_at_a("d", 1)["d"] > 0  # the answer itself


def test_what_is_still_to_come() -> None:
    weight = np.array([UNIT, UNIT // 2, 0])
    assert most_to_come(np.array([900, 400, 200, 100]), 1, weight) == 400 + 100
    assert most_to_come(np.array([900, 400]), 1, weight) == 400
    totals = [500, 100, 0]
    assert settled(totals, 0, [], 300)
    assert not settled(totals, 0, [], 410)
    assert settled(totals, 0, [1], 410)  # a known answer is no rival
    assert settled(totals, 1, [2], 300)  # one above stays above
    assert settled([500, 520, 0], 0, [], 10)
    assert not settled([500, 520, 0], 0, [], 50)  # the answer may still come to stand first


def settled(totals: list[int], answer: int, known: list[int], left: int) -> bool:
    """`is_settled` where the first candidate has a rule and the others have what their priors say."""
    kb, rules = chain_base()
    layout, _ = Ranker(rules, kb, threads=1).target_plan(kb.predicate_id(P), 0)
    value = np.array(totals, np.int64) << 30
    layout = layout._replace(
        prior_candidate=np.arange(3, dtype=np.int32),
        weighed_prior=value,
        prior_rank=np.argsort(-value).astype(np.int32),
    )
    space = score_space(3, 5, 1)
    load_priors(layout, space)
    touched = add(space, 0, 0, 7, 5, 0)
    space.total[1] = value[0]
    answers, others = np.array([answer], np.int32), np.array(known, np.int32)
    return bool(is_settled(layout, space, 0, False, touched, answers, others, left << 30))
