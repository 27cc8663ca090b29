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
from typing import NamedTuple

import numpy as np

from ..data.arrays import Ids, Longs, Mask, offsets
from ..data.kb import KnowledgeBase
from ..engine.edges import EdgeIndex
from ..rules import RuleSet
from ..rules.coding import FIRST, FREE, NO_STEP, OTHER, SECOND
from ..rules.ruleset import KINDS, Aggregation
from .evidence import UNIT, evidence


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
    # back: by the known entity; `back_body` is an item, or -1 - code, and back_prior one number each
    back_pointer: Longs
    back_body: Ids
    back_distinct: np.ndarray
    back_evidence: Longs
    back_prior: Longs
    # which codes rule out the entity that they lead to from the known one
    excluded: Mask
    # row of `weight` for each of ruleset.KINDS; weight[row, i] / UNIT is what the i-th strongest rule there counts
    kind: Longs
    weight: np.ndarray
    prior_weight: int


class Shapes(NamedTuple):
    """Rows of a RuleSet (one binary target) by what the fast path can do with them."""

    chain: Longs
    anchored: Longs
    half: Longs
    prior: Longs
    rest: Longs


def shapes(rules: RuleSet, is_unary: np.ndarray) -> Shapes:
    lines = np.arange(rules.num_lines)
    length = (rules.steps != NO_STEP).sum(axis=1)
    # A line without a move equates X and Y; with distinct variables it never holds. The general engine knows.
    is_move = (rules.steps != NO_STEP) & ~is_unary[rules.steps.astype(np.int64) >> 1]
    binary = (rules.end == OTHER) & is_move.any(axis=1)
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


def plan(rules: RuleSet, kb: KnowledgeBase, edges: EdgeIndex, parts: Shapes, direction: int) -> Plan:
    """Lay out `rules` (all of one binary target) for queries p(a, ?) (direction 0) or p(?, a) (direction 1)."""
    is_unary = unary_mask(kb)
    power = evidence(rules.weights)
    parts = _that_count(rules, parts, direction)
    chain = parts.chain[np.lexsort((parts.chain, -power[parts.chain]))]
    steps = rules.steps[chain].astype(np.int64)
    length = (steps != NO_STEP).sum(axis=1)
    if direction:
        steps = reversed_steps(steps, length, is_unary)
    proposing, known = (SECOND, FIRST) if direction == 0 else (FIRST, SECOND)

    ahead = parts.anchored[rules.fixed[parts.anchored] == proposing]
    item = item_ids(edges, rules.steps[ahead, 0], rules.end[ahead])
    ahead, item = ahead[item >= 0], item[item >= 0]
    by_item = np.lexsort((ahead, item))
    ahead, item = ahead[by_item], item[by_item]

    half = parts.half[rules.fixed[parts.half] == proposing]
    half = half[np.argsort(rules.steps[half, 0], kind="stable")]
    prior = np.zeros(kb.num_entities, np.int64)
    proposing_prior = parts.prior[rules.fixed[parts.prior] == proposing]
    np.add.at(prior, rules.head_entity[proposing_prior], power[proposing_prior])

    back = np.concatenate((parts.anchored, parts.half))
    back = back[rules.fixed[back] == known]
    body = np.where(rules.end[back] >= 0, item_ids(edges, rules.steps[back, 0], rules.end[back]),
                    -2 - rules.steps[back, 0].astype(np.int64))
    back, body = back[body != -1], body[body != -1]
    # Strongest first for each entity: the loop may then skip a candidate that already holds enough rules.
    by_entity = np.lexsort((back, -power[back], rules.head_entity[back]))
    back, body = back[by_entity], body[by_entity]
    back_prior = np.zeros(kb.num_entities, np.int64)
    known_prior = parts.prior[rules.fixed[parts.prior] == known]
    np.add.at(back_prior, rules.head_entity[known_prior], power[known_prior])
    return Plan(
        2 * int(rules.head[0]) + direction if len(rules) else direction,
        steps, length.astype(np.int32), rules.distinct[chain], power[chain],
        item.astype(np.int32), rules.head_entity[ahead], power[ahead],
        rules.steps[half, 0].astype(np.int32), rules.distinct[half], rules.head_entity[half], power[half],
        prior,
        offsets(rules.head_entity[back], kb.num_entities), body.astype(np.int32), rules.distinct[back], power[back],
        back_prior,
        np.zeros(edges.num_codes, bool),
        *kind_weights(rules.aggregation),
    )  # fmt: skip


def _that_count(rules: RuleSet, parts: Shapes, direction: int) -> Shapes:
    """Without the kinds that a weighing gives no weight: walking them would change nothing."""
    if not rules.aggregation.weighing:
        return parts
    counts = kind_weights(rules.aggregation)[1].max(axis=1) > 0
    one_step = (rules.steps[parts.chain] != NO_STEP).sum(axis=1) == 1
    answers = SECOND if direction == 0 else FIRST

    def constant(rows: Longs, any_body: int) -> Longs:
        return rows[np.where(rules.fixed[rows] == answers, counts[2 + any_body], counts[4 + any_body])]

    return parts._replace(chain=parts.chain[np.where(one_step, counts[0], counts[1])],
                          anchored=constant(parts.anchored, 0), half=constant(parts.half, 1))


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


def item_ids(edges: EdgeIndex, code: np.ndarray, entity: np.ndarray) -> Longs:
    """The item (code, entity) of this base, or -1 where no entity has such an edge."""
    keys = edges.item_key
    wanted = code.astype(np.int64) * edges.num_entities + entity
    place = np.searchsorted(keys, wanted)
    found = np.zeros(len(wanted), bool)
    inside = place < len(keys)
    found[inside] = keys[place[inside]] == wanted[inside]
    return np.where(found, place, -1)


def unary_mask(kb: KnowledgeBase) -> np.ndarray:
    return np.array([p.arity == 1 for p in kb.predicates] + [False], bool)
