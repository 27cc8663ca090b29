"""The tensor search returns the rows of the compiled loops, in their order, on every device."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nlil.data.kb import KnowledgeBase
from nlil.kernel.graph import Graph
from nlil.search.anchored import HeadCounter, Heads, body_sizes
from nlil.search.chains import one_step_chains
from nlil.search.count import count_rules
from nlil.search.options import CountingTask, CountOptions
from nlil.search.tensors import HELD_BYTES, TensorCounter, has_room, num_two_steps
from nlil.search.top_rules import ROW, Thresholds, TopRules
from nlil.search.two_steps import two_step_chains
from property.test_counting import bases


def all_anchored(graph: Graph, code: int, options: CountOptions, budget: int = 2**20) -> np.ndarray:
    """The rows of the compiled loops for one step."""
    counter = HeadCounter(graph, body_sizes(graph))
    best = TopRules(Thresholds(options.min_support, options.min_confidence, 0), 2**40)
    rows = counter.rows(Heads.of(graph, code), best, budget)
    return np.concatenate([np.zeros((ROW, 0), np.int64), *rows], axis=1)


DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])


@pytest.mark.parametrize("device", DEVICES)
@settings(deadline=None, max_examples=40)
@given(
    kb=bases(), memory=st.sampled_from([100, 2**20]), support=st.integers(1, 3), confidence=st.sampled_from([0, 0.3])
)
def test_tensors_equal_loops(device: str, kb: KnowledgeBase, memory: int, support: int, confidence: float) -> None:
    graph = Graph.of(kb.crisp)
    targets = np.array([i for i, p in enumerate(kb.predicates) if p.arity == 2], np.int32)
    options = CountOptions(min_support=support, min_confidence=confidence, device=device, memory=memory)
    task = CountingTask.of(kb, graph, targets, options)
    counter = TensorCounter(task)
    for mine, theirs in zip(counter.chains(), (one_step_chains(task), two_step_chains(task)), strict=True):
        for column, expected in zip(mine, theirs, strict=True):
            assert column.dtype == expected.dtype
            assert column.tolist() == expected.tolist()
    codes = [int(c) for t in targets for c in (2 * t, 2 * t + 1)]
    for code, rows in counter.anchored(codes):
        assert rows.tolist() == all_anchored(graph, code, options).tolist(), code


def test_a_graph_with_more_paths_than_a_gpu_holds_is_counted_by_the_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = KnowledgeBase.from_facts([(f"e{i}", "p", f"e{i + 1}") for i in range(9)])
    graph = Graph.of(kb)
    paths = num_two_steps(graph)
    for memory, fits in ((2 * HELD_BYTES * paths, True), (2 * HELD_BYTES * paths - 1, False)):
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _, m=memory: SimpleNamespace(total_memory=m))
        assert has_room(graph, "cuda") == fits
    assert has_room(graph, "cpu")
    targets = np.arange(kb.num_predicates, dtype=np.int32)
    counted = count_rules(kb, targets, CountOptions(min_support=1, device="cuda"))
    assert "do not fit on the GPU" in counted.notes[-1]
    assert len(counted.rules) == len(count_rules(kb, targets, CountOptions(min_support=1)).rules)
