"""Which further rules of a target are worth having: those that raise the ranks of validation facts.

The rules at hand are scored once for each query; further rules are tried by adding their evidence on top, in groups,
best first. A target has few validation facts, and one rule moves few of them: which single rule helps is mostly chance,
a group says more. What is left to chance is measured: each half of the facts chooses for the other half
(`Tried.unseen`), and who asks may drop everything where that shows no gain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..data.arrays import Doubles, Longs, Mask
from ..data.facts import Facts
from ..kernel.bodies import X_NODE, Y_NODE
from ..kernel.kernels import compiled
from ..kernel.ruleset import RuleSet
from ..kernel.walk import NO_LIMIT
from .evidence import evidence, tie_bounds
from .general import general_evidence
from .plan import Plan
from .ranking import Answers, Ranker
from .scoring import ScoreSpace, clear, collect, sink, sum_up, weighed

if TYPE_CHECKING:
    from ..kernel.relations import Relations

LEAST_FACTS = 50
"""Validation facts of a target; with fewer, no rule is tried."""
MOST_FACTS = 300
GROUP = 5
"""Rules that are tried together."""
ERRORS = 2.0
"""What all kept rules together must add to the mean reciprocal rank of facts that did not choose them, in standard
errors."""


class Firing(NamedTuple):
    """Where a rule fires: positions of queries, ascending, and candidates."""

    query: Longs
    candidate: Longs
    evidence: int


@dataclass(eq=False)
class Standing:
    """The queries of one target in both directions, and what every candidate has so far."""

    asked: tuple[Longs, Longs]  # the known entities, by direction: positions follow one another
    fact: Longs  # (queries,): the position of the fact that was asked about
    answer: Longs
    total: np.ndarray  # (queries, entities): evidence
    strongest: np.ndarray  # (queries, entities, top): of the kind that formula rules are
    allowed: np.ndarray  # (queries, entities): no exclusion rules the candidate out
    counts: np.ndarray  # (queries, entities): the candidate is the answer, or not known to be another
    weight: Longs  # (top,)

    @classmethod
    def of(
        cls, ranker: Ranker, target: int, facts: Facts, known: Facts, relations: Relations | None = None
    ) -> Standing:
        """Of facts that are not in the base; what is `known` does not compete."""
        ends = (facts.subject.astype(np.int64), facts.object.astype(np.int64))
        size, n = len(facts), ranker.kb.num_entities
        total = np.zeros((2 * size, n), np.int64)
        strongest = np.zeros((2 * size, n, ranker.top), np.int64)
        allowed, counts = np.ones((2 * size, n), bool), np.ones((2 * size, n), bool)
        for direction in (0, 1):
            layout, rest = ranker.target_plan(target, direction)
            answers = Answers.of(known, target, direction, n)
            kind, begin = int(layout.kind[6]), direction * size
            nothing = np.full(size, -1, np.int32)
            extra = list(
                general_evidence(
                    rest, ranker.kb, layout.code, ends[direction].astype(np.int32), nothing, ranker.memory, relations
                )
            )

            def one(
                space: ScoreSpace,
                i: int,
                layout: Plan = layout,
                answers: Answers = answers,
                kind: int = kind,
                begin: int = begin,
                direction: int = direction,
                extra: list[np.ndarray] = extra,
            ) -> None:
                a, q = int(ends[direction][i]), begin + i
                touched = collect(ranker.graph, layout, ranker.is_unary, a, -1, ranker.top, NO_LIMIT, extra[i], space)
                sum_up(ranker.graph, layout, a, -1, False, space, touched)
                total[q], strongest[q] = space.total, space.strongest[:, kind]
                clear(space, touched)
                mine = slice(ranker.graph.pointer[a], ranker.graph.pointer[a + 1])
                allowed[q, ranker.graph.neighbour[mine][layout.excluded[ranker.graph.code[mine]]]] = False
                counts[q, answers.to(a)] = False
                counts[q, ends[1 - direction][i]] = True

            ranker.pool.map(one, range(size))
        return cls(
            ends,
            np.tile(np.arange(size), 2),
            np.concatenate(ends[::-1]),
            total,
            strongest,
            allowed,
            counts,
            layout.weight[kind],
        )

    def firing(self, rules: RuleSet, row: int, relations: Relations) -> Firing | None:
        """Where a rule fires; None where it does not fit the memory budget."""
        rule = rules.rule(row)
        query, candidate = [], []
        for direction, given in enumerate((X_NODE, Y_NODE)):
            found = relations.answers(rule, self.asked[direction], given)
            if found is None:
                return None
            query.append(found[0] + direction * len(self.asked[0]))
            candidate.append(found[1])
        at, there = np.concatenate(query), np.concatenate(candidate)
        mine = self.allowed[at, there]
        return Firing(at[mine], there[mine], int(evidence(rules.weights[row])))

    def reciprocal(self, firing: Firing | None = None) -> Doubles:
        """1 / rank of every answer, with one rule more or without."""
        query, candidate, more = (np.zeros(0, np.int64) for _ in range(3))
        if firing is not None:
            query, candidate = firing.query, firing.candidate
            more = _raised(self.strongest, self.weight, query, candidate, firing.evidence)
            moved = more > 0
            query, candidate, more = query[moved], candidate[moved], more[moved]
        own = self.total[np.arange(len(self.answer)), self.answer]
        is_answer = candidate == self.answer[query]
        own[query[is_answer]] += more[is_answer]
        low, high = tie_bounds(own)
        return _reciprocal_ranks(self.total, self.counts, low, high, query, candidate, more)

    def copy(self) -> Standing:
        return replace(self, total=self.total.copy(), strongest=self.strongest.copy())

    def add(self, firing: Firing | None) -> None:
        if firing is None:
            return
        more = _raised(self.strongest, self.weight, firing.query, firing.candidate, firing.evidence)
        self.total[firing.query, firing.candidate] += more
        _take(self.strongest, firing.query, firing.candidate, firing.evidence)


class Tried(NamedTuple):
    """Rows of the tried rules that help; for each fact what the rules that others chose bring to its 1 / rank."""

    rows: Longs
    unseen: Doubles


def helpful(
    ranker: Ranker, relations: Relations, target: int, facts: Facts, known: Facts, tried: RuleSet, seed: int
) -> Tried:
    """The tried rules, best first, against facts of the target that are not in the base."""
    random = np.random.default_rng((seed, 7, target))
    if len(facts) > MOST_FACTS:
        facts = facts[np.sort(random.permutation(len(facts))[:MOST_FACTS])]
    standing = Standing.of(ranker, target, facts, known, relations)
    firings = [standing.firing(tried, row, relations) for row in range(len(tried))]
    before, unseen = standing.reciprocal(), np.zeros(len(facts))
    half = random.permutation(len(facts)) % 2 == 0
    for judges in (half, ~half):
        trial = standing.copy()
        chosen(trial, firings, judges[standing.fact])
        gain = np.bincount(standing.fact, weights=trial.reciprocal() - before) / 2
        unseen[~judges] = gain[~judges]
    return Tried(chosen(standing, firings, np.ones(len(before), bool)), unseen)


def chosen(standing: Standing, firings: Sequence[Firing | None], judges: Mask) -> Longs:
    """Rows of the groups that raise the mean 1 / rank of the judging queries; these have been added to the standing."""
    rows: list[int] = []
    now = standing.reciprocal()
    for begin in range(0, len(firings), GROUP):
        group = [row for row in range(begin, min(begin + GROUP, len(firings))) if firings[row] is not None]
        trial = standing.copy()
        for row in group:
            trial.add(firings[row])
        then = trial.reciprocal()
        if (then - now)[judges].mean() > 1e-9:
            standing.total, standing.strongest, now = trial.total, trial.strongest, then
            rows += group
    return np.array(rows, np.int64)


def is_gain(unseen: Doubles) -> bool:
    """Whether gains of facts that did not choose are above chance."""
    return bool(len(unseen)) and bool(unseen.mean() > max(ERRORS * unseen.std() / np.sqrt(len(unseen)), 1e-9))


@compiled
def _raised(strongest, weight, query, candidate, evidence):
    """How much a firing adds to each candidate: the kind's last rule may have to give way to it."""
    result = np.zeros(len(query), np.int64)
    top = strongest.shape[2]
    for i in range(len(query)):
        slots = strongest[query[i], candidate[i]].copy()
        before, after = 0, 0
        for j in range(top):
            before += weighed(slots[j], weight[j])
        sink(slots, evidence, top)
        for j in range(top):
            after += weighed(slots[j], weight[j])
        result[i] = after - before
    return result


@compiled
def _take(strongest, query, candidate, evidence):
    for i in range(len(query)):
        sink(strongest[query[i], candidate[i]], evidence, strongest.shape[2])


@compiled
def _reciprocal_ranks(total, counts, low, high, query, candidate, more):
    """As `scoring.count_ranks` counts, with `more` evidence for some candidates."""
    result = np.zeros(len(total))
    i = 0
    for q in range(len(total)):
        above, tied = 0, 0
        for b in range(total.shape[1]):
            if counts[q, b]:
                above += total[q, b] >= high[q]
                tied += low[q] <= total[q, b] < high[q]
        while i < len(query) and query[i] == q:
            b = candidate[i]
            if counts[q, b]:
                before, after = total[q, b], total[q, b] + more[i]
                above += (after >= high[q]) - (before >= high[q])
                tied += (low[q] <= after < high[q]) - (low[q] <= before < high[q])
            i += 1
        result[q] = 1.0 / (above + (tied + 1) / 2)
    return result
