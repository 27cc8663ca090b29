"""How much each kind of rule counts, fitted on validation facts.   [docs/evaluation.md]

Rules of one kind often say the same thing: five chains through one neighbour are hardly more than one. So the
j-th strongest rule of a kind counts factor * discount^j of its evidence; sixteen numbers, the same for all targets,
chosen for the mean reciprocal rank of validation facts, which no rule was counted on. They are used only if half of
the facts choose numbers that are better for the other half too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..data.arrays import Doubles, Mask
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..kernel.ruleset import KINDS, Aggregation, RuleSet
from ..progress import Progress, Stop, silent
from .ranking import Ranker
from .samples import CANDIDATES, Sample, gather
from .trying import Trials

FACTORS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 4.5, 7.0)
DISCOUNTS = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
NUMBERS = tuple(
    (kind, column, values)
    for kind in range(len(KINDS))
    for column, values in enumerate((FACTORS, DISCOUNTS)[: 1 if KINDS[kind] == "prior" else 2])
)
"""What is chosen, one after the other: (kind, column of the weighing, values). A side has one prior: no discount."""
START = (1.0, 0.6)
LEAST_FACTS = 200
"""Validation facts; with fewer, all rules are weighed alike."""
MOST_FACTS = 5_000
ROUNDS = 4
CLEARLY, ERRORS = 0.0002, 1.0
"""What a weighing must add to the mean reciprocal rank of the other half, at least, and in standard errors."""


def fitted(
    rules: RuleSet,
    kb: KnowledgeBase,
    valid: Facts,
    known: Facts,
    seed: int,
    threads: int = 0,
    memory: int = 2**30,
    progress: Progress = silent,
    stop: Stop | None = None,
) -> Aggregation:
    """The aggregation of the rules with a weighing, or as it is where that does not help or there are few facts.

    So it is where `stop` ends the fitting: half of one is not known to help.
    """
    stop = Stop(whole=stop)  # its `cut` tells about this fitting alone
    before = rules.aggregation
    mine = valid[~valid.is_unary & np.isin(valid.predicate, np.unique(rules.head))]
    if before.kind != "noisy-or" or not before.top or len(mine) < LEAST_FACTS:
        return before
    if len(mine) > MOST_FACTS:
        mine = mine[np.sort(np.random.default_rng((seed, 5)).permutation(len(mine))[:MOST_FACTS])]
    weighing = np.array([START] * len(KINDS))
    ranker = Ranker(
        replace(rules, aggregation=replace(before, weighing=tuple(map(tuple, weighing)))), kb, threads, memory
    )
    sample = gather(ranker, mine, known, progress, stop)
    if stop():
        return before
    half = np.random.default_rng((seed, 6)).permutation(len(mine))[sample.fact] % 2 == 0
    trials, plain = Trials.of(sample, threads), sample.plain_reciprocal(before.top, threads)
    gains = []
    for one in (half, ~half):
        chosen = ascend(sample, weighing, stop, threads, trials, one)
        gains.append((sample.reciprocal(chosen, threads) - plain)[~one])
    gain = np.concatenate(gains)
    if gain.mean() < max(CLEARLY, ERRORS * gain.std() / np.sqrt(len(gain))):
        return before
    chosen = ascend(sample, weighing, stop, threads, trials)
    if stop.cut:
        return before
    if not chosen[:, 0].any():
        return before  # every kind misleads: no order at all would be best, and a score must be more than 0
    chosen[:, 0] /= chosen[:, 0].max()  # only ratios matter to an order, and a score must not come near 1
    return replace(before, weighing=tuple(map(tuple, chosen.tolist())))


def ascend(
    sample: Sample,
    start: np.ndarray,
    stop: Stop | None = None,
    threads: int = 1,
    trials: Trials | None = None,
    among: Mask | None = None,
) -> np.ndarray:
    """One number at a time, while that helps the queries `among` (default: all)."""
    stop, trials = stop or Stop(), trials or Trials.of(sample, threads)
    rows = np.arange(len(sample.fact)) if among is None else np.flatnonzero(among)
    best, ranks = start.copy(), sample.reciprocal(start, threads)[rows]
    now = _mean(ranks)
    for _ in range(ROUNDS):
        before = now
        for kind, column, values in NUMBERS:
            tried = trials.ranks(rows, ranks, best, kind, column, values, stop)
            if stop():
                return best
            for value, found in zip(values, tried):
                if _mean(found) > now + 1e-6:
                    best[kind, column], now, ranks = value, _mean(found), found
        if now < before + 1e-4:
            break
    return best


def _mean(ranks: Doubles) -> float:
    return float(ranks.sum()) / max(len(ranks), 1)


__all__ = ["CANDIDATES", "LEAST_FACTS", "START", "Sample", "ascend", "fitted", "gather"]
