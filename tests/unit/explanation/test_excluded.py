"""What an explanation says about a fact that another one rules out."""

from __future__ import annotations

from dataclasses import replace

import pytest

import kbs
from nlil import KnowledgeBase, Predicate, ScoredRule, explain, parse_rule
from nlil.explanation.why import Explanation
from nlil.kernel.exclusion import Exclusion
from nlil.kernel.ruleset import RuleSet
from nlil.logic.predicate import Step
from nlil.logic.rule import RuleStats
from nlil.logic.text import fact_text

AUNT, MOTHER, MARRIED = (Predicate(name, 2) for name in ("aunt", "mother", "married"))


def explained(kb: KnowledgeBase, fact: str, *exclusions: Exclusion) -> Explanation:
    texts = ("aunt(X, Y) :- female(X), female(Y).", "aunt(X, cleo) :- true.", "married(X, Y) :- aunt(X, Y).")
    scored = [ScoredRule(parse_rule(text), RuleStats(1, 2, 3, 2), 0.5) for text in texts]
    return explain(replace(RuleSet.of(kb, scored), exclusions=exclusions), kb, fact)


@pytest.mark.parametrize(
    ("fact", "step", "by"),
    [
        ("aunt(bea, cleo)", Step(MOTHER), "mother(bea, cleo)"),
        ("aunt(cleo, bea)", Step(MOTHER, inverse=True), "mother(bea, cleo)"),
        ("aunt(dora, bea)", Step(AUNT, inverse=True), "aunt(bea, dora)"),
    ],
)
def test_the_fact_that_excludes_is_named(fact: str, step: Step, by: str) -> None:
    kb = kbs.family()
    assert explained(kb, fact).score > 0
    got = explained(kb, fact, Exclusion(AUNT, step, 41.0, 812))
    assert got.excluded is not None
    assert (got.score, fact_text(got.excluded.by)) == (0, by)
    assert got.num_fired == got.num_counted > 0
    assert {s.share for s in got.supports} == {0}
    assert got.misses == ()
    assert f"excluded: {fact} and {by} never hold together (0 of 812 facts; 41 expected)" in str(got.listing)
    assert got.to_dict()["excluded"]["by"] == by
    assert explained(kb, fact, Exclusion(MARRIED, step, 41.0, 812)).excluded is None


def test_a_fact_does_not_exclude_itself() -> None:
    kb = KnowledgeBase.from_facts(
        [*[tuple(line.split()) for line in kbs.FAMILY.split("\n") if line], ("ann", "aunt", "ann")]
    )
    exclusion = Exclusion(AUNT, Step(AUNT, inverse=True), 2.0, 2)
    assert explained(kb, "aunt(ann, ann)", exclusion).excluded is None
