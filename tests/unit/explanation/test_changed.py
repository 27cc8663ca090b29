"""An explainer over a changed base: what it keeps of the last question it uses for that question only."""

from __future__ import annotations

import pytest

import kbs
from nlil.explanation.changes import changed
from nlil.explanation.why import Explainer
from nlil.kernel.ruleset import RuleSet
from nlil.logic.parse import parse_rule
from nlil.logic.query import parse_fact
from nlil.logic.rule import RuleStats, ScoredRule

RULES = (
    "aunt(X, Y) :- mother(X, Z1), mother(Z1, Y).",
    "aunt(X, Y) :- mother(X, Y), \\+ (father(X, Y)).",
    "aunt(X, Y) :- married(X, Y).",
    "female(X) :- mother(Z1, X).",
    "female(X) :- \\+ (male(X)).",
)
QUESTIONS = ("aunt(bea, dora)", "aunt(bea, cleo)", "aunt(cleo, dora)", "female(cleo)", "female(max)")


@pytest.mark.parametrize("added", ["mother(bea, dora)", "married(bea, dora)", "male(cleo)", "father(bea, cleo)"])
@pytest.mark.parametrize("first", QUESTIONS)
def test_another_question_after_a_change(first: str, added: str) -> None:
    kb = kbs.family()
    rules = RuleSet.of(
        kb,
        [ScoredRule(parse_rule(text), RuleStats(i + 2, 2 * i + 4, 20), 0.1 + 0.1 * i) for i, text in enumerate(RULES)],
    )
    explainer, fact = Explainer(rules, kb), parse_fact(added)
    explainer.score(parse_fact(first))
    after, fresh = explainer.changed(add=[fact]), Explainer(rules, changed(kb, add=[fact]))
    for question in map(parse_fact, QUESTIONS):
        assert after.explain(question) == fresh.explain(question)
