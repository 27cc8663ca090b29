"""Ranks on a GPU are those of a CPU, to the last tie. Runs where there is one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from nlil.data.kb import KnowledgeBase
from nlil.evaluation.ranking import Ranker
from nlil.rules.ruleset import Aggregation
from nlil.search.count import count_rules
from nlil.search.options import CountOptions

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here: ranking on CUDA is not tested")


def random_base(seed: int) -> KnowledgeBase:
    random = np.random.default_rng(seed)
    names = [f"e{i}" for i in range(30)]
    binary = [(str(random.choice(names)), f"r{random.integers(4)}", str(random.choice(names))) for _ in range(260)]
    unary = [(str(random.choice(names)), f"u{random.integers(2)}") for _ in range(20)]
    return KnowledgeBase.from_facts([*binary, *unary])


@needs_gpu
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("aggregation", [Aggregation("noisy-or", 5), Aggregation("noisy-or", 2), Aggregation("max")])
def test_ranks_are_the_same(seed: int, aggregation: Aggregation) -> None:
    whole = random_base(seed)
    held = np.zeros(len(whole.facts), bool)
    held[np.flatnonzero(~whole.facts.is_unary)[::7]] = True
    kb = whole.with_facts(whole.facts[~held])
    options = CountOptions(min_support=1, min_confidence=0.0)
    rules = replace(count_rules(kb, np.arange(kb.num_predicates), options).rules, aggregation=aggregation)
    on_gpu = count_rules(kb, np.arange(kb.num_predicates), replace(options, device="cuda")).rules
    assert [str(s) for s in rules] == [str(s) for s in on_gpu]
    ranks = [Ranker(rules, kb, 1, 2**24, device).rank(whole.facts[held], whole.facts, hide=True)
             for device in ("cpu", "cuda")]
    rows = [sorted(zip(r.fact.tolist(), r.direction.tolist(), r.above.tolist(), r.tied.tolist())) for r in ranks]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 2 * held.sum()
