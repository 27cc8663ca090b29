"""Conjunctions for a counted rule set: found on training facts, kept if they raise the score on validation facts.

The current rules are scored once for each validation query; conjunctions are tried in groups, best first, by adding
their evidence. A target has few validation facts and one rule changes few of them, so the gain of a single rule is
mostly chance; that of a group is less so. To rule out chance, each half of the facts chooses for the
other half, and all conjunctions are dropped if that shows no gain.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..data.arrays import Doubles, Ids, Longs, Mask
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..evaluation.plan import Plan, back_prior_of
from ..evaluation.programs import Fires, program_evidence, rule_firings
from ..evaluation.ranking import AnswerIndex, Ranker
from ..evaluation.scoring import collect, drop_priors, load_priors, sum_touched, write_totals
from ..kernel.aggregation import ScoreSpace, clear, count_ranks, realistic_rank, sink, tie_bounds, weigh
from ..kernel.compiled import compiled
from ..kernel.graph import Graph
from ..kernel.hidden import HiddenFact
from ..kernel.ruleset import RuleSet
from ..kernel.walk import NO_LIMIT
from ..progress import Progress, silent
from ..search.conjunctions import MOST_ENTITIES, Conjunctions
from ..search.options import CountOptions
from .gates import CONJUNCTIONS
from .validation import Fold

LATEST_START = 1 / 3
"""Share of a time limit after which the search for conjunctions is skipped: the weighing that follows gains more."""
GROUP_SIZE = 5
"""Rules that are tried together."""
NO_TIME = "conjunctions left out: they would have taken most of the time left"


def helpful_conjunctions(
    fold: Fold,
    targets: Ids,
    most: int,
    options: CountOptions,
    body: KnowledgeBase | None = None,
    progress: Progress = silent,
) -> tuple[RuleSet, tuple[str, ...]]:
    """Return conjunctions to add to the rules of a fold, counted on its base, and notes on what was left out.

    There are none for soft facts, scene graphs, and targets with too few validation facts.

    Args:
        fold: conjunctions are proposed from its base and its rules, and judged on its facts.
        targets: predicates to find conjunctions for.
        most: the number of conjunctions to try for each target.
        options: the settings of the search.
        body: the facts that bodies may use, if restricted.
        progress: called after each target.
    """
    kb, rules, valid = fold.kb, fold.rules, fold.facts
    none = RuleSet.empty(kb)
    if kb.facts.weight is not None or kb.graph_of is not None or not rules.aggregation.adds:
        return none, ()
    facts_of = np.bincount(valid.predicate, minlength=kb.num_predicates)
    judged = [int(t) for t in targets if kb.predicates[t].arity == 2 and facts_of[t] >= CONJUNCTIONS.least_facts]
    if not judged:
        return none, ()
    if kb.num_entities > MOST_ENTITIES:
        note = (
            f"conjunctions left out: the base has {kb.num_entities:,} entities; the search needs memory for every pair "
            f"and is limited to {MOST_ENTITIES:,}"
        )
        return none, (note,)
    stop = options.stop
    if stop is not None and stop.used > LATEST_START * (stop.used + stop.left):
        stop.cut = True
        return none, (NO_TIME,)
    search = Conjunctions(kb, body, options)
    ranker = Ranker(rules, kb, options.threads, options.memory)
    parts, gains = [none], [np.zeros(0)]
    began = time.monotonic()
    for done, target in enumerate(judged):
        if stop is not None and stop():
            break
        used = time.monotonic() - began
        if done and stop is not None and used * len(judged) / done > CONJUNCTIONS.most_time * (used + stop.left):
            stop.cut = True
            return none, (NO_TIME,)
        tried = search.proposals(rules, target, most)
        if len(tried):
            random = np.random.default_rng((options.seed, 7, target))
            facts = CONJUNCTIONS.drawn(valid.of(target), random)
            rows, gain = helpful_rules(CandidateEvidence.of(ranker, target, facts, fold.known), tried, random)
            parts.append(replace(tried.take(rows), weight=None))  # the smoothed confidence, unrounded
            gains.append(gain)
        progress("conjunctions", done + 1, len(judged))
    return RuleSet.join(parts) if CONJUNCTIONS.passes(np.concatenate(gains)) else none, ()


@dataclass(eq=False)
class CandidateEvidence:
    """The evidence of every candidate for queries about facts of one target.

    With n facts, query i asks for the object of fact i, query n + i for its subject.

    Attributes:
        target: a predicate id.
        memory: bytes for the cache of answers.
        known: by direction, the known entity of each query; its answer is the entity of the other direction.
        filters: by direction, known answers, which do not compete.
        total: (queries, entities), the evidence.
        strongest: (queries, entities, top), the strongest evidence from rules of the kind of conjunctions.
        allowed: (queries, entities), whether no exclusion rules the candidate out.
        weight: (top,), how much the strongest rules count.
    """

    kb: KnowledgeBase
    target: int
    memory: int
    known: tuple[Ids, Ids]
    filters: list[AnswerIndex]
    total: np.ndarray
    strongest: np.ndarray
    allowed: np.ndarray
    weight: Longs

    @classmethod
    def of(cls, ranker: Ranker, target: int, facts: Facts, known: Facts) -> CandidateEvidence:
        """Collect the evidence of the rules of `ranker` for queries about `facts` of `target`, not in the base.

        Facts of the base and `known` facts do not compete.
        """
        known = ranker.kb.facts.of(target) + known.of(target)
        shape = 2 * len(facts), ranker.kb.num_entities
        filters = [AnswerIndex.of(known, target, direction, shape[1]) for direction in (0, 1)]
        strongest = np.zeros((*shape, ranker.top), np.int64)
        ends = facts.subject, facts.object
        total, allowed = np.zeros(shape, np.int64), np.ones(shape, bool)
        base = ranker.kb, target, ranker.memory
        current = cls(*base, ends, filters, total, strongest, allowed, np.zeros(0, np.int64))
        for direction in (0, 1):
            current._fill(ranker, direction)
        return current

    def _fill(self, ranker: Ranker, direction: int) -> None:
        plan, rest = ranker.target_plan(self.target, direction)
        kind, graph, query = int(plan.kind[6]), ranker.graph, self.known[direction]
        self.weight = plan.weight[kind]
        hidden = np.full(len(query), -1, np.int32)
        extra = list(program_evidence(rest, ranker.kb, plan.code, query, hidden, ranker.memory))

        def one(space: ScoreSpace, i: int) -> None:
            a, q = int(query[i]), direction * len(query) + i
            _score(graph, plan, a, ranker.top, kind, extra[i], space, self.total[q], self.strongest[q])
            edges = slice(graph.pointer[a], graph.pointer[a + 1])
            self.allowed[q, graph.neighbour[edges][plan.excluded[graph.code[edges]]]] = False

        ranker.pool.map_here(one, range(len(query)))

    def firings(self, rules: RuleSet) -> list[Fires]:
        """Return where each of `rules` of the target fires, for candidates that no exclusion rules out."""
        found = (
            rule_firings(rules, self.kb, 2 * self.target + direction, self.known[direction], self.memory)
            for direction in (0, 1)
        )
        return [self._allowed(ahead, back) for ahead, back in zip(*found)]

    def _allowed(self, ahead: Fires, back: Fires) -> Fires:
        query = np.concatenate((ahead.query, back.query + len(self.known[0])))
        candidate, power = (np.concatenate(pair) for pair in zip(ahead[1:], back[1:]))
        allowed = self.allowed[query, candidate]
        return Fires(query[allowed], candidate[allowed], power[allowed])

    def add(self, fires: Fires) -> None:
        """Add the evidence of one more rule, which `fires` there."""
        _add(self.total, self.strongest, self.weight, *fires)

    def copy(self) -> CandidateEvidence:
        """Return a copy whose evidence may be changed."""
        return replace(self, total=self.total.copy(), strongest=self.strongest.copy())

    def reciprocal(self) -> Doubles:
        """Return 1 / rank of the answer of every query."""
        rows, parts = np.arange(len(self.known[0])), []
        for direction, filter in enumerate(self.filters):
            totals = self.total[direction * len(rows) : (direction + 1) * len(rows)]
            query, answer = self.known[direction], self.known[1 - direction]
            bounds = tie_bounds(totals[rows, answer])
            above, tied = count_block(totals, rows, answer, query, filter.pointer, filter.answer, *bounds)
            parts.append(1 / realistic_rank(above, tied))
        return np.concatenate(parts)


def helpful_rules(current: CandidateEvidence, tried: RuleSet, random: np.random.Generator) -> tuple[Longs, Doubles]:
    """Return the rows of the tried rules that help, and the gain in 1 / rank of each fact.

    The gain of a fact comes from rules that were chosen on other facts.

    Args:
        current: validation queries with the evidence of the current rules; the rules that help are added to it.
        tried: further rules, best first.
        random: splits the facts into halves.
    """
    firings = current.firings(tried)
    before, size = current.reciprocal(), len(current.known[0])
    gains, half = np.zeros(size), random.permutation(size) % 2 == 0
    for judges in (half, ~half):
        trial = current.copy()
        add_helpful(trial, firings, np.tile(judges, 2))
        gain = (trial.reciprocal() - before).reshape(2, size).mean(axis=0)
        gains[~judges] = gain[~judges]
    return add_helpful(current, firings, np.ones(2 * size, bool)), gains


def add_helpful(current: CandidateEvidence, firings: Sequence[Fires], judges: Mask) -> Longs:
    """Add to `current` the groups of `firings` that raise the mean 1 / rank of the queries marked in `judges`.

    Returns the rows of the added rules.
    """
    rows: list[int] = []
    now = current.reciprocal()
    for begin in range(0, len(firings), GROUP_SIZE):
        group = firings[begin : begin + GROUP_SIZE]
        trial = current.copy()
        for fires in group:
            trial.add(fires)
        then = trial.reciprocal()
        if (then - now)[judges].mean() > CONJUNCTIONS.least_gain:
            current.total, current.strongest, now = trial.total, trial.strongest, then
            rows += range(begin, begin + len(group))
    return np.array(rows, np.int64)


@compiled
def _score(
    graph: Graph, plan: Plan, known: int, top: int, kind: int, extra: np.ndarray, space: ScoreSpace, total: Longs,
    strongest: np.ndarray,
) -> None:  # fmt: skip
    """Write the evidence of every candidate of one query, and the strongest evidence from rules of this kind."""
    load_priors(plan, space)
    hidden = HiddenFact(plan.code, known, -1, -1, graph.is_unary)
    touched = collect(graph, plan, hidden, top, NO_LIMIT, extra, space)
    touched = sum_touched(graph, plan, hidden, False, space, touched)
    write_totals(space, back_prior_of(plan, known), False, touched, total)
    for s in range(1, touched + 1):
        for j in range(top):
            strongest[space.touched[s], j] = space.strongest[s, kind, j]
    clear(space, touched)
    drop_priors(plan, space)


@compiled
def count_block(
    totals: np.ndarray, row: Longs, answer: Ids, query: Ids, known_pointer: Longs, known_answer: Ids, low: Longs,
    high: Longs,
) -> np.ndarray:  # fmt: skip
    """Count (above, tied) of each answer in totals[row], with the `tie_bounds` `low` and `high`.

    query[row] is the known entity of the query; the known answers of entity a, which do not compete, are
    known_answer[known_pointer[a] : known_pointer[a + 1]].
    """
    result = np.empty((2, len(answer)), np.int64)
    for i in range(len(answer)):
        a = query[row[i]]
        result[0, i], result[1, i] = count_ranks(
            totals[row[i]], answer[i], known_answer[known_pointer[a] : known_pointer[a + 1]], low[i], high[i]
        )
    return result


@compiled
def _add(
    total: np.ndarray, strongest: np.ndarray, weight: Longs, query: Longs, candidate: Longs, evidence: Longs
) -> None:
    """Add a firing to the totals of its candidates; it may replace the weakest rule of the kind."""
    top = strongest.shape[2]
    for i in range(len(query)):
        slots = strongest[query[i], candidate[i]]
        before, after = 0, 0
        for j in range(top):
            before += weigh(slots[j], weight[j])
        sink(slots, evidence[i], top)
        for j in range(top):
            after += weigh(slots[j], weight[j])
        total[query[i], candidate[i]] += after - before
