"""Plan: the line rules of one binary target, laid out for one direction of query.

A query knows one entity a and asks for the other: p(a, ?) walks with code 2p, p(?, a) with 2p + 1.
Seen from there a rule is one of

    chain    steps from a to the candidate
    forward  p(X, c) with X = a: an edge of a (item or code) proposes the candidate c
    prior    p(X, c) :- true proposes c for every a
    back     p(a, Y) with the head's constant a: a body on the candidate itself (item or code, or true)

`excluded` codes lead from a to candidates that are no answers, whatever the rules say.

Every other rule is evaluated by the general engine; `rest` lists those rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..data.arrays import Ids, Longs, Mask, offsets
from ..data.kb import KnowledgeBase
from ..kernel.coding import FIRST, FREE, NO_STEP, OTHER, SECOND
from ..kernel.graph import Graph
from ..kernel.kernels import compiled
from ..kernel.ruleset import KINDS, Aggregation, RuleSet
from .evidence import UNIT, evidence, weighed

MOST_WALKED = 16
"""Chains of a plan that the CPU walks for a GPU; with more it scores them too, in less time than moving takes."""


class Plan(NamedTuple):
    code: int
    # chains
    chain_steps: np.ndarray
    chain_length: Ids
    chain_distinct: np.ndarray
    chain_evidence: Longs
    # forward: proposals of each item, of each code
    item: Ids
    item_candidate: Ids
    item_evidence: Longs
    half_code: Ids
    half_distinct: np.ndarray
    half_candidate: Ids
    half_evidence: Longs
    # prior evidence of each candidate
    prior: Longs
    # back: by the known entity, strongest first; `back_body` is one of `Bodies`, and back_prior one number each
    back_pointer: Longs
    back_body: Ids
    back_evidence: Longs
    back_prior: Longs
    # which codes rule out the entity that they lead to from the known one
    excluded: Mask
    # `Bodies`
    body_pointer: Longs
    body_member: Ids
    # row of `weight` for each of ruleset.KINDS; weight[row, i] / UNIT is what the i-th strongest rule there counts
    kind: Longs
    weight: np.ndarray
    prior_weight: int
    weighed_prior: Longs


class Shapes(NamedTuple):
    """Rows of a RuleSet (one binary target) by what the fast path can do with them."""

    chain: Longs
    anchored: Longs
    half: Longs
    prior: Longs
    rest: Longs


def shapes(rules: RuleSet, is_unary: np.ndarray) -> Shapes:
    lines = np.arange(rules.num_lines)
    length = np.zeros(rules.num_lines, np.int16)
    has_move = np.zeros(rules.num_lines, bool)
    for step in rules.steps.T:  # step by step: sums along short rows are slow
        length += step != NO_STEP
        has_move |= (step != NO_STEP) & ~is_unary[step >> 1]
    # A line without a move equates X and Y; with distinct variables it never holds. The general engine knows.
    binary = (rules.end == OTHER) & has_move
    one_move = (length == 1) & ~is_unary[rules.steps[:, 0].astype(np.int64) >> 1]
    fixed = rules.fixed > 0
    anchored = fixed & one_move & (rules.end >= 0)
    half = fixed & one_move & (rules.end == FREE)
    prior = fixed & (length == 0)
    other = lines[~(binary | anchored | half | prior)]
    general = np.arange(rules.num_lines, len(rules))
    return Shapes(lines[binary], lines[anchored], lines[half], lines[prior], np.concatenate((other, general)))


def reversed_steps(steps: np.ndarray, length: np.ndarray, is_unary: np.ndarray) -> np.ndarray:
    """Each row walked backwards: order reversed, moves inverted, filters as they are."""
    result = np.full_like(steps, NO_STEP)
    rows = np.arange(len(steps))
    for place in range(steps.shape[1]):
        source = length - 1 - place
        valid = source >= 0
        code = steps[rows[valid], source[valid]]
        result[valid, place] = np.where(is_unary[code >> 1], code, code ^ 1)
    return result


class Bodies(NamedTuple):
    """The entities that each body on one entity holds of: the items, and behind them k(Y, Z) for each code k, as
    number 2 * k, or 2 * k + 1 where Z is another entity than Y."""

    pointer: Longs
    member: Ids


def bodies(graph: Graph) -> Bodies:
    code = np.repeat(np.arange(graph.num_codes), np.diff(graph.code_pointer))
    rows, members = [], []
    for apart, kept in enumerate((slice(None), graph.code_neighbour != graph.code_node)):
        of, node = code[kept], graph.code_node[kept]
        first = np.ones(len(of), bool)
        first[1:] = (of[1:] != of[:-1]) | (node[1:] != node[:-1])
        rows.append(2 * of[first] + apart)
        members.append(node[first])
    row = np.concatenate(rows)
    order = np.argsort(row, kind="stable")
    behind = offsets(row[order], 2 * graph.num_codes)[1:] + graph.item_pointer[-1]
    member = np.concatenate((graph.item_member, np.concatenate(members)[order]))
    return Bodies(np.concatenate((graph.item_pointer, behind)), member.astype(np.int32))


@dataclass(frozen=True, eq=False)
class TargetRules:
    """The rules of one binary target with what both directions of query need: a power and an item for each row."""

    rules: RuleSet
    parts: Shapes
    power: Longs
    item: Ids

    @classmethod
    def of(cls, rules: RuleSet, graph: Graph, parts: Shapes) -> TargetRules:
        item = np.full(rules.num_lines, -1, np.int32)
        item[parts.anchored] = item_ids(graph, rules.steps[parts.anchored, 0], rules.end[parts.anchored])
        return cls(rules, parts, evidence(rules.weights), item)


def plan(mine: TargetRules, graph: Graph, bodies: Bodies, is_unary: Mask, direction: int) -> Plan:
    """Lay out the rules for queries p(a, ?) (direction 0) or p(?, a) (direction 1)."""
    rules, power = mine.rules, mine.power
    parts = _that_count(rules, mine.parts, direction)
    chain = parts.chain[np.lexsort((parts.chain, -power[parts.chain]))]
    steps = rules.steps[chain].astype(np.int64)
    length = (steps != NO_STEP).sum(axis=1)
    if direction:
        steps = reversed_steps(steps, length, is_unary)
    proposing, known = (SECOND, FIRST) if direction == 0 else (FIRST, SECOND)

    ahead = parts.anchored[(rules.fixed[parts.anchored] == proposing) & (mine.item[parts.anchored] >= 0)]
    ahead = ahead[stable_order(mine.item[ahead], len(graph.item_code))]
    half = parts.half[rules.fixed[parts.half] == proposing]
    half = half[np.argsort(rules.steps[half, 0], kind="stable")]
    back, body = _back_rules(mine, parts, len(graph.item_code), known)
    # Strongest first for each entity: the loop may then skip a candidate that already holds enough rules.
    by_power = np.argsort(-power[back], kind="stable")
    by_entity = by_power[stable_order(rules.head_entity[back][by_power], graph.num_entities)]
    back, body = back[by_entity], body[by_entity]
    prior, weights = _priors(mine, proposing, graph.num_entities), kind_weights(rules.aggregation)
    return Plan(
        2 * int(rules.head[0]) + direction if len(rules) else direction,
        steps, length.astype(np.int32), rules.distinct[chain], power[chain],
        mine.item[ahead], rules.head_entity[ahead], power[ahead],
        rules.steps[half, 0].astype(np.int32), rules.distinct[half], rules.head_entity[half], power[half],
        prior,
        offsets(rules.head_entity[back], graph.num_entities), body, power[back],
        _priors(mine, known, graph.num_entities),
        np.zeros(graph.num_codes, bool),
        bodies.pointer, bodies.member,
        *weights, weighed(prior, weights[2]),
    )  # fmt: skip


def _back_rules(mine: TargetRules, parts: Shapes, num_items: int, known: int) -> tuple[Longs, Ids]:
    """Rows whose constant is the known entity, and the body of each."""
    rules = mine.rules
    anchored = parts.anchored[(rules.fixed[parts.anchored] == known) & (mine.item[parts.anchored] >= 0)]
    half = parts.half[rules.fixed[parts.half] == known]
    half_body = num_items + 2 * rules.steps[half, 0].astype(np.int32) + rules.distinct[half]
    return np.concatenate((anchored, half)), np.concatenate((mine.item[anchored], half_body))


def _priors(mine: TargetRules, side: int, num_entities: int) -> Longs:
    """The summed evidence of the priors of each entity in that place of the head."""
    rows = mine.parts.prior[mine.rules.fixed[mine.parts.prior] == side]
    total = np.zeros(num_entities, np.int64)
    np.add.at(total, mine.rules.head_entity[rows], mine.power[rows])
    return total


@compiled
def stable_order(keys, num_keys):
    """np.argsort(keys, kind="stable") for keys below num_keys, which may be counted.

    >>> stable_order(np.array([2, 0, 2, 1]), 3)
    array([1, 3, 0, 2])
    """
    place = np.zeros(num_keys + 1, np.int64)
    for key in keys:
        place[key + 1] += 1
    for key in range(num_keys):
        place[key + 1] += place[key]
    order = np.empty(len(keys), np.int64)
    for i in range(len(keys)):
        order[place[keys[i]]] = i
        place[keys[i]] += 1
    return order


def _that_count(rules: RuleSet, parts: Shapes, direction: int) -> Shapes:
    """Without the kinds that a weighing gives no weight: walking them would change nothing."""
    if not rules.aggregation.weighing:
        return parts
    counts = kind_weights(rules.aggregation)[1].max(axis=1) > 0
    one_step = (rules.steps[parts.chain] != NO_STEP).sum(axis=1) == 1
    answers = SECOND if direction == 0 else FIRST

    def constant(rows: Longs, any_body: int) -> Longs:
        return rows[np.where(rules.fixed[rows] == answers, counts[2 + any_body], counts[4 + any_body])]

    return parts._replace(
        chain=parts.chain[np.where(one_step, counts[0], counts[1])],
        anchored=constant(parts.anchored, 0),
        half=constant(parts.half, 1),
    )


def kind_weights(aggregation: Aggregation) -> tuple[Longs, np.ndarray, int]:
    """`Plan.kind`, `.weight`, `.prior_weight`: without a weighing all kinds but priors share one row."""
    if not aggregation.weighing:
        return np.zeros(len(KINDS), np.int64), np.full((1, max(aggregation.top, 1)), UNIT, np.int64), UNIT
    factor, discount = np.array(aggregation.weighing).T
    weight = np.rint(UNIT * factor[:, None] * discount[:, None] ** np.arange(aggregation.top)).astype(np.int64)
    return np.arange(len(KINDS)), weight[:-1], int(weight[-1, 0])


def excluded_codes(codes: Iterable[int], direction: int, num_codes: int) -> Mask:
    """Steps from subject to object that rule a pair out, as a query walks them: backwards from a known object."""
    excluded = np.zeros(num_codes, bool)
    excluded[[code ^ direction for code in codes]] = True
    return excluded


def item_ids(graph: Graph, code: np.ndarray, entity: np.ndarray) -> Longs:
    """The item (code, entity) of this base, or -1 where no entity has such an edge."""
    keys = graph.item_key
    wanted = code.astype(np.int64) * graph.num_entities + entity
    place = np.searchsorted(keys, wanted)
    found = np.zeros(len(wanted), bool)
    inside = place < len(keys)
    found[inside] = keys[place[inside]] == wanted[inside]
    return np.where(found, place, -1)


def unary_mask(kb: KnowledgeBase) -> np.ndarray:
    return np.array([p.arity == 1 for p in kb.predicates] + [False], bool)
