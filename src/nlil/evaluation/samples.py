"""Validation queries with what speaks for their best candidates: what a weighing is fitted on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.arrays import Doubles, Longs, Mask
from ..data.facts import Facts
from ..kernel.kernels import compiled
from ..kernel.pool import Pool
from ..progress import Progress, Stop, silent
from .asked import Task, queries_done
from .evidence import SCALE, UNIT
from .ranking import Ranker
from .scoring import ScoreSpace, clear
from .settling import score_until_settled

CANDIDATES = 100
"""Best candidates of a query, by the weights that the search starts with, among which an answer is ranked."""
MARGIN = 4
"""Long chains of a query are walked until they could not change its ranks even if they counted this many times, all
other kinds of rules at the weights that the search starts with: an estimate where the search goes far from those."""
TIE = 1e-6
"""Scores that differ by less are tied; an answer with less is as good as one without evidence."""
BLOCK = 256
"""Queries of one task, whatever the number of threads."""
STRETCH = 128
"""Entities that are looked at together for candidates."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Queries with the evidence of their best candidates: (queries, candidates, kinds, places), the answer first."""

    strongest: np.ndarray
    prior: Doubles  # (queries, candidates)
    real: Mask  # (queries, candidates): the answer always is; of the others, those that do not fill up
    fact: np.ndarray  # (queries,)
    unproposed: np.ndarray  # (queries,): candidates without evidence, which tie with an answer that has none

    @classmethod
    def empty(cls, fact: np.ndarray, candidates: int, slots: tuple[int, ...]) -> Sample:
        """To be filled in; `slots`: (entities, kinds, places)."""
        shape = len(fact), candidates
        return cls(
            np.zeros((*shape, *slots[1:]), np.float32),
            np.zeros(shape),
            np.zeros(shape, bool),
            fact,
            np.zeros(len(fact), np.int64),
        )

    def part(self, chosen: Mask) -> Sample:
        return Sample(
            self.strongest[chosen], self.prior[chosen], self.real[chosen], self.fact[chosen], self.unproposed[chosen]
        )

    def blocks(self) -> list[tuple[int, int]]:
        return query_blocks(len(self.fact))

    def mrr(self, weighing: np.ndarray) -> float:
        return float(self.reciprocal(weighing).sum()) / max(len(self.fact), 1)

    def plain_mrr(self, top: int) -> float:
        return float(self.plain_reciprocal(top).sum()) / max(len(self.fact), 1)

    def reciprocal(self, weighing: np.ndarray, threads: int = 1) -> Doubles:
        """1 / rank of every query's answer."""
        result, weight = np.empty(len(self.fact)), weights(weighing, self.strongest.shape[3])

        def rank(_: None, some: tuple[int, int]) -> None:
            _reciprocal_ranks(
                self.strongest, self.prior, self.real, self.unproposed, weight, weighing[-1, 0], *some, result
            )

        Pool(lambda: None, threads).map(rank, self.blocks())
        return result

    def plain_reciprocal(self, top: int, threads: int = 1) -> Doubles:
        """The same with all kinds alike: the `top` strongest rules, and the priors."""
        result = np.empty(len(self.fact))

        def rank(_: None, some: tuple[int, int]) -> None:
            _plain_ranks(self.strongest, self.prior, self.real, self.unproposed, top, *some, result)

        Pool(lambda: None, threads).map(rank, self.blocks())
        return result


def query_blocks(count: int) -> list[tuple[int, int]]:
    return [(low, min(low + BLOCK, count)) for low in range(0, count, BLOCK)]


def weights(weighing: np.ndarray, places: int) -> np.ndarray:
    """(..., kinds and the prior, 2) -> (..., kinds, places): what the j-th strongest rule of a kind counts."""
    found = weighing[..., :-1, :1] * weighing[..., :-1, 1:] ** np.arange(places)
    return np.asarray(found.astype(np.float32))


@compiled
def rank_of_first(score, unproposed):
    """1 / rank of the answer, whose score is the first; one that is -inf is no candidate's."""
    own = score[0]
    above, near = 0, 0
    for c in range(1, len(score)):
        above += score[c] > own + TIE
        near += score[c] > own - TIE
    return reciprocal_rank(own, above, near, unproposed)


@compiled
def reciprocal_rank(own, above, near, unproposed):
    """`near`: those within a tie of the answer, and those above it."""
    tied = 1 + near - above
    if own < TIE:
        tied += unproposed
    return 1.0 / (above + (tied + 1) / 2)


@compiled
def _reciprocal_ranks(strongest, prior, real, unproposed, weight, prior_weight, low, high, result):
    _, candidates, kinds, places = strongest.shape
    score = np.empty(candidates)
    for q in range(low, high):
        for c in range(candidates):
            score[c] = prior[q, c] * prior_weight if real[q, c] else -np.inf
            if not real[q, c]:
                continue
            for k in range(kinds):
                for j in range(places):
                    if strongest[q, c, k, j] == 0:
                        break
                    score[c] += weight[k, j] * strongest[q, c, k, j]
        result[q] = rank_of_first(score, unproposed[q])


@compiled
def _plain_ranks(strongest, prior, real, unproposed, top, low, high, result):
    _, candidates, kinds, places = strongest.shape
    score, best = np.empty(candidates), np.zeros(top, np.float32)
    for q in range(low, high):
        for c in range(candidates):
            score[c] = prior[q, c] if real[q, c] else -np.inf
            if not real[q, c]:
                continue
            best[:] = 0
            for k in range(kinds):
                for j in range(places):
                    evidence = strongest[q, c, k, j]
                    if evidence <= best[top - 1]:
                        break  # so are the weaker ones of this kind
                    place = top - 1
                    while place > 0 and best[place - 1] < evidence:
                        best[place] = best[place - 1]
                        place -= 1
                    best[place] = evidence
            for j in range(top):
                score[c] += best[j]
        result[q] = rank_of_first(score, unproposed[q])


def gather(ranker: Ranker, facts: Facts, known: Facts, progress: Progress = silent, stop: Stop | None = None) -> Sample:
    """Both directions of every fact, until `stop`; one query at least."""
    stop = stop or Stop()
    groups = list(ranker.groups(facts))
    # In the order of the facts, whatever the order of the work.
    fact = np.concatenate([np.zeros(0, np.int64), *(rows for *_, rows in groups)])
    position = np.zeros((2, len(facts)), np.int64)
    position[np.repeat([d for _, d, _ in groups], [len(rows) for *_, rows in groups]), fact] = np.arange(len(fact))
    sample = Sample.empty(fact, 1 + min(CANDIDATES, ranker.kb.num_entities - 1), ranker.pool.scratch().strongest.shape)
    done = np.zeros(len(fact), bool)

    def run(space: ScoreSpace, task: Task) -> None:
        at = position[task.asked.direction, task.rows]
        _gather(ranker, space, task, at, sample)
        done[at] = True

    for batch in ranker.asked(groups, facts, known, np.zeros(len(facts), bool)):
        tasks = [task for asked in batch for task in ranker.tasks(asked)]
        before = np.count_nonzero(done)
        reached = before + np.cumsum([0] + [len(task.rows) for task in tasks])
        ranker.pool.map(run, tasks, progress=queries_done(progress, "weigh rules", reached, 2 * len(facts)), stop=stop)
        if tasks and not done.any():  # stopped before the first
            run(ranker.pool.scratch(), tasks[0])
        if done.any() and stop():
            break
    return sample if done.all() else sample.part(done)


def _gather(ranker: Ranker, space: ScoreSpace, task: Task, at: Longs, sample: Sample) -> None:
    """Many queries in one call: to hand over all the arrays takes as long as a short query."""
    asked = task.asked
    extra_pointer = np.cumsum([0] + [len(rows) for rows in task.extra])
    pointer = asked.pointer[task.low : task.high + 1]
    answer = asked.answer[pointer[0] : pointer[-1]]
    _gather_block(
        ranker.graph,
        asked.plan,
        ranker.is_unary,
        asked.query[task.low : task.high],
        ranker.top,
        np.concatenate(task.extra),
        extra_pointer,
        space,
        asked.answers.answer,
        asked.answers.pointer,
        answer,
        at,
        pointer - pointer[0],
        sample.strongest,
        sample.prior,
        sample.real,
        sample.unproposed,
    )


@compiled
def _gather_block(
    graph,
    plan,
    is_unary,
    query,
    top,
    extra,
    extra_pointer,
    space,
    known_answer,
    known_pointer,
    answer,
    at,
    pointer,
    strongest,
    prior,
    real,
    unproposed,
):
    """The candidates of each query, which counts for the facts `at` (from its pointer on), whose answers are `answer`.

    Its ranks are settled at the weights that the search starts with, and some way around them (`MARGIN`).
    """
    most = np.full(top, MARGIN * UNIT)
    chosen = np.zeros(strongest.shape[1], np.int64)
    for i in range(len(query)):
        a, begin, end = query[i], pointer[i], pointer[i + 1]
        known_answers = known_answer[known_pointer[a] : known_pointer[a + 1]]
        touched, _ = score_until_settled(
            graph,
            plan,
            is_unary,
            a,
            -1,
            top,
            False,
            extra[extra_pointer[i] : extra_pointer[i + 1]],
            answer[begin:end],
            known_answers,
            most,
            space,
        )
        _choose(
            plan, a, space, known_answers, answer[begin:end], at[begin:end], chosen, strongest, prior, real, unproposed
        )
        clear(space, touched)


@compiled
def _choose(plan, known, space, known_answers, answers, at, chosen, strongest, prior, real, unproposed):
    """The answers of one query and its best other candidates. Totals of known answers are lost."""
    total = space.total
    proposed = np.zeros(len(answers), np.bool_)
    for f in range(len(answers)):
        proposed[f] = total[answers[f]] != 0  # excluded, maybe
    for b in known_answers:
        total[b] = -1
    chosen_size, zeros = -1, 0
    for f in range(len(answers)):
        answer, q = answers[f], at[f]
        before = total[answer]
        total[answer] = -1
        if chosen_size < 0 or before != -1:  # the known answers are out in any case: what is left is the same
            chosen_size, zeros = _best(total, strongest.shape[1] - 1, chosen)
        unproposed[q] = zeros
        real[q, 0] = True
        if proposed[f]:
            _keep(plan, known, answer, space, q, 0, strongest, prior)
        for c in range(chosen_size):
            real[q, c + 1] = total[chosen[c]] > 0
            _keep(plan, known, chosen[c], space, q, c + 1, strongest, prior)
        if before != -1:
            total[answer], chosen_size = before, -1


@compiled
def _keep(plan, known, candidate, space, q, c, strongest, prior):
    prior[q, c] = (plan.prior[candidate] + plan.back_prior[known]) / SCALE
    if not space.is_touched[candidate]:
        return
    for k in range(strongest.shape[2]):
        for j in range(strongest.shape[3]):
            if space.strongest[candidate, k, j] == 0:
                break
            strongest[q, c, k, j] = space.strongest[candidate, k, j] / SCALE


@compiled
def _best(total, most, chosen):
    """Into `chosen` at most `most` entities, those with the largest totals of 0 and more; of equal ones the first.

    How many, and how many totals are 0. Few stretches have anything to choose once there are `most`.
    """
    size, zeros = 0, 0
    for low in range(0, len(total), STRETCH):
        stretch = total[low : low + STRETCH]
        largest = np.int64(-1)
        for i in range(len(stretch)):
            largest = max(largest, stretch[i])
            zeros += stretch[i] == 0
        for b in range(low, low + len(stretch) if size < most or _exceeds(largest, total, chosen, size) else low):
            if total[b] < 0 or (size == most and not _exceeds(total[b], total, chosen, size)):
                continue
            place = min(size, most - 1)
            while place > 0 and total[chosen[place - 1]] < total[b]:
                chosen[place] = chosen[place - 1]
                place -= 1
            chosen[place] = b
            size = min(size + 1, most)
    return size, zeros


@compiled
def _exceeds(value, total, chosen, size):
    """Whether a value belongs among those chosen, when they are as many as may be."""
    return size > 0 and value > total[chosen[size - 1]]


__all__ = ["CANDIDATES", "Sample", "gather", "query_blocks", "rank_of_first", "reciprocal_rank", "weights"]
