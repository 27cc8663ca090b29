"""Score a block of queries and keep what the caller needs: one compiled loop for all of them.

Ranking, prediction and the search for a weighing walk the same rules and differ only in what they keep of each query.
Most of the time that the loop takes to compile goes into the walk, so it is compiled once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.arrays import Longs
from ..kernel.aggregation import ScoreSpace, clear, tie_bounds
from ..kernel.compiled import compiled
from ..kernel.graph import Graph
from ..kernel.hidden import HiddenFact
from .places import Competitors, QueryBlock, count_places, store_totals
from .plan import Plan, back_prior_of
from .samples import CandidateSample, store_candidates
from .scoring import drop_priors, load_priors, write_totals
from .settling import score_until_settled

TOTALS, COMPETITORS, SAMPLE = range(3)
"""What is kept of each query: the field of `Results` that is filled."""
INITIAL_BUFFER = 2**16
"""Competitors that fit into the first buffer for a block of queries."""


class Results(NamedTuple):
    """What is kept of the queries of a block. Only one field is filled; the arrays of the others are empty.

    Attributes:
        totals: (queries, entities), the evidence of every candidate. An excluded one has none, not even priors.
        competitors: the totals that determine ranks.
        sample: the best candidates with their evidence.
        at: the row of `sample` for each answer of the block.
    """

    totals: np.ndarray
    competitors: Competitors
    sample: CandidateSample
    at: Longs


NO_NUMBERS = np.zeros(0, np.int64)
NOTHING = Results(
    np.zeros((0, 0), np.int64), Competitors.of(0, 0, 0), CandidateSample.empty(NO_NUMBERS, 1, 1), NO_NUMBERS
)


def score_block(
    graph: Graph, plan: Plan, block: QueryBlock, top: int, strongest_only: bool, space: ScoreSpace
) -> np.ndarray:
    """Return (queries, entities): the evidence of every candidate for each query of `block`; 0 if it is excluded.

    `graph` has the facts and `plan` the rules, of which the `top` strongest count, or only the best with
    `strongest_only` (and `top` = 1). After a stop, queries may lack their evidence.
    """
    totals = np.empty((len(block.query), len(space.slot)), np.int64)
    results = NOTHING._replace(totals=totals)
    score_queries(graph, plan, block, 0, top, strongest_only, NO_NUMBERS, space, TOTALS, results)
    return totals


def places(
    graph: Graph, plan: Plan, block: QueryBlock, top: int, strongest_only: bool, space: ScoreSpace
) -> np.ndarray:
    """Return (candidates above, candidates tied, whether long chains were walked) for each answer of `block`.

    Long chains are walked only as long as they can change a rank. The arguments are those of `score_block`.
    """
    size, begin, parts = INITIAL_BUFFER, 0, [np.zeros((3, 0), np.int64)]
    weight = plan.weight[plan.kind[1]]
    while begin < len(block.query):
        competitors = Competitors.of(len(block.query), len(block.answer), size)
        results = NOTHING._replace(competitors=competitors)
        end = score_queries(graph, plan, block, begin, top, strongest_only, weight, space, COMPETITORS, results)
        if end == begin:
            size *= 4
            continue
        low, high = tie_bounds(competitors.own[block.pointer[begin] : block.pointer[end]])
        parts.append(count_places(plan, len(space.slot), block, begin, end, strongest_only, competitors, low, high))
        begin = end
    return np.concatenate(parts, axis=1)


def gather_block(
    graph: Graph, plan: Plan, block: QueryBlock, top: int, weight: Longs, space: ScoreSpace, sample: CandidateSample,
    at: Longs,
) -> None:  # fmt: skip
    """Store the best candidates of each query of `block`; at[f] (`at`) is the row of `sample` for answer f.

    Long chains are walked only as long as they can change a rank if the j-th strongest counts weight[j] (`weight`). The
    other arguments are those of `score_block`.
    """
    score_queries(graph, plan, block, 0, top, False, weight, space, SAMPLE, NOTHING._replace(sample=sample, at=at))


@compiled
def score_queries(
    graph: Graph, plan: Plan, block: QueryBlock, begin: int, top: int, strongest_only: bool, weight: Longs,
    space: ScoreSpace, field: int, results: Results,
) -> int:  # fmt: skip
    """Fill one `field` of `results` for the queries of `block` from `begin` on; returns the first that did not fit.

    `weight` as in `score_until_settled`; the other arguments are those of `score_block`.
    """
    chosen = np.zeros(results.sample.real.shape[1] - 1, np.int64)
    load_priors(plan, space)
    end = len(block.query)
    for i in range(begin, end):
        if space.walk.flag[0] and field != TOTALS:  # totals are read even then, so each row is written
            break
        known, answers = block.query[i], block.answer[block.pointer[i] : block.pointer[i + 1]]
        known_answers = block.known[block.known_pointer[i] : block.known_pointer[i + 1]]
        touched, walked = score_until_settled(
            graph,
            plan,
            HiddenFact(plan.code, known, block.hidden[i], -1, graph.is_unary),
            top,
            strongest_only,
            block.extra[block.extra_pointer[i] : block.extra_pointer[i + 1]],
            answers,
            known_answers,
            weight,
            space,
        )
        fits = True
        if field == TOTALS:
            write_totals(space, back_prior_of(plan, known), strongest_only, touched, results.totals[i])
        elif field == COMPETITORS:
            results.competitors.walked[i] = walked
            fits = store_totals(
                plan, block, i, begin, known_answers, strongest_only, space, touched, results.competitors
            )
        else:
            at = results.at[block.pointer[i] : block.pointer[i + 1]]
            store_candidates(plan, known, space, touched, known_answers, answers, at, chosen, results.sample)
        clear(space, touched)
        if not fits:
            end = i
            break
    drop_priors(plan, space)
    return end
