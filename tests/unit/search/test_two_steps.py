"""Chains of two steps against a plain count over all pairs, however the smaller ends of facts are looked up."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from nlil.data.kb import KnowledgeBase
from nlil.kernel.graph import Graph
from nlil.progress import Stop
from nlil.search import two_steps
from nlil.search.options import CountingTask, CountOptions
from nlil.search.two_steps import SupportCounter, two_step_chains

Row = tuple[int, int, int, int, int, int]
"""Target, first and second step, support, body size, PCA body."""


def base(seed: int) -> KnowledgeBase:
    """Three predicates, one hub, some loops and some pairs with several predicates."""
    random = np.random.default_rng(seed)
    facts = [(f"e{random.integers(30)}", f"p{random.integers(3)}", f"e{random.integers(30)}") for _ in range(120)]
    return KnowledgeBase.from_facts(facts + [(f"e{i}", f"p{i % 3}", "e0") for i in range(1, 30)])


def plain(kb: KnowledgeBase, options: CountOptions) -> list[Row]:
    edges: dict[int, set[tuple[int, int]]] = {code: set() for code in range(kb.num_codes)}
    for p, s, o in zip(kb.facts.predicate.tolist(), kb.facts.subject.tolist(), kb.facts.object.tolist()):
        edges[2 * p].add((s, o))
        edges[2 * p + 1].add((o, s))
    found = []
    for one, first in edges.items():
        for two, second in edges.items():
            ends = {(a, b) for a, z in first for y, b in second if y == z and len({a, b, z}) == 3}
            for target in range(kb.num_predicates):
                support = len(ends & edges[2 * target])
                subjects = {a for a, _ in edges[2 * target]}
                if options.enough(support, len(ends)):
                    found.append((target, one, two, support, len(ends), sum(a in subjects for a, _ in ends)))
    return sorted(found)


def counted(kb: KnowledgeBase, options: CountOptions) -> list[Row]:
    task = CountingTask.of(kb, Graph.of(kb), np.arange(kb.num_predicates, dtype=np.int32), options)
    steps, (target, *rest) = two_step_chains(task)
    return sorted(zip(target.tolist(), *steps.T.tolist(), *(column.tolist() for column in rest)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("support", "confidence"), [(1, 0.0), (2, 0.1), (3, 0.15)])
@pytest.mark.parametrize("lookup", [0, 10**6])
def test_chains_are_those_of_all_pairs(
    monkeypatch: pytest.MonkeyPatch, seed: int, support: int, confidence: float, lookup: int
) -> None:
    made = SupportCounter.__init__

    def forced(self: SupportCounter, task: CountingTask) -> None:
        made(self, task)
        self.lookup = lookup

    monkeypatch.setattr(SupportCounter, "__init__", forced)
    kb, options = base(seed), CountOptions(min_support=support, min_confidence=confidence, threads=2)
    rows = counted(kb, options)
    assert rows == plain(kb, options)
    assert rows


@pytest.mark.parametrize("seed", range(3))
def test_shards_add_up(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """In the same order, too: what is written must not depend on how the work was cut."""
    kb, options = base(seed), CountOptions(min_support=2, min_confidence=0.1, threads=2)
    task = CountingTask.of(kb, Graph.of(kb), np.arange(kb.num_predicates, dtype=np.int32), options)
    steps, counts = two_step_chains(task)
    monkeypatch.setattr(two_steps, "SHARD_FACTS", 7)
    monkeypatch.setattr(two_steps, "SHARD_EDGES", 100)
    again, others = two_step_chains(task)
    assert np.array_equal(steps, again)
    assert np.array_equal(counts, others)
    assert counted(kb, options) == plain(kb, options)


def test_a_target_with_a_shard_left_out_has_no_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_steps, "SHARD_FACTS", 20)
    kb, made = base(0), SupportCounter.chains

    def cut(self: SupportCounter, shard: two_steps.Shard) -> tuple[int, two_steps.Supports]:
        return (-1, two_steps.Supports.join([])) if shard[:2] == (1, 1) else made(self, shard)

    monkeypatch.setattr(SupportCounter, "chains", cut)
    assert {target for target, *_ in counted(kb, CountOptions())} == {0, 2}


def test_a_table_that_is_too_small_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = Counter[int]()
    made = two_steps.Chains.of

    def noted(size: int) -> two_steps.Chains:
        sizes[size] += 1
        return made(min(size, 16) if len(sizes) == 1 else size)

    monkeypatch.setattr(two_steps.Chains, "of", noted)
    kb, options = base(0), CountOptions(min_support=1, min_confidence=0.0)
    assert counted(kb, options) == plain(kb, options)
    assert len(sizes) > 1


def test_hubs_take_no_time_by_themselves() -> None:
    """100,000 edges to each of two hubs: 4 * 10^10 paths of two steps, and no fact that one of them joins."""
    names = [f"e{i}" for i in range(100_000)]
    kb = KnowledgeBase.from_facts([(name, p, hub) for p, hub in (("p", "h1"), ("q", "h2")) for name in names])
    assert counted(kb, CountOptions()) == []


def test_what_is_cut_short_is_left_out() -> None:
    stop = Stop()
    stop.set()
    while not stop.flag[0]:
        pass
    kb = base(0)
    task = CountingTask.of(kb, Graph.of(kb), np.arange(3, dtype=np.int32), CountOptions(stop=stop))
    target, chains = SupportCounter(task).chains(two_steps.Shard(0, 0, 1))
    assert (target, len(chains.key)) == (-1, 0)
    assert len(two_step_chains(task)[0]) == 0
