"""Training on badly ranked validation facts: what it finds joins the rules where other facts gain by it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nlil.config import LearnerConfig
from nlil.data.facts import Facts
from nlil.data.kb import KnowledgeBase
from nlil.kernel.counting import count_statistics
from nlil.kernel.ruleset import RuleSet
from nlil.learning.residuals import losing_targets, residual_rules
from nlil.learning.validation import Fold
from nlil.logic.parse import parse_rule
from nlil.logic.rule import RuleStats, ScoredRule
from nlil.neural.sampling import Sampler

CONFIG = LearnerConfig(
    residuals=1, levels=0, steps=1, restarts=2, epochs=10, threads=1, min_confidence=0.1, positives=50, device="cpu"
)
SEES, KNOWS = "p(X, Y) :- q(X, Y).", "p(X, Y) :- s(X, Y)."


def fold(count: int, *texts: str) -> Fold:
    """p is s; q proposes three others beside it. Half of the facts of p are those to judge by."""
    facts = []
    for i in range(count):
        facts += [(f"a{i}", name, f"{end}{i}") for name, end in zip("pqqqqs", "bbcdeb")]
    kb = KnowledgeBase.from_facts(facts)
    mine = kb.facts.of(kb.predicate_id(kb.predicate("p")))[::2]
    base = replace(kb, facts=kb.facts[~kb.facts.isin(mine)])
    rules = RuleSet.of(base, [ScoredRule(parse_rule(text), RuleStats(0, 0, 0, 0), 0.0) for text in texts])
    return Fold(base, replace(count_statistics(rules, base), weight=None), mine, kb.facts)


def test_what_is_found_for_badly_ranked_facts_joins_the_rules() -> None:
    judge = fold(240, SEES)
    found, (note,) = residual_rules(judge, np.array([judge.kb.predicate_id(judge.kb.predicate("p"))]), CONFIG)
    assert [str(scored.rule) for scored in found] == ["p(X, Y) :- s(X, Y), Y \\= X."]
    assert "joined the rules" in note
    assert (found.support[0], found.body_size[0]) == (120, 240), "counted on the training facts"


def test_where_nothing_ranks_badly_nothing_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = fold(240, SEES, KNOWS)
    monkeypatch.setattr("nlil.learning.residuals._trained", lambda *_: pytest.fail("there is nothing to train on"))
    found, (note,) = residual_rules(judge, np.array([judge.kb.predicate_id(judge.kb.predicate("p"))]), CONFIG)
    assert not len(found)
    assert "no target" in note


def test_what_is_at_hand_already_or_helps_nobody_does_not_join(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = fold(240, SEES)
    monkeypatch.setattr("nlil.learning.residuals._trained", lambda fold, *_: fold.rules)
    found, (note,) = residual_rules(judge, np.array([judge.kb.predicate_id(judge.kb.predicate("p"))]), CONFIG)
    assert not len(found)
    assert "0 new rules" in note


def test_targets_that_lose_most_come_first() -> None:
    facts = Facts(np.repeat([0, 1, 2], 60), np.arange(180), np.arange(180))
    score = np.repeat([0.5, 0.2, 0.1], 60)
    half = np.arange(180) % 2 == 0
    few = half & (facts.predicate != 2)  # of 2 no fact can be trained on
    assert losing_targets(facts, score, half, ~half, 2) == [2, 1]
    assert losing_targets(facts, score, few, ~half, 3) == [1, 0]


def test_given_positives_are_what_is_trained_on_and_no_true_fact_is_a_negative() -> None:
    judge = fold(40, SEES)
    target = judge.kb.predicate_id(judge.kb.predicate("p"))
    train, checked = Sampler(judge.kb, CONFIG, positives=judge.facts).queries(target)
    true = set(zip(judge.facts.subject.tolist(), judge.facts.object.tolist()))
    mine = judge.kb.facts.of(target)
    known = true | set(zip(mine.subject.tolist(), mine.object.tolist()))
    for queries in (train, checked):
        pairs = list(zip(queries.x.tolist(), queries.y.tolist()))
        assert {pair for pair, label in zip(pairs, queries.label) if label} <= true
        assert not {pair for pair, label in zip(pairs, queries.label) if not label} & known
        assert not queries.hide.any(), "the base does not have them: there is nothing to hide"
