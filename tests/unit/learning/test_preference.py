"""Which rules are kept: by F1 whatever found them, and each once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from nlil.datasets import load_dataset
from nlil.datasets.planted import planted
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.ruleset import RuleSet
from nlil.kernel.statistics import rule_stats
from nlil.learning.learner import Learner
from nlil.learning.preference import preferred, rule_f1, without_repeats
from nlil.logic.parse import parse_rule
from nlil.logic.rule import RuleStats, ScoredRule

KIN = load_dataset("kin").kb


def counted(*texts: str) -> RuleSet:
    rules = [parse_rule(text) for text in texts]
    stats = [rule_stats(Evaluator(KIN), rule) for rule in rules]
    return RuleSet.of(KIN, [ScoredRule(rule, s, s.smoothed) for rule, s in zip(rules, stats)])


def texts(rules: RuleSet) -> list[str]:
    return [str(scored.rule) for scored in rules]


def targets(rules: RuleSet) -> np.ndarray:
    return np.unique(rules.head).astype(np.int32)


@pytest.mark.parametrize("search", ["count", "neural"])
def test_top_rules_keeps_the_best_f1_of_every_search(search: str) -> None:
    base = planted("conjunction", size=120)
    learner = Learner(search=search, epochs=10, restarts=2, steps=1, threads=1, priors=False)
    every = learner.fit(base.kb, [base.target]).rules
    (kept,) = Learner(learner.config, top_rules=1).fit(base.kb, [base.target]).rules
    best = every[int(np.argmax(rule_f1(every)))]
    assert rule_f1(RuleSet.of(base.kb, [kept])) == rule_f1(RuleSet.of(base.kb, [best]))


def test_a_head_with_a_constant_is_measured_by_the_whole_target() -> None:
    name = KIN.entities.name(0)
    sure = ScoredRule(parse_rule(f"aunt(X, {name}) :- niece({name}, X)."), RuleStats(3, 3, 3), 0.4)
    whole = ScoredRule(parse_rule("aunt(X, Y) :- niece(Y, X)."), RuleStats(40, 60, 80), 0.6)
    sets = RuleSet.of(KIN, [sure, whole])
    assert rule_f1(sets).tolist() == [6 / 83, 80 / 140]
    assert texts(preferred(sets, targets(sets), 1)) == [str(whole.rule)]


def test_of_equals_the_first_in_the_order_of_the_set_stays() -> None:
    rules = counted("aunt(X, Y) :- niece(Y, X).", "aunt(X, Y) :- sister(X, Z1), mother(Z1, Y).")
    kept = preferred(rules, targets(rules), 1)
    assert len(kept) == 1
    assert len(preferred(rules, targets(rules), 0)) == 2


@pytest.mark.parametrize(
    ("repeat", "kept"),
    [
        ("aunt(X, Y) :- nephew(Y, X), female(X).", 1),
        ("aunt(X, Y) :- \\+ (\\+ female(X) ; \\+ nephew(Y, X)).", 1),
        ("aunt(X, Y) :- nephew(Y, X), male(Y).", 2),
    ],
)
def test_a_rule_that_says_the_same_is_one_rule(repeat: str, kept: int) -> None:
    rules = counted("aunt(X, Y) :- (female(X), nephew(Y, X)), Y \\= X.", repeat)
    assert len(without_repeats(rules, np.array([False, True]))) == kept


def test_rules_that_are_not_suspected_are_left_alone() -> None:
    rules = counted(
        "aunt(X, Y) :- (female(X), nephew(Y, X)), Y \\= X.",
        "aunt(X, Y) :- female(X), nephew(Y, X).",
        "aunt(X, Y) :- nephew(Y, X), female(X).",
    )
    found: Sequence[str] = texts(without_repeats(rules, np.array([False, False, True])))
    assert found == texts(rules)[:2]


def test_counted_and_trained_rules_repeat_nothing() -> None:
    """On this base attentions find chains with filters that counting has already."""
    learner = Learner(search="both", neural_targets=2, epochs=40, restarts=4, refine=False, threads=1)
    rules = learner.fit(KIN, ["aunt"]).rules
    assert len(without_repeats(rules, rules.is_program)) == len(rules)


def test_a_search_that_ends_with_nothing_says_so() -> None:
    base = planted("tree", label_noise=0.5)
    settings = {"search": "neural", "epochs": 5, "restarts": 2, "steps": 1, "threads": 1, "priors": False}
    learned = Learner(min_confidence=1.0, min_support=50, **settings).fit(base.kb, [base.target])
    assert not len(learned.rules)
    (note,) = learned.notes
    assert note.startswith("training found no rule for 1 of 1 targets (facial/1): it reached F1 up to 0.")
    assert "explains 50 of them with confidence 1; lower min_confidence" in note
    assert not Learner(min_confidence=0.0, min_support=1, **settings).fit(base.kb, [base.target]).notes
