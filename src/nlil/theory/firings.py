"""List which rules of a target propose the answers of its facts, and count their wrong proposals.

A query is one direction of a fact, p(a, ?) or p(?, b), with the fact itself hidden; for a unary target it is a member.
Ranking sums the rules that fire for a candidate; to choose among rules, the firings of each rule are kept separate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.arrays import Doubles, Ids, Longs, Mask, run_starts
from ..data.facts import LEAST_TRUE, Facts
from ..evaluation.members import MemberScorer
from ..evaluation.plan import Plan
from ..evaluation.programs import rule_firings
from ..evaluation.queries import AnswerIndex
from ..evaluation.ranking import Ranker
from ..evaluation.scoring import Firings, list_chains, list_others
from ..kernel.aggregation import ScoreSpace
from ..kernel.compiled import compiled
from ..kernel.graph import Graph
from ..kernel.hidden import HiddenFact

BUFFER = 2**16
"""Initial size of the buffer for the firings of one query."""
MOST_KEPT = 2**18
"""Limit of the firings that are kept for further queries at the same entity, for one target and direction."""
MOST_PROPOSED = 100
"""A rule that proposes more candidates for a query is treated as if it did not fire: it says little about any of them,
and listing them would take most of the time."""
DOUBT = 40
"""Wrong proposals added to those of every rule, since rules that seem precise on a few facts would fill a short list.
40 was better than 2 and 10 on the validation facts of UMLS, kinship and FB15k-237."""
MEMBERS = 256
"""Entities evaluated in one batch."""


class Hits(NamedTuple):
    """The right proposals of the rules of one target for a sample of its facts, and the number of wrong ones.

    Queries of direction d are d * num_facts .. (d + 1) * num_facts - 1, in the order of the facts; a unary target has
    one direction.

    rule, query  this rule proposes the answer of this query; sorted by rule, then by query
    wrong        (directions, rules): the weighted number of proposals that are not known answers
    weight       the weight of each fact
    num_tried    the number of training facts, which come first; validation facts follow
    """

    rule: Ids
    query: Ids
    wrong: Doubles
    weight: Doubles
    num_tried: int

    @property
    def num_facts(self) -> int:
        """Facts of the sample."""
        return len(self.weight)

    @property
    def num_queries(self) -> int:
        """Queries of all directions."""
        return len(self.wrong) * self.num_facts

    @property
    def precision(self) -> Doubles:
        """(directions, rules): right / (right + wrong + DOUBT) for the proposals of each rule.

        `DOUBT` makes it unlikely that a rule seems precise by chance.
        """
        shape = self.wrong.shape
        direction = self.query // max(self.num_facts, 1)
        weight = self.weight[self.query % max(self.num_facts, 1)]
        right = np.bincount(direction * shape[1] + self.rule, weight, self.wrong.size).reshape(shape)
        return np.asarray(right / (right + self.wrong + DOUBT))

    def only(self, counts: Mask) -> Hits:
        """Return the hits of the rules that `counts` marks, by (direction, rule)."""
        kept = counts[self.query // max(self.num_facts, 1), self.rule]
        return self._replace(rule=self.rule[kept], query=self.query[kept])


class Proposals(NamedTuple):
    """The candidates that rules of a binary target propose for a sample of its facts; queries as in `Hits`.

    query, is_right  of each proposed candidate, sorted by query; known answers are left out, except the query's own
    pointer, rule    the rules that propose candidate i are rule[pointer[i]:pointer[i + 1]], ascending
    weight           the weight of each fact
    num_tried        the number of training facts, which come first
    """

    query: Ids
    is_right: Mask
    pointer: Longs
    rule: Ids
    weight: Doubles
    num_tried: int

    @property
    def num_facts(self) -> int:
        """Facts of the sample."""
        return len(self.weight)

    @property
    def firings(self) -> tuple[Longs, Ids]:
        """(candidate, rule) of every firing."""
        return np.repeat(np.arange(len(self.query)), np.diff(self.pointer)), self.rule


class TargetSample(NamedTuple):
    """Facts of one binary target to try its rules on: `tried` are training facts, `valid` validation facts.

    `valid_weight` is the weight of a validation fact; a training fact has weight 1.
    """

    target: int
    tried: Facts
    valid: Facts
    valid_weight: float

    @property
    def weight(self) -> Doubles:
        """The weight of each fact."""
        return np.repeat([1.0, self.valid_weight], [len(self.tried), len(self.valid)])


def survey(ranker: Ranker, sample: TargetSample, space: ScoreSpace) -> Hits:
    """Return the hits of the rules of a binary target for its queries, each with its own fact hidden.

    Args:
        ranker: the ranker of the rules, over the training facts.
        sample: the facts.
        space: scratch space of this thread.
    """
    wrong = np.zeros((2, len(ranker.rows_of(sample.target))))
    rule, query, _ = _fired(ranker, sample, space, wrong, False)
    if space.walk.flag[0]:  # after a stop, the counts of some facts would be misleading
        rule, query = rule[:0], query[:0]
    return Hits(*_by_rule([(rule, query)]), wrong, sample.weight, len(sample.tried))


def propose(ranker: Ranker, sample: TargetSample, space: ScoreSpace) -> Proposals:
    """Return every candidate that the rules of a binary target propose; `space` and the others as in `survey`."""
    wrong = np.zeros((2, len(ranker.rows_of(sample.target))))
    rule, query, candidate = _fired(ranker, sample, space, wrong, True)
    order = np.lexsort((rule, candidate, query))
    rule, query, candidate = rule[order], query[order], candidate[order]
    first, facts = np.flatnonzero(run_starts(query, candidate)), sample.tried + sample.valid
    answer = np.concatenate((facts.object, facts.subject))
    is_right = candidate[first] == answer[query[first]]
    pointer = np.append(first, len(rule)).astype(np.int64)
    return Proposals(query[first], is_right, pointer, rule, sample.weight, len(sample.tried))


def _fired(
    ranker: Ranker, sample: TargetSample, space: ScoreSpace, wrong: Doubles, all_candidates: bool
) -> tuple[Ids, Ids, Ids]:
    """Return (rule, query, candidate) of the firings for the answers, or with `all_candidates` for wrong ones too.

    Adds the weights of the wrong proposals of each rule to `wrong`.
    """
    facts, weight, target = sample.tried + sample.valid, sample.weight, sample.target
    # Only the facts of the target, because `+` copies them and a base may be large.
    known_facts, ends = ranker.kb.facts.of(target) + sample.valid.of(target), (facts.subject, facts.object)
    none = np.zeros(0, np.int32)
    found: list[FiredRules] = [(none, none, none)]
    for direction in (0, 1):
        known, answer = ends[direction], ends[1 - direction]
        answers = AnswerIndex.of(known_facts, target, direction, ranker.kb.num_entities)
        plan, rest = ranker.numbered_plan(target, direction)
        queries = _SampledQueries(known, answer, answers, weight, wrong[direction], all_candidates)
        fired = _of_lines(ranker, plan, space, queries)
        if len(rest):
            fired += _of_programs(ranker, target, rest, plan.code, queries)
        found += [(rule, query + direction * len(facts), candidate) for rule, query, candidate in fired]
    rule, query, candidate = (np.concatenate(column).astype(np.int32) for column in zip(*found))
    return rule, query, candidate


FiredRules = tuple[Ids, Ids, Ids]
"""(rule, query, candidate) of firings."""


class _SampledQueries(NamedTuple):
    """Queries of one direction, and what to record for them (see `_fired`)."""

    known: Ids
    answer: Ids
    answers: AnswerIndex
    weight: Doubles
    wrong: Doubles
    all_candidates: bool


def survey_members(scorer: MemberScorer, members: Ids, others: Ids, share: float) -> Hits:
    """Return the hits of the rules of a unary target.

    Args:
        scorer: the scorer of the rules of this target only.
        members: a sample of the members of the target.
        others: a sample of the other entities.
        share: the weight of a wrong proposal among `others`; it corrects for their different sampling rate.
    """
    found, wrong = list[tuple[Ids, Ids]](), np.zeros((1, scorer.num_rules))
    for begin in range(0, len(members), MEMBERS):
        query, rule = np.nonzero(scorer.rule_values(members[begin : begin + MEMBERS]) >= LEAST_TRUE)
        found.append((rule.astype(np.int32), (query + begin).astype(np.int32)))
    for begin in range(0, len(others), MEMBERS):
        wrong[0] += share * (scorer.rule_values(others[begin : begin + MEMBERS]) >= LEAST_TRUE).sum(axis=0)
    return Hits(*_by_rule(found), wrong, np.ones(len(members)), len(members))


def _by_rule(found: list[tuple[Ids, Ids]]) -> tuple[Ids, Ids]:
    none = np.zeros(0, np.int32)
    rule, query = (np.concatenate(column) for column in zip((none, none), *found))
    order = np.lexsort((query, rule))
    return rule[order], query[order]


class Repeated(NamedTuple):
    """The firings of chains that do not depend on the hidden fact, kept for queries at the same entity.

    Facts are drawn, so hubs are queried again and again, and walks from hubs take most of the time.

    number           for each query, the number of its entity if other queries have it too, else -1
    range            (entities, 2): where its firings are, -1 if they are not known
    used             one number: how many firings are kept
    rule, candidate  the firings
    """

    number: Longs
    range: Longs
    used: Longs
    rule: Ids
    candidate: Ids

    @classmethod
    def of(cls, known: Ids) -> Repeated:
        """Prepare for queries at the `known` entities."""
        _, number, count = np.unique(known, return_inverse=True, return_counts=True)
        number = np.where(count[number] > 1, number, -1)
        rule, candidate = np.empty((2, MOST_KEPT if len(known) else 0), np.int32)
        return cls(number, np.full((len(count), 2), -1), np.zeros(1, np.int64), rule, candidate)


def _of_lines(ranker: Ranker, plan: Plan, space: ScoreSpace, queries: _SampledQueries) -> list[FiredRules]:
    """Return the firings of the rules with a loop."""
    stamp, repeated = np.full(ranker.kb.num_entities, -1, np.int64), Repeated.of(queries.known)
    found, begin, size = list[FiredRules](), 0, BUFFER
    known, answer, answers, weight, wrong, all_candidates = queries
    while begin < len(known):
        out = np.empty((3, size), np.int32)
        end, used = _survey_block(
            ranker.graph, plan, known, answer, begin, answers.pointer, answers.answer, space,
            Firings.of(size, MOST_PROPOSED), repeated, stamp, out, weight, wrong, all_candidates,
        )  # fmt: skip
        found.append((out[0, :used], out[1, :used], out[2, :used]))
        size = 2 * size if end == begin else size
        begin = end
    return found


@compiled
def _survey_block(
    graph: Graph, plan: Plan, known: Ids, answer: Ids, begin: int, pointer: Longs,
    known_answer: Ids, space: ScoreSpace, firings: Firings, repeated: Repeated, stamp: Longs, out: np.ndarray,
    weight: Doubles, wrong: Doubles, all_candidates: bool,
) -> tuple[int, int]:  # fmt: skip
    """Survey the queries from `begin` on until a buffer is full: (the first remaining query, firings in `out`)."""
    used = 0
    for q in range(begin, len(known)):
        if space.walk.flag[0]:
            break
        a, b = known[q], answer[q]
        hidden = HiddenFact(plan.code, a, b, -1, graph.is_unary)
        size = _list_repeated(graph, plan, hidden, space, firings, repeated, repeated.number[q])
        size = list_others(graph, plan, hidden, space, firings, size)
        if size > len(firings.rule) or used + size > out.shape[1]:
            return q, used
        for k in range(pointer[a], pointer[a + 1]):
            stamp[known_answer[k]] = q
        for i in range(size):
            c = firings.candidate[i]
            is_wrong = c != b and stamp[c] != q
            if is_wrong:
                wrong[firings.rule[i]] += weight[q]
            if c == b or (all_candidates and is_wrong):
                out[0, used], out[1, used], out[2, used] = firings.rule[i], q, c
                used += 1
    return len(known), used


@compiled
def _list_repeated(
    graph: Graph, plan: Plan, hidden: HiddenFact, space: ScoreSpace, firings: Firings, repeated: Repeated, number: int
) -> int:
    """List the firings that are the same for every query at the entity with this `number`; return how many."""
    if number >= 0 and repeated.range[number, 0] >= 0:
        begin, end = repeated.range[number, 0], repeated.range[number, 1]
        for i in range(begin, min(end, begin + len(firings.rule))):
            firings.rule[i - begin], firings.candidate[i - begin] = repeated.rule[i], repeated.candidate[i]
        return end - begin
    size = list_chains(graph, plan, hidden, False, space, firings, 0)
    begin = repeated.used[0]
    if number >= 0 and size <= min(len(firings.rule), len(repeated.rule) - begin):
        for i in range(size):
            repeated.rule[begin + i], repeated.candidate[begin + i] = firings.rule[i], firings.candidate[i]
        repeated.range[number, 0], repeated.range[number, 1] = begin, begin + size
        repeated.used[0] += size
    return size


def _of_programs(ranker: Ranker, target: int, rest: Longs, code: int, queries: _SampledQueries) -> list[FiredRules]:
    """Return the firings of the rules without a loop."""
    num_entities, found = ranker.kb.num_entities, list[FiredRules]()
    known, answer, answers, weight, wrong, all_candidates = queries
    query_of_answer = np.repeat(np.arange(num_entities), np.diff(answers.pointer))
    known_keys = query_of_answer * num_entities + answers.answer
    rules = ranker.rules_of(target).take(rest)
    for number, fires in zip(rest.tolist(), rule_firings(rules, ranker.kb, code, known, ranker.memory, answer)):
        few = np.bincount(fires.query, minlength=len(known))[fires.query] <= MOST_PROPOSED
        query, candidate = fires.query[few], fires.candidate[few]
        is_hit = answer[query] == candidate
        key = known[query].astype(np.int64) * num_entities + candidate
        is_wrong = ~is_hit & ~np.isin(key, known_keys)
        wrong[number] += weight[query[is_wrong]].sum()
        kept = is_hit | is_wrong if all_candidates else is_hit
        found.append((np.full(np.count_nonzero(kept), number), query[kept], candidate[kept]))
    return found
