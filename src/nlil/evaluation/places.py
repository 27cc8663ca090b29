"""The place of each answer among all candidates, from the few that a query touches. Compiled loops.

Most candidates have no rule but a prior, and how many of those reach a total is known for the whole plan
(`untouched_from`). So a query is ranked by what it touches, however many entities there are:

    candidates above an answer = untouched totals above it, all candidates taken for untouched
                                 - those of touched candidates and of known answers
                                 + the true totals of touched candidates that are no known answer
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.arrays import Ids, Longs, Mask
from ..kernel.aggregation import ScoreSpace, clear, compared, tie_bounds
from ..kernel.compiled import compiled
from ..kernel.graph import Graph
from ..kernel.hidden import HiddenFact
from .plan import Plan, back_prior_of
from .scoring import drop_priors, load_priors, total_of, untouched_from, untouched_total
from .settling import score_bounds, score_until_settled

ROOM = 2**16
"""Rivals of some queries that there is room for at first."""


class Rivals(NamedTuple):
    """What decides the places of answers, query after query.

    Attributes:
        base: of each query, its `back_prior_of`.
        walked: of each query, whether long chains were walked.
        own: of each answer its total.
        is_known: of each answer, whether it is a known one.
        pointer: (queries + 1, 2), into `total` and into `untouched`.
        total: totals of touched candidates that are no known answers.
        untouched: what touched candidates and known answers would have, had nothing touched them.
    """

    base: Longs
    walked: Longs
    own: Longs
    is_known: Mask
    pointer: np.ndarray
    total: Longs
    untouched: Longs

    @classmethod
    def of(cls, num_queries: int, num_answers: int, room: int) -> Rivals:
        """Make room for `num_queries` with `num_answers` in all, and for `room` rivals."""
        return cls(
            np.zeros(num_queries, np.int64),
            np.zeros(num_queries, np.int64),
            np.zeros(num_answers, np.int64),
            np.zeros(num_answers, np.bool_),
            np.zeros((num_queries + 1, 2), np.int64),
            np.empty(room, np.int64),
            np.empty(room, np.int64),
        )


class QueryBlock(NamedTuple):
    """Queries with the answers to be ranked, and the known ones.

    The answers of query i are answer[pointer[i] : pointer[i + 1]], its known ones known[known_pointer[i] :
    known_pointer[i + 1]]. It knows the entity query[i] and does not see the fact to hidden[i], or sees all (-1). What
    rules without a loop say of its candidates is extra[extra_pointer[i] : extra_pointer[i + 1]].

    Attributes:
        query: the entity that each query knows.
        hidden: the other end of its own fact, or -1.
        answer, pointer: as above.
        known, known_pointer: as above.
        extra, extra_pointer: rows (candidate, evidence), as above.
    """

    query: Ids
    hidden: Ids
    answer: Ids
    pointer: Longs
    known: Ids
    known_pointer: Longs
    extra: np.ndarray
    extra_pointer: Longs


def places(
    graph: Graph, plan: Plan, block: QueryBlock, top: int, strongest_only: bool, space: ScoreSpace
) -> np.ndarray:
    """Count (candidates above, candidates tied, whether long chains were walked) for each answer of `block`.

    Long chains are walked only as far as a rank depends on them. `graph` has the facts, `plan` the rules; the `top`
    strongest count, or with `strongest_only` one.
    """
    room, begin, parts = ROOM, 0, [np.zeros((3, 0), np.int64)]
    while begin < len(block.query):
        rivals = Rivals.of(len(block.query), len(block.answer), room)
        end = score_places(graph, plan, block, begin, top, strongest_only, space, rivals)
        if end == begin:
            room *= 4
            continue
        low, high = tie_bounds(rivals.own[block.pointer[begin] : block.pointer[end]])
        parts.append(count_places(plan, len(space.slot), block, begin, end, strongest_only, rivals, low, high))
        begin = end
    return np.concatenate(parts, axis=1)


@compiled
def score_places(
    graph: Graph, plan: Plan, block: QueryBlock, begin: int, top: int, strongest_only: bool,
    space: ScoreSpace, rivals: Rivals,
) -> int:  # fmt: skip
    """Fill `rivals` for the queries of `block` from `begin` on; returns the first one that there was no room for."""
    load_priors(plan, space)
    end = len(block.query)
    for i in range(begin, end):
        if space.walk.flag[0]:
            break
        first, last = block.pointer[i], block.pointer[i + 1]
        known = block.known[block.known_pointer[i] : block.known_pointer[i + 1]]
        touched, walked = score_until_settled(
            graph,
            plan,
            HiddenFact(plan.code, block.query[i], block.hidden[i], -1, graph.is_unary),
            1 if strongest_only else top,
            strongest_only,
            block.extra[block.extra_pointer[i] : block.extra_pointer[i + 1]],
            block.answer[first:last],
            known,
            plan.weight[plan.kind[1]],
            space,
        )
        rivals.walked[i] = walked
        fits = _note(plan, block, i, begin, known, strongest_only, space, touched, rivals)
        clear(space, touched)
        if not fits:
            end = i
            break
    drop_priors(plan, space)
    return end


@compiled
def _note(
    plan: Plan, block: QueryBlock, i: int, begin: int, known: Ids, strongest_only: bool, space: ScoreSpace,
    touched: int, rivals: Rivals,
) -> bool:  # fmt: skip
    """Write down what decides the places of the answers of query i; returns whether there was room for it."""
    base = back_prior_of(plan, block.query[i])
    rivals.base[i] = base
    space.walk.clock[0] += 1
    epoch = space.walk.clock[0]
    for b in known:
        space.walk.seen[b] = epoch
    least = np.int64(2**62)
    for f in range(block.pointer[i], block.pointer[i + 1]):
        answer = block.answer[f]
        rivals.own[f] = total_of(space, base, strongest_only, answer)
        rivals.is_known[f] = space.walk.seen[answer] == epoch
        least = min(least, rivals.own[f])
    least = score_bounds(least, 0)[0]  # who has less is below every answer
    used, left = rivals.pointer[i, 0], rivals.pointer[i, 1]
    if i == begin:
        used, left = 0, 0
        rivals.pointer[i, 0], rivals.pointer[i, 1] = 0, 0
    if max(used, left) + touched + len(known) > len(rivals.total):
        return False
    for s in range(1, touched + 1):
        b = space.touched[s]
        if space.total[s] >= least and space.walk.seen[b] != epoch:
            rivals.total[used] = space.total[s]
            used += 1
        before = untouched_total(space, base, strongest_only, b)
        if before >= least:
            rivals.untouched[left] = before
            left += 1
    for b in known:
        before = untouched_total(space, base, strongest_only, b)
        if space.slot[b] == 0 and before >= least:
            rivals.untouched[left] = before
            left += 1
    rivals.pointer[i + 1, 0], rivals.pointer[i + 1, 1] = used, left
    return True


@compiled
def count_places(
    plan: Plan, num_entities: int, block: QueryBlock, begin: int, end: int, strongest_only: bool, rivals: Rivals,
    low: Longs, high: Longs,
) -> np.ndarray:  # fmt: skip
    """Count (above, tied, walked) for the answers of the queries `begin` .. `end` - 1 of `block`.

    `rivals` was filled for them; there are `num_entities` candidates, and `low` and `high` are the `tie_bounds`.
    """
    first = block.pointer[begin]
    result = np.zeros((3, block.pointer[end] - first), np.int64)
    for i in range(begin, end):
        for f in range(block.pointer[i], block.pointer[i + 1]):
            bottom, ceiling = low[f - first], high[f - first]
            above = untouched_from(plan, num_entities, rivals.base[i], strongest_only, ceiling)
            tied = untouched_from(plan, num_entities, rivals.base[i], strongest_only, bottom) - above
            for k in range(rivals.pointer[i, 0], rivals.pointer[i + 1, 0]):
                is_above, is_tied = compared(rivals.total[k], bottom, ceiling)
                above += is_above
                tied += is_tied
            for k in range(rivals.pointer[i, 1], rivals.pointer[i + 1, 1]):
                is_above, is_tied = compared(rivals.untouched[k], bottom, ceiling)
                above -= is_above
                tied -= is_tied
            # The answer itself: among known ones it was left out.
            result[0, f - first], result[1, f - first] = above, tied + rivals.is_known[f]
            result[2, f - first] = rivals.walked[i]
    return result
