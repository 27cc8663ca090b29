"""The evidence of given facts, many at a time, and the strongest rule for each.

A fact p(a, b) is scored as the answer b of the query p(a, ?), with the fact itself hidden, as in `predict`. Facts that
the base does not have need no hiding, so those of one subject share a query. `ranker` has the rules and the base.
"""

from __future__ import annotations

import numpy as np

from ..data.arrays import Ids, Longs
from ..data.facts import Facts
from ..kernel.aggregation import KINDS, SHIFT, ScoreSpace, evidence, kind_weights
from .blocks import score_block
from .members import MemberScorer
from .places import QueryBlock
from .programs import rule_firings
from .queries import TargetQueries, flat
from .ranking import Ranker

MEMBERS_AT_ONCE = 1 << 14
"""Entities of a unary target per batch."""
RULES_AT_ONCE = 256
"""Entities of a unary target per batch, if the values of single rules are needed."""


def fact_evidence(ranker: Ranker, facts: Facts) -> Longs:
    """Return the evidence of each of `facts`, each hidden from itself."""
    found = np.zeros(len(facts), np.int64)
    for target in np.unique(facts.predicate[facts.is_unary]).tolist():
        rows = np.flatnonzero(facts.is_unary & (facts.predicate == target))
        found[rows] = member_evidence(ranker, target, facts.subject[rows])
    pairs = np.flatnonzero(~facts.is_unary)
    in_base = facts.isin(ranker.kb.facts)
    queries: list[TargetQueries] = []
    asking: list[tuple[Longs, Longs]] = []
    for target in np.unique(facts.predicate[pairs]).tolist():
        rows = pairs[facts.predicate[pairs] == target]
        hidden = np.where(in_base[rows], facts.object[rows], -1)
        key, query_of = np.unique(np.stack((facts.subject[rows], hidden)), axis=1, return_inverse=True)
        order = np.argsort(query_of.ravel(), kind="stable")
        queries.append(TargetQueries(target, 0, key[0].astype(np.int32), key[1].astype(np.int32)))
        asking.append((rows[order], np.searchsorted(query_of.ravel()[order], np.arange(key.shape[1] + 1))))

    def read(g: int, i: int, total: Longs) -> None:
        rows, pointer = asking[g]
        own = rows[pointer[i] : pointer[i + 1]]
        found[own] = total[facts.object[own]]

    ranker.each(queries, read)
    graph_of = ranker.kb.graph_of
    if graph_of is not None and len(pairs):
        found[pairs[graph_of[facts.subject[pairs]] != graph_of[facts.object[pairs]]]] = 0
    return found


def member_evidence(ranker: Ranker, target: int, entities: np.ndarray) -> Longs:
    """Return the evidence of target(x), a unary `target`, for each of `entities`."""
    scorer = MemberScorer(ranker.rules, ranker.kb, np.array([target], np.int32), 0, ranker.memory)
    parts = [np.zeros(0, np.int64)]
    for low in range(0, len(entities), MEMBERS_AT_ONCE):
        parts.append(scorer.evidence(entities[low : low + MEMBERS_AT_ONCE].astype(np.int32))[:, 0])
    return np.concatenate(parts)


# the strongest rule ---------------------------------------------------------------------------------


def strongest_rules(ranker: Ranker, facts: Facts) -> Longs:
    """Return the row of the rule that counts most for each of `facts`, which the base does not have; -1: only a prior.

    The scoring loops run with the rank of a rule in place of its evidence; the strongest rule has the largest number.
    """
    found = np.full(len(facts), -1, np.int64)
    for target in np.unique(facts.predicate).tolist():
        rows = np.flatnonzero(facts.predicate == target)
        of_target = _of_members if facts.object[rows[0]] < 0 else _of_pairs
        found[rows] = of_target(ranker, target, facts[rows])
    return found


def _of_members(ranker: Ranker, target: int, facts: Facts) -> Longs:
    rules = ranker.rules_of(target)
    scorer = MemberScorer(rules, ranker.kb, np.array([target], np.int32), 0, ranker.memory)
    weight = np.where(rules.is_prior, 0.0, rules.weights)
    best = np.full(len(facts), -1, np.int64)
    for low in range(0, len(facts), RULES_AT_ONCE):
        part = slice(low, low + RULES_AT_ONCE)
        strength = evidence(scorer.rule_values(facts.subject[part]) * weight)
        best[part] = np.where(strength.max(axis=1, initial=0) > 0, strength.argmax(axis=1), -1)
    return np.where(best >= 0, ranker.rows_of(target)[best], -1)


def _of_pairs(ranker: Ranker, target: int, facts: Facts) -> Longs:
    factor = _factors(ranker, target)
    known, query_of = np.unique(facts.subject, return_inverse=True)
    of_queries = _strongest_crisp if ranker.graph.is_crisp else _strongest_soft
    best = of_queries(ranker, target, factor, known, query_of, facts.object)
    return np.where(best >= 0, ranker.rows_of(target)[best], -1)


def _factors(ranker: Ranker, target: int) -> Longs:
    """Return how much each rule of a target counts as the strongest of its kind, in units of 1 / UNIT; 0 for priors."""
    kind, weight, _ = kind_weights(ranker.rules.aggregation)
    of_kind = np.append(weight[:, 0], 0)[np.where(np.arange(len(KINDS)) == KINDS.index("prior"), len(weight), kind)]
    return np.asarray(of_kind[ranker.kinds_of(target)[0]])


def _strongest_crisp(
    ranker: Ranker, target: int, factor: Longs, known: Ids, query_of: Longs, candidate: Ids
) -> Longs:  # fmt: skip
    """Return the strongest rule of a target for each candidate of the query at known[query_of]; -1: none."""
    strength = (evidence(ranker.rules_of(target).weights) * factor) >> SHIFT
    by_strength = np.lexsort((-np.arange(len(strength)), strength))  # ties go to the first rule
    number = np.zeros(len(strength), np.int64)
    number[by_strength] = np.arange(1, len(strength) + 1)
    number[strength == 0] = 0
    layout, rest = ranker.numbered_plan(target, 0, number)
    layout = layout._replace(kind=np.zeros_like(layout.kind), weighed_prior=np.zeros_like(layout.weighed_prior))
    extra = _program_numbers(ranker, target, rest, number, known)
    nothing = np.full(len(known), -1, np.int32)
    order = np.argsort(query_of, kind="stable")
    pointer = np.searchsorted(query_of[order], np.arange(len(known) + 1))
    best = np.zeros(len(candidate), np.int64)

    def run(space: ScoreSpace, part: slice) -> None:
        block = QueryBlock.open(known[part], nothing[part], *flat(extra[part]))
        totals = score_block(ranker.graph, layout, block, 1, True, space)
        for i, total in zip(range(part.start, part.stop), totals):
            rows = order[pointer[i] : pointer[i + 1]]
            best[rows] = total[candidate[rows]]

    step = ranker.block_size
    ranker.pool.map_here(run, [slice(low, min(low + step, len(known))) for low in range(0, len(known), step)])
    return np.append(by_strength, -1)[best - 1]


def _program_numbers(ranker: Ranker, target: int, rest: Longs, number: Longs, known: Ids) -> list[np.ndarray]:
    """Return for each query the rows (candidate, number) of the rules `rest`, which have no loop."""
    fires = rule_firings(ranker.rules_of(target).take(rest), ranker.kb, 2 * target, known, ranker.memory)
    none = np.zeros(0, np.int64)
    query = np.concatenate([none, *(one.query for one in fires)])
    rows = [(one.candidate, np.full(len(one.candidate), number[row])) for one, row in zip(fires, rest)]
    table = np.stack([np.concatenate([none, *column]) for column in (zip(*rows) if rows else ((), ()))], axis=1)
    order = np.argsort(query, kind="stable")
    return np.split(table[order], np.searchsorted(query[order], np.arange(1, len(known))))


def _strongest_soft(
    ranker: Ranker, target: int, factor: Longs, known: Ids, query_of: Longs, candidate: Ids
) -> Longs:  # fmt: skip
    """Do the same for soft facts, where a rule counts by the degree to which it holds."""
    rules, size = ranker.rules_of(target), ranker.kb.num_entities
    counting = np.flatnonzero(factor)
    fires = rule_firings(rules.take(counting), ranker.kb, 2 * target, known, ranker.memory)
    key = query_of * size + candidate
    order = np.argsort(key, kind="stable")
    best, strongest = np.full(len(key), -1, np.int64), np.zeros(len(key), np.int64)
    for row, one in zip(counting.tolist(), fires):
        place = np.minimum(np.searchsorted(key[order], one.query * size + one.candidate), len(key) - 1)
        strength = (one.evidence * factor[row]) >> SHIFT
        is_better = (key[order[place]] == one.query * size + one.candidate) & (strength > strongest[order[place]])
        at = order[place[is_better]]
        best[at], strongest[at] = row, strength[is_better]
    return best
