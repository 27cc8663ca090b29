"""Rules by column: what they are made of, where they stand, in which order; the same as rule by rule."""

from __future__ import annotations

import numpy as np
import pytest

import kbs
from nlil.kernel.constructs import CONSTRUCTS, construct_names, constructs
from nlil.kernel.ruleset import RuleSet
from nlil.logic.parse import parse_rule
from nlil.logic.rule import Rule, RuleStats, ScoredRule
from nlil.viewer.rule_store import SORTS, RuleStore

RULES = {
    "aunt(X, Y) :- mother(X, Z1), mother(Z1, Y), Z1 \\= X, Z1 \\= Y, X \\= Y.": {"chain"},
    "aunt(X, Y) :- mother(X, Z1), mother(Z1, Y).": {"chain"},
    "aunt(X, Y) :- mother(X, Z1), female(Z1), mother(Z1, Y).": {"chain", "type"},
    "aunt(X, dora) :- true.": {"constant", "prior"},
    "aunt(X, dora) :- mother(X, cleo).": {"constant"},
    "aunt(X, dora) :- mother(X, max).": {"constant"},
    "aunt(X, dora) :- mother(X, Z1).": {"constant"},
    "aunt(bea, Y) :- father(Z1, Y).": {"constant"},
    "uncle(X, Y) :- mother(X, Y), \\+ (father(X, Y)).": {"chain", "conjunction", "negation"},
    "female(X) :- mother(X, Z1) ; married(X, Z2), male(Z2).": {"disjunction", "type"},
    "female(X) :- mother(X, Z1), \\+ (father(X, Z2)).": {"conjunction", "negation"},
    "female(X) :- male(Z1).": {"unanchored", "type"},
}


def rule_set() -> RuleSet:
    scored = [
        ScoredRule(parse_rule(text), RuleStats(i % 3 + 1, 2 * i + 4, 20), 0.1 * (i % 4)) for i, text in enumerate(RULES)
    ]
    return RuleSet.of(kbs.family(), scored)


def store(rules: RuleSet) -> RuleStore:
    return RuleStore(rules, np.arange(len(rules)), kbs.family(), np.zeros(len(rules), bool))


def test_constructs_by_column_are_those_of_each_rule() -> None:
    rules = rule_set()
    bits = constructs(rules)
    for row, scored in enumerate(rules):
        expected = next(names for text, names in RULES.items() if parse_rule(text) == scored.rule)
        assert set(construct_names(int(bits[row]))) == expected, str(scored.rule)
        assert rules.lengths[row] == scored.rule.length


def test_every_rule_is_found_where_it_stands() -> None:
    rules = rule_set()
    for row, scored in enumerate(rules):
        assert rules.rows_of(scored.rule).tolist() == [row]
        assert rules.rows_of_text(str(scored.rule)).tolist() == [row]


@pytest.mark.parametrize(
    "text",
    [
        "aunt(X, Y) :- mother(X, Y).",
        "aunt(X, nobody) :- true.",
        "nosuch(X, Y) :- mother(X, Y).",
        "no rule at all",
        "aunt(X, Y) :- mother(X, Z1), mother(Z1, Z2), mother(Z2, Z3), mother(Z3, Z4), mother(Z4, Y).",
        "female(X) :- \\+ (male(X)).",
        "uncle(X, Y) :- mother(X, Z1), mother(Z1, Y).",
        "aunt(X, cleo) :- mother(X, cleo).",
    ],
)
def test_a_rule_that_is_not_there_is_nowhere(text: str) -> None:
    assert rule_set().rows_of_text(text).tolist() == []


def test_order_and_filter_of_a_large_table_are_those_of_sorting_rule_by_rule() -> None:
    random = np.random.default_rng(5)
    small = rule_set()
    rules = small.take(random.integers(0, len(small), 3000))
    table = store(rules)
    verdicts = random.integers(0, 3, len(rules)).astype(np.int8)
    listed: list[tuple[int, Rule, RuleStats, float]] = [(row, s.rule, s.stats, s.weight) for row, s in enumerate(rules)]
    kept = [
        (row, rule, stats, weight)
        for row, rule, stats, weight in listed
        if stats.support >= 2
        and stats.confidence >= 0.1
        and rule.length <= 2
        and "chain" in construct_names(int(constructs(rules)[row]))
        and verdicts[row] == 2
    ]
    assert kept
    kept.sort(key=lambda item: (-item[2].confidence, -item[3], -item[2].support, item[1].length, item[0]))
    some = table.matching(
        verdicts, min_support=2, min_confidence=0.1, max_length=2, construct="chain", verdict="rejected"
    )
    found = table.part(some, "confidence", False, 0, len(some))
    assert found.tolist() == [row for row, *_ in kept]
    assert table.part(some, "confidence", True, 0, len(some)).tolist() == found.tolist()[::-1]
    assert len(table.matching(verdicts, verdict="none")) == (verdicts == 0).sum()
    assert table.present == list(CONSTRUCTS)


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("is_rising", [False, True])
def test_a_page_is_a_part_of_the_whole_order(sort: str, is_rising: bool) -> None:
    random = np.random.default_rng(6)
    small = rule_set()
    rules = small.take(random.integers(0, len(small), 500))
    table = store(rules)
    value = {
        "weight": -rules.weights,
        "confidence": -rules.confidence,
        "support": -rules.support,
        "length": rules.lengths,
    }
    whole = np.lexsort((np.arange(len(rules)), value["length"], value["support"], value["weight"], value[sort]))
    whole = whole if is_rising == (sort == "length") else whole[::-1]
    everything = table.matching(np.zeros(len(rules), np.int8))
    for begin, end in ((0, 25), (25, 50), (475, 500), (490, 520), (0, 500), (500, 525), (7, 7)):
        assert table.part(everything, sort, is_rising, begin, end).tolist() == whole[begin:end].tolist(), (begin, end)
    none = everything[:0]
    assert len(table.part(none, sort, is_rising, 0, 25)) == 0
