"""Keep the best candidates of a query with their evidence by kind, to fit the weights of kinds on. Compiled loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..data.arrays import Ids, Longs, Mask
from ..kernel.aggregation import KINDS, SCALE, ScoreSpace
from ..kernel.compiled import compiled
from .plan import Plan, back_prior_of, prior_of
from .scoring import total_of, untouched_from, untouched_total


class CandidateSample(NamedTuple):
    """Validation queries with the evidence of their best candidates, the answer first.

    Attributes:
        strongest: (queries, candidates, kinds, places), the evidence of the strongest rules; a prior uses one place.
        real: (queries, candidates), False for padding.
        fact: (queries,), the number of the fact of each query.
        unproposed: (queries,), the number of candidates without evidence; they tie with an answer without evidence.
    """

    strongest: np.ndarray
    real: Mask
    fact: Longs
    unproposed: Longs

    @classmethod
    def empty(cls, fact: Longs, candidates: int, places: int) -> CandidateSample:
        """Allocate a sample for the query of each `fact`, with this number of `candidates` and `places`."""
        shape = len(fact), candidates
        strongest = np.zeros((*shape, len(KINDS), places), np.float32)
        return cls(strongest, np.zeros(shape, bool), fact, np.zeros(len(fact), np.int64))

    @classmethod
    def join(cls, samples: Sequence[CandidateSample], num_facts: Sequence[int]) -> CandidateSample:
        """Join the queries of all `samples`; facts are renumbered, `num_facts` of them in each sample."""
        if len(samples) == 1:
            return samples[0]
        first = np.cumsum([0, *num_facts])
        numbered = (s._replace(fact=s.fact + begin) for s, begin in zip(samples, first))
        return cls._make(np.concatenate(columns) for columns in zip(*numbered))

    def part(self, chosen: Mask | slice) -> CandidateSample:
        """Return the sample of the `chosen` queries."""
        return CandidateSample._make(column[chosen] for column in self)


@compiled
def store_candidates(
    plan: Plan,
    known: int,
    space: ScoreSpace,
    touched: int,
    known_answers: Ids,
    answers: Ids,
    at: Longs,
    chosen: Longs,
    sample: CandidateSample,
) -> None:
    """Store the `answers` of one query and its best other candidates in the rows `at` of the sample.

    The `known_answers` do not compete. `chosen` is scratch for as many candidates as the sample has room for.
    """
    base = back_prior_of(plan, known)
    space.walk.clock[0] += 1
    out = space.walk.clock[0]
    for b in known_answers:
        space.walk.seen[b] = out
    size, zeros = -1, 0
    for f in range(len(answers)):
        answer, q = answers[f], at[f]
        is_known = space.walk.seen[answer] == out
        space.walk.seen[answer] = out
        if size < 0 or not is_known:  # all known answers are out anyway, so they share one result
            size = best_candidates(plan, space, touched, base, out, chosen)
            zeros = without_evidence(plan, space, touched, base, out, known_answers, answer, is_known)
        sample.unproposed[q] = zeros
        for c in range(size + 1):
            sample.real[q, c] = True
        if total_of(space, base, False, answer) != 0:  # 0 if excluded
            _store_evidence(plan, known, answer, space, q, 0, sample)
        for c in range(size):
            _store_evidence(plan, known, chosen[c], space, q, c + 1, sample)
        if not is_known:
            space.walk.seen[answer], size = 0, -1


@compiled
def _store_evidence(
    plan: Plan, known: int, candidate: int, space: ScoreSpace, q: int, c: int, sample: CandidateSample
) -> None:
    kinds, places = space.strongest.shape[1:]
    sample.strongest[q, c, kinds, 0] = prior_of(plan, known, candidate) / SCALE
    slot = space.slot[candidate]
    for k in range(kinds):
        for j in range(places):
            if space.strongest[slot, k, j] == 0:
                break
            sample.strongest[q, c, k, j] = space.strongest[slot, k, j] / SCALE


@compiled
def best_candidates(plan: Plan, space: ScoreSpace, touched: int, base: int, out: int, chosen: Longs) -> int:
    """Fill `chosen` with the entities of the largest totals above 0, ties by id; returns their number.

    Entities marked `out` in space.walk.seen do not count; `base` is the `back_prior_of` the query.
    """
    size = 0
    for s in range(1, touched + 1):
        if space.walk.seen[space.touched[s]] != out:
            size, _ = _insert(space, base, space.touched[s], chosen, size)
    # Then untouched entities: by prior, and without a prior by id if `base` gives all of them evidence.
    for i in plan.prior_rank:
        b = plan.prior_candidate[i]
        if space.slot[b] == 0 and space.walk.seen[b] != out:
            size, is_taken = _insert(space, base, b, chosen, size)
            if not is_taken:
                break
    for b in range(len(space.slot) if base > 0 else 0):
        if space.slot[b] == 0 and space.walk.seen[b] != out and space.prior[b] == 0:
            size, is_taken = _insert(space, base, b, chosen, size)
            if not is_taken:
                break
    return size


@compiled
def _insert(space: ScoreSpace, base: int, candidate: int, chosen: Longs, size: int) -> tuple[int, bool]:
    """Insert a candidate into `chosen`, which has `size` entries, best first; the last may drop out.

    Returns the new size, and whether the candidate was inserted.
    """
    total, place = total_of(space, base, False, candidate), size
    if total <= 0:
        return size, False
    while place > 0:
        other = total_of(space, base, False, chosen[place - 1])
        if other > total or (other == total and chosen[place - 1] < candidate):
            break
        if place < len(chosen):
            chosen[place] = chosen[place - 1]
        place -= 1
    if place == len(chosen):
        return size, False
    chosen[place] = candidate
    return min(size + 1, len(chosen)), True


@compiled
def without_evidence(
    plan: Plan,
    space: ScoreSpace,
    touched: int,
    base: int,
    out: int,
    known_answers: Ids,
    answer: int,
    is_known: bool,
) -> int:
    """Count the candidates with a total of 0, without the `known_answers` and this `answer` (marked `out`).

    `base` is the `back_prior_of` the query; `is_known` says whether the answer is among the known ones.
    """
    count = len(space.slot) - untouched_from(plan, len(space.slot), base, False, 1)
    for s in range(1, touched + 1):
        b = space.touched[s]
        count += (space.walk.seen[b] != out) & (space.total[s] == 0)
        count -= untouched_total(space, base, False, b) == 0
    for b in known_answers:
        count -= (space.slot[b] == 0) & (untouched_total(space, base, False, b) == 0)
    if not is_known:
        count -= (space.slot[answer] == 0) & (untouched_total(space, base, False, answer) == 0)
    return count
