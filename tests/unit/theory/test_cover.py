"""The greedy cover: what is chosen, in which order, and what is left out for it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nlil.theory.cover import NEXT, PLACES, cover
from nlil.theory.firings import DOUBT, Hits


def hits(sets: list[set[int]], wrong: list[int], num_facts: int) -> Hits:
    """Rules of a unary target that propose the members in `sets`, and so many others."""
    pairs = [(r, q) for r, some in enumerate(sets) for q in sorted(some)]
    rule, query = np.array(pairs, np.int32).reshape(-1, 2).T
    return Hits(rule, query, np.array([wrong], np.float64), np.ones(num_facts), num_facts)


def value(sets: list[set[int]], wrong: list[int], chosen: tuple[int, ...]) -> float:
    """The sum over queries of the precision of the best chosen rule, NEXT times that of the second, and so on."""
    precision = [len(some) / (len(some) + w + DOUBT) for some, w in zip(sets, wrong)]
    queries = set().union(*sets)
    total = 0.0
    for q in queries:
        best = sorted((precision[r] for r in chosen if q in sets[r]), reverse=True)[:PLACES]
        total += sum(NEXT**j * one for j, one in enumerate(best))
    return total


cases = st.lists(st.tuples(st.sets(st.integers(0, 7)), st.integers(0, 60)), min_size=1, max_size=6)


@settings(deadline=None, max_examples=60)
@given(cases, st.integers(1, 4))
def test_the_choice_is_within_the_bound_of_the_best_and_gains_add_up(
    drawn: list[tuple[set[int], int]], most: int
) -> None:
    drawn = list({(frozenset(s), w): (s, w) for s, w in drawn}.values())  # of equals only one is a candidate
    sets, wrong = [s for s, _ in drawn], [w for _, w in drawn]
    found = cover(hits(sets, wrong, 8), np.ones(len(sets)), most, most)
    got = value(sets, wrong, tuple(found.rule))
    assert np.isclose(found.gain.sum() * 8, got)
    assert (np.diff(found.gain) <= 1e-12).all(), "what adds most comes first"
    best = max(value(sets, wrong, some) for some in combinations(range(len(sets)), min(most, len(sets))))
    assert got >= (1 - 1 / np.e) * best - 1e-9


def test_a_rule_that_says_the_same_adds_nothing_and_is_of_the_family() -> None:
    found = cover(hits([{0, 1, 2}, {0, 1, 2}, {3}, {0, 4}], [0, 0, 0, 0], 6), np.ones(4), 4, 4)
    assert found.rule.tolist() == [0, 3, 2]
    assert found.explained.tolist() == [3, 1, 1]
    assert found.family.tolist() == [0, 0, 2, 1]


def test_of_rules_that_explain_the_same_the_plain_one_is_chosen() -> None:
    same = hits([{0, 1}, {0, 1}], [0, 0], 2)
    assert cover(same, np.array([0.8, 1.0]), 2, 2).rule.tolist() == [1]
    assert cover(same, np.array([1.0, 0.8]), 2, 2).rule.tolist() == [0]


def test_a_second_way_to_explain_a_fact_comes_after_all_facts_that_have_none() -> None:
    found = cover(hits([{0, 1, 2, 3}, {0, 1, 2}, {4}], [0, 0, 0], 5), np.ones(3), 3, 3)
    assert found.rule.tolist() == [0, 2, 1]
    assert found.explained.tolist() == [4, 1, 0]
    assert found.backs_up.tolist() == [0, 0, 3]


def test_a_theory_goes_on_with_third_and_further_ways_to_the_same_facts() -> None:
    ways = [set(range(10)) - {out} for out in range(PLACES)]  # no two propose the same answers
    found = cover(hits(ways, [0] * len(ways), 10), np.ones(len(ways)), len(ways), 0)
    assert len(found.rule) == len(ways)
    assert found.explained.tolist() == [9, 1] + [0] * (PLACES - 2)
    assert found.backs_up.tolist() == [0, 8] + [9] * (PLACES - 2)
    assert (np.diff(found.gain) < 0).all()


def test_a_sharper_rule_with_the_same_answers_is_no_equal() -> None:
    found = cover(hits([{0, 1}, {0, 1}], [30, 0], 2), np.array([1.0, 0.4]), 2, 2)
    assert found.rule.tolist() == [0, 1]


def test_facts_count_once_whichever_direction_explains_them() -> None:
    both = Hits(np.array([0, 0, 1]), np.array([0, 3, 1]), np.zeros((2, 2)), np.ones(3), 3)
    found = cover(both, np.ones(2), 2, 2)
    assert found.rule.tolist() == [0, 1]
    assert found.explained.tolist() == [1, 1], "queries 0 and 3 are the two directions of fact 0"
    assert found.backs_up.tolist() == [0, 0]


def test_validation_facts_count_by_their_weight_and_are_not_explained_training_facts() -> None:
    rule, query = np.array([0, 0, 1]), np.array([0, 1, 2])  # fact 2 is a validation fact
    for weight, first in ((1.0, 0), (10.0, 1)):
        found = cover(Hits(rule, query, np.zeros((1, 2)), np.array([1, 1, weight]), 2), np.ones(2), 2, 2)
        assert found.rule[0] == first
        assert found.explained[found.rule == 1].tolist() == [0]
