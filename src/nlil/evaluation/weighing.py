"""How much each kind of rule counts, fitted on validation facts.   [docs/evaluation.md]

Rules of one kind often say the same thing: five chains through one neighbour are hardly more than one. So the
j-th strongest rule of a kind counts factor * discount^j of its evidence; sixteen numbers, the same for all targets,
chosen for the mean reciprocal rank of validation facts, which no rule was counted on. They are used only if half of
the facts choose numbers that are better for the other half too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..data.arrays import Doubles, Mask
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..engine.kernels import compiled
from ..engine.pool import Pool
from ..progress import Progress, Stop, silent
from ..rules import RuleSet
from ..rules.ruleset import KINDS, Aggregation
from .asked import Asked, queries_done
from .general import general_evidence
from .ranking import Ranker
from .scoring import ScoreSpace, clear, collect, sum_up

FACTORS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 4.5, 7.0)
DISCOUNTS = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
START = (1.0, 0.6)
LEAST_FACTS = 200
"""Validation facts; with fewer, all rules are weighed alike."""
MOST_FACTS = 5_000
CANDIDATES = 100
"""Best candidates of a query, by the weights that the search starts with, among which an answer is ranked."""
ROUNDS = 4
ALONE = (1.0, 1.0)
"""The numbers of a prior that others were added to."""
CLEARLY, ERRORS = 0.0002, 1.0
"""What a weighing must add to the mean reciprocal rank of the other half, at least, and in standard errors."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Queries with the evidence of their best candidates: (queries, candidates, kinds, places), the answer first."""

    strongest: np.ndarray
    prior: Doubles  # (queries, candidates)
    real: Mask  # (queries, candidates): the others fill up, or are known answers
    fact: np.ndarray  # (queries,)
    unproposed: np.ndarray  # (queries,): candidates without evidence, which tie with an answer that has none

    @classmethod
    def empty(cls, fact: np.ndarray, candidates: int, slots: tuple[int, ...]) -> Sample:
        """To be filled in; `slots`: (entities, kinds, places)."""
        shape = len(fact), candidates
        return cls(np.zeros((*shape, *slots[1:]), np.float32), np.zeros(shape), np.zeros(shape, bool), fact,
                   np.zeros(len(fact), np.int64))

    def part(self, chosen: Mask) -> Sample:
        return Sample(self.strongest[chosen], self.prior[chosen], self.real[chosen], self.fact[chosen],
                      self.unproposed[chosen])

    def alone(self, kind: int, weighing: np.ndarray) -> Sample:
        """Only one kind, what all others say added to the prior: to try its numbers is then a fraction of the work."""
        weight = self._weight(weighing)
        weight[kind] = 0
        others = _scores(self.strongest, self.prior * weighing[-1, 0], weight)
        return replace(self, strongest=np.ascontiguousarray(self.strongest[:, :, kind : kind + 1]), prior=others)

    def mrr(self, weighing: np.ndarray) -> float:
        return float(self.reciprocal(weighing).sum()) / max(len(self.fact), 1)

    def plain_mrr(self, top: int) -> float:
        return float(self.plain_reciprocal(top).sum()) / max(len(self.fact), 1)

    def reciprocal(self, weighing: np.ndarray) -> Doubles:
        """1 / rank of every query's answer."""
        return _reciprocal_ranks(self.strongest, self.prior * weighing[-1, 0], self.real, self.unproposed,
                                 self._weight(weighing))

    def _weight(self, weighing: np.ndarray) -> np.ndarray:
        """(kinds, places)"""
        places = np.arange(self.strongest.shape[3])
        return (weighing[:-1, :1] * weighing[:-1, 1:] ** places).astype(np.float32)

    def plain_reciprocal(self, top: int) -> Doubles:
        """The same with all kinds alike: the `top` strongest rules, and the priors."""
        flat = np.sort(self.strongest.reshape(*self.strongest.shape[:2], -1), axis=2)[..., ::-1][..., :top]
        one = np.ascontiguousarray(flat[:, :, None, :])
        weight = np.ones((1, one.shape[3]), np.float32)
        return _reciprocal_ranks(one, self.prior, self.real, self.unproposed, weight)


@compiled
def _scores(strongest, prior, weight):
    queries, candidates, kinds, places = strongest.shape
    result = prior.copy()
    for q in range(queries):
        for c in range(candidates):
            for k in range(kinds):
                for j in range(places):
                    if strongest[q, c, k, j] == 0:
                        break
                    result[q, c] += weight[k, j] * strongest[q, c, k, j]
    return result


@compiled
def _reciprocal_ranks(strongest, prior, real, unproposed, weight):
    queries, candidates, kinds, places = strongest.shape
    result = np.zeros(queries)
    for q in range(queries):
        own = 0.0
        above, tied = 0, 1
        for c in range(candidates):
            if not real[q, c]:
                continue
            score = prior[q, c]
            for k in range(kinds):
                for j in range(places):
                    if strongest[q, c, k, j] == 0:
                        break
                    score += weight[k, j] * strongest[q, c, k, j]
            if c == 0:
                own = score
            elif score > own + 1e-6:
                above += 1
            elif score > own - 1e-6:
                tied += 1
        if own < 1e-6:
            tied += unproposed[q]
        result[q] = 1.0 / (above + (tied + 1) / 2)
    return result


def fitted(rules: RuleSet, kb: KnowledgeBase, valid: Facts, known: Facts, seed: int, threads: int = 0,
           memory: int = 2**30, progress: Progress = silent, stop: Stop | None = None) -> Aggregation:
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
    ranker = Ranker(replace(rules, aggregation=replace(before, weighing=tuple(map(tuple, weighing)))), kb, threads,
                    memory)
    sample = gather(ranker, mine, known, progress, stop)
    if stop():
        return before
    half = np.random.default_rng((seed, 6)).permutation(len(mine))[sample.fact] % 2 == 0
    gains = []
    for one in (half, ~half):
        chosen = ascend(sample.part(one), weighing, stop, threads)
        other = sample.part(~one)
        gains.append(other.reciprocal(chosen) - other.plain_reciprocal(before.top))
    gain = np.concatenate(gains)
    if gain.mean() < max(CLEARLY, ERRORS * gain.std() / np.sqrt(len(gain))):
        return before
    chosen = ascend(sample, weighing, stop, threads)
    if stop.cut:
        return before
    if not chosen[:, 0].any():
        return before  # every kind misleads: no order at all would be best, and a score must be more than 0
    chosen[:, 0] /= chosen[:, 0].max()  # only ratios matter to an order, and a score must not come near 1
    return replace(before, weighing=tuple(map(tuple, chosen.tolist())))


def ascend(sample: Sample, start: np.ndarray, stop: Stop | None = None, threads: int = 1) -> np.ndarray:
    """One number at a time, while that helps; its values are tried side by side."""
    stop = stop or Stop()
    pool: Pool[None] = Pool(lambda: None, threads)
    best, now = start.copy(), sample.mrr(start)
    for _ in range(ROUNDS):
        before = now
        for kind in range(len(KINDS)):
            is_prior = kind == len(KINDS) - 1
            mine = sample if is_prior else sample.alone(kind, best)
            for column, values in enumerate((FACTORS, DISCOUNTS)):
                if is_prior and column:
                    continue  # a side has one prior

                def score(_: None, value: float, kind: int = kind, column: int = column, mine: Sample = mine) -> float:
                    tried = best.copy()
                    tried[kind, column] = value
                    return mine.mrr(tried if mine is sample else np.stack((tried[kind], ALONE)))

                scores = pool.map(score, values, stop=stop)
                if stop():
                    return best
                for value, found in zip(values, scores):
                    if found > now + 1e-6:
                        best[kind, column], now = value, found
        if now < before + 1e-4:
            break
    return best


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

    def run(space: ScoreSpace, task: tuple[Asked, int, np.ndarray]) -> bool:
        asked, i, extra = task
        mine = slice(asked.pointer[i], asked.pointer[i + 1])
        a, at = int(asked.query[i]), position[asked.direction, asked.rows[mine]]
        _gather_query(ranker.edges, asked.plan, ranker.is_unary, a, ranker.top, extra, space, asked.answers.to(a),
                      asked.answer[mine], at, sample.strongest, sample.prior, sample.real, sample.unproposed)
        done[at] = True
        return True

    for batch in ranker.asked(groups, facts, known, np.zeros(len(facts), bool)):
        tasks = [(asked, i, extra) for asked in batch for i, extra in enumerate(
            general_evidence(asked.rest, ranker.kb, asked.plan.code, asked.query, asked.hidden, ranker.memory))]
        if tasks and not done.any():
            run(ranker.pool.scratch(), tasks.pop())
        sizes = [asked.pointer[i + 1] - asked.pointer[i] for asked, i, _ in tasks]
        before = np.count_nonzero(done)
        report = queries_done(progress, "weigh rules", before + np.cumsum([0, *sizes]), 2 * len(facts))
        ranker.pool.map(run, tasks, progress=report, stop=stop)
        if done.any() and stop():
            break
    return sample if done.all() else sample.part(done)


@compiled
def _gather_query(edges, plan, is_unary, known, top, extra, space, known_answers, answers, at, strongest, prior, real,
                  unproposed):
    """The candidates of one query that counts for the facts `at`, whose answers are `answers`."""
    touched = collect(edges, plan, is_unary, known, -1, top, extra, space)
    sum_up(edges, plan, known, -1, False, space, touched)
    total = space.total.copy()
    for b in known_answers:
        total[b] = -1
    for f in range(len(at)):
        answer, q = answers[f], at[f]
        before = total[answer]
        total[answer] = -1
        chosen, size = _best(total, strongest.shape[1] - 1)
        unproposed[q] = np.sum(total == 0)
        total[answer] = before
        for c in range(size + 1):
            b = answer if c == 0 else chosen[c - 1]
            real[q, c] = c == 0 or total[b] > 0
            if c == 0 and space.total[answer] == 0:
                continue  # excluded, maybe
            prior[q, c] = (plan.prior[b] + plan.back_prior[known]) / 2**40
            for k in range(strongest.shape[2]):
                for j in range(strongest.shape[3]):
                    strongest[q, c, k, j] = space.strongest[b, k, j] / 2**40
    clear(space, touched)


@compiled
def _best(total, most):
    """(entities, how many): at most `most`, those with the largest totals of 0 and more; of equal ones the first."""
    chosen, size = np.zeros(most + 1, np.int64), 0
    for b in range(len(total)):
        if total[b] < 0 or (size == most and (most == 0 or total[b] <= total[chosen[size - 1]])):
            continue
        place = min(size, most - 1)
        while place > 0 and total[chosen[place - 1]] < total[b]:
            chosen[place] = chosen[place - 1]
            place -= 1
        chosen[place] = b
        size = min(size + 1, most)
    return chosen, size
