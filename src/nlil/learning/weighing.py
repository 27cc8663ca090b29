"""Fit how much each kind of rule counts, on validation facts.   [docs/evaluation.md]

Rules of one kind are often redundant: five chains through one neighbour prove hardly more than one. So the j-th
strongest rule of a kind contributes factor * discount^j times its evidence. These sixteen numbers, the same for all
targets, maximise the mean reciprocal rank of validation facts, on which no rule was counted (if they are held out, see
`UNKNOWN`). They are used only if the numbers fitted on each half of the facts improve the other half.

Numbers are tried one at a time. Each changes only the few candidates with a rule of its kind. So evidence is stored by
query and kind, the evidence of the other kinds is summed once for all values, and a query without evidence of this kind
keeps its rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..data.arrays import Doubles, Ids, Longs, Mask
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..evaluation.blocks import gather_block
from ..evaluation.gate import affordable
from ..evaluation.queries import RankingTask, queries_done
from ..evaluation.ranking import Ranker
from ..evaluation.samples import CandidateSample
from ..kernel.aggregation import KINDS, UNIT, Aggregation, ScoreSpace, count_tied, rank
from ..kernel.compiled import compiled
from ..kernel.pool import Pool
from ..kernel.ruleset import RuleSet
from ..progress import Progress, Stop, Stopped, silent
from .gates import WEIGHING
from .validation import Validation, is_judged

FACTORS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 4.5, 7.0)
DISCOUNTS = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
NUMBERS = tuple(
    (kind, column, values)
    for kind in range(len(KINDS))
    for column, values in enumerate((FACTORS, DISCOUNTS)[: 1 if KINDS[kind] == "prior" else 2])
)
"""The numbers to fit, in this order: (kind, column of the weighing, values). Priors have no discount."""
START = (1.0, 0.6)
"""Factor and discount of every kind before the first step."""
MAX_ROUNDS = 4
"""Passes over all numbers."""
STEP_GAIN, ROUND_GAIN = 1e-6, 1e-4
"""Least gain in mean reciprocal rank to accept a value, and to start another round."""
MAX_CANDIDATES = 100
"""An answer is ranked among this many candidates of its query, the best under the initial weights."""
MARGIN = 4
"""Long chains are walked until they could not change a rank even with this many times their weight, all other kinds at
their initial weights. Ranks are approximate if the search moves far from those."""
UNKNOWN = 2
"""If facts are held out, an answer of rank r is worth 3 / (r + 2) instead of 1 / r. It then competes with true answers
that are not known; its order among them is meaningless, but dominates 1 / r."""
TIE = 1e-6
"""Scores that differ by less are tied; an answer with a lower score counts as one without evidence."""
BLOCK_SIZE = 512
"""Queries per task; passing the arrays costs as much as fifty queries."""


def fit_weighing(
    validation: Validation,
    seed: int,
    threads: int = 0,
    memory: int = 2**30,
    progress: Progress = silent,
    stop: Stop | None = None,
) -> Aggregation:
    """Return the aggregation of the rules with a fitted weighing; unchanged if it does not help or facts are few.

    Args:
        validation: the rules to weigh, and the facts whose ranks are to rise.
        seed: splits the facts into halves.
        threads: CPU threads; 0: all cores.
        memory: bytes, which limit the block sizes.
        progress: receives the number of gathered queries.
        stop: ends the fit; the aggregation is then unchanged, since an incomplete fit may not help.
    """
    stop = Stop(whole=stop)  # so that `cut` refers to this fit only
    before = validation.rules.aggregation
    most = affordable(WEIGHING.most_facts, validation.kb.num_entities)
    folds = validation.drawn(most, np.random.default_rng((seed, 5)), is_judged)
    num_facts = sum(len(fold.facts) for fold in folds)
    if not before.adds or num_facts < WEIGHING.least_facts:
        return before
    start = np.array([START] * len(KINDS))
    samples = []
    for fold in folds:
        ranker = Ranker(started(fold.rules), fold.kb, threads, memory, stop=stop)
        try:
            samples.append(gather(ranker, fold.facts, fold.known, progress, stop))
            ranker.check_time()
        except Stopped:
            return before
    sample = CandidateSample.join(samples, [len(fold.facts) for fold in folds])
    half = np.random.default_rng((seed, 6)).permutation(num_facts)[sample.fact] % 2 == 0
    trials, unknown = Trials.of(sample, threads), UNKNOWN if validation.num_held_out else 0
    plain, gains = worth(trials.plain_reciprocal(before.top), unknown), []
    for fitted in (half, ~half):
        found = trials.reciprocal(ascend(trials, start, stop, fitted, unknown=unknown))
        gains.append((worth(found, unknown) - plain)[~fitted])
    if not WEIGHING.passes(np.concatenate(gains)):
        return before
    chosen = ascend(trials, start, stop, unknown=unknown)
    if stop.cut or not chosen[:, 0].any():  # all factors 0: every score would be 0
        return before
    chosen[:, 0] /= chosen[:, 0].max()  # the order depends on ratios only, and scores must stay clear of 1
    return replace(before, weighing=tuple(map(tuple, chosen.tolist())))


def started(rules: RuleSet) -> RuleSet:
    """Return the `rules` with the initial weights of the search."""
    return replace(rules, aggregation=replace(rules.aggregation, weighing=(START,) * len(KINDS)))


def try_weighing(rules: RuleSet, kb: KnowledgeBase, facts: Facts) -> np.ndarray:
    """Return the weighing fitted on `facts`, however few they are and whether or not it helps."""
    trials = Trials.of(gather(Ranker(started(rules), kb, 1), facts, facts), 1)
    trials.plain_reciprocal(rules.aggregation.top)
    return ascend(trials, np.array([START] * len(KINDS)))


def worth(reciprocal: Doubles, unknown: int) -> Doubles:
    """Return (1 + unknown) / (rank + unknown) for each of the `reciprocal` ranks; `unknown` = 0 leaves them as is."""
    return (1 + unknown) / (1 / reciprocal + unknown) if unknown else reciprocal


def ascend(
    trials: Trials, start: np.ndarray, stop: Stop | None = None, among: Mask | None = None, unknown: int = 0
) -> np.ndarray:
    """Change one number of `start` at a time, as long as the mean `worth` of the ranks rises.

    `trials` rank the queries, of which only those marked by `among` count (None: all). `unknown` is passed to `worth`.
    Returns the weighing, (kinds, 2).
    """
    stop = stop or Stop()
    rows = np.arange(len(trials.sample.fact)) if among is None else np.flatnonzero(among)
    best, ranks = start.copy(), trials.reciprocal(start)[rows]
    now = _mean(worth(ranks, unknown))
    for _ in range(MAX_ROUNDS):
        before = now
        for kind, column, values in NUMBERS:
            tried = trials.ranks(rows, ranks, best, kind, column, values, stop)
            if stop():
                return best
            for value, found in zip(values, tried):
                objective = _mean(worth(found, unknown))
                if objective > now + STEP_GAIN:
                    best[kind, column], now, ranks = value, objective, found
        if now < before + ROUND_GAIN:
            break
    return best


def _mean(ranks: Doubles) -> float:
    return float(ranks.sum()) / max(len(ranks), 1)


# ranks of a sample ------------------------------------------------------------------------------------


class KindEvidence(NamedTuple):
    """The evidence of a sample by query and kind: entries pointer[q, k] .. pointer[q, k + 1] - 1, by candidate.

    Attributes:
        pointer: (queries, kinds + 1), as above.
        depth: (queries, kinds), the largest number of places that an entry uses.
        candidate: (entries,), the number of the candidate in the sample.
        strength: (places, entries), the evidence.
    """

    pointer: Longs
    depth: Longs
    candidate: Ids
    strength: np.ndarray

    @classmethod
    def of(cls, sample: CandidateSample) -> KindEvidence:
        """Group the evidence of `sample` by query and kind.

        Block by block: the places of all entries at once would take as much memory as the sample.
        """
        queries, _, kinds, places = sample.strongest.shape
        there = (sample.strongest[..., 0] > 0) & sample.real[..., None]
        ends = np.cumsum(there.sum(axis=1)).reshape(queries, kinds)
        begin = np.concatenate((np.zeros(1, np.int64), ends[:-1, -1]))[:queries]
        num_entries = int(ends[-1, -1]) if queries else 0
        candidate, strength = np.empty(num_entries, np.int32), np.empty((places, num_entries), np.float32)
        depth = np.zeros((queries, kinds), np.int64)
        for first, last in _blocks(queries):
            query, kind, chosen = np.nonzero(there[first:last].transpose(0, 2, 1))
            found = sample.strongest[first:last][query, chosen, kind]
            entries = slice(int(begin[first]), int(begin[first]) + len(chosen))
            candidate[entries], strength[:, entries] = chosen, found.T
            np.maximum.at(depth[first:last], (query, kind), np.count_nonzero(found, axis=1))
        return cls(np.column_stack((begin, ends)), depth, candidate, strength)


@dataclass(frozen=True, eq=False)
class Trials:
    """The queries of a `sample`, prepared for ranking with any weighing, a (factor, discount) for each kind.

    `evidence` is their evidence by kind; `pool` has the threads.
    """

    sample: CandidateSample
    evidence: KindEvidence
    pool: Pool[None]

    @classmethod
    def of(cls, sample: CandidateSample, threads: int = 1) -> Trials:
        """Prepare `sample` for ranking on this number of `threads`; 0: all cores."""
        return cls(sample, KindEvidence.of(sample), Pool(lambda: None, threads))

    def reciprocal(self, weighing: np.ndarray) -> Doubles:
        """Return 1 / rank of the answer of every query under this `weighing`, (kinds, 2)."""
        queries, *_, places = self.sample.strongest.shape
        result, weight = np.empty(queries), weights(weighing, places)
        self.pool.map(lambda _, b: _rank_queries(self.evidence, self.sample, weight, *b, result), _blocks(queries))
        return result

    def plain_reciprocal(self, top: int) -> Doubles:
        """Return 1 / rank without a weighing: the `top` strongest rules of any kind count, and the priors."""
        queries, candidates = self.sample.real.shape
        result = np.empty(queries)

        def rank(_: None, some: tuple[int, int]) -> None:
            part = self.sample.part(slice(*some))
            rules = np.sort(part.strongest[:, :, :-1].reshape(len(part.real), candidates, -1), axis=2)[:, :, -top:]
            score = rules.astype(np.float64).sum(axis=2) + part.strongest[:, :, -1, 0]
            score[~part.real] = -np.inf
            result[slice(*some)] = _ranks_of_first(score, part.unproposed)

        self.pool.map(rank, _blocks(queries))
        return result

    def ranks(
        self,
        rows: Longs,
        now: Doubles,
        weighing: np.ndarray,
        kind: int,
        column: int,
        values: Sequence[float],
        stop: Stop | None = None,
    ) -> Doubles:
        """Return (values, rows): 1 / rank of the queries `rows`, with weighing[kind, column] set to each of `values`.

        `now` is their 1 / rank under the current `weighing`. The result is invalid after a `stop`.
        """
        tried = np.repeat(weighing[None], len(values), axis=0)
        tried[:, kind, column] = values
        places = self.sample.strongest.shape[3]
        result, weight = np.zeros((len(values), len(rows))), weights(weighing, places)
        of_value = np.ascontiguousarray(weights(tried, places)[:, kind])

        def try_values(_: None, some: tuple[int, int]) -> None:
            _try_values(self.evidence, self.sample, kind, rows, now, weight, of_value, *some, result)

        self.pool.map(try_values, _blocks(len(rows)), stop=stop)
        return result


def _blocks(count: int) -> list[tuple[int, int]]:
    return [(low, min(low + BLOCK_SIZE, count)) for low in range(0, count, BLOCK_SIZE)]


def weights(weighing: np.ndarray, places: int) -> np.ndarray:
    """Return factor * discount^j for the j-th place: (..., kinds, `places`) for a `weighing` (..., kinds, 2)."""
    found = weighing[..., :1] * weighing[..., 1:] ** np.arange(places)
    return np.asarray(found.astype(np.float32))


@compiled
def _scores_without(
    evidence: KindEvidence, sample: CandidateSample, q: int, left_out: int, weight: np.ndarray, score: Doubles
) -> None:
    """Compute the scores of the candidates of query q without the kind `left_out`; padding gets -inf."""
    real = sample.real[q]
    for c in range(len(score)):
        score[c] = 0.0 if real[c] else -np.inf
    for k in range(len(weight)):
        if k == left_out:
            continue
        for j in range(evidence.depth[q, k]):
            factor = weight[k, j]
            for i in range(evidence.pointer[q, k], evidence.pointer[q, k + 1]):
                score[evidence.candidate[i]] += factor * evidence.strength[j, i]


@compiled
def _reciprocal_rank(own: float, above: int, tied: int, unproposed: int) -> float:
    """Return 1 / rank of an answer with the score `own`; `tied` includes the answer."""
    return 1.0 / rank(above, tied + unproposed if own < TIE else tied)


@compiled
def _rank_of_first(score: Doubles, unproposed: int) -> float:
    """Return 1 / rank of the answer, whose score comes first."""
    above, tied = count_tied(score, score[0] - TIE, score[0] + TIE)
    return _reciprocal_rank(score[0], above, tied, unproposed)


@compiled
def _ranks_of_first(score: Doubles, unproposed: Longs) -> Doubles:
    result = np.empty(len(score))
    for q in range(len(score)):
        result[q] = _rank_of_first(score[q], unproposed[q])
    return result


@compiled
def _rank_queries(
    evidence: KindEvidence, sample: CandidateSample, weight: np.ndarray, low: int, high: int, result: Doubles
) -> None:
    score = np.empty(sample.real.shape[1])
    for q in range(low, high):
        _scores_without(evidence, sample, q, -1, weight, score)
        result[q] = _rank_of_first(score, sample.unproposed[q])


@compiled
def _try_values(
    evidence: KindEvidence,
    sample: CandidateSample,
    kind: int,
    rows: Longs,
    now: Doubles,
    weight: np.ndarray,
    weight_of_value: np.ndarray,
    low: int,
    high: int,
    result: Doubles,
) -> None:
    """Write result[v, i] for rows `low` .. `high` - 1; weight_of_value[v] are the weights of the kind for value v."""
    candidates = sample.real.shape[1]
    others, start, score = np.empty(candidates), np.empty(candidates), np.empty(candidates)
    for i in range(low, high):
        q = rows[i]
        begin, end = evidence.pointer[q, kind], evidence.pointer[q, kind + 1]
        size = end - begin
        if size == 0:
            for v in range(len(weight_of_value)):
                result[v, i] = now[i]
            continue
        _scores_without(evidence, sample, q, kind, weight, others)
        own = others[0]
        for e in range(size):
            c = evidence.candidate[begin + e]
            start[e] = others[c]
            others[c] = -np.inf  # leave only the candidates that no value changes
        is_answer = evidence.candidate[begin] == 0
        above, tied = count_tied(others, own - TIE, own + TIE)
        for v in range(len(weight_of_value)):
            for e in range(size):  # a loop: assigning a slice to a slice takes seconds to compile
                score[e] = start[e]
            # The inner loop runs over candidates, so that it vectorises.
            for j in range(evidence.depth[q, kind]):
                strength, factor = evidence.strength[j, begin:end], weight_of_value[v, j]
                for e in range(size):
                    score[e] += factor * strength[e]
            if is_answer:
                own = score[0]
                above, tied = count_tied(others, own - TIE, own + TIE)
            more_above, more_tied = count_tied(score[:size], own - TIE, own + TIE)
            result[v, i] = _reciprocal_rank(own, above + more_above, tied + more_tied, sample.unproposed[q])


# gathering a sample -----------------------------------------------------------------------------------


def gather(
    ranker: Ranker, facts: Facts, known: Facts, progress: Progress = silent, stop: Stop | None = None
) -> CandidateSample:
    """Gather the queries of both directions of `facts`, scored by `ranker`, until `stop`; at least one task.

    Answers in `known` do not compete.
    """
    stop = stop or Stop()
    groups = list(ranker.groups(facts))
    # Queries keep the order of the groups, in whatever order tasks finish.
    fact = np.concatenate([np.zeros(0, np.int64), *(rows for *_, rows in groups)])
    position = np.zeros((2, len(facts)), np.int64)
    position[np.repeat([d for _, d, _ in groups], [len(rows) for *_, rows in groups]), fact] = np.arange(len(fact))
    candidates = 1 + min(MAX_CANDIDATES, ranker.kb.num_entities - 1)
    sample = CandidateSample.empty(fact, candidates, ranker.pool.scratch().strongest.shape[2])
    done = np.zeros(len(fact), bool)
    most = np.full(ranker.top, MARGIN * UNIT)

    def run(space: ScoreSpace, task: RankingTask) -> None:
        at = position[task.batch.direction, task.rows]
        # Ranks are exact under the initial weights and some way around them.
        gather_block(ranker.graph, task.batch.plan, task.block, ranker.top, most, space, sample, at)
        done[at] = True

    for batches in ranker.batches(groups, facts, known, np.zeros(len(facts), bool)):
        tasks = [task for batch in batches for task in ranker.tasks(batch)]
        reached = np.count_nonzero(done) + np.cumsum([0] + [len(task.rows) for task in tasks])
        report = queries_done(progress, "weigh rules", reached, 2 * len(facts))
        ranker.pool.map_here(run, tasks, progress=report, stop=stop)
        if tasks and not done.any():  # stopped before the first task
            run(ranker.pool.scratch(), tasks[0])
        if done.any() and stop():
            break
    return sample if done.all() else sample.part(done)
