"""Exclusions of a rule set: kept wherever its rules are kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nlil import KnowledgeBase, Predicate, ScoredRule, parse_rule
from nlil.errors import RuleError
from nlil.kernel.binding import bind
from nlil.kernel.exclusion import Exclusion
from nlil.kernel.rule_file import load_rules, save_rules
from nlil.kernel.ruleset import RuleSet
from nlil.logic.predicate import Step
from nlil.logic.rule import RuleStats

P, Q, R = (Predicate(name, 2) for name in "pqr")
EXCLUSIONS = (
    Exclusion(P, Step(Q), 41.25, 812),
    Exclusion(P, Step(P, inverse=True), 1.5, 812),
    Exclusion(R, Step(Q, inverse=True), 3.0, 7, 2),
)


def base(facts: str = "a p b;b q c;a r d") -> KnowledgeBase:
    return KnowledgeBase.from_facts([tuple(fact.split()) for fact in facts.split(";")])


@pytest.fixture
def rules() -> RuleSet:
    texts = ("p(X, Y) :- q(X, Y).", "r(X, Y) :- q(X, Y), \\+ p(X, Y).", "r(X, Y) :- q(Y, X).")
    scored = [ScoredRule(parse_rule(text), RuleStats(1, 2, 3, 2), 0.5) for text in texts]
    return replace(RuleSet.of(base(), scored), exclusions=EXCLUSIONS)


def test_text() -> None:
    assert [str(e) for e in EXCLUSIONS] == [":- p(X, Y), q(X, Y).", ":- p(X, Y), p(Y, X).", ":- r(X, Y), q(Y, X)."]
    assert [e.counts for e in EXCLUSIONS] == [
        "0 of 812 facts; 41 expected",
        "0 of 812 facts; 1.5 expected",
        "2 of 7 facts; 3.0 expected",
    ]


@pytest.mark.parametrize(("target", "step"), [(P, Step(P)), (Predicate("u", 1), Step(P)), (P, Step(Predicate("u", 1)))])
def test_two_different_binary_relations(target: Predicate, step: Step) -> None:
    with pytest.raises(RuleError, match="two different binary relations"):
        Exclusion(target, step, 1.0)


def test_parts_of_a_set_keep_theirs(rules: RuleSet) -> None:
    assert RuleSet.empty(base()).exclusions == ()
    assert rules.take(np.array([1])).exclusions == EXCLUSIONS
    assert rules.for_target("p").exclusions == rules.for_target(P).exclusions == EXCLUSIONS[:2]
    assert rules.for_target("r/2").exclusions == EXCLUSIONS[2:]
    parts = [rules.for_target("r"), rules, replace(rules, exclusions=())]
    assert RuleSet.join(parts).exclusions == (EXCLUSIONS[2], *EXCLUSIONS[:2])


def test_another_base_knows_some_of_them(rules: RuleSet) -> None:
    bound = bind(rules, base("z q y;z p y;z s y"))
    assert bound.rules.exclusions == EXCLUSIONS[:2]
    assert (bound.unknown_exclusion, bound.unknown_predicate) == (1, 2)
    same = bind(rules, base())
    assert (same.rules.exclusions, same.unknown_exclusion) == (EXCLUSIONS, 0)


def test_saved_and_loaded(rules: RuleSet, tmp_path: Path) -> None:
    file = tmp_path / "rules.parquet"
    save_rules(rules, file)
    assert load_rules(file, rules.entities).exclusions == EXCLUSIONS
