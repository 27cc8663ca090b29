"""Other numbers for one kind of rule, all values at once: the ranks that each would give.

To try a value changes only the candidates for which a rule of this kind fires, and those are few. So the evidence is
kept as a list for each query and kind, what the other kinds say is added up once for all values, and a query without
evidence of this kind keeps its rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..data.arrays import Doubles, Ids, Longs
from ..kernel.kernels import compiled
from ..kernel.pool import Pool
from ..progress import Stop
from .samples import TIE, Sample, query_blocks, rank_of_first, reciprocal_rank, weights


class Firings(NamedTuple):
    """Candidates with evidence of kind k for query q: pointer[q, k] .. pointer[q, k + 1], by number."""

    pointer: Longs  # (queries, kinds + 1)
    depth: Longs  # (queries, kinds): places that any of them uses
    candidate: Ids
    strength: np.ndarray  # (places, firings)


@dataclass(frozen=True, eq=False)
class Trials:
    """The queries of a sample, ready to be ranked with many values of one number."""

    sample: Sample
    firings: Firings
    pool: Pool[None]

    @classmethod
    def of(cls, sample: Sample, threads: int = 1) -> Trials:
        queries, _, kinds, places = sample.strongest.shape
        pool: Pool[None] = Pool(lambda: None, threads)
        count, depth = np.zeros((queries, kinds), np.int64), np.zeros((queries, kinds), np.int64)
        pool.map(lambda _, some: _count(sample.strongest, sample.real, *some, count, depth), sample.blocks())
        ends = np.cumsum(count).reshape(queries, kinds)
        pointer = np.concatenate((ends[:, :1] - count[:, :1], ends), axis=1)
        size = int(count.sum())
        firings = Firings(pointer, depth, np.empty(size, np.int32), np.empty((places, size), np.float32))
        pool.map(lambda _, some: _list(sample.strongest, sample.real, *some, firings), sample.blocks())
        return cls(sample, firings, pool)

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
        """(values, rows): 1 / rank of the answers of some queries when weighing[kind, column] is each of the values.

        `now` has their 1 / rank with the weighing as it is. What comes after a `stop` is not to be used.
        """
        tried = np.repeat(weighing[None], len(values), axis=0)
        tried[:, kind, column] = values
        sample, places = self.sample, self.sample.strongest.shape[3]
        result, weight = np.zeros((len(values), len(rows))), weights(weighing, places)

        def of_kind(_: None, some: tuple[int, int]) -> None:
            _try_kind(
                self.firings,
                sample.prior,
                sample.real,
                sample.unproposed,
                kind,
                rows,
                now,
                weight,
                weighing[-1, 0],
                weight_of_value,
                *some,
                result,
            )

        def of_prior(_: None, some: tuple[int, int]) -> None:
            _try_prior(
                self.firings,
                sample.prior,
                sample.real,
                sample.unproposed,
                rows,
                now,
                weight,
                tried[:, -1, 0],
                *some,
                result,
            )

        is_prior = kind == len(weighing) - 1
        weight_of_value = weight[:0] if is_prior else np.ascontiguousarray(weights(tried, places)[:, kind])
        self.pool.map(of_prior if is_prior else of_kind, query_blocks(len(rows)), stop=stop)
        return result


@compiled
def _count(strongest, real, low, high, count, depth):
    _, candidates, kinds, places = strongest.shape
    for q in range(low, high):
        for c in range(candidates):
            if not real[q, c]:
                continue
            for k in range(kinds):
                used = 0
                while used < places and strongest[q, c, k, used] != 0:
                    used += 1
                count[q, k] += used > 0
                depth[q, k] = max(depth[q, k], used)


@compiled
def _list(strongest, real, low, high, firings):
    _, candidates, kinds, places = strongest.shape
    for q in range(low, high):
        place = firings.pointer[q, :kinds].copy()
        for c in range(candidates):
            if not real[q, c]:
                continue
            for k in range(kinds):
                if strongest[q, c, k, 0] == 0:
                    continue
                firings.candidate[place[k]] = c
                for j in range(places):
                    firings.strength[j, place[k]] = strongest[q, c, k, j]
                place[k] += 1


@compiled
def _add(firings, begin, end, depth, weight, score):
    """score[i] += what firing begin + i counts: place after place, so that it runs over many firings at once."""
    for j in range(depth):
        strength, factor = firings.strength[j, begin:end], weight[j]
        for i in range(len(strength)):
            score[i] += factor * strength[i]


@compiled
def _sum_others(firings, prior, real, q, left_out, weight, prior_weight, score, some):
    """The scores of all candidates without the kind `left_out`; `some` is scratch."""
    for c in range(len(score)):
        score[c] = prior[q, c] * prior_weight if real[q, c] else -np.inf
    for k in range(len(weight)):
        begin, end = firings.pointer[q, k], firings.pointer[q, k + 1]
        if k == left_out or begin == end:
            continue
        candidate = firings.candidate[begin:end]
        for i in range(end - begin):
            some[i] = score[candidate[i]]
        _add(firings, begin, end, firings.depth[q, k], weight[k], some)
        for i in range(end - begin):
            score[candidate[i]] = some[i]


@compiled
def _higher(score, first, end, own):
    """How many are above the answer, and how many are above it or tied."""
    above, near = 0, 0
    for i in range(first, end):
        above += score[i] > own + TIE
        near += score[i] > own - TIE
    return above, near


@compiled
def _try_kind(
    firings, prior, real, unproposed, kind, rows, now, weight, prior_weight, weight_of_value, low, high, result
):
    candidates = prior.shape[1]
    others, start, score = np.empty(candidates), np.empty(candidates), np.empty(candidates)
    for i in range(low, high):
        q = rows[i]
        begin, end = firings.pointer[q, kind], firings.pointer[q, kind + 1]
        size = end - begin
        if size == 0:
            result[:, i] = now[i]
            continue
        _sum_others(firings, prior, real, q, kind, weight, prior_weight, others, start)
        for e in range(size):
            c = firings.candidate[begin + e]
            start[e] = others[c]
            others[c] = -np.inf  # not counted with those that no value changes
        is_answer = firings.candidate[begin] == 0
        own = others[0]
        above, near = _higher(others, 1, candidates, own)
        for v in range(len(weight_of_value)):
            score[:size] = start[:size]
            _add(firings, begin, end, firings.depth[q, kind], weight_of_value[v], score)
            if is_answer:
                own = score[0]
                above, near = _higher(others, 1, candidates, own)
            more_above, more_near = _higher(score, 1 if is_answer else 0, size, own)
            result[v, i] = reciprocal_rank(own, above + more_above, near + more_near, unproposed[q])


@compiled
def _try_prior(firings, prior, real, unproposed, rows, now, weight, values, low, high, result):
    candidates = prior.shape[1]
    others, score = np.empty(candidates), np.empty(candidates)
    for i in range(low, high):
        q = rows[i]
        if not prior[q].any():
            result[:, i] = now[i]
            continue
        _sum_others(firings, prior, real, q, -1, weight, 0.0, others, score)
        for v in range(len(values)):
            for c in range(candidates):
                score[c] = others[c] + values[v] * prior[q, c]
            result[v, i] = rank_of_first(score, unproposed[q])


__all__ = ["Firings", "Trials"]
