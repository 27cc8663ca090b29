"""Chains that attentions propose for binary targets, counted by the compiled loops of the counting search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..data.arrays import Ids
from ..data.kb import KnowledgeBase
from ..kernel.bodies import X_NODE, Y_NODE, IdLine
from ..kernel.graph import Graph, target_facts
from ..kernel.pool import Pool
from ..kernel.ruleset import RuleSet
from ..logic.formula import Statement
from ..logic.rule import Rule
from ..progress import Progress, Stop
from ..search.chains import Chains
from ..search.count import chain_part
from ..search.longer import ChainCounter, counted, estimate

MOST_PATHS = 3e10
"""A chain of n steps is counted exactly only where the graph has at most so many paths of n steps."""
LONG = 3
"""From this length on fewer bodies of a target are counted: each walks many paths."""


def longest_chain(kb: KnowledgeBase) -> int:
    """The most steps of a chain that can be counted on this base."""
    edges = kb.crisp.adjacency
    paths: np.ndarray = np.ones(kb.num_entities)
    node = edges.node
    length = 0
    while length < 8:
        paths = np.bincount(node, weights=paths[edges.neighbour], minlength=kb.num_entities)
        if length >= 2 and paths.sum() > MOST_PATHS:
            break
        length += 1
    return length


def chain_codes(kb: KnowledgeBase, rule: Rule) -> tuple[int, ...] | None:
    """The step codes of p(X, Y) :- r1(X, Z1), ..., rn(Zn, Y) with all entities distinct; None for any other rule."""
    if rule.target.arity != 2 or not rule.distinct or not isinstance(rule.body, Statement):
        return None
    line = IdLine.of(kb, rule.body)
    if any(line.filters) or line.equal is not None:
        return None
    if (line.anchors[0], line.anchors[-1]) == (X_NODE, Y_NODE):
        return line.codes
    return line.reversed().codes if (line.anchors[0], line.anchors[-1]) == (Y_NODE, X_NODE) else None


def count_chains(
    kb: KnowledgeBase,
    proposed: Mapping[int, Sequence[tuple[int, ...]]],
    keep: int,
    min_support: int,
    min_confidence: float,
    threads: int,
    progress: Progress,
    stop: Stop | None,
) -> RuleSet:
    """Exact statistics of the proposed bodies, for every target that they serve.

    Of more than `keep` bodies of a target those with the best estimate, on sampled starts, are counted.
    """
    targets = np.array(sorted(proposed), np.int32)
    graph, facts = Graph.of(kb.crisp), target_facts(kb, targets)
    parts = [RuleSet.empty(kb)]
    lengths = sorted({len(body) for bodies in proposed.values() for body in bodies})
    for length in lengths:
        mine = {t: [b for b in proposed[int(t)] if len(b) == length] for t in targets}
        bodies = sorted({b for found in mine.values() for b in found})
        row = {body: i for i, body in enumerate(bodies)}
        steps = np.array(bodies, np.int32)
        pool = Pool(lambda length=length: ChainCounter(graph, facts, len(targets), length), threads)  # type: ignore[misc]
        chosen = np.ones(len(bodies), bool)
        most = keep if length < LONG else max(1, keep // 4)
        if max(len(found) for found in mine.values()) > most:
            chosen = _promising(pool, steps, mine, row, most, min_confidence, targets, progress, stop)
        blocks = [steps[chosen][i : i + 4] for i in range(0, int(chosen.sum()), 4)]

        def count(counter: ChainCounter, block: Ids, length: int = length) -> Chains:
            return Chains.join([counted(counter, codes, min_support, min_confidence) for codes in block], length)

        found = Chains.join(pool.map(count, blocks, f"count chains of length {length}", progress, stop), length)
        if length == 1:
            found = _without_itself(found, targets)
        parts.append(chain_part(kb, targets, facts, found))
    return RuleSet.join(parts)


def _promising(
    pool: Pool[ChainCounter],
    steps: Ids,
    mine: Mapping[int, list[tuple[int, ...]]],
    row: Mapping[tuple[int, ...], int],
    keep: int,
    min_confidence: float,
    targets: Ids,
    progress: Progress,
    stop: Stop | None,
) -> np.ndarray:
    blocks = [steps[i : i + 64] for i in range(0, len(steps), 64)]

    def guess(counter: ChainCounter, block: Ids) -> np.ndarray:
        return np.array([estimate(counter, codes, min_confidence) for codes in block], np.float32)

    guessed = np.concatenate(
        pool.map(guess, blocks, f"estimate chains of length {steps.shape[1]}", progress, stop)
        or [np.zeros((0, len(targets)), np.float32)]
    )
    chosen = np.zeros(len(steps), bool)
    for position, target in enumerate(targets):
        rows = np.array([row[b] for b in mine[target]], np.int64)
        rows = rows[rows < len(guessed)]
        best = rows[np.argsort(-guessed[rows, position], kind="stable")[:keep]]
        chosen[best] = True
    return chosen


def _without_itself(chains: Chains, targets: Ids) -> Chains:
    """p(X, Y) :- p(X, Y) has no support once the query's own fact is hidden."""
    other = chains.steps[:, 0] != 2 * targets[chains.target]
    return Chains(
        chains.target[other],
        chains.steps[other],
        chains.support[other],
        chains.body_size[other],
        chains.pca_body[other],
    )
