"""The groundings of an explanation: each set of facts once, the most specific first, the others counted."""

from __future__ import annotations

import json

from nlil import KnowledgeBase, RuleSet, ScoredRule, explain, parse_rule
from nlil.explanation.reasons import Support
from nlil.logic.rule import RuleStats
from nlil.logic.text import fact_text

HUB = [(f"o{i}", "likes", "hub") for i in range(20)]
WAYS = [
    ("a", "knows", "hub"),
    ("hub", "knows", "b"),
    ("a", "knows", "zed"),
    ("zed", "knows", "b"),
    ("a", "knows", "mid"),
    ("mid", "knows", "b"),
    ("mid", "likes", "b"),
    ("a", "near", "b"),
]


def support(text: str, groundings: int = 3) -> Support:
    kb = KnowledgeBase.from_facts([*HUB, *WAYS])
    rule = parse_rule(text)
    rules = RuleSet.of(kb, [ScoredRule(rule, RuleStats(1, 2, 3, 2), 0.5)])
    explanation = explain(rules, kb, "near(a, b)", groundings=groundings)
    assert json.loads(json.dumps(explanation.to_dict()))["supports"]
    return explanation.supports[0]


def facts(found: Support) -> list[list[str]]:
    return [[fact_text(fact) for fact in way.facts] for way in found.groundings]


def test_what_a_hub_says_comes_last() -> None:
    for text in (
        "near(X, Y) :- knows(X, Z1), knows(Z1, Y).",
        "near(X, Y) :- knows(X, Z1), knows(Z1, Y), Z1 \\= X, Y \\= X, Y \\= Z1.",
    ):
        found = support(text)
        assert [dict(way.bindings)["Z1"] for way in found.groundings] == ["zed", "mid", "hub"]
        one = support(text, groundings=1)
        assert (facts(one), one.num_groundings) == (facts(found)[:1], 3)


def test_more_facts_come_before_fewer() -> None:
    found = support("near(X, Y) :- knows(X, mid) ; knows(X, Z1), likes(Z1, Y).")
    assert [len(way) for way in facts(found)] == [2, 1]


def test_the_same_facts_are_shown_and_counted_once() -> None:
    """Z1 and Z3 take turns: two bindings, one set of facts."""
    found = support("near(X, Y) :- knows(X, mid) ; knows(X, Z1), likes(Z1, Y) ; likes(Z2, Y), knows(X, Z2).", 9)
    assert facts(found) == [["knows(a, mid)", "likes(mid, b)"], ["knows(a, mid)"]]
    assert found.num_groundings == 2
