"""Kinds of rules: scoring, sharing and what the documentation says agree for any rules and any weighing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nlil.data.kb import KnowledgeBase
from nlil.evaluation.plan import Plan
from nlil.evaluation.ranking import Ranker
from nlil.evaluation.samples import CandidateSample, best_candidates, without_evidence
from nlil.evaluation.scoring import load_priors
from nlil.explanation.firing import Firing
from nlil.kernel.aggregation import KINDS, Aggregation, add, evidence, score, score_space
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.ruleset import RuleSet
from nlil.learning.weighing import NUMBERS, Trials, ascend, weights
from nlil.logic.formula import ANY, TRUE, Constant, Statement, X, Y
from nlil.logic.parse import parse_rule
from nlil.logic.predicate import Step
from nlil.logic.rule import Head, Rule, RuleStats, ScoredRule
from property.engine_cases import KNOWS, LIKES, NAMES, bases, constants, rules
from property.test_explanation import exclusions

# Powers of two: what is left of an evidence is then exact but for the last digit.
factors = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
discounts = st.sampled_from([0.0, 0.25, 0.5, 1.0])
weighings = st.lists(st.tuples(factors, discounts), min_size=len(KINDS), max_size=len(KINDS))
weighed = st.builds(lambda top, weighing: Aggregation("noisy-or", top, tuple(weighing)), st.integers(1, 3), weighings)
any_weighed = st.builds(
    lambda top, weighing: Aggregation("noisy-or", top, tuple(weighing)),
    st.integers(1, 4),
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=len(KINDS), max_size=len(KINDS)),
)


moves = st.builds(Step, st.sampled_from([KNOWS, LIKES]), st.booleans())
firm = st.sampled_from([0.1, 0.3, 0.5, 0.8, 1.0])


@st.composite
def lines(draw: st.DrawFn) -> Rule:
    """The shapes that have a kind of their own, each as often as the others."""
    constant = draw(constants)
    head, start = draw(st.sampled_from([(Head(KNOWS, (X, constant)), X), (Head(KNOWS, (constant, Y)), Y)]))
    shape = draw(st.sampled_from(["one", "two", "named", "any", "any", "prior"]))
    if shape in ("one", "two"):
        size = ("one", "two").index(shape) + 1
        body = Statement(X, tuple(draw(st.lists(moves, min_size=size, max_size=size))), Y)
        return Rule(Head.of(KNOWS), body, draw(st.booleans()))
    if shape == "prior":
        return Rule(head, TRUE)
    return Rule(head, Statement(start, (draw(moves),), ANY if shape == "any" else draw(constants)), draw(st.booleans()))


@st.composite
def rule_sets(draw: st.DrawFn, kb: KnowledgeBase) -> RuleSet:
    """Rules of every shape, each once."""
    found = draw(st.lists(lines(), min_size=4, max_size=16, unique=True))
    found += [r for r in draw(st.lists(rules(), max_size=5, unique=True)) if r.target == KNOWS and r not in found]
    priors = [r.head for r in found if r.body == TRUE]
    found = [r for r in found if r.body != TRUE or priors.count(r.head) == 1]  # one that is distinct, one that is not
    scored = [ScoredRule(rule, RuleStats(1, 2, 3, 2), draw(firm)) for rule in found]
    return replace(RuleSet.of(kb, scored), exclusions=draw(exclusions))


def kind_of(rule_set: RuleSet, row: int, kb: KnowledgeBase, direction: int) -> str:
    """By what the rule says, for a query that knows the subject (direction 0) or the object (1)."""
    rule = rule_set.rule(row)
    constants = [isinstance(argument, Constant) for argument in rule.head.arguments]
    if rule.body == TRUE and any(constants):
        return "prior"
    if not isinstance(rule.body, Statement):
        return "other"
    moves = [not step.is_filter for step in rule.body.steps]
    if {rule.body.start, rule.body.end} == {X, Y} and any(moves):
        return "one-step chain" if len(moves) == 1 else "longer chain"
    if any(constants) and moves == [True] and rule.body.start in (X, Y) and rule.body.end not in (X, Y):
        side = "query" if constants[0] == (direction == 0) else "answer"
        return f"{side} constant" + ("" if isinstance(rule.body.end, Constant) else ", any")
    return "other"


def told(fired: Sequence[tuple[str, int]], aggregation: Aggregation) -> float:
    """(kind, evidence) of the rules that hold -> evidence, as `Aggregation` says it."""
    total = 0.0
    for kind, (factor, discount) in zip(KINDS, aggregation.weighing):
        mine = sorted((e for k, e in fired if k == kind), reverse=True)
        if kind == "prior":
            total += factor * sum(mine)
        else:
            total += sum(factor * discount**j * e for j, e in enumerate(mine[: aggregation.top]))
    return total


@given(bases(graphs=False), weighed, st.integers(0, 1), st.integers(0, len(NAMES) - 1), st.data())
@settings(deadline=None, max_examples=30)
def test_evidence_is_what_the_weighing_says(kb, aggregation, direction, known, data):
    of = replace(data.draw(rule_sets(kb)), exclusions=(), aggregation=aggregation)
    target, everyone = kb.predicate_id(KNOWS), np.arange(len(NAMES))
    pair = (np.full(len(NAMES), known), everyone)
    x, y = pair if direction == 0 else pair[::-1]
    fired: list[list[tuple[str, int]]] = [[] for _ in NAMES]
    for row in range(len(of)):
        values = Evaluator(kb).values(of.rule(row), x, y, hide=False)
        power = evidence(values * of.weights[row])
        for i in np.flatnonzero(values > 0):
            fired[i].append((kind_of(of, row, kb, direction), int(power[i])))
    got = Ranker(of, kb, threads=1).evidence(target, direction, known)
    # Each of the rules that count is rounded down once.
    assert got.tolist() == pytest.approx([told(f, aggregation) for f in fired], rel=0, abs=len(of) + 1)


@given(bases(graphs=False), any_weighed, st.integers(0, 1), st.integers(0, len(NAMES) - 1), st.data())
@settings(deadline=None, max_examples=30)
def test_shares_are_those_of_the_score(kb, aggregation, direction, known, data):
    of = replace(data.draw(rule_sets(kb)), aggregation=aggregation)
    target = kb.predicate_id(KNOWS)
    total = Ranker(of, kb, threads=1).evidence(target, direction, known)
    firing = Firing(of, kb)
    for other in range(len(NAMES)):
        pair = (other, known) if direction else (known, other)
        shares = firing.pair(target, *pair, direction=direction).shares(aggregation)
        assert shares.evidence == total[other]
        assert shares.score == float(score(total[other]))
        assert shares.share.sum() == pytest.approx(shares.score, abs=1e-12)
        assert (shares.share >= 0).all()
        assert (np.diff(shares.share) <= 0).all()


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize(
    "text",
    [
        "knows(X, b) :- likes(X, c).",
        "knows(a, Y) :- likes(Y, d).",
        "knows(X, b) :- likes(X, Z1).",
        "knows(a, Y) :- likes(Y, Z1).",
    ],
)
def test_whose_constant_it_is_depends_on_the_question(text: str, direction: int) -> None:
    """Each kind counts a share of its own, and the share of knows(a, b) tells which kind its one rule is."""
    kb = KnowledgeBase.from_facts([("a", "likes", "c"), ("b", "likes", "d"), ("c", "knows", "d")])
    factors = [(i + 1) / 16 for i in range(len(KINDS))]
    of = RuleSet.of(
        kb,
        [ScoredRule(parse_rule(text), RuleStats(1, 2, 3, 2), 0.5)],
        Aggregation("noisy-or", 2, tuple((factor, 1.0) for factor in factors)),
    )
    target, pair = kb.predicate_id(KNOWS), (kb.entities.id("a"), kb.entities.id("b"))
    kind = kind_of(of, 0, kb, direction)
    assert kind.startswith("query" if text.startswith("knows(a") == (direction == 0) else "answer")
    expected = factors[KINDS.index(kind)] * int(evidence(np.array([0.5]))[0])
    shares = Firing(of, kb).pair(target, *pair, direction=direction).shares(of.aggregation)
    assert shares.evidence == pytest.approx(expected, abs=1)
    total = Ranker(of, kb, threads=1).evidence(target, direction, pair[direction])
    assert total[pair[1 - direction]] == shares.evidence


@given(bases(graphs=False), st.integers(0, 1), st.integers(0, len(NAMES) - 1), st.data())
@settings(deadline=None, max_examples=20)
def test_one_full_rule_of_each_kind_is_plain_noisy_or(kb, direction, known, data):
    of = data.draw(rule_sets(kb))
    first: dict[str, int] = {}
    for row in range(len(of)):
        first.setdefault(kind_of(of, row, kb, direction), row)
    assume(first)
    few = of.take(np.array(sorted(first.values())))
    target = kb.predicate_id(KNOWS)

    def total(aggregation: Aggregation) -> list[int]:
        return Ranker(replace(few, aggregation=aggregation), kb, 1).evidence(target, direction, known).tolist()

    for top in (1, 3):
        assert total(Aggregation("noisy-or", top, ((1.0, 1.0),) * len(KINDS))) == total(Aggregation("noisy-or", 0))
        # What the second rule of a kind counts is nothing to a set that has one of each.
        assert total(Aggregation("noisy-or", top, ((1.0, 0.0),) * len(KINDS))) == total(Aggregation("noisy-or", 0))


@given(
    bases(graphs=False),
    st.one_of(weighed, st.builds(Aggregation, st.just("noisy-or"), st.integers(0, 3)), st.just(Aggregation("max"))),
    st.integers(-1, 4),
    st.data(),
)
@settings(deadline=None, max_examples=10)
def test_a_query_leaves_no_trace(kb, aggregation, hidden_end, data):
    of = replace(data.draw(rule_sets(kb)), aggregation=aggregation)
    ranker = Ranker(of, kb, threads=1)
    target = kb.predicate_id(KNOWS)
    asked = [(direction, known) for known in (0, 1) for direction in (0, 1)]
    got = [ranker.evidence(target, direction, known, hidden_end).tolist() for direction, known in asked]
    space = ranker.pool.scratch()
    assert not space.strongest.any()
    assert not space.floor.any()
    assert not space.slot.any()
    assert not space.prior.any()
    for (direction, known), total in zip(asked, got):
        assert Ranker(of, kb, threads=1).evidence(target, direction, known, hidden_end).tolist() == total


FEW_VALUES = np.array([0, 0, 0, 0.25, 0.5, 0.5 + 3e-7, 1], np.float32)  # ties, some of them only nearly


@st.composite
def samples(draw: st.DrawFn) -> CandidateSample:
    queries, candidates, places = draw(st.integers(0, 5)), draw(st.integers(1, 6)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = queries, candidates, len(KINDS), places
    strongest = -np.sort(-rng.choice(FEW_VALUES, shape), axis=3) * (rng.random((*shape[:3], 1)) < rng.random())
    strongest[:, :, -1] = 0
    strongest[:, :, -1, 0] = rng.choice([0, 0.125, 0.25], shape[:2]) * (rng.random((queries, 1)) < 0.5)
    real = rng.random(shape[:2]) < 0.7
    real[:, 0] = True
    return CandidateSample(strongest.astype(np.float32), real, np.arange(queries), rng.integers(0, 4, queries))


def plain_ranks(sample: CandidateSample, score: np.ndarray) -> np.ndarray:
    """1 / rank, from the scores of all candidates."""
    own, others, real = score[:, :1], score[:, 1:], sample.real[:, 1:]
    above = ((others > own + 1e-6) & real).sum(axis=1)
    tied = 1 + ((abs(others - own) < 1e-6) & real).sum(axis=1) + np.where(own[:, 0] < 1e-6, sample.unproposed, 0)
    return np.asarray(1 / (above + (tied + 1) / 2))


def weighed_ranks(sample: CandidateSample, weighing: np.ndarray) -> np.ndarray:
    counted = sample.strongest * weights(weighing, sample.strongest.shape[3])
    return plain_ranks(sample, counted.astype(np.float64).sum(axis=(2, 3)))


@given(samples(), weighings, st.data())
@settings(deadline=None, max_examples=60)
def test_trying_values_gives_the_ranks_that_they_give(sample, weighing, data):
    now, trials = np.array(weighing), Trials.of(sample)
    rows = np.array(data.draw(st.permutations(range(len(sample.fact)))), np.int64)[: data.draw(st.integers(1, 5))]
    before = trials.reciprocal(now)
    assert before == pytest.approx(weighed_ranks(sample, now), abs=1e-12)
    for kind, column, values in NUMBERS:
        tried = trials.ranks(rows, before[rows], now, kind, column, values)
        assert tried.shape == (len(values), len(rows))
        for value, found in zip(values, tried):
            other = now.copy()
            other[kind, column] = value
            assert found == pytest.approx(weighed_ranks(sample, other)[rows], abs=1e-12)


@given(samples(), st.integers(1, 5))
@settings(deadline=None, max_examples=50)
def test_all_kinds_alike_are_one_list_of_rules(sample, top):
    queries, candidates, kinds, places = sample.strongest.shape
    rules, prior = sample.strongest[:, :, :-1], sample.strongest[:, :, -1, 0]
    flat = -np.sort(-rules.reshape(queries, candidates, (kinds - 1) * places), axis=2)[..., :top]
    expected = plain_ranks(sample, flat.astype(np.float64).sum(axis=2) + prior)
    assert Trials.of(sample).plain_reciprocal(top) == pytest.approx(expected, abs=1e-12)


@given(samples(), weighings, st.data())
@settings(deadline=None, max_examples=20)
def test_a_part_climbs_as_it_would_alone(sample, weighing, data):
    among = np.array([data.draw(st.booleans()) for _ in sample.fact], bool)
    alone = ascend(Trials.of(sample.part(among)), np.array(weighing))
    assert np.array_equal(ascend(Trials.of(sample, threads=2), np.array(weighing), among=among), alone)


@given(st.integers(1, 60), st.integers(0, 6), st.integers(1, 20), st.integers(0, 2), st.integers(0, 2**32))
@settings(deadline=None, max_examples=150)
def test_the_best_are_the_first_of_the_largest(size, most, values, base, seed):
    """Of touched candidates, of those with a prior and of all others, without known answers and this one answer."""
    random = np.random.default_rng(seed)
    prior = random.integers(0, values, size) * random.integers(0, 2, size)
    total, space = base + prior, score_space(size, 1, 1)
    touched = 0
    for b in np.flatnonzero(random.integers(0, 3, size) == 0):
        touched = add(space, touched, b, 1, 1, 0)
        total[b] = space.total[touched] = random.integers(0, 2 * values)
    named = np.flatnonzero(prior).astype(np.int32)
    rank = np.argsort(-prior[named], kind="stable").astype(np.int32)
    plan = no_plan()._replace(prior_candidate=named, weighed_prior=prior[named], prior_rank=rank)
    load_priors(plan, space)
    known, answer = np.flatnonzero(random.integers(0, 4, size) == 0), int(random.integers(0, size))
    others = np.setdiff1d(np.arange(size), [*known, answer])
    space.walk.seen[[*known, answer]] = 1
    chosen = np.zeros(most, np.int64)
    found = best_candidates(plan, space, touched, base, 1, chosen)
    order = others[np.argsort(-total[others], kind="stable")]
    assert chosen[:found].tolist() == order[total[order] > 0][:most].tolist()
    arguments = known.astype(np.int32), answer, answer in known
    assert without_evidence(plan, space, touched, base, 1, *arguments) == np.count_nonzero(total[others] == 0)


def no_plan() -> Plan:
    kb = KnowledgeBase.from_facts([("a", "p", "b")])
    return Ranker(RuleSet.empty(kb), kb, 1).target_plan(0, 0)[0]
