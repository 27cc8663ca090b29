"""Plan: the line rules of one binary target, laid out for one direction of query.

A query has one known entity a and asks for the other: p(a, ?) has the code 2p, p(?, a) the code 2p + 1. For such a
query a rule is one of

    chain    steps from a to the candidate
    forward  p(X, c) with X = a: an edge of a (item or code) proposes the candidate c
    prior    p(X, c) :- true proposes c for every a
    back     p(a, Y) with the constant a in the head: a body about the candidate itself (item or code, or true)

`excluded` codes lead from a to candidates that are ruled out, whatever the rules say.

Every other rule is evaluated by `programs`; `rest` lists those rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import Doubles, Ids, Longs, Mask, ranges
from ..kernel.aggregation import KINDS, evidence, kind_weights, weigh, weighed
from ..kernel.bodies import ANY_NODE, X_NODE, Y_NODE, Bodies, Lines, reversed_steps
from ..kernel.compiled import compiled
from ..kernel.graph import Graph, first_at_least, span_numbers
from ..kernel.ruleset import FIRST, SECOND, RuleSet

MOST_WALKED = 16
"""Limit of the chains per plan that the CPU walks for a GPU; with more, the CPU also scores them, which is faster."""


class Plan(NamedTuple):
    """The rules of one target by shape, for one direction of query (see above).

    Attributes:
        code: the step code of the target in the direction of the query.
        chain_steps, chain_length, chain_distinct, chain_evidence: chains, strongest first: the codes of each, their
            number, whether variables are distinct, and its evidence.
        item, item_candidate, item_evidence: forward rules k(X, d); the item is the span of d along k ^ 1.
        half_code, half_distinct, half_candidate, half_evidence: forward rules k(X, Z).
        prior_candidate: the candidates that have a prior, ascending.
        prior, weighed_prior: the evidence of each, and the same weighted by `prior_weight`.
        prior_rank: their positions by `weighed_prior`, largest first; ties go to the first.
        back_entity: the constants in heads of back rules, ascending.
        back_pointer: by back_entity, into back_body and back_evidence, strongest first.
        back_body, back_evidence: back rules. A body k(Y, d) is the span of d along k ^ 1; after all spans come the
            bodies k(Y, Z) of each code k, as 2 * k, or 2 * k + 1 if Y and Z are distinct.
        back_prior_entity: the constants of back priors, ascending.
        back_prior: for each of these, the prior evidence of every candidate.
        excluded: which codes rule out the entity that they lead to from the known one.
        kind: the row of `weight` for each of KINDS.
        weight: the i-th strongest rule of a row counts weight[row, i] / UNIT.
        prior_weight: a prior counts prior_weight / UNIT.
        chain_weight, item_weight, half_weight, back_weight: weights of the rules if facts are soft, else None.
    """

    code: int
    chain_steps: np.ndarray
    chain_length: Ids
    chain_distinct: np.ndarray
    chain_evidence: Longs
    item: Longs
    item_candidate: Ids
    item_evidence: Longs
    half_code: Ids
    half_distinct: np.ndarray
    half_candidate: Ids
    half_evidence: Longs
    prior_candidate: Ids
    prior: Longs
    weighed_prior: Longs
    prior_rank: Ids
    back_entity: Ids
    back_pointer: Longs
    back_body: Longs
    back_evidence: Longs
    back_prior_entity: Ids
    back_prior: Longs
    excluded: Mask
    kind: Longs
    weight: np.ndarray
    prior_weight: int
    chain_weight: Doubles | None
    item_weight: Doubles | None
    half_weight: Doubles | None
    back_weight: Doubles | None


CHAIN, ITEM, STEP, PRIOR, OTHER = range(5)
"""Shapes of bodies: a line from X to Y; one step to an entity; one step to any entity; `true`; everything else."""


class Shapes(NamedTuple):
    """The `shape` of each body of a rule set, its `item` (-1: none), and the `length` of its line."""

    shape: np.ndarray
    item: Longs
    length: np.ndarray

    @classmethod
    def of(cls, bodies: Bodies, graph: Graph) -> Shapes:
        """Find the shapes of `bodies`, items numbered as the spans of `graph`."""
        lines = bodies.lines
        length = lines.lengths
        # A line without a move is X = Y, which never holds with distinct variables; it has no loop.
        is_chain = (lines.start == X_NODE) & (lines.end == Y_NODE) & lines.moves(graph.is_unary)
        is_step = (
            (length == 1)
            & ~graph.is_unary[lines.steps[:, 0] >> 1]
            & ((lines.start == X_NODE) | (lines.start == Y_NODE))
        )
        shape = np.select(
            [is_chain, is_step & (lines.end >= 0), is_step & (lines.end == ANY_NODE)], [CHAIN, ITEM, STEP], OTHER
        )
        item = np.full(lines.num_lines, -1)
        on_item = shape == ITEM
        item[on_item] = graph.find_spans(lines.end[on_item], lines.steps[on_item, 0].astype(np.int64) ^ 1)
        of_line = bodies.line
        return cls(
            np.where(bodies.is_true, PRIOR, np.append(shape, OTHER)[of_line]).astype(np.int8),
            np.append(item, -1)[of_line],
            np.append(length, 0)[of_line],
        )


class RowsByShape(NamedTuple):
    """Rows of a RuleSet (one binary target) by the compiled loop that evaluates them.

    The body of `chain` rules leads from X to Y, of `anchored` rules to an entity, of `half` rules to any entity, of
    `prior` rules it is true; the `rest` has no loop.
    """

    chain: Longs
    anchored: Longs
    half: Longs
    prior: Longs
    rest: Longs

    @classmethod
    def of(cls, rules: RuleSet, shapes: Shapes) -> RowsByShape:
        """Sort the rows of `rules` by the `shapes` of their bodies.

        A prior or a single step counts only where the head has a constant.
        """
        shape = shapes.shape[rules.body] if len(rules) else rules.fixed
        shape = np.where((rules.fixed > 0) | (shape == CHAIN), shape, OTHER)
        return cls(*(np.flatnonzero(shape == wanted) for wanted in (CHAIN, ITEM, STEP, PRIOR, OTHER)))


@compiled
def back_rules(plan: Plan, known: int) -> tuple[int, int]:
    """Return the range of the back rules of `plan` whose head has the constant `known`."""
    place = position(plan.back_entity, known)
    return (plan.back_pointer[place], plan.back_pointer[place + 1]) if place >= 0 else (0, 0)


@compiled
def prior_of(plan: Plan, known: int, candidate: int) -> int:
    """Return the evidence of the priors of `plan` for a `candidate` of the query at `known`, unweighted."""
    place, back = position(plan.prior_candidate, candidate), position(plan.back_prior_entity, known)
    return (plan.prior[place] if place >= 0 else 0) + (plan.back_prior[back] if back >= 0 else 0)


@compiled
def back_prior_of(plan: Plan, known: int) -> int:
    """Return the evidence of the back priors of `plan` for every candidate of the query at `known`, weighted."""
    place = position(plan.back_prior_entity, known)
    return weigh(plan.back_prior[place], plan.prior_weight) if place >= 0 else 0


@compiled
def position(ids: Ids, wanted: int) -> int:
    """Return the position of `wanted` among the ascending `ids`, or -1."""
    place = first_at_least(ids, 0, len(ids), wanted)
    return place if place < len(ids) and ids[place] == wanted else -1


@compiled
def body_range(graph: Graph, body: int) -> tuple[int, int]:
    """Return the range of positions of `body` for `body_member`; each has at most one entity."""
    if body < len(graph.span_node):
        return graph.span_pointer[body], graph.span_pointer[body + 1]
    code = (body - len(graph.span_node)) >> 1
    return graph.code_pointer[code], graph.code_pointer[code + 1]


@compiled
def body_member(graph: Graph, body: int, place: int) -> int:
    """Return the entity at `place` for which a `body` holds on the facts of `graph`; -1 if there is none."""
    if body < len(graph.span_node):
        return graph.neighbour[place]
    span = graph.code_span[place]
    node, first, last = graph.span_node[span], graph.span_pointer[span], graph.span_pointer[span + 1]
    if (body - len(graph.span_node)) & 1 and last - first == 1 and graph.neighbour[first] == node:
        return -1
    return node


@dataclass(frozen=True, eq=False)
class TargetRules:
    """The `rules` of one binary target with the columns that both directions of query need.

    `parts` are their rows by shape. Each row has its evidence (`power`) and, where defined, its `item`, the `length` of
    its line and the `line` number.
    """

    rules: RuleSet
    parts: RowsByShape
    power: Longs
    item: Longs
    length: np.ndarray
    line: Ids

    @classmethod
    def of(cls, rules: RuleSet, shapes: Shapes, parts: RowsByShape) -> TargetRules:
        """Return the `rules` of one target, whose bodies have these `shapes` and belong to these `parts`."""
        item, length = (column[rules.body] if len(rules) else column[:0] for column in (shapes.item, shapes.length))
        return cls(rules, parts, evidence(rules.weights), item, length, rules.line)

    @property
    def lines(self) -> Lines:
        """The lines of the bodies."""
        return self.rules.bodies.lines

    def first_step(self, rows: Longs) -> Ids:
        """Return the code of the first step of each of these rows."""
        return self.lines.steps[self.line[rows], 0].astype(np.int32)

    def distinct(self, rows: Longs) -> Mask:
        """Return whether the variables of each of these rows are distinct."""
        return self.lines.distinct[self.line[rows]]


def plan(
    own: TargetRules,
    graph: Graph,
    direction: int,
    frequency: tuple[Ids, Longs] | None = None,
    queried: Ids | None = None,
) -> Plan:
    """Lay out the rules of one target, `own`, for queries p(a, ?) (direction 0) or p(?, a) (direction 1).

    Args:
        own: the rules.
        graph: the facts.
        direction: which end is known.
        frequency: entities, ascending, and the evidence of each that breaks ties, in addition to that of the priors.
        queried: the known entities a; anchored rules that fire for none of them are left out. None: any entity.
    """
    rules, power = own.rules, own.power
    parts = _that_count(own, direction)
    chain = parts.chain[np.lexsort((parts.chain, -power[parts.chain]))]
    length = own.length[chain].astype(np.int64)
    steps = np.ascontiguousarray(own.lines.steps[own.line[chain], : length.max(initial=1)], np.int64)
    if direction:
        steps = reversed_steps(steps, length, graph.is_unary)
    proposing, known = (SECOND, FIRST) if direction == 0 else (FIRST, SECOND)

    ahead = parts.anchored[(rules.fixed[parts.anchored] == proposing) & (own.item[parts.anchored] >= 0)]
    if queried is not None:
        ahead = ahead[_items_of(graph, queried)[own.item[ahead]]]
    ahead = ahead[stable_order(own.item[ahead])]
    half = parts.half[rules.fixed[parts.half] == proposing]
    half = half[np.argsort(own.first_step(half), kind="stable")]
    back, body = _back_rules(own, parts, graph.num_spans, known)
    if queried is not None:
        is_queried = np.zeros(graph.num_entities, bool)
        is_queried[queried] = True
        kept = is_queried[rules.head_entity[back]]
        back, body = back[kept], body[kept]
    # Strongest first for each entity: the loop can then skip a candidate that already has enough rules.
    by_power = np.argsort(-power[back], kind="stable")
    by_entity = by_power[stable_order(rules.head_entity[back][by_power])]
    back, body = back[by_entity], body[by_entity]
    back_entity, first = np.unique(rules.head_entity[back], return_index=True)
    kind, weight, prior_weight = kind_weights(rules.aggregation)
    priors = _weighed_priors(*_priors(own, proposing), prior_weight, frequency)
    return Plan(
        2 * int(rules.head[0]) + direction if len(rules) else direction,
        steps, length.astype(np.int32), own.distinct(chain), power[chain],
        own.item[ahead].astype(span_numbers(graph.num_spans)), rules.head_entity[ahead], power[ahead],
        own.first_step(half), own.distinct(half), rules.head_entity[half], power[half],
        *priors,
        back_entity, np.append(first, len(back)), body, power[back],
        *_priors(own, known),
        np.zeros(graph.num_codes, bool),
        kind, weight, prior_weight,
        *(None if graph.is_crisp else rules.weights[rows] for rows in (chain, ahead, half, back)),
    )  # fmt: skip


def _items_of(graph: Graph, entities: Ids) -> Mask:
    """Return for each item, a span of `graph`, whether it has one of the `entities`."""
    low = graph.pointer[entities]
    found = np.zeros(graph.num_spans, bool)
    found[graph.back_span[ranges(low, graph.pointer[entities + 1] - low)]] = True
    return found


def _back_rules(own: TargetRules, parts: RowsByShape, num_items: int, known: int) -> tuple[Longs, Longs]:
    """Return the rows whose constant is the known entity, and the body of each."""
    rules = own.rules
    anchored = parts.anchored[(rules.fixed[parts.anchored] == known) & (own.item[parts.anchored] >= 0)]
    half = parts.half[rules.fixed[parts.half] == known]
    half_body = num_items + 2 * own.first_step(half).astype(np.int64) + own.distinct(half)
    return np.concatenate((anchored, half)), np.concatenate((own.item[anchored], half_body))


def _priors(own: TargetRules, side: int) -> tuple[Ids, Longs]:
    """Return the constants of priors at this position of the head, and the summed evidence of each."""
    rows = own.parts.prior[own.rules.fixed[own.parts.prior] == side]
    entity, of_row = np.unique(own.rules.head_entity[rows], return_inverse=True)
    total = np.zeros(len(entity), np.int64)
    np.add.at(total, of_row, own.power[rows])
    return entity, total


def _weighed_priors(
    entity: Ids, prior: Longs, weight: int, frequency: tuple[Ids, Longs] | None
) -> tuple[Ids, Longs, Longs, Ids]:
    """Return the candidates, their prior evidence, its weighted value, and their order by the latter (see Plan)."""
    value = weighed(prior, weight)
    if frequency is not None:
        known, more = frequency
        everyone = np.union1d(entity, known)
        both, place = np.zeros((2, len(everyone)), np.int64), np.searchsorted(everyone, entity)
        both[0, place], both[1, place] = prior, value
        both[1, np.searchsorted(everyone, known)] += more
        entity, prior, value = everyone, both[0], both[1]
    return entity, prior, value, np.argsort(-value, kind="stable").astype(np.int32)


def stable_order(keys: NDArray[np.integer]) -> Longs:
    """Return np.argsort(keys, kind="stable") for non-negative `keys`.

    numpy uses radix sort for 16-bit numbers and merge sort for others, which takes at least five times as long.

    >>> stable_order(np.array([70_000, 0, 70_000, 1]))
    array([1, 3, 0, 2])
    """
    if int(keys.max(initial=0)) >= 2**32:
        return np.argsort(keys, kind="stable")
    order = np.argsort(keys.astype(np.uint16), kind="stable")  # the lower 16 bits
    high = (keys >> 16).astype(np.uint16)
    return order[np.argsort(high[order], kind="stable")] if high.any() else order


def kinds(own: TargetRules, direction: int) -> Longs:
    """Return the kind (KINDS) of each rule of one target, `own`, for queries p(a, ?) (direction 0) or p(?, a) (1)."""
    rules, parts = own.rules, own.parts
    kind = np.full(len(rules), KINDS.index("other"))
    kind[parts.prior] = KINDS.index("prior")
    kind[parts.chain] = np.where(own.length[parts.chain] == 1, 0, 1)
    known = SECOND if direction else FIRST
    for some, any_body in ((parts.anchored, 0), (parts.half, 1)):
        of_query = rules.fixed[some] == known
        kind[some] = any_body + np.where(of_query, KINDS.index("query constant"), KINDS.index("answer constant"))
    return kind


def _that_count(own: TargetRules, direction: int) -> RowsByShape:
    """Return the parts without the kinds whose weight is 0: walking them would change nothing."""
    parts, aggregation = own.parts, own.rules.aggregation
    if not aggregation.weighing:
        return parts
    counts = np.append(kind_weights(aggregation)[1].max(axis=1) > 0, True)[kinds(own, direction)]
    chain, anchored, half = (rows[counts[rows]] for rows in (parts.chain, parts.anchored, parts.half))
    return parts._replace(chain=chain, anchored=anchored, half=half)


def excluded_codes(codes: Iterable[int], direction: int, num_codes: int) -> Mask:
    """Return which codes rule out a pair, as seen from the known entity: inverted if that is the object.

    `codes` are steps from subject to object; all are below `num_codes`.
    """
    excluded = np.zeros(num_codes, bool)
    excluded[[code ^ direction for code in codes]] = True
    return excluded
