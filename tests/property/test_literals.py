"""Rules of a few simple statements, scored many at a time, have the evidence that the evaluator gives them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlil.data.kb import KnowledgeBase
from nlil.evaluation import members
from nlil.evaluation.members import MemberScorer
from nlil.kernel.aggregation import Aggregation, evidence
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.ruleset import RuleSet
from nlil.logic.formula import ANY, Constant, Statement, X
from nlil.logic.predicate import Step
from nlil.logic.rule import Head, Rule, RuleStats, ScoredRule
from property.scene_cases import CAT, DOG, MAN, NAMES, NEAR, RED, scenes, simple_bodies

AGGREGATIONS = (Aggregation("noisy-or", 0), Aggregation("noisy-or", 5), Aggregation("noisy-or", 2), Aggregation("max"))
weights = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])


def rules_about(*heads: Head) -> st.SearchStrategy[list[ScoredRule]]:
    rule = st.builds(Rule, st.sampled_from(heads), simple_bodies, st.booleans())
    scored = st.builds(lambda r, w: ScoredRule(r, RuleStats(1, 2, 3, None), w), rule, weights)
    return st.lists(scored, min_size=1, max_size=12)


def evidence_of(of: RuleSet, kb: KnowledgeBase, targets: list[int], is_quick: bool) -> np.ndarray:
    with pytest.MonkeyPatch.context() as patch:
        if not is_quick:
            patch.setattr(members, "walkable", lambda lines: np.zeros(lines.num_lines, bool))
            patch.setattr(members, "unanchored_sets", lambda lines, graph: np.zeros(lines.num_lines, bool))
        scorer = MemberScorer(of, kb, np.array(targets, np.int32), threads=1)
        assert not len(scorer.others) if is_quick else not len(scorer.column) + len(scorer.sets)
        return scorer.evidence(np.arange(kb.num_entities, dtype=np.int32))


@settings(deadline=None, max_examples=80)
@given(scenes(), rules_about(Head.of(CAT), Head.of(DOG), Head.of(MAN)), st.sampled_from(AGGREGATIONS))
def test_classes(kb: KnowledgeBase, scored: list[ScoredRule], aggregation: Aggregation) -> None:
    """All classes of the object are hidden, and its own membership in an unanchored set of a class."""
    of = RuleSet.of(kb, scored, aggregation)
    targets = sorted(kb.classes)
    quick, slow = (evidence_of(of, kb, targets, is_quick) for is_quick in (True, False))
    assert quick.tolist() == slow.tolist()


@settings(deadline=None, max_examples=30)
@given(scenes(), rules_about(Head.of(RED)), st.sampled_from(AGGREGATIONS))
def test_an_attribute(kb: KnowledgeBase, scored: list[ScoredRule], aggregation: Aggregation) -> None:
    """The attribute alone is hidden; what class the object has may be asked."""
    of = RuleSet.of(kb, scored, aggregation)
    quick, slow = (evidence_of(of, kb, [kb.predicate_id(RED)], is_quick) for is_quick in (True, False))
    assert quick.tolist() == slow.tolist()


@settings(deadline=None, max_examples=30)
@given(scenes(), rules_about(Head.of(CAT)))
def test_all_rules_count_where_none_is_left_out(kb: KnowledgeBase, scored: list[ScoredRule]) -> None:
    """Against the definition: the sum of the evidence of every rule whose body holds."""
    of = RuleSet.of(kb, scored, Aggregation("noisy-or", 0))
    everyone = np.arange(kb.num_entities)
    expected = np.zeros(kb.num_entities, np.int64)
    for row in range(len(of)):
        holds = Evaluator(kb).values(of.rule(row), everyone, hide=True) > 0
        expected += holds * evidence(of.weights[row : row + 1])
    assert evidence_of(of, kb, [kb.predicate_id(CAT)], True)[:, 0].tolist() == expected.tolist()


@settings(deadline=None, max_examples=20)
@given(scenes(), rules_about(Head.of(CAT), Head.of(DOG)), st.sampled_from(AGGREGATIONS))
def test_threads_and_blocks_change_nothing(
    kb: KnowledgeBase, scored: list[ScoredRule], aggregation: Aggregation
) -> None:
    of = RuleSet.of(kb, scored, aggregation)
    targets = np.array(sorted(kb.classes), np.int32)
    many = np.tile(np.arange(kb.num_entities, dtype=np.int32), 120)
    one, three = (MemberScorer(of, kb, targets, threads).evidence(many) for threads in (1, 3))
    few = MemberScorer(of, kb, targets, 1).evidence(many[: kb.num_entities])
    assert one.tolist() == three.tolist() == np.tile(few, (120, 1)).tolist()


@pytest.mark.parametrize(
    "statement",
    [
        Statement(X, (Step(NEAR),), Constant(NAMES[0])),
        Statement(X, (Step(NEAR),), X),
        Statement(ANY, (Step(NEAR), Step(CAT)), ANY),
        Statement(ANY, (Step(CAT), Step(DOG)), ANY),
    ],
)
def test_what_is_left_to_the_evaluator(statement: Statement) -> None:
    kb = KnowledgeBase.from_facts([(NAMES[0], "near", NAMES[1]), (NAMES[0], "cat"), (NAMES[0], "dog")])
    rule = ScoredRule(Rule(Head.of(CAT), statement), RuleStats(1, 2, 3, None), 0.5)
    scorer = MemberScorer(RuleSet.of(kb, [rule]), kb, np.array([kb.predicate_id(CAT)]))
    assert len(scorer.others) == (0 if statement.end == Constant(NAMES[0]) else 1)
