"""Longer chains: which steps lead to the same places, how a chain over them is spelled, what is counted first."""

from __future__ import annotations

import numpy as np

from nlil.data.kb import KnowledgeBase
from nlil.kernel.graph import Graph, num_paths
from nlil.search.longer import MOST_SPELLED, by_effort, most_candidates, spellings, synonyms


def base() -> KnowledgeBase:
    """`below` is `above` walked backwards but for one of ten facts; `near` is symmetric; `far` is neither."""
    rows = [(f"a{i}", "above", f"b{i}") for i in range(10)] + [(f"b{i}", "below", f"a{i}") for i in range(9)]
    rows += [(f"a{i}", "half", f"b{i}") for i in range(5)]
    rows += [(x, "near", y) for i in range(4) for x, y in ((f"c{i}", f"d{i}"), (f"d{i}", f"c{i}"))]
    return KnowledgeBase.from_facts([*rows, ("a0", "far", "b0"), ("a1", "far", "c1"), ("c2", "far", "a2")])


def codes(kb: KnowledgeBase, *names: str) -> list[int]:
    return [2 * kb.predicate_id(kb.predicate(name.strip("'"))) + name.endswith("'") for name in names]


def test_synonyms_share_most_of_their_pairs() -> None:
    kb = base()
    synonym = synonyms(Graph.of(kb.crisp))
    above, above_back, below, below_back, near, near_back, far, far_back = codes(
        kb, "above", "above'", "below", "below'", "near", "near'", "far", "far'"
    )
    assert synonym[above] == synonym[below_back] == min(above, below_back)
    assert synonym[above_back] == synonym[below] == min(above_back, below)
    assert synonym[near] == synonym[near_back] == min(near, near_back)
    assert synonym[far] == far  # one shared pair of three is not enough
    assert synonym[far_back] == far_back
    (half,) = codes(kb, "half")
    assert synonym[half] == half  # five of ten are not enough


def test_spellings_differ_in_one_step() -> None:
    kb = base()
    synonym = synonyms(Graph.of(kb.crisp))
    above, below_back, far = codes(kb, "above", "below'", "far")
    found = {tuple(row) for row in spellings(np.array([[above, far, above]], np.int32), synonym).tolist()}
    assert found == {(above, far, above), (below_back, far, above), (above, far, below_back)}
    long = np.array([[above] * (MOST_SPELLED + 1)], np.int32)
    assert spellings(long, synonym).tolist() == long.tolist()


def test_paths_over_two_names_are_one() -> None:
    kb = KnowledgeBase.from_facts([("a", "p", "b"), ("a", "q", "b"), ("b", "p", "c")])
    assert num_paths(Graph.of(kb.crisp), 2) == [4.0, 6.0]  # a-b, b-c both ways; then aba, abc, bab, bcb, cba, cbc


def test_few_facts_have_few_candidates() -> None:
    assert most_candidates(np.array([10, 1_000, 2_000, 50_000]), 200).tolist() == [30, 100, 200, 200]
    assert most_candidates(np.array([10]), 400).tolist() == [60]  # raising the setting helps small targets too


def test_what_leads_along_most_paths_is_counted_first() -> None:
    facts = [(f"a{i}", "many", f"b{j}") for i in range(6) for j in range(6)] + [("a0", "one", "b0"), ("b0", "one", "c")]
    kb = KnowledgeBase.from_facts(facts)
    many, many_back, one = codes(kb, "many", "many'", "one")
    bodies = np.array([[one, one, one], [many, one, one], [many, many_back, many], [one, many_back, one]], np.int32)
    assert by_effort(Graph.of(kb.crisp), bodies).tolist() == [2, 1, 3, 0]
