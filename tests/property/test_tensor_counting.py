"""The tensor search returns the rows of the compiled loops, in their order, on every device."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nlil.data.kb import KnowledgeBase
from nlil.kernel.graph import Graph, target_facts
from nlil.search import anchored, chains
from nlil.search.tensors import TensorCounter
from property.test_counting import bases

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])


@pytest.mark.parametrize("device", DEVICES)
@settings(deadline=None, max_examples=40)
@given(
    kb=bases(), memory=st.sampled_from([100, 2**20]), support=st.integers(1, 3), confidence=st.sampled_from([0, 0.3])
)
def test_tensors_equal_loops(device: str, kb: KnowledgeBase, memory: int, support: int, confidence: float) -> None:
    graph = Graph.of(kb.crisp)
    targets = np.array([i for i, p in enumerate(kb.predicates) if p.arity == 2], np.int32)
    facts = target_facts(kb, targets)
    counter = TensorCounter(graph, facts, targets, device, memory)
    one, two = counter.chains(support, confidence)
    work = chains.Workspace(graph, len(targets))
    loops = [chains.chains_from(graph, facts, r, work, support, confidence) for r in range(graph.num_codes)]
    for mine, theirs in (
        (one, chains.one_step_chains(graph, facts, targets, support, confidence)),
        (two, chains.Chains.join(loops, 2)),
    ):
        for column in ("target", "steps", "support", "body_size", "pca_body"):
            assert getattr(mine, column).tolist() == getattr(theirs, column).tolist(), column
    codes = [int(c) for t in targets for c in (2 * t, 2 * t + 1)]
    for code, rows in counter.anchored(codes, support, confidence):
        expected = anchored.anchored_rules(graph, code, support, confidence, 2**20)
        for column in anchored.Anchored._fields:
            assert getattr(rows, column).tolist() == getattr(expected, column).tolist(), (code, column)
