"""Which rules of a target propose the answers of its facts, and how much else they propose.

A query is one direction of a fact: p(a, ?) or p(?, b), its own fact hidden; of a unary target, a member. Ranking adds
up what fires for a candidate. To choose among rules, what each of them does is kept apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.arrays import Doubles, Ids, Longs, Mask
from ..data.facts import Facts
from ..evaluation.members import MemberScorer
from ..evaluation.plan import Plan
from ..evaluation.programs import rule_firings
from ..evaluation.queries import Answers
from ..evaluation.ranking import Ranker
from ..evaluation.scoring import body_holds, leaves
from ..kernel.compiled import compiled
from ..kernel.graph import Graph, first_at_least, span_edges
from ..kernel.hidden import HiddenFact, hidden_neighbour
from ..kernel.walk import WalkSpace, reach

BUFFER = 2**16
"""Firings of one query that a buffer has room for at first."""


MOST_PROPOSED = 100
"""Candidates that a rule may propose for one query. A rule that proposes more says little about any of them, and
listing them would take most of the time: for such a query it is taken not to fire."""


DOUBT = 40
"""Wrong proposals that every rule is taken to have made beside those seen. Rules that seem precise on a few facts would
fill a short list; 40 was better than 2 and 10 on the validation facts of UMLS, kinship and FB15k-237."""
MEMBERS = 256
"""Entities whose rules are looked at together."""


class Buffer(NamedTuple):
    """Firings of one query, rule by rule: the number of the `rule` and the `candidate` that it proposes."""

    rule: Ids
    candidate: Ids

    @classmethod
    def of(cls, size: int) -> Buffer:
        """Make room for `size` firings."""
        return cls(np.empty(size, np.int32), np.empty(size, np.int32))


@compiled
def _emit(buffer: Buffer, size: int, rule: int, candidate: int) -> int:
    """One more firing; what does not fit is only counted."""
    if size < len(buffer.rule):
        buffer.rule[size] = rule
        buffer.candidate[size] = candidate
    return size + 1


@compiled
def _chains(
    graph: Graph,
    plan: Plan,
    is_unary: Mask,
    nothing: Mask,
    known: int,
    hidden_end: int,
    walk: WalkSpace,
    buffer: Buffer,
) -> int:
    size, hidden = 0, HiddenFact(plan.code, known, hidden_end, known, nothing)
    for i in range(len(plan.chain_length)):
        low, high = span_edges(graph, known, plan.chain_steps[i, 0])
        if low == high and not is_unary[plan.chain_steps[i, 0] >> 1]:
            continue
        found = reach(
            graph, walk, plan.chain_steps[i], plan.chain_length[i], is_unary, known, plan.chain_distinct[i], hidden,
            MOST_PROPOSED + 1, -1,
        )  # fmt: skip
        if found > MOST_PROPOSED:
            continue
        for k in range(found):
            size = _emit(buffer, size, plan.chain_evidence[i] - 1, walk.ends[k])
    return size


@compiled
def _forward(graph: Graph, plan: Plan, known: int, hidden_end: int, buffer: Buffer, size: int) -> int:
    """Rules whose head names the candidate and whose body is a step of the known entity."""
    for span in range(graph.node_span[known], graph.node_span[known + 1]):
        code = graph.span_code[span]
        hidden = hidden_neighbour(plan.code, known, hidden_end, code, known)
        low, high = span_edges(graph, known, code)
        for e in range(low, high):
            if graph.neighbour[e] == hidden:
                continue
            item = graph.back_span[e]
            i = first_at_least(plan.item, 0, len(plan.item), item)
            while i < len(plan.item) and plan.item[i] == item:
                size = _emit(buffer, size, plan.item_evidence[i] - 1, plan.item_candidate[i])
                i += 1
        i = first_at_least(plan.half_code, 0, len(plan.half_code), code)
        while i < len(plan.half_code) and plan.half_code[i] == code:
            if leaves(graph, known, code, plan.half_distinct[i], hidden):
                size = _emit(buffer, size, plan.half_evidence[i] - 1, plan.half_candidate[i])
            i += 1
    return size


@compiled
def _back(graph: Graph, plan: Plan, known: int, hidden_end: int, buffer: Buffer, size: int) -> int:
    """Rules whose head names the known entity and whose body holds of the candidate."""
    for i in range(plan.back_pointer[known], plan.back_pointer[known + 1]):
        body = plan.back_body[i]
        if plan.body_pointer[body + 1] - plan.body_pointer[body] > MOST_PROPOSED:
            continue
        for m in range(plan.body_pointer[body], plan.body_pointer[body + 1]):
            x = plan.body_member[m]
            if body_holds(graph, plan.code, known, hidden_end, x, body):
                size = _emit(buffer, size, plan.back_evidence[i] - 1, x)
    return size


@compiled
def list_firings(
    graph: Graph,
    plan: Plan,
    is_unary: Mask,
    nothing: Mask,
    known: int,
    hidden_end: int,
    walk: WalkSpace,
    buffer: Buffer,
) -> int:
    """List in `buffer` every (rule, candidate) of one query but priors, rule by rule; returns how many there are.

    The `plan` holds rule numbers from 1 on in place of evidence (`Ranker.numbered_plan`); `graph`, `is_unary`, `known`
    and `hidden_end` as in `nlil.evaluation`. `nothing` hides no class, a mask of False; `walk` is scratch.
    """
    size = _chains(graph, plan, is_unary, nothing, known, hidden_end, walk, buffer)
    size = _forward(graph, plan, known, hidden_end, buffer, size)
    return _back(graph, plan, known, hidden_end, buffer, size)


class Hits(NamedTuple):
    """What the rules of one target do for a sample of its facts.

    Queries of direction d are d * num_facts .. (d + 1) * num_facts - 1, in the order of the facts; a unary target has
    one direction.

    rule, query  the rule proposes the answer of the query; by rule, then by query
    wrong        (directions, rules): how often each rule proposes a candidate that is no known answer
    weight       what each fact counts
    num_tried    training facts of the sample, which come first; validation facts follow
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
        """(directions, rules): the share of right ones among what each rule proposes.

        As many wrong ones are added as make it unlikely that a rule seems precise by chance (`DOUBT`).
        """
        shape = self.wrong.shape
        direction = self.query // max(self.num_facts, 1)
        weight = self.weight[self.query % max(self.num_facts, 1)]
        right = np.bincount(direction * shape[1] + self.rule, weight, self.wrong.size).reshape(shape)
        return np.asarray(right / (right + self.wrong + DOUBT))


def survey(ranker: Ranker, target: int, tried: Facts, valid: Facts, weight: float, walk: WalkSpace) -> Hits:
    """What the rules of a binary target do for its queries, each without its own fact.

    Args:
        ranker: of rules over the training facts.
        target: the predicate.
        tried: training facts of the target.
        valid: validation facts of the target.
        weight: what each of these counts; a training fact counts 1.
        walk: scratch of this thread.
    """
    facts = tried + valid
    weights = np.repeat([1.0, weight], [len(tried), len(valid)])
    known_facts = ranker.kb.facts + valid
    ends = facts.subject, facts.object
    num_rules, kb = len(ranker.rows_of(target)), ranker.kb
    wrong = np.zeros((2, num_rules))
    found: list[tuple[Ids, Ids]] = []
    for direction in (0, 1):
        known, answer = ends[direction], ends[1 - direction]
        answers = Answers.of(known_facts, target, direction, kb.num_entities)
        plan, rest = ranker.numbered_plan(target, direction)
        mine = _of_lines(ranker, plan, walk, known, answer, answers, weights, wrong[direction])
        if len(rest):
            mine += _of_programs(ranker, target, rest, plan.code, known, answer, answers, weights, wrong[direction])
        found += [(rule, query + direction * len(facts)) for rule, query in mine]
    return Hits(*_by_rule(found), wrong, weights, len(tried))


def survey_members(scorer: MemberScorer, members: Ids, others: Ids, share: float) -> Hits:
    """The same for a unary target.

    Args:
        scorer: of the rules of this target alone.
        members: members of the target, a sample.
        others: entities that are none, a sample.
        share: what a wrong proposal among `others` counts, so that both samples stand for the same part of the facts.
    """
    found, wrong = list[tuple[Ids, Ids]](), np.zeros((1, scorer.num_rules))
    for begin in range(0, len(members), MEMBERS):
        query, rule = np.nonzero(scorer.rule_values(members[begin : begin + MEMBERS]) >= 0.5)
        found.append((rule.astype(np.int32), (query + begin).astype(np.int32)))
    for begin in range(0, len(others), MEMBERS):
        wrong[0] += share * (scorer.rule_values(others[begin : begin + MEMBERS]) >= 0.5).sum(axis=0)
    return Hits(*_by_rule(found), wrong, np.ones(len(members)), len(members))


def _by_rule(found: list[tuple[Ids, Ids]]) -> tuple[Ids, Ids]:
    none = np.zeros(0, np.int32)
    rule, query = (np.concatenate(column) for column in zip((none, none), *found))
    order = np.lexsort((query, rule))
    return rule[order], query[order]


def _of_lines(
    ranker: Ranker,
    plan: Plan,
    walk: WalkSpace,
    known: Ids,
    answer: Ids,
    answers: Answers,
    weight: Doubles,
    wrong: Doubles,
) -> list[tuple[Ids, Ids]]:
    """(rule, query) of the rules that have a loop; what they propose wrongly is added to `wrong`."""
    nothing, stamp = np.zeros(len(ranker.is_unary), bool), np.full(ranker.kb.num_entities, -1, np.int64)
    found, begin, size = list[tuple[Ids, Ids]](), 0, BUFFER
    while begin < len(known):
        rule, query = np.empty(size, np.int32), np.empty(size, np.int32)
        end, used = _survey_block(
            ranker.graph, plan, ranker.is_unary, nothing, known, answer, begin, answers.pointer, answers.answer,
            walk, Buffer.of(size), stamp, rule, query, weight, wrong,
        )  # fmt: skip
        found.append((rule[:used], query[:used]))
        size = 2 * size if end == begin else size
        begin = end
    return found


@compiled
def _survey_block(
    graph: Graph, plan: Plan, is_unary: Mask, nothing: Mask, known: Ids, answer: Ids, begin: int, pointer: Longs,
    known_answer: Ids, walk: WalkSpace, buffer: Buffer, stamp: Longs, rule: Ids, query: Ids, weight: Doubles,
    wrong: Doubles,
) -> tuple[int, int]:  # fmt: skip
    """Queries from `begin` on, as many as there is room for: (the first that is left, how many hits)."""
    used = 0
    for q in range(begin, len(known)):
        a, b = known[q], answer[q]
        size = list_firings(graph, plan, is_unary, nothing, a, b, walk, buffer)
        if size > len(buffer.rule) or used + size > len(rule):
            return q, used
        for k in range(pointer[a], pointer[a + 1]):
            stamp[known_answer[k]] = q
        for i in range(size):
            c = buffer.candidate[i]
            if c == b:
                rule[used], query[used] = buffer.rule[i], q
                used += 1
            elif stamp[c] != q:
                wrong[buffer.rule[i]] += weight[q]
    return len(known), used


def _of_programs(
    ranker: Ranker,
    target: int,
    rest: Longs,
    code: int,
    known: Ids,
    answer: Ids,
    answers: Answers,
    weight: Doubles,
    wrong: Doubles,
) -> list[tuple[Ids, Ids]]:
    """The same of the rules that have no loop."""
    num_entities, found = ranker.kb.num_entities, list[tuple[Ids, Ids]]()
    asked = np.repeat(np.arange(num_entities), np.diff(answers.pointer))
    is_known = asked * num_entities + answers.answer
    rules = ranker.rules_of(target).take(rest)
    for number, fires in zip(rest.tolist(), rule_firings(rules, ranker.kb, code, known, ranker.memory, answer)):
        few = np.bincount(fires.query, minlength=len(known))[fires.query] <= MOST_PROPOSED
        query, candidate = fires.query[few], fires.candidate[few]
        is_hit = answer[query] == candidate
        key = known[query].astype(np.int64) * num_entities + candidate
        wrong[number] += weight[query[~is_hit & ~np.isin(key, is_known)]].sum()
        hit = query[is_hit].astype(np.int32)
        found.append((np.full(len(hit), number, np.int32), hit))
    return found
