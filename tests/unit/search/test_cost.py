"""The cost model: its counts are those of the graph, and it says where a budget is too small."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings

from nlil.data.kb import KnowledgeBase
from nlil.datasets import load_dataset
from nlil.errors import LimitError
from nlil.kernel.graph import Graph
from nlil.search.cost import Size, check_memory, cost, most_rules, simulate
from nlil.search.count import count_rules
from nlil.search.options import CountOptions
from nlil.search.sampled_heads import num_constant_rules
from property.test_counting import bases

GIB = 2**30


@settings(deadline=None, max_examples=30)
@given(bases())
def test_counts_are_those_of_the_graph(kb: KnowledgeBase) -> None:
    graph, size = Graph.of(kb), Size.of(kb)
    degree = np.diff(graph.pointer)
    heads, walked = 0, 0
    for low, high in zip(graph.span_pointer[:-1], graph.span_pointer[1:]):
        edges = degree[graph.neighbour[low:high]]
        if high - low >= 2:
            heads += 1
            walked += int(edges.sum() - edges.max())
    facts = kb.binary
    near = int(np.minimum(degree[facts.subject], degree[facts.object]).sum())
    assert (size.heads, size.walked, size.near) == (heads, walked, near)
    assert (size.facts, size.entities) == (len(kb.facts), kb.num_entities)


@pytest.mark.parametrize("source", ["kin:40", "kin:200", "even:100", "even:1000"])
def test_rules_of_small_knowledge_graphs_are_estimated_within_a_factor_of_two(source: str) -> None:
    dataset = load_dataset(source)
    kb, targets = dataset.kb, np.array([dataset.kb.predicate_id(p) for p in dataset.targets], np.int32)
    found = len(count_rules(kb, targets, CountOptions(min_support=2, min_confidence=0.002)).rules)
    expected = cost(Size.of(kb, 2, 0.002, dataset.targets), GIB).rules
    assert found / 2 <= expected <= 2 * found


def test_rules_with_constants_are_counted() -> None:
    kb = load_dataset("kin:200").kb
    options = CountOptions(min_support=3, min_confidence=0.1)
    rules = count_rules(kb, np.unique(kb.binary.predicate), options).rules
    found = ((rules.head_entity >= 0) & ~rules.is_prior).sum()
    every = np.arange(kb.num_predicates, dtype=np.int32)
    exact = num_constant_rules(kb.binary, kb.num_entities, every, 3, 0.1)
    assert exact == pytest.approx(found, rel=0.02)
    sample = num_constant_rules(kb.binary, kb.num_entities, every, 3, 0.1, most=8_000)
    assert sample != exact
    assert sample == pytest.approx(exact, rel=0.2)
    assert num_constant_rules(kb.binary, kb.num_entities, every[:0], 3, 0.1) == 0


def test_a_budget_that_cannot_hold_the_facts_is_refused_with_the_number_needed() -> None:
    check_memory(GIB, 4_000_000)
    with pytest.raises(LimitError, match=r"--memory 1024MiB is too little for 20,000,000 facts; they need 4\d\d\dMiB"):
        check_memory(GIB, 20_000_000)
    with pytest.raises(LimitError, match="10,000,000 rules"):
        check_memory(GIB, 1_000, 10_000_000)


def test_the_number_that_is_named_would_do() -> None:
    """Samples of queries count too: a small budget is refused for a million facts."""
    with pytest.raises(LimitError) as refused:
        check_memory(64 * 2**20, 1_000_000)
    needed = int(re.findall(r"need ([\d,]+)MiB", str(refused.value))[0].replace(",", ""))
    check_memory(needed * 2**20, 1_000_000)
    with pytest.raises(LimitError):
        check_memory((needed - 1) * 2**20, 1_000_000)


def test_rules_are_kept_as_far_as_the_budget_goes() -> None:
    assert most_rules(4 * GIB, 300_000, 0) > 3 * most_rules(GIB, 300_000, 0)
    assert most_rules(GIB, 3_000_000, 0) < most_rules(GIB, 300_000, 0)
    assert most_rules(GIB, 300_000, 1_000_000) == most_rules(GIB, 300_000, 0) - 1_000_000
    assert most_rules(1, 300_000, 0) > 0
    found = [cost(Size.generated(1e6), memory) for memory in (GIB, 4 * GIB)]
    assert found[0].rules < found[1].rules
    assert all(one.bytes < 1.2 * memory + 500e6 for one, memory in zip(found, (GIB, 4 * GIB)))


def test_more_machines_take_less_time_and_no_less_memory() -> None:
    one = cost(Size.generated(1e9), 256 * GIB, threads=16)
    few, many = (simulate(one, nodes, 16) for nodes in (10, 100))
    assert many.total_seconds < few.total_seconds < one.wall_seconds(16)
    assert many.node_bytes > 0.5 * few.node_bytes
    assert many.moved_bytes > few.moved_bytes
