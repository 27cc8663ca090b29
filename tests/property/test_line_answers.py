"""The compiled drivers on dense bases, crisp and soft, against the evaluator: lines, shapes, hidden facts."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlil.data.facts import NO_OBJECT, Facts
from nlil.data.kb import KnowledgeBase
from nlil.data.vocabulary import Vocabulary
from nlil.evaluation.members import MemberScorer
from nlil.evaluation.programs import program_evidence
from nlil.evaluation.ranking import Ranker
from nlil.kernel.aggregation import Aggregation, evidence
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.ruleset import RuleSet
from nlil.logic.formula import ANY, TRUE, Constant, Statement, X, Y
from nlil.logic.predicate import Predicate, Step
from nlil.logic.rule import Head, Rule, RuleStats, ScoredRule

BIG, RED, KNOWS, LIKES = Predicate("big", 1), Predicate("red", 1), Predicate("knows", 2), Predicate("likes", 2)
NAMES = "abcd"
ALL = Aggregation("noisy-or", 0)
STATS = RuleStats(1, 2, 3)
MOVES = [Step(p, inverse) for p in (KNOWS, LIKES) for inverse in (False, True)]
STEPS = [*MOVES, Step(BIG), Step(RED)]


@st.composite
def dense_bases(draw: st.DrawFn) -> KnowledgeBase:
    """Most facts that four entities can have; weights, several graphs and exclusive classes in some."""
    seed, share = draw(st.integers(0, 10_000)), draw(st.sampled_from([0.4, 0.8]))
    random = np.random.default_rng(seed)
    rows = [(p, s, NO_OBJECT) for p in (0, 3) for s in range(4)] + [
        (p, s, o) for p in (1, 2) for s in range(4) for o in range(4)
    ]
    columns = np.array(sorted(row for row in rows if random.random() < share), np.int32).reshape(-1, 3)
    weight = random.choice([0.25, 0.5, 0.75, 1.0], len(columns)).astype(np.float32) if draw(st.booleans()) else None
    graph_of = np.array([0, 0, 1, 0], np.int32) if draw(st.booleans()) else None
    classes = frozenset([0, 3]) if draw(st.booleans()) else frozenset()
    facts = Facts(*columns.T, weight)
    return KnowledgeBase(Vocabulary(tuple(NAMES)), (BIG, KNOWS, LIKES, RED), facts, graph_of, classes)


IN_THE_GRAPH = [Statement(ANY, (Step(BIG),), ANY), Statement(ANY, (Step(RED),), ANY)]
anchors = st.sampled_from([X, Y, X, Y, ANY, Constant("a"), Constant("b")])


@st.composite
def lines(draw: st.DrawFn, unary: bool) -> Statement:
    ends = [X if unary and end == Y else end for end in (draw(anchors), draw(anchors))]
    steps = tuple(draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=4)))
    return Statement(ends[0], steps, ends[1])


def without(kb: KnowledgeBase, subject: int, object_: int) -> KnowledgeBase:
    own = (kb.facts.predicate == 1) & (kb.facts.subject == subject) & (kb.facts.object == object_)
    return kb.with_facts(kb.facts[~own])


def values(kb: KnowledgeBase, rule: Rule, direction: int, known: int) -> np.ndarray:
    """Of every candidate."""
    ends = (np.full(len(NAMES), known), np.arange(len(NAMES)))
    return Evaluator(kb).values(rule, ends[direction], ends[1 - direction])


def check_line(kb: KnowledgeBase, line: Statement, distinct: bool, direction: int) -> None:
    """Each query hides a fact, which most bases have."""
    rule = Rule(Head.of(KNOWS), line, distinct)
    rules = RuleSet.of(kb, [ScoredRule(rule, STATS, 0.5)])
    pairs = np.array(list(product(range(4), range(-1, 4))), np.int32)
    known, hidden = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    found = program_evidence(rules, kb, 2 + direction, known, hidden, 2**30)
    for a, b, rows in zip(known.tolist(), hidden.tolist(), found):
        seen = kb if b < 0 else without(kb, *((b, a) if direction else (a, b)))
        expected = values(seen, rule, direction, a)
        assert rows[:, 0].tolist() == np.flatnonzero(expected).tolist()
        assert rows[:, 1].tolist() == pytest.approx(evidence(0.5 * expected[expected > 0]).tolist(), abs=1)


@settings(deadline=None, max_examples=150)
@given(dense_bases(), lines(unary=False), st.booleans(), st.integers(0, 1))
def test_a_line_holds_to_the_degree_of_the_evaluator(kb, line, distinct, direction):
    check_line(kb, line, distinct, direction)


@pytest.mark.slow
@settings(deadline=None, max_examples=2_000)
@given(dense_bases(), lines(unary=False), st.booleans(), st.integers(0, 1))
def test_many_lines_hold_to_the_degree_of_the_evaluator(kb, line, distinct, direction):
    check_line(kb, line, distinct, direction)


@settings(deadline=None, max_examples=150)
@given(dense_bases(), st.one_of(lines(unary=True), st.sampled_from(IN_THE_GRAPH)), st.booleans())
def test_a_line_of_an_entity_holds_to_the_degree_of_the_evaluator(kb, line, distinct):
    rule = Rule(Head.of(BIG), line, distinct)
    rules = RuleSet.of(kb, [ScoredRule(rule, STATS, 0.5)], ALL)
    everyone = np.arange(len(NAMES), dtype=np.int32)
    found = MemberScorer(rules, kb, np.array([0]), threads=1).evidence(everyone)[:, 0]
    expected = Evaluator(kb).values(rule, everyone.astype(np.int64), hide=True)
    assert found.tolist() == pytest.approx(evidence(0.5 * expected).tolist(), abs=1)


def every_shape() -> list[Rule]:
    """Rules of every shape that ranking has a loop for."""
    found = [
        Rule(Head.of(KNOWS), Statement(X, steps, Y), d)
        for n in (1, 2)
        for steps in product(MOVES, repeat=n)
        for d in (True, False)
    ]
    for c, side in product("ab", (0, 1)):
        head, variable = (Head(KNOWS, (X, Constant(c))), X) if side else (Head(KNOWS, (Constant(c), Y)), Y)
        found.append(Rule(head, TRUE))
        for step in MOVES:
            found += [Rule(head, Statement(variable, (step,), Constant(d)), True) for d in NAMES]
            found += [Rule(head, Statement(variable, (step,), ANY), d) for d in (True, False)]
    return list(dict.fromkeys(found))


SHAPES = every_shape()


@settings(deadline=None, max_examples=40)
@given(dense_bases(), st.integers(0, 1), st.integers(0, 3), st.integers(-1, 3), st.integers(0, 100))
def test_every_shape_counts_with_its_degree(kb, direction, known, hidden, seed):
    kb = replace(kb, graph_of=None)
    weight = np.random.default_rng(seed).choice([0.1, 0.3, 0.5], len(SHAPES))
    rules = RuleSet.of(kb, [ScoredRule(rule, STATS, w) for rule, w in zip(SHAPES, weight.tolist())], ALL)
    total = Ranker(rules, kb, threads=1).evidence(1, direction, known, hidden)
    seen = kb if hidden < 0 else without(kb, *((hidden, known) if direction else (known, hidden)))
    expected = np.zeros(len(NAMES), np.int64)
    for rule, w in zip(SHAPES, rules.weights):
        expected += evidence(values(seen, rule, direction, known) * w)
    assert total.tolist() == pytest.approx(expected.tolist(), abs=len(SHAPES))
