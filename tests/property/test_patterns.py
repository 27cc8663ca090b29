"""What patterns say about objects, and the counts of the rules made of them, against the evaluator."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nlil.data.kb import KnowledgeBase
from nlil.evaluation.members import MemberScorer
from nlil.kernel.aggregation import SCALE
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.statistics import rule_stats
from nlil.logic.formula import ANY, Formula, Statement, X, statements
from nlil.logic.predicate import Step
from nlil.logic.rule import Head, Rule
from nlil.scene.fitting import ClassModel, LabelledObjects, class_counts, one_hot, scores
from nlil.scene.joint import as_rules, labelled_rows
from nlil.scene.lean import with_literals
from nlil.scene.patterns import Patterns, find_patterns
from nlil.scene.sure_patterns import with_clear_conjunctions
from property.scene_cases import CAT, CLASSES, PREDICATES, scenes

MEMORY = 2**30
TARGETS = np.array(sorted(CLASSES), np.int32)


def patterns_of(kb: KnowledgeBase, moves: int = 2, least: int = 1) -> Patterns:
    return find_patterns(kb, np.flatnonzero(kb.domain).astype(np.int32), moves, least, MEMORY)


def rows_of(patterns: Patterns) -> list[set[int]]:
    """The entities of each pattern."""
    return [set(patterns.entities[column].tolist()) for column in patterns.held.toarray().T]


def bodies_of(patterns: Patterns) -> list[Formula]:
    """What each pattern is."""
    kb = patterns.kb
    return [patterns.bodies.formula(i, kb.predicates, kb.entities.name) for i in range(len(patterns))]


def holds(evaluator: Evaluator, body: Formula) -> set[int]:
    """The entities of this world for which the body holds while their classes are hidden."""
    kb = evaluator.kb
    values = evaluator.values(Rule(Head.of(CAT), body, distinct=True), np.arange(kb.num_entities), hide=True)
    return set(np.flatnonzero((values > 0) & kb.domain).tolist())


@settings(deadline=None, max_examples=60)
@given(scenes(), st.integers(0, 2))
def test_a_pattern_has_the_objects_for_which_the_engine_says_it_holds(kb: KnowledgeBase, moves: int) -> None:
    patterns = patterns_of(kb, moves)
    evaluator = Evaluator(kb)
    for body, rows in zip(bodies_of(patterns), rows_of(patterns), strict=True):
        assert rows == holds(evaluator, body), str(body)


def promised(kb: KnowledgeBase, moves: int) -> list[Statement]:
    """Every body that the opening words of patterns.py promise, written out."""

    def said(of: frozenset[int], arity: int) -> list[Step]:
        inverses = (False, True) if arity == 2 else (False,)
        return [Step(PREDICATES[p], i) for p in sorted(of) if PREDICATES[p].arity == arity for i in inverses]

    plain = frozenset(range(len(PREDICATES))) - kb.geometry
    paths: list[tuple[Step, ...]] = [()]
    for _ in range(moves):
        paths += [(*path, step) for path in paths for step in said(plain, 2)]
    found = {(*path, end) for path in paths for end in said(plain, 1)} | {path for path in paths if path}
    found |= {(step,) for step in said(kb.geometry, 1)}
    if moves:
        found |= {(step, *end) for step in said(kb.geometry, 2) for end in [(), *[(s,) for s in said(CLASSES, 1)]]}
        found |= {
            (step, one, other)
            for step in said(plain, 2)
            for one in said(CLASSES, 1)
            for other in said(plain - CLASSES, 1)
        }
    found -= {(step,) for step in said(CLASSES, 1)}
    return [*[Statement(X, path, ANY) for path in found], *[Statement(ANY, (step,), ANY) for step in said(CLASSES, 1)]]


@settings(deadline=None, max_examples=6)
@given(scenes(), st.integers(1, 2), st.integers(1, 3))
def test_nothing_that_is_promised_is_missing(kb: KnowledgeBase, moves: int, least: int) -> None:
    """Of the bodies that hold for the same objects one is there, the simplest: with the fewest moves; then sets."""

    def order(body: Formula) -> int:
        assert isinstance(body, Statement)
        moves = sum(not step.is_filter for step in body.steps)
        return 9 if body.start != X else 10 if len(body.steps) > moves + 1 else moves

    patterns = patterns_of(kb, moves, least)
    evaluator, simplest = Evaluator(kb), dict[frozenset[int], int]()
    for body in promised(kb, moves):
        rows = frozenset(holds(evaluator, body))
        if len(rows) >= least:
            simplest[rows] = min(order(body), simplest.get(rows, 10))
    found = [frozenset(rows) for rows in rows_of(patterns)]
    assert len(found) == len(set(found))
    assert dict(zip(found, map(order, bodies_of(patterns)), strict=True)) == simplest


@st.composite
def models(draw: st.DrawFn, patterns: Patterns) -> ClassModel:
    pairs = [(p, c) for p in range(len(patterns)) for c in range(len(TARGETS))]
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=15, unique=True))
    number = st.floats(-3, 3).filter(lambda w: abs(w) > 0.05)
    weight = draw(st.lists(number, min_size=len(chosen), max_size=len(chosen)))
    bias = draw(st.lists(st.floats(-5, 5), min_size=len(TARGETS) + 1, max_size=len(TARGETS) + 1))
    pattern, target = np.array(chosen, np.int32).T
    return ClassModel.of(pattern, target, np.array(weight), np.array(bias))


def with_conjunctions(kb: KnowledgeBase, patterns: Patterns) -> tuple[Patterns, LabelledObjects]:
    """Conjunctions found by counting and of patterns that a model has; what counts objects knows them as well."""
    rows, label = labelled_rows(kb, patterns.entities, TARGETS)
    shares = one_hot(label, len(TARGETS) + 1)
    data = LabelledObjects(label, patterns.held[rows], shares)
    patterns, _, _ = with_clear_conjunctions(patterns, data, class_counts(data), 1)
    data = LabelledObjects(label, patterns.held[rows], shares)
    few = range(min(len(patterns), 4))
    singles = [line for line in few if patterns.bodies.line[line] >= 0]
    grown = [(i, j if sign else ~j) for i in singles for j in singles if i < j for sign in (True, False)]
    patterns, _ = with_literals(patterns, grown)
    return patterns, LabelledObjects(label, patterns.held[rows], shares)


@settings(deadline=None, max_examples=40)
@given(scenes())
def test_conjunctions_hold_for_the_objects_that_the_engine_says(kb: KnowledgeBase) -> None:
    single = patterns_of(kb)
    patterns, data = with_conjunctions(kb, single)
    bodies = bodies_of(patterns)
    assert bodies[: len(single)] == bodies_of(single)
    assert len(bodies) == len(set(bodies))
    evaluator = Evaluator(kb)
    for body, rows in zip(bodies_of(patterns), rows_of(patterns), strict=True):
        assert rows == holds(evaluator, body), str(body)
    rows, _ = labelled_rows(kb, patterns.entities, TARGETS)
    assert data.held.toarray().tolist() == patterns.held.toarray()[rows].tolist()


def knows_own_class(body: Formula) -> bool:
    """Whether hiding the classes of an object can change the body: it asks for a class anywhere in the graph."""
    return any(s.start == ANY for s in statements(body))


@settings(deadline=None, max_examples=60)
@given(scenes(), st.data())
def test_rules_have_the_counts_of_the_engine(kb: KnowledgeBase, data: st.DataObject) -> None:
    patterns, labelled = with_conjunctions(kb, patterns_of(kb))
    assume(len(patterns))
    rules = as_rules(kb, patterns, data.draw(models(patterns)), labelled, TARGETS)
    evaluator = Evaluator(kb)
    for scored in rules:
        rule, stats = scored.rule, scored.stats
        members = set(kb.members(kb.predicate_id(rule.target)).tolist())
        values = evaluator.values(rule, np.arange(kb.num_entities), hide=True)
        found = set(np.flatnonzero((values > 0) & kb.domain).tolist())
        assert (stats.support, stats.body_size, stats.head_size) == (len(found & members), len(found), len(members))


@settings(deadline=None, max_examples=40)
@given(scenes(everyone=True), st.data())
def test_rules_have_the_statistics_of_the_engine(kb: KnowledgeBase, data: st.DataObject) -> None:
    """It hides the classes of the target's own objects only, so bodies that ask for a class anywhere differ."""
    patterns, labelled = with_conjunctions(kb, patterns_of(kb))
    rules = as_rules(kb, patterns, data.draw(models(patterns)), labelled, TARGETS)
    evaluator = Evaluator(kb)
    for scored in rules:
        expected = rule_stats(evaluator, scored.rule)
        if knows_own_class(scored.rule.body):
            assert scored.stats.support == expected.support
        else:
            assert scored.stats == expected, str(scored.rule)


@settings(deadline=None, max_examples=60)
@given(scenes(), st.data())
def test_the_evidence_of_rules_is_the_model(kb: KnowledgeBase, data: st.DataObject) -> None:
    """Up to one shift and one factor for all objects and classes, so the order of the classes is the same."""
    patterns, labelled = with_conjunctions(kb, patterns_of(kb))
    assume(len(patterns))
    model = data.draw(models(patterns))
    rules = as_rules(kb, patterns, model, labelled, TARGETS)
    given_scores = scores(model, patterns.held)[:, : len(TARGETS)]
    evidence = MemberScorer(rules, kb, TARGETS, 1).evidence(patterns.entities) / SCALE
    one, other = (a - a[:, :1] for a in (given_scores, evidence))
    assert evidence.min() > -1e-9
    factor = np.abs(other).max() / max(np.abs(one).max(), 1e-9)
    assert 0 < factor <= 1 + 1e-4
    assert np.allclose(one * factor, other, atol=2e-4), one * factor - other
