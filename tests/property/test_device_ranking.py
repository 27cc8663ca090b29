"""Ranks on a GPU are those of a CPU, to the last tie. The kernel runs where there is one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
import torch

from nlil.data.facts import Facts
from nlil.data.kb import KnowledgeBase
from nlil.evaluation.ranking import Ranker, Ranks
from nlil.logic.predicate import Predicate, Step
from nlil.rules import Exclusion, RuleSet
from nlil.rules.ruleset import Aggregation
from nlil.search.count import count_rules
from nlil.search.options import CountOptions

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here: ranking on CUDA is not tested")

R0, R1, R2 = (Predicate(f"r{i}", 2) for i in range(3))
EXCLUSIONS = tuple(Exclusion(target, step, 1.0) for target, step in (
    (R0, Step(R1)), (R0, Step(R0, inverse=True)), (R1, Step(R2, inverse=True)), (R2, Step(R0))))


def random_base(seed: int) -> KnowledgeBase:
    random = np.random.default_rng(seed)
    names = [f"e{i}" for i in range(30)]
    binary = [(str(random.choice(names)), f"r{random.integers(4)}", str(random.choice(names))) for _ in range(260)]
    unary = [(str(random.choice(names)), f"u{random.integers(2)}") for _ in range(20)]
    return KnowledgeBase.from_facts([*binary, *unary])


def held_out(seed: int, exclusions: tuple[Exclusion, ...], aggregation: Aggregation,
             options: CountOptions) -> tuple[KnowledgeBase, KnowledgeBase, Facts, RuleSet]:
    """The whole base, the base without every seventh binary fact, those facts, and rules."""
    whole = random_base(seed)
    held = np.zeros(len(whole.facts), bool)
    held[np.flatnonzero(~whole.facts.is_unary)[::7]] = True
    kb = whole.with_facts(whole.facts[~held])
    rules = count_rules(kb, np.arange(kb.num_predicates), options).rules
    return whole, kb, whole.facts[held], replace(rules, aggregation=aggregation, exclusions=exclusions)


def rows(ranks: Ranks) -> list[tuple[int, ...]]:
    return sorted(zip(*(getattr(ranks, name).tolist() for name in ("fact", "direction", "above", "tied"))))


AGGREGATIONS = [Aggregation("noisy-or", 5), Aggregation("noisy-or", 2), Aggregation("max")]


@needs_gpu
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("exclusions", [(), EXCLUSIONS])
def test_ranks_are_the_same(seed: int, aggregation: Aggregation, exclusions: tuple[Exclusion, ...]) -> None:
    options = CountOptions(min_support=1, min_confidence=0.0)
    whole, kb, facts, rules = held_out(seed, exclusions, aggregation, options)
    on_gpu = count_rules(kb, np.arange(kb.num_predicates), replace(options, device="cuda")).rules
    assert [str(s) for s in rules] == [str(s) for s in on_gpu]
    ranks = [Ranker(rules, kb, 1, 2**24, device).rank(facts, whole.facts, hide=True) for device in ("cpu", "cuda")]
    assert rows(ranks[0]) == rows(ranks[1])
    assert len(ranks[0].fact) == 2 * len(facts)


class _Fire:
    """The Triton kernel of `device_kernel`, played by loops on the CPU."""

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        def launch(chain_pointer, chain_begin, chain_end, chain_evidence, ends, back_begin, back_end, back_body,
                   back_evidence, item_pointer, item_member, forward_pointer, forward_begin, forward_end, candidate,
                   candidate_evidence, slots, num_entities, TOP, **_):
            for query in range(grid[0]):
                fired: dict[int, list[int]] = {}
                for i in range(chain_pointer[query], chain_pointer[query + 1]):
                    for b in ends[chain_begin[i] : chain_end[i]].tolist():
                        fired.setdefault(b, []).append(int(chain_evidence[i]))
                for i in range(back_begin[query], back_end[query]):
                    for b in item_member[item_pointer[back_body[i]] : item_pointer[back_body[i] + 1]].tolist():
                        fired.setdefault(b, []).append(int(back_evidence[i]))
                for i in range(forward_pointer[query], forward_pointer[query + 1]):
                    for m in range(forward_begin[i], forward_end[i]):
                        fired.setdefault(int(candidate[m]), []).append(int(candidate_evidence[m]))
                for b, values in fired.items():
                    best = sorted(values, reverse=True)[:TOP]
                    slots[query, b, : len(best)] = torch.tensor(best)

        return launch


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_all_but_the_kernel_is_right_on_a_cpu(aggregation: Aggregation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no GPU either: the tensors around the kernel, exclusions among them."""
    kernel = ModuleType("device_kernel")
    kernel.fire = _Fire()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nlil.evaluation.device_kernel", kernel)
    options = CountOptions(max_length=2, min_support=2, min_confidence=0.2)
    whole, kb, facts, rules = held_out(0, EXCLUSIONS, aggregation, options)
    ranker = Ranker(rules, kb, 1, 2**16)
    groups = list(ranker.groups(facts))
    numbers, rest = ranker._on_device(groups, facts, whole.facts, True)
    assert len(rest) < len(groups)
    left = {(int(row), direction) for _, direction, some in rest for row in some}
    expected = rows(ranker.rank(facts, whole.facts, hide=True))
    assert sorted(zip(*numbers.tolist())) == [row for row in expected if row[:2] not in left]
    plain = Ranker(replace(rules, exclusions=()), kb, 1).rank(facts, whole.facts, hide=True)
    assert rows(plain) != expected
