"""Rank each answer among all candidates by visiting only the candidates that the query touches. Compiled loops.

Most candidates have no rule except a prior, and the number of these above any total follows from the plan alone
(`untouched_from`). So the cost of a query depends on the candidates it touches, not on the number of entities:

    candidates above an answer = untouched totals above it, as if no candidate were touched
                                 - untouched totals above it of touched candidates and known answers
                                 + true totals above it of touched candidates that are not known answers
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.arrays import Ids, Longs, Mask
from ..kernel.aggregation import ScoreSpace, compared
from ..kernel.compiled import compiled
from .plan import Plan, back_prior_of
from .scoring import total_of, untouched_from, untouched_total
from .settling import score_bounds


class Competitors(NamedTuple):
    """The totals that determine the ranks of answers, in the order of the queries.

    Attributes:
        base: the `back_prior_of` each query.
        walked: whether long chains were walked for each query.
        own: the total of each answer.
        is_known: whether each answer is a known answer.
        pointer: (queries + 1, 2), offsets into `total` and `untouched`.
        total: totals of touched candidates that are not known answers.
        untouched: the `untouched_total` of touched candidates and known answers.
    """

    base: Longs
    walked: Longs
    own: Longs
    is_known: Mask
    pointer: np.ndarray
    total: Longs
    untouched: Longs

    @classmethod
    def of(cls, num_queries: int, num_answers: int, size: int) -> Competitors:
        """Allocate buffers for `num_queries` queries with `num_answers` answers in all, and for `size` competitors."""
        return cls(
            np.zeros(num_queries, np.int64),
            np.zeros(num_queries, np.int64),
            np.zeros(num_answers, np.int64),
            np.zeros(num_answers, np.bool_),
            np.zeros((num_queries + 1, 2), np.int64),
            np.empty(size, np.int64),
            np.empty(size, np.int64),
        )


class QueryBlock(NamedTuple):
    """Queries with the answers to rank and their known answers.

    Attributes:
        query: the known entity of each query.
        hidden: the other end of its hidden fact, or -1.
        answer, pointer: the answers to rank; those of query i are answer[pointer[i] : pointer[i + 1]].
        known, known_pointer: the known answers of each query, in the same layout.
        extra, extra_pointer: rows (candidate, evidence) from rules without a loop, in the same layout.
    """

    query: Ids
    hidden: Ids
    answer: Ids
    pointer: Longs
    known: Ids
    known_pointer: Longs
    extra: np.ndarray
    extra_pointer: Longs

    @classmethod
    def open(cls, query: Ids, hidden: Ids, extra: np.ndarray, extra_pointer: Longs) -> QueryBlock:
        """Return queries without answers to rank; the arguments are the attributes."""
        none, pointer = np.zeros(0, np.int32), np.zeros(len(query) + 1, np.int64)
        return cls(query, hidden, none, pointer, none, pointer, extra, extra_pointer)


@compiled
def store_totals(
    plan: Plan, block: QueryBlock, i: int, begin: int, known: Ids, strongest_only: bool, space: ScoreSpace,
    touched: int, competitors: Competitors,
) -> bool:  # fmt: skip
    """Store in `competitors` the totals that determine the ranks of the answers of query `i` of `block`.

    `begin` is the first query of the buffer, `known` are the answers that do not compete. Returns whether all fit.
    """
    base = back_prior_of(plan, block.query[i])
    competitors.base[i] = base
    space.walk.clock[0] += 1
    epoch = space.walk.clock[0]
    for b in known:
        space.walk.seen[b] = epoch
    least = np.int64(2**62)
    for f in range(block.pointer[i], block.pointer[i + 1]):
        answer = block.answer[f]
        competitors.own[f] = total_of(space, base, strongest_only, answer)
        competitors.is_known[f] = space.walk.seen[answer] == epoch
        least = min(least, competitors.own[f])
    least = score_bounds(least, 0)[0]  # candidates below this are below every answer
    used, left = competitors.pointer[i, 0], competitors.pointer[i, 1]
    if i == begin:
        used, left = 0, 0
        competitors.pointer[i, 0], competitors.pointer[i, 1] = 0, 0
    if max(used, left) + touched + len(known) > len(competitors.total):
        return False
    for s in range(1, touched + 1):
        b = space.touched[s]
        if space.total[s] >= least and space.walk.seen[b] != epoch:
            competitors.total[used] = space.total[s]
            used += 1
        before = untouched_total(space, base, strongest_only, b)
        if before >= least:
            competitors.untouched[left] = before
            left += 1
    for b in known:
        before = untouched_total(space, base, strongest_only, b)
        if space.slot[b] == 0 and before >= least:
            competitors.untouched[left] = before
            left += 1
    competitors.pointer[i + 1, 0], competitors.pointer[i + 1, 1] = used, left
    return True


@compiled
def count_places(
    plan: Plan, num_entities: int, block: QueryBlock, begin: int, end: int, strongest_only: bool,
    competitors: Competitors, low: Longs, high: Longs,
) -> np.ndarray:  # fmt: skip
    """Return (above, tied, walked) for the answers of the queries `begin` .. `end` - 1 of `block`.

    `competitors` has their totals; there are `num_entities` candidates; `low` and `high` are the `tie_bounds`.
    """
    first = block.pointer[begin]
    result = np.zeros((3, block.pointer[end] - first), np.int64)
    for i in range(begin, end):
        for f in range(block.pointer[i], block.pointer[i + 1]):
            bottom, ceiling = low[f - first], high[f - first]
            above = untouched_from(plan, num_entities, competitors.base[i], strongest_only, ceiling)
            tied = untouched_from(plan, num_entities, competitors.base[i], strongest_only, bottom) - above
            for k in range(competitors.pointer[i, 0], competitors.pointer[i + 1, 0]):
                is_above, is_tied = compared(competitors.total[k], bottom, ceiling)
                above += is_above
                tied += is_tied
            for k in range(competitors.pointer[i, 1], competitors.pointer[i + 1, 1]):
                is_above, is_tied = compared(competitors.untouched[k], bottom, ceiling)
                above -= is_above
                tied -= is_tied
            # An answer is tied with itself, but known answers were left out above.
            result[0, f - first], result[1, f - first] = above, tied + competitors.is_known[f]
            result[2, f - first] = competitors.walked[i]
    return result
