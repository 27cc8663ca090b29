"""What evaluate says about recursive targets beside the figures one step ahead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kbs
from commandline import Nlil
from nlil.data.facts import Splits
from nlil.data.kb import KnowledgeBase
from nlil.evaluation import fixpoints
from nlil.evaluation.metrics import Metrics
from nlil.evaluation.protocol import evaluate
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.exclusion import Exclusion
from nlil.kernel.ruleset import RuleSet
from nlil.kernel.statistics import rule_stats
from nlil.logic.parse import parse_rule
from nlil.logic.predicate import Predicate, Step
from nlil.logic.rule import ScoredRule

BASE = "even(X) :- zero(X)."
STEP = "even(X) :- even(Z2), succ(Z2, Z1), succ(Z1, X)."
BOTH_WAYS = "even(X) :- even(Z2), succ(Z2, Z1), succ(Z1, X) ; succ(X, Z3), succ(Z3, Z4), even(Z4)."
FROM_ODD, FROM_EVEN = "even(X) :- odd(Z1), succ(Z1, X).", "odd(X) :- even(Z1), succ(Z1, X)."
CLOSURE = ("q(X, Y) :- p(X, Y).", "q(X, Y) :- q(X, Z1), p(Z1, Y).")
KEYS = ("fixpoint_precision", "fixpoint_recall", "fixpoint_f1")


def rule_set(kb: KnowledgeBase, *texts: str) -> RuleSet:
    evaluator = Evaluator(kb)
    counted = [(rule, rule_stats(evaluator, rule)) for rule in map(parse_rule, texts)]
    return RuleSet.of(kb, [ScoredRule(rule, stats, stats.smoothed) for rule, stats in counted])


def judged(kb: KnowledgeBase, *texts: str) -> Metrics:
    return evaluate(rule_set(kb, *texts), kb, kb.facts)


def figures(metrics: Metrics, *keys: str) -> tuple[float, ...]:
    return tuple(metrics.values[key] for key in keys)


def chain() -> KnowledgeBase:
    return KnowledgeBase.from_facts(["apb", "bpc", "cpd", "aqb", "bqc", "cqd", "aqc", "bqd", "aqd"])


def test_perfect_one_step_ahead_and_nothing_derived() -> None:
    metrics = judged(kbs.even(), BOTH_WAYS)
    assert figures(metrics, "precision", "recall", "f1") == (1, 1, 1)
    assert figures(metrics, *KEYS) == (0, 0, 0)
    assert metrics.per_predicate["even/1"]["fixpoint_recall"] == 0
    assert metrics.per_predicate["even/1"]["f1"] == 1


def test_the_right_program() -> None:
    assert figures(judged(kbs.even(), BASE, STEP), *KEYS) == (1, 1, 1)


def test_rules_without_recursion_are_judged_as_before() -> None:
    metrics = judged(kbs.even(), BASE)
    assert not set(KEYS) & set(metrics.values)
    assert metrics.notes == ("7 of 11 facts do not count: their predicate is not a target of the rules",)


def test_targets_that_define_one_another() -> None:
    kb = kbs.knowledge_base(kbs.EVEN + "".join(f"n{i} odd\n" for i in (1, 3, 5)))
    whole = judged(kb, BASE, FROM_ODD, FROM_EVEN)
    assert figures(whole, *KEYS) == (1, 1, 1)
    assert [name for name, row in whole.per_predicate.items() if "fixpoint_f1" in row] == ["even/1", "odd/1"]
    assert any("even/1, odd/1 are mutually recursive" in note for note in whole.notes)
    assert figures(judged(kb, FROM_ODD, FROM_EVEN), *KEYS) == (0, 0, 0)


def test_rules_for_what_the_recursion_starts_from_take_part() -> None:
    kb = kbs.knowledge_base(kbs.EVEN + "n0 start\n")
    rules = rule_set(kb, "even(X) :- start(X).", STEP, "start(X) :- zero(X).")
    without = kb.without([kb.predicate_id(kb.predicate("start"))])
    assert figures(evaluate(rules, without, kb.facts), *KEYS) == (1, 1, 1)


def test_false_facts_cost_precision() -> None:
    """n8 follows n6 over a gap: one step ahead the rule is right, from zero it goes on to numbers that are not even."""
    facts = kbs.EVEN + "n6 succ n7\nn7 succ n8\nn8 succ n9\nn9 succ n10\n"
    many = "".join(f"m{i} succ k{i}\nk{i} succ l{i}\nm{i} even\nl{i} even\nm{i} zero\n" for i in range(20))
    metrics = judged(kbs.knowledge_base(facts + many), BASE, STEP)
    assert metrics["fixpoint_recall"] == 1
    assert metrics["fixpoint_precision"] == 44 / 46


def test_facts_of_all_splits_are_true_and_none_is_given() -> None:
    whole = kbs.even()
    is_test = (whole.facts.predicate == whole.predicate_id(whole.predicate("even"))) & (whole.facts.subject > 4)
    kb = whole.with_facts(whole.facts[~is_test])
    splits = Splits(kb.facts, test=whole.facts[is_test])
    metrics = evaluate(rule_set(whole, BASE, STEP), kb, splits.test, splits=splits)
    assert len(splits.test) < 4
    assert figures(metrics, *KEYS) == (1, 1, 1)


def test_rules_below_the_confidence_take_no_part() -> None:
    metrics = judged(kbs.even(), BASE, STEP, "even(X) :- even(Z1), succ(Z1, X).", "even(X) :- true.")
    assert figures(metrics, *KEYS) == (1, 1, 1)


def test_negation_that_is_not_stratified_is_noted() -> None:
    kb = kbs.knowledge_base(kbs.EVEN + "".join(f"n{i} odd\n" for i in (1, 3, 5)))
    rules = rule_set(kb, BASE, STEP, "odd(X) :- succ(Z1, X), \\+ (succ(Z2, X), odd(Z2)).")
    metrics = evaluate(rules, kb, kb.facts)
    assert figures(metrics, *KEYS) == (1, 1, 1)
    assert "fixpoint_f1" not in metrics.per_predicate["odd/1"]
    assert any("fixpoint of odd/1 not evaluated" in note and "negate" in note for note in metrics.notes)


def test_binary_targets_within_their_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    assert figures(judged(chain(), *CLOSURE), *KEYS) == (1, 1, 1)
    monkeypatch.setattr(fixpoints, "MAX_FACTS", 5)
    metrics = judged(chain(), *CLOSURE)
    assert "mrr" in metrics.values
    assert "fixpoint_f1" not in metrics.values
    assert any("fixpoint of q/2 not evaluated: the rules derive more than 5 facts" in note for note in metrics.notes)


def test_exclusions_hold_in_a_fixpoint_too() -> None:
    """Nobody is q of e, and of d and c this can be known."""
    q, p, never = (Predicate(name, 2) for name in ("q", "p", "n"))
    kb = KnowledgeBase.from_facts(["apb", "bpc", "cpd", "aqb", "bqc", "cqd", "aqc", "bqd", "aqd", "dpe", "dne", "cne"])
    plain = replace(
        rule_set(kb, *CLOSURE), weight=None, support=np.full(2, 99, np.int32), body_size=np.full(2, 100, np.int32)
    )
    wrong = figures(evaluate(plain, kb, kb.facts), *KEYS)
    assert wrong == pytest.approx((6 / 10, 1, 0.75))  # d, c, b and a are all said to be q of e
    excluding = replace(plain, exclusions=(Exclusion(q, Step(never), 2.0),))
    assert figures(evaluate(excluding, kb, kb.facts), *KEYS[:2]) == (6 / 8, 1)
    # q is what is judged, so its own facts are not given and exclude nothing.
    own = replace(plain, exclusions=(Exclusion(q, Step(q, inverse=True), 2.0), Exclusion(p, Step(q), 1.0)))
    assert figures(evaluate(own, kb, kb.facts), *KEYS) == wrong


def test_many_rules_are_counted_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("a fixpoint was computed")

    rules = [*CLOSURE, *(f"q(X, d) :- p(X, {c})." for c in "cd")]
    monkeypatch.setattr(fixpoints, "MAX_RULES", 3)
    monkeypatch.setattr(fixpoints, "least_fixpoint", never)
    metrics = judged(chain(), *rules)
    assert any("4 confident rules are recursive, the limit is 3" in note for note in metrics.notes)
    with pytest.raises(AssertionError):
        judged(chain(), *rules[:3])


def test_classes_of_scenes_are_left_alone() -> None:
    metrics = judged(kbs.street(), "wheel(X) :- wheel(X), part_of(X, Z1) ; part_of(X, Z2).")
    assert "r@1" in metrics.values
    assert not set(KEYS) & set(metrics.values)


def test_the_command_line_shows_it(nlil_command: Nlil, tmp_path: Path) -> None:
    rules = tmp_path / "rules.pl"
    rules.write_text(f"{BASE}\n{STEP}\n")
    arguments = ("evaluate", "--rules", rules, "--data", "even:20", "--split", "train")
    assert [nlil_command(*arguments, "--json").json[key] for key in KEYS] == [1, 1, 1]
    assert all(key in nlil_command(*arguments).out for key in KEYS)
    rules.write_text("even(X) :- \\+ (succ(Z1, X), even(Z1)).\n")
    outcome = nlil_command(*arguments)
    assert "fixpoint of even/1 not evaluated" in outcome.err
    assert "fixpoint_f1" not in outcome.out
