"""Triple classification: figures by hand, thresholds from validation alone."""

from __future__ import annotations

import numpy as np
import pytest

from nlil.data.facts import Facts, Splits
from nlil.data.kb import KnowledgeBase
from nlil.evaluation.protocol import evaluate
from nlil.evaluation.triples import area_under_roc, best_cut, fact_scores
from nlil.kernel.ruleset import RuleSet
from nlil.logic.parse import parse_rule
from nlil.logic.rule import RuleStats, ScoredRule


def base(weights: tuple[float, float]) -> tuple[KnowledgeBase, RuleSet]:
    """strong(x, y) and weak(x, y) speak for p(x, y) with the given weights, for t(x) with .5."""
    named: list[tuple[str, ...]] = [("x0", "p", "y7"), ("x7", "t")]
    named += [(f"x{i}", "strong" if i < 4 else "weak", f"y{i}") for i in range(8)]
    kb = KnowledgeBase.from_facts(named)
    texts = (
        ("p(X, Y) :- strong(X, Y).", weights[0]),
        ("p(X, Y) :- weak(X, Y).", weights[1]),
        ("t(X) :- strong(X, Z1).", 0.5),
    )
    return kb, RuleSet.of(kb, [ScoredRule(parse_rule(text), RuleStats(1, 2, 1, 1), w) for text, w in texts])


def p(kb: KnowledgeBase, *numbers: int) -> Facts:
    predicate = kb.predicate_id(kb.predicate("p"))
    ends = [np.array([kb.entities.id(f"{letter}{i}") for i in numbers], np.int32) for letter in "xy"]
    return Facts(np.full(len(numbers), predicate, np.int32), *ends)


def t(kb: KnowledgeBase, *numbers: int) -> Facts:
    predicate = kb.predicate_id(kb.predicate("t"))
    subject = np.array([kb.entities.id(f"x{i}") for i in numbers], np.int32)
    return Facts(np.full(len(numbers), predicate, np.int32), subject, np.full_like(subject, -1))


def test_area_by_hand() -> None:
    # Pairs (true, false): .9 beats both, .4 beats .1 and ties with .4: 3.5 of 4.
    assert area_under_roc(np.array([0.9, 0.4, 0.4, 0.1]), np.array([True, True, False, False])) == 3.5 / 4
    assert area_under_roc(np.zeros(6), np.arange(6) < 2) == 0.5


@pytest.mark.parametrize(
    ("score", "is_true", "cut"),
    [
        ([0.2, 0.8], [False, True], 0.5),
        ([0.2, 0.8], [True, True], -0.8),
        ([0.2, 0.8], [False, False], 1.8),
        ([0.1, 0.3, 0.5, 0.5, 0.5], [False, True, True, True, False], 0.2),
    ],
)
def test_best_cut(score: list[float], is_true: list[bool], cut: float) -> None:
    assert best_cut(np.array(score), np.array(is_true)) == pytest.approx(cut)


def test_thresholds_come_from_validation() -> None:
    kb, rules = base((0.8, 0.2))
    # In validation strong is true and weak false; in the test one of each is the other way round.
    splits = Splits(kb.facts, p(kb, 0, 1), p(kb, 2, 6), {"valid": p(kb, 4, 5), "test": p(kb, 3, 7)})
    figures = evaluate(rules, kb, splits.test, splits=splits)
    assert figures["accuracy"] == 0.5
    assert figures["auc"] == 0.5
    assert figures.per_predicate["p/2"]["accuracy"] == 0.5
    perfect = Splits(kb.facts, p(kb, 0, 1), p(kb, 2, 3), {"valid": p(kb, 4, 5), "test": p(kb, 6, 7)})
    assert evaluate(rules, kb, perfect.test, splits=perfect)["accuracy"] == 1.0
    # The test is the opposite of validation: thresholds chosen on it would be right half of the time or more.
    opposite = Splits(kb.facts, p(kb, 0, 1), p(kb, 6, 7), {"valid": p(kb, 4, 5), "test": p(kb, 2, 3)})
    assert evaluate(rules, kb, opposite.test, splits=opposite)["accuracy"] == 0.0


def test_each_predicate_has_its_threshold() -> None:
    # t is true at .5 and p is true at .8 only, false at .6: one threshold cannot do both.
    kb, rules = base((0.8, 0.6))
    valid, test = p(kb, 0, 1) + t(kb, 0), p(kb, 2, 3) + t(kb, 1, 2)
    splits = Splits(kb.facts, valid, test, {"valid": p(kb, 4, 5) + t(kb, 4), "test": p(kb, 6, 7) + t(kb, 5, 6)})
    figures = evaluate(rules, kb, splits.test, splits=splits)
    assert figures["accuracy"] == 1.0
    assert figures.per_predicate["t/1"]["auc"] == 1.0
    assert figures["auc"] < 1.0


def test_without_validation_negatives_there_is_no_accuracy() -> None:
    kb, rules = base((0.8, 0.2))
    splits = Splits(kb.facts, p(kb, 0, 1), p(kb, 2, 3), {"test": p(kb, 6, 7)})
    figures = evaluate(rules, kb, splits.test, splits=splits)
    assert figures["auc"] == 1.0
    assert "accuracy" not in figures.values
    assert any("valid_negatives" in note for note in figures.notes)
    both = Splits(kb.facts, p(kb, 0, 1), p(kb, 2, 3), {"valid": p(kb, 4, 5)})
    on_valid = evaluate(rules, kb, both.valid, splits=both, split="valid")
    assert "accuracy" not in on_valid.values
    assert "auc" not in evaluate(rules, kb, both.test, splits=both).values


def test_a_fact_is_hidden_from_itself() -> None:
    kb = KnowledgeBase.from_facts([("a", "p", "b"), ("b", "p", "a"), ("c", "p", "d")])
    symmetric = parse_rule("p(X, Y) :- p(Y, X).")
    copies = parse_rule("p(X, Y) :- p(X, Z1), p(Z2, Z1), p(Z2, Y).")
    rules = RuleSet.of(kb, [ScoredRule(rule, RuleStats(1, 2, 1, 1), 0.5) for rule in (symmetric, copies)])
    assert fact_scores(rules, kb, kb.facts) == pytest.approx([0.5, 0.5, 0.0])
