"""Evaluate long chains only as long as they can change a rank. Compiled loops.

Walking a chain of five steps takes longer than all short rules together, and most ranks are certain earlier. Chains
are walked from strong to weak, so what the remaining chains can add to a candidate is bounded. Once no candidate can
overtake an answer or fall behind it, the remaining chains are skipped.
"""

from __future__ import annotations

import numpy as np

from ..data.arrays import Ids, Longs
from ..kernel.aggregation import RESOLUTION, SCALE, ScoreSpace, weigh
from ..kernel.compiled import compiled
from ..kernel.graph import Graph
from ..kernel.hidden import HiddenFact
from ..kernel.walk import NO_LIMIT
from .plan import Plan, back_prior_of
from .scoring import chain, collect, is_soft, sum_touched, total_of, untouched_from, untouched_total

SHORT_STEPS = 2
"""Chains of up to this many steps are always walked."""
APART = 2 * RESOLUTION
"""Scores that differ by more are never tied, however they are rounded."""


@compiled
def score_until_settled(
    graph: Graph, plan: Plan, hidden: HiddenFact, top: int, strongest_only: bool, extra: np.ndarray,
    answers: Ids, known_answers: Ids, weight: Longs, space: ScoreSpace,
) -> tuple[int, int]:  # fmt: skip
    """Do the work of `collect` and `sum_touched`, but stop once the ranks of `answers` are certain.

    Totals may lack the evidence of weak long chains. The j-th strongest long chain counts at most weight[j]
    (`weight`); if it is empty, every chain is walked. `known_answers` do not compete; the priors of the plan must be
    loaded. Returns the number of touched candidates (see `clear`), and whether a long chain was walked.
    """
    # There is no bound if all rules count, and none is implemented for soft facts.
    settles = len(weight) > 0 and top > 0 and not is_soft(plan.chain_weight)
    touched = collect(graph, plan, hidden, top, SHORT_STEPS if settles else NO_LIMIT, extra, space)
    touched = sum_touched(graph, plan, hidden, strongest_only, space, touched)
    if not settles:
        return touched, True
    base, last_checked, walked = back_prior_of(plan, hidden.start), np.int64(2**62), False
    for i in range(len(plan.chain_length)):
        if plan.chain_length[i] <= SHORT_STEPS:
            continue
        left = most_to_come(plan.chain_evidence, i, weight)
        if 2 * left <= last_checked:  # the check takes time: only when the bound has halved
            touched = sum_touched(graph, plan, hidden, strongest_only, space, touched)
            if is_settled(plan, space, base, strongest_only, touched, answers, known_answers, left):
                return touched, walked
            last_checked = left
        touched = chain(graph, plan, plan.chain_weight, i, hidden, top, space, None, touched)
        walked = True
    touched = sum_touched(graph, plan, hidden, strongest_only, space, touched)
    return touched, walked


@compiled
def most_to_come(evidence: Longs, first: int, weight: Longs) -> np.int64:
    """Return the most that the chains from `first` on can add to a total.

    `evidence` is that of all chains, strongest first; the j-th strongest rule counts weight[j] (`weight`), which never
    increases with j. Earlier rules only push these chains to larger j.
    """
    most = np.int64(0)
    for j in range(min(len(weight), len(evidence) - first)):
        most += weigh(evidence[first + j], weight[j])
    return most


@compiled
def is_settled(
    plan: Plan, space: ScoreSpace, base: int, strongest_only: bool, touched: int, answers: Ids, known_answers: Ids,
    left: int,
) -> bool:  # fmt: skip
    """Return whether every candidate stays above or below each answer if totals can still rise by `left`.

    `space` has the evidence so far of the `touched` candidates; `base` is the `back_prior_of` the query. `answers` are
    ranked; `known_answers` do not compete.
    """
    num_entities = len(space.slot)
    for answer in answers:
        own = total_of(space, base, strongest_only, answer)
        below, above = score_bounds(own, left)
        undecided = untouched_from(plan, num_entities, base, strongest_only, below)
        undecided -= untouched_from(plan, num_entities, base, strongest_only, above)
        for s in range(1, touched + 1):
            before = untouched_total(space, base, strongest_only, space.touched[s])
            undecided += (space.total[s] >= below) & (space.total[s] < above)
            undecided -= (before >= below) & (before < above)
        for b in known_answers:
            total = total_of(space, base, strongest_only, b)
            undecided -= (b != answer) & (total >= below) & (total < above)
        if undecided != (below <= own < above):
            return False
    return True


@compiled
def score_bounds(total: int, left: int) -> tuple[np.int64, np.int64]:
    """Return (below, above) for an answer with this `total` if every total can still rise by `left`.

    A candidate with less than `below` stays below the answer; a candidate with at least `above` stays above it.
    """
    lowest = -np.expm1(-total / SCALE) - APART
    highest = -np.expm1(-(total + left) / SCALE) + APART
    below = np.floor(-np.log1p(-lowest) * SCALE) - 1 - left if lowest > 0 else 0.0
    above = np.ceil(-np.log1p(-highest) * SCALE) + 1 if highest < 1 else 2.0**62
    return np.int64(max(below, 0.0)), np.int64(above)


__all__ = ["is_settled", "most_to_come", "score_bounds", "score_until_settled"]
