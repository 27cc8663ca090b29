"""Rules with constants: those of a hub are looked up, and what is kept of many depends on nothing but the rules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlil.data.kb import KnowledgeBase
from nlil.kernel.graph import Graph
from nlil.search import cost
from nlil.search.anchored import HeadCounter, Heads, body_sizes
from nlil.search.count import count_rules
from nlil.search.options import CountOptions
from nlil.search.top_rules import BODY_SIZE, ROW, SUPPORT, Thresholds, TopRules
from property.test_tensor_counting import all_anchored

SOME = CountOptions(min_support=2, min_confidence=0.0)


@st.composite
def hubs(draw: st.DrawFn) -> KnowledgeBase:
    """One entity with edges to all others along two predicates, and a few more facts, self-loops included."""
    entity = st.sampled_from(["hub", *(f"e{i}" for i in range(30))])
    rows = draw(st.lists(st.tuples(entity, st.sampled_from("pq"), entity), min_size=5, max_size=25))
    backwards = draw(st.booleans())
    for name in "pq":
        rows += [(f"e{i}", name, "hub") if backwards else ("hub", name, f"e{i}") for i in range(30)]
    return KnowledgeBase.from_facts(rows)


@settings(deadline=None, max_examples=60)
@given(hubs(), st.sampled_from([0.0, 0.3]))
def test_a_hub_that_is_looked_up_counts_as_if_it_were_walked(kb: KnowledgeBase, confidence: float) -> None:
    graph = Graph.of(kb)
    for code in range(graph.num_codes):
        walked = all_anchored(graph, code, CountOptions(min_support=1, min_confidence=confidence))
        looked_up = all_anchored(graph, code, CountOptions(min_support=2, min_confidence=confidence))
        assert looked_up.tolist() == walked[:, walked[SUPPORT] >= 2].tolist()


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_what_is_kept_depends_neither_on_order_nor_on_parts(most: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    support = random.integers(2, 6, 100)
    rows = np.stack((np.arange(100), np.zeros(100, np.int64), support, support + random.integers(0, 9, 100), support))
    kept = []
    for _ in range(2):
        best = TopRules(Thresholds(2, 0.0, 0), most)
        for part in np.split(random.permutation(100), np.sort(random.integers(0, 100, 4))):
            best.add(0, rows[:, part])
        kept.append(sorted(np.concatenate(best.take(0), axis=1)[0].tolist()))
        assert bool(best.notes) == (most < 100)
    assert kept[0] == kept[1]
    assert len(kept[0]) <= most
    worth = rows[SUPPORT] + rows[SUPPORT] / (rows[BODY_SIZE] + 5)
    gone = np.setdiff1d(np.arange(100), kept[0])
    assert worth[kept[0]].min(initial=np.inf) + 1 / 64 > worth[gone].max(initial=0)


def test_a_small_budget_leaves_out_rules_of_small_support_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "LEAST_RULES", 100)
    random = np.random.default_rng(0)
    rows = [
        (f"a{i}", name, f"{name}{i % (2 + n) if n < 3 else random.integers(6)}")
        for n, name in enumerate("pqrs")
        for i in range(40)
    ]
    kb = KnowledgeBase.from_facts(rows)
    targets = np.arange(kb.num_predicates, dtype=np.int32)
    found = [
        count_rules(kb, targets, replace(SOME, memory=memory, threads=threads, max_length=1))
        for memory, threads in ((2**30, 1), (2**20, 1), (2**20, 3))
    ]
    every, one, three = (
        {str(c.rules[row].rule): c.rules.stats(row) for row in np.flatnonzero(c.rules.has_constant & ~c.rules.is_prior)}
        for c in found
    )
    assert not found[0].notes
    assert "largest support were kept" in found[1].notes[0]
    assert one == three
    assert 0 < len(one) <= 100 < len(every)
    assert one.items() <= every.items()
    least = min(stats.support for stats in one.values())
    assert all(rule in one for rule, stats in every.items() if stats.support > least)


@settings(deadline=None, max_examples=40)
@given(hubs(), st.integers(1, 40))
def test_heads_count_the_same_in_parts(kb: KnowledgeBase, most: int) -> None:
    """Whatever is counted between them by the same thread."""
    graph = Graph.of(kb)
    counter, best = HeadCounter(graph, body_sizes(graph)), TopRules(Thresholds(2, 0.0, 0), 2**40)
    parts = {code: Heads.of(graph, code).cut(graph, 2, most) for code in range(graph.num_codes)}
    found: dict[int, list[np.ndarray]] = {code: [np.zeros((ROW, 0), np.int64)] for code in parts}
    for turn in range(max(map(len, parts.values()), default=0)):
        for code, mine in parts.items():
            if turn < len(mine):
                found[code] += counter.rows(mine[turn][0], best, 2**20)
    for code, rows in found.items():
        assert np.concatenate(rows, axis=1).tolist() == all_anchored(graph, code, SOME).tolist()
    assert any(len(mine) > 1 for mine in parts.values())
