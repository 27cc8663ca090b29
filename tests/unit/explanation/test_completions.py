"""Facts that would mend a rule although more than one atom lacks them, each by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nlil import KnowledgeBase, RuleSet, RuleStats, ScoredRule, parse_rule, why_not
from nlil.logic.text import fact_text

BASE = [*((name, "person") for name in "abcd"), ("d", "big"), ("d", "red"), ("d", "likes", "d"), ("d", "knows", "d")]


def remedies(rule: str, fact: str, facts: list[tuple[str, ...]], graphs: list[int] | None = None) -> set[str]:
    kb = KnowledgeBase.from_facts([*BASE, *facts])
    if graphs is not None:
        kb = replace(kb, graph_of=np.asarray(graphs, np.int32))
    parsed = parse_rule(rule)
    stats = RuleStats(1, 2, 3, None if parsed.target.arity == 1 else 2)
    found = why_not(RuleSet.of(kb, [ScoredRule(parsed, stats, 0.5)]), kb, fact, facts=30)
    return {f"{r.change.action} {fact_text(r.change.fact)}" for rule in found.rules for r in rule.remedies}


@pytest.mark.parametrize(
    ("rule", "fact", "facts", "expected"),
    [
        # There and back again: whatever a likes, a likes it too.
        (
            "big(X) :- likes(X, Z1), likes(Z2, Z1), red(Z2).",
            "big(a)",
            [("a", "red")],
            {"add likes(a, a)", "add likes(a, b)", "add likes(a, c)", "add likes(a, d)"},
        ),
        ("knows(X, Y) :- likes(X, Z1), likes(Z1, Y).", "knows(a, a)", [], {"add likes(a, a)"}),
        (
            "knows(X, Y) :- likes(X, Z1), knows(Z1, Z2), likes(Z2, Y).",
            "knows(a, b)",
            [("b", "knows", "a")],
            {"add likes(a, b)"},
        ),
        ("knows(X, Y) :- likes(X, Z1), likes(Z1, Y), Z1 \\= X, Y \\= X, Y \\= Z1.", "knows(a, b)", [], set()),
        # A filter that one entity lacks at two places.
        (
            "big(X) :- red(X), likes(Z1, X), red(Z1).",
            "big(a)",
            [("a", "likes", "a"), ("b", "likes", "a")],
            {"add red(a)"},
        ),
        # Two statements that lack the same fact.
        (
            "knows(X, Y) :- likes(X, Z1), red(Z1), likes(X, Z2), big(Z2).",
            "knows(a, b)",
            [("c", "red"), ("c", "big")],
            {"add likes(a, c)", "add likes(a, d)"},
        ),
        ("knows(X, Y) :- red(X), red(Y).", "knows(a, a)", [], {"add red(a)"}),
        ("knows(X, Y) :- red(X), red(Y).", "knows(a, b)", [], set()),
        # Two denied statements with one fact behind both, and one that is behind one of them only.
        (
            "big(X) :- \\+ (likes(X, Z1), red(Z1)), \\+ likes(Z2, a).",
            "big(b)",
            [("b", "likes", "a"), ("a", "red")],
            {"remove likes(b, a)"},
        ),
        # One statement lacks a fact and another has one too many: no single change mends both.
        ("big(X) :- red(X), \\+ likes(X, a).", "big(b)", [("b", "likes", "a")], set()),
    ],
)
def test_by_hand(rule: str, fact: str, facts: list[tuple[str, ...]], expected: set[str]) -> None:
    assert remedies(rule, fact, facts) == expected


def test_no_fact_joins_two_graphs() -> None:
    rule = "big(X) :- likes(X, c)."
    assert remedies(rule, "big(a)", [], [0, 0, 0, 1]) == {"add likes(a, c)"}
    assert remedies(rule, "big(a)", [], [0, 0, 1, 1]) == set()
