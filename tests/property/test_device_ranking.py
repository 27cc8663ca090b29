"""Ranks on a GPU are those of a CPU, to the last tie. The kernel runs where there is one."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from nlil.data.facts import Facts
from nlil.data.kb import KnowledgeBase
from nlil.evaluation import ranking
from nlil.evaluation.device_ranking import DeviceRanker, QueryGroup, _Rules
from nlil.evaluation.queries import TargetQueries
from nlil.evaluation.ranking import Ranker
from nlil.kernel.aggregation import Aggregation, Ranks
from nlil.kernel.exclusion import Exclusion
from nlil.kernel.ruleset import RuleSet
from nlil.logic.parse import parse_rule
from nlil.logic.predicate import Predicate, Step
from nlil.logic.rule import RuleStats, ScoredRule
from nlil.search.count import count_rules
from nlil.search.options import CountOptions

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here: ranking on CUDA is not tested")

R0, R1, R2 = (Predicate(f"r{i}", 2) for i in range(3))
EXCLUSIONS = tuple(
    Exclusion(target, step, 1.0)
    for target, step in ((R0, Step(R1)), (R0, Step(R0, inverse=True)), (R1, Step(R2, inverse=True)), (R2, Step(R0)))
)


def random_base(seed: int) -> KnowledgeBase:
    random = np.random.default_rng(seed)
    names = [f"e{i}" for i in range(30)]
    binary = [(str(random.choice(names)), f"r{random.integers(4)}", str(random.choice(names))) for _ in range(260)]
    unary = [(str(random.choice(names)), f"u{random.integers(2)}") for _ in range(20)]
    return KnowledgeBase.from_facts([*binary, *unary])


def held_out(
    seed: int, exclusions: tuple[Exclusion, ...], aggregation: Aggregation, options: CountOptions
) -> tuple[KnowledgeBase, KnowledgeBase, Facts, RuleSet]:
    """The whole base, the base without every seventh binary fact, those facts, and rules."""
    whole = random_base(seed)
    held = np.zeros(len(whole.facts), bool)
    held[np.flatnonzero(~whole.facts.is_unary)[::7]] = True
    kb = whole.with_facts(whole.facts[~held])
    rules = count_rules(kb, np.arange(kb.num_predicates), options).rules
    return whole, kb, whole.facts[held], replace(rules, aggregation=aggregation, exclusions=exclusions)


def rows(ranks: Ranks) -> list[tuple[int, ...]]:
    return sorted(zip(*(getattr(ranks, name).tolist() for name in ("fact", "direction", "above", "tied"))))


WEIGHINGS = [
    ((0.9, 0.5), (1.0, 0.2), (0.35, 0.7), (0.1, 0.9), (0.45, 0.6), (0.15, 0.2), (0.3, 0.6), (0.05, 0.6)),
    ((0.0, 0.6), (1.0, 1.0), (0.3, 0.0), (0.7, 0.4), (0.0, 1.0), (0.2, 0.3), (1.0, 1.0), (1.0, 1.0)),
    ((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.5, 1.0)),
]
WEIGHED = [Aggregation("noisy-or", top, weighing) for top, weighing in zip((5, 2, 3), WEIGHINGS)]
AGGREGATIONS = [Aggregation("noisy-or", 5), Aggregation("noisy-or", 2), Aggregation("max"), *WEIGHED]


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
        def launch(
            chain_pointer,
            chain_begin,
            chain_end,
            chain_evidence,
            chain_kind,
            ends,
            back_begin,
            back_end,
            back_body,
            back_evidence,
            back_kind,
            item_pointer,
            item_member,
            forward_pointer,
            forward_begin,
            forward_end,
            forward_kind,
            candidate,
            candidate_evidence,
            slots,
            num_entities,
            TOP,
            **_,
        ):
            for query in range(grid[0]):
                fired: dict[tuple[int, int], list[int]] = {}
                for i in range(chain_pointer[query], chain_pointer[query + 1]):
                    for b in ends[chain_begin[i] : chain_end[i]].tolist():
                        fired.setdefault((int(chain_kind[i]), b), []).append(int(chain_evidence[i]))
                for i in range(back_begin[query], back_end[query]):
                    for b in item_member[item_pointer[back_body[i]] : item_pointer[back_body[i] + 1]].tolist():
                        fired.setdefault((int(back_kind[i]), b), []).append(int(back_evidence[i]))
                for i in range(forward_pointer[query], forward_pointer[query + 1]):
                    for m in range(forward_begin[i], forward_end[i]):
                        key = int(forward_kind[i]), int(candidate[m])
                        fired.setdefault(key, []).append(int(candidate_evidence[m]))
                for (kind, b), values in fired.items():
                    best = sorted(values, reverse=True)[:TOP]
                    slots[query, kind, b, : len(best)] = torch.tensor(best)

        return launch


class _Counted:
    """A kernel that remembers the longest batch and the bytes of its slots."""

    def __init__(self, kernel: Any) -> None:
        self.kernel, self.slot_bytes = kernel, 0

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        def launch(*arguments: Any, **options: Any) -> None:
            slots = next(a for a in arguments if isinstance(a, torch.Tensor) and a.dim() == 4)
            self.slot_bytes = max(self.slot_bytes, slots.numel() * slots.element_size())
            self.kernel[grid](*arguments, **options)

        return launch


def kernels() -> dict[str, Any]:
    """The loops above; and the kernel itself, where Triton is told to play a GPU (TRITON_INTERPRET=1)."""
    found: dict[str, Any] = {"loops": _Fire()}
    if os.environ.get("TRITON_INTERPRET") == "1":
        from nlil.evaluation.device_kernel import fire

        found["triton"] = fire
    return found


@pytest.fixture(params=kernels())
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> _Counted:
    """Stands where the GPU's kernel would."""
    module, counted = ModuleType("device_kernel"), _Counted(kernels()[request.param])
    module.fire = counted  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nlil.evaluation.device_kernel", module)
    return counted


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_all_but_the_kernel_is_right_on_a_cpu(aggregation: Aggregation, kernel: _Counted) -> None:
    """Where there is no GPU either: the tensors around the kernel, exclusions among them."""
    options = CountOptions(max_length=2, min_support=2, min_confidence=0.2)
    whole, kb, facts, rules = held_out(0, EXCLUSIONS, aggregation, options)
    memory = 2**16
    ranker = Ranker(rules, kb, 1, memory)
    groups = list(ranker.groups(facts))
    own = np.zeros(len(facts), bool)  # none of them is in the base
    numbers, rest = ranker._on_device(groups, facts, whole.facts, own)
    assert len(rest) < len(groups)
    assert memory // 8 < kernel.slot_bytes <= memory
    left = {(int(row), direction) for _, direction, some in rest for row in some}
    expected = rows(ranker.rank(facts, whole.facts, hide=True))
    assert sorted(zip(*numbers.tolist())) == [row for row in expected if row[:2] not in left]
    plain = Ranker(replace(rules, exclusions=()), kb, 1).rank(facts, whole.facts, hide=True)
    assert rows(plain) != expected


LINES = """
r0(X, Y) :- r1(X, Y).        r0(X, Y) :- r1(Y, X).                     r0(X, Y) :- r1(X, Z1), r2(Z1, Y).
r0(X, Y) :- r3(Z1, X), r1(Y, Z1).     r0(X, Y) :- r2(X, Z1), u0(Z1), r3(Z1, Y).    r0(X, Y) :- r2(X, Y).
r0(X, e3) :- r1(X, e4).      r0(X, e3) :- r2(X, e5).                   r0(X, e3) :- r2(Z1, X).
r0(e7, Y) :- r1(Y, e4).      r0(e7, Y) :- r3(Y, e6).                   r0(e7, Y) :- r2(Y, Z1).
r0(X, e3) :- true.           r0(e7, Y) :- true.                        r0(e8, Y) :- r2(Y, e1).
"""


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_totals_are_the_evidence(aggregation: Aggregation, kernel: _Counted) -> None:
    """A few rules of each kind: what a wrong kind, place or prior does is seen in the sum, if not in a rank."""
    kb = random_base(1)
    texts = [text.strip() for text in re.split(r"\.\s", LINES) if text.strip()]
    # One that is not distinct is walked on the CPU, as filters and long chains are.
    found = [replace(parse_rule(text + "."), distinct=not text.endswith("r2(X, Y)")) for text in texts]
    scored = [ScoredRule(rule, RuleStats(1, 2, 3, 2), 0.05 + 0.06 * i) for i, rule in enumerate(found)]
    ranker = Ranker(RuleSet.of(kb, scored, aggregation), kb, 1)
    target, everyone = kb.predicate_id(R0), np.arange(kb.num_entities)
    asked = [
        QueryGroup(ranker.target_plan(target, direction)[0], everyone, everyone, everyone, direction)
        for direction in (0, 1)
    ]
    device = DeviceRanker(ranker, "cpu")
    totals = _Rules(device, asked).totals(np.tile(everyone, 2), np.repeat((0, 1), len(everyone)), ranker.strongest_only)
    expected = [ranker.evidence(target, direction, a).tolist() for direction in (0, 1) for a in everyone]
    assert totals.tolist() == expected
    # One entity, asked in both directions: two queries, though they stand side by side.
    for a in everyone[:6]:
        both = Facts(*(np.array([i], np.int32) for i in (target, a, a)))
        own, groups = np.zeros(1, bool), list(ranker.groups(both))
        numbers, rest = ranker._on_device(groups, both, kb.facts, own)
        assert not rest
        assert sorted(zip(*numbers.tolist())) == rows(ranker.rank(both, kb.facts))


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_each_query_has_the_same_evidence(
    aggregation: Aggregation, kernel: _Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queries that hide a fact stay with the CPU, the others do not."""
    _, kb, _, rules = held_out(2, EXCLUSIONS, aggregation, CountOptions(max_length=2, min_support=2))
    asked = [
        TargetQueries(target, direction, np.arange(12, dtype=np.int32), np.full(12, hidden, np.int32))
        for target, hidden in ((0, -1), (1, 3), (2, -1))
        for direction in (0, 1)
    ]

    def evidence(device: str) -> list[list[list[int]]]:
        return Ranker(rules, kb, 2, 2**16, device).each(asked, lambda g, i, total: [g, i, *total.tolist()])

    expected = evidence("cpu")
    monkeypatch.setattr(ranking, "resolve_device", lambda _: "cpu")
    monkeypatch.setattr(Ranker, "_uses_device", lambda *_: True)
    assert evidence("cuda") == expected
    assert kernel.slot_bytes


def test_facts_of_the_base_do_not_compete(kernel: _Counted) -> None:
    """Whether or not they are among those that are said to be known."""
    _, kb, facts, rules = held_out(3, (), Aggregation("noisy-or", 3), CountOptions(max_length=2, min_support=2))
    ranker = Ranker(rules, kb, 1)
    numbers, rest = ranker._on_device(list(ranker.groups(facts)), facts, facts, np.zeros(len(facts), bool))
    assert not rest
    assert sorted(zip(*numbers.tolist())) == rows(ranker.rank(facts, facts))
    assert rows(ranker.rank(facts, facts)) == rows(ranker.rank(facts, kb.facts + facts))


def test_ranks_come_in_one_order_wherever_they_are_made(kernel: _Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mean of them differs in its last digit otherwise."""
    _, kb, facts, rules = held_out(4, (), Aggregation("noisy-or", 3), CountOptions(max_length=2, min_support=2))
    here = Ranker(rules, kb, 1).rank(facts, facts)
    monkeypatch.setattr(ranking, "resolve_device", lambda _: "cpu")
    monkeypatch.setattr(Ranker, "_uses_device", lambda *_: True)
    there = Ranker(rules, kb, 1, device="cuda").rank(facts, facts)
    assert kernel.slot_bytes
    for name in ("fact", "direction", "above", "tied"):
        assert getattr(here, name).tolist() == getattr(there, name).tolist()
