"""Counts and numbers beyond 2^31, without a base that has so many facts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nlil.data.kb import KnowledgeBase
from nlil.kernel.graph import Graph
from nlil.kernel.ruleset import count_dtype
from nlil.search.anchored import prior_rows
from nlil.search.options import CountingTask, CountOptions
from nlil.search.unary import Numbering
from property.test_tensor_counting import all_anchored

LARGE = KnowledgeBase.from_facts((f"e{i}", "p", "b") for i in range(2**16))
KB = KnowledgeBase.from_facts([("a", "p", "b"), ("a", "q", "b"), ("c", "p", "b"), ("c", "q", "a")])
ALL = CountOptions(min_support=1, min_confidence=0.0)


def test_statistics_of_rules_hold_more_than_2_to_the_31() -> None:
    many = np.array([2**31, 2**40])
    task = CountingTask.of(LARGE, Graph.of(LARGE), np.array([0], np.int32), CountOptions())
    task = replace(task, facts=task.facts._replace(size=np.array([2**33])))
    rules = task.chain_rules((np.zeros((2, 1), np.int32), np.stack((np.zeros(2, np.int64), many, many + 1, many + 2))))
    assert rules.support.tolist() == [2**31, 2**40]
    assert rules.body_size.tolist() == [2**31 + 1, 2**40 + 1]
    assert rules.pca_body.tolist() == [2**31 + 2, 2**40 + 2]
    assert rules.head_size.tolist() == [2**33] * 2


def test_counts_of_pairs_have_room_for_all_pairs() -> None:
    assert count_dtype(46_340**2) == np.int32
    assert count_dtype(46_341**2) == np.int64


def test_columns_of_anchored_rules_are_64_bits_wide() -> None:
    graph = Graph.of(KB)
    for rows in (all_anchored(graph, 0, ALL), prior_rows(graph, 0, 1)):
        assert rows.dtype == np.int64


def test_anchored_rules_do_not_depend_on_the_room_for_rows() -> None:
    graph = Graph.of(KB)
    for code in range(graph.num_codes):
        small, large = (all_anchored(graph, code, ALL, budget) for budget in (1, 2**20))
        assert small.tolist() == large.tolist()


def test_the_numbers_of_bodies_with_constants_fit_64_bits() -> None:
    """10^8 entities and 2,000 codes: k(X, d) is numbered beyond all paths, and read back."""
    graph = Graph.of(KB)._replace(num_entities=10**8, num_codes=2_000)
    bodies = Numbering.of(graph, 1_000, 3)
    top = bodies.constants_from + 2_000 * 10**8
    assert top * 1_001 < 2**63
    steps, end = bodies.decode(np.array([bodies.constants_from + 1_999 * 10**8 + 99_999_999]))
    assert steps[0].tolist() == [1_999, -1, -1, -1]
    assert end.tolist() == [99_999_999]
