"""Plan: the line rules of one binary target, laid out for one direction of query.

A query knows one entity a and looks for the other: p(a, ?) walks with code 2p, p(?, a) with 2p + 1.
Seen from there a rule is one of

    chain    steps from a to the candidate
    forward  p(X, c) with X = a: an edge of a (item or code) proposes the candidate c
    prior    p(X, c) :- true proposes c for every a
    back     p(a, Y) with the head's constant a: a body on the candidate itself (item or code, or true)

`excluded` codes lead from a to candidates that are no answers, whatever the rules say.

Every other rule is evaluated by `programs`; `rest` lists those rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import Doubles, Ids, Longs, Mask
from ..kernel.aggregation import KINDS, evidence, kind_weights, weigh, weighed
from ..kernel.bodies import ANY_NODE, X_NODE, Y_NODE, Bodies, Lines, reversed_steps
from ..kernel.compiled import compiled
from ..kernel.graph import Graph, first_at_least, span_numbers
from ..kernel.ruleset import FIRST, SECOND, RuleSet

MOST_WALKED = 16
"""Chains of a plan that the CPU walks for a GPU; with more it scores them too, in less time than moving takes."""


class Plan(NamedTuple):
    """The rules of one target by what they do, for one direction of query (see above).

    Attributes:
        code: the step code of the target in the direction of the query.
        chain_steps, chain_length, chain_distinct, chain_evidence: chains, strongest first; of each its codes, how many
            they are, whether variables take different entities, and its evidence.
        item, item_candidate, item_evidence: forward rules k(X, d); the item is the span of d along k ^ 1.
        half_code, half_distinct, half_candidate, half_evidence: forward rules k(X, Z).
        prior_candidate: the candidates that have a prior, ascending.
        prior, weighed_prior: of each of these its evidence, and that by `prior_weight`.
        prior_rank: positions among these, from the largest `weighed_prior` to the least, of equals the first first.
        back_entity: the entities that a head of back rules names, ascending.
        back_pointer: by these, into back_body and back_evidence, strongest first.
        back_body, back_evidence: back rules. A body k(Y, d) is the span of d along k ^ 1; behind all spans come the
            bodies k(Y, Z) of each code k, as 2 * k, or 2 * k + 1 where Z is another entity than Y.
        back_prior_entity: the entities that a back prior names, ascending.
        back_prior: of each of these, the prior evidence of every candidate.
        excluded: which codes rule out the entity that they lead to from the known one.
        kind: the row of `weight` for each of KINDS.
        weight: weight[row, i] / UNIT is what the i-th strongest rule there counts.
        prior_weight: / UNIT, what a prior counts.
        chain_weight, item_weight, half_weight, back_weight: weights of the rules where facts are soft, else None.
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
    """For each body of a rule set its `shape`, the `item` that it names (-1: none) and the `length` of its line."""

    shape: np.ndarray
    item: Longs
    length: np.ndarray

    @classmethod
    def of(cls, bodies: Bodies, graph: Graph) -> Shapes:
        """Find the shapes of `bodies`, items numbered as the spans of `graph`."""
        lines = bodies.lines
        length = lines.lengths
        # A line without a move equates X and Y; with distinct variables it never holds. The tensor driver knows.
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


class Parts(NamedTuple):
    """Rows of a RuleSet (one binary target) by what the compiled loops can do with them.

    `chain` rules lead from X to Y, `anchored` ones to an entity, `half` ones to any entity, those of `prior` are true;
    the `rest` has no loop.
    """

    chain: Longs
    anchored: Longs
    half: Longs
    prior: Longs
    rest: Longs

    @classmethod
    def of(cls, rules: RuleSet, shapes: Shapes) -> Parts:
        """Sort the rows of `rules` by the `shapes` of their bodies.

        A prior or a single step counts only where the head has a constant.
        """
        shape = shapes.shape[rules.body] if len(rules) else rules.fixed
        shape = np.where((rules.fixed > 0) | (shape == CHAIN), shape, OTHER)
        return cls(*(np.flatnonzero(shape == wanted) for wanted in (CHAIN, ITEM, STEP, PRIOR, OTHER)))


@compiled
def back_rules(plan: Plan, known: int) -> tuple[int, int]:
    """Return the range of the back rules of `plan` whose head names the entity `known`."""
    place = position(plan.back_entity, known)
    return (plan.back_pointer[place], plan.back_pointer[place + 1]) if place >= 0 else (0, 0)


@compiled
def prior_of(plan: Plan, known: int, candidate: int) -> int:
    """Return what the priors of `plan` say of a `candidate` for a query at `known`, unweighed."""
    place, back = position(plan.prior_candidate, candidate), position(plan.back_prior_entity, known)
    return (plan.prior[place] if place >= 0 else 0) + (plan.back_prior[back] if back >= 0 else 0)


@compiled
def back_prior_of(plan: Plan, known: int) -> int:
    """Return what the priors of `plan` say of every candidate for a query at `known`, weighed."""
    place = position(plan.back_prior_entity, known)
    return weigh(plan.back_prior[place], plan.prior_weight) if place >= 0 else 0


@compiled
def position(ids: Ids, wanted: int) -> int:
    """Return where `wanted` stands among `ids`, which ascend; -1 where it does not."""
    place = first_at_least(ids, 0, len(ids), wanted)
    return place if place < len(ids) and ids[place] == wanted else -1


@compiled
def body_range(graph: Graph, body: int) -> tuple[int, int]:
    """Return the range of positions for `body_member`: there is at most one entity at each that a `body` holds of."""
    if body < len(graph.span_node):
        return graph.span_pointer[body], graph.span_pointer[body + 1]
    code = (body - len(graph.span_node)) >> 1
    return graph.code_pointer[code], graph.code_pointer[code + 1]


@compiled
def body_member(graph: Graph, body: int, place: int) -> int:
    """Return the entity at `place` that a `body` on the facts of `graph` holds of; -1 where it holds of none there."""
    if body < len(graph.span_node):
        return graph.neighbour[place]
    span = graph.code_span[place]
    node, first, last = graph.span_node[span], graph.span_pointer[span], graph.span_pointer[span + 1]
    if (body - len(graph.span_node)) & 1 and last - first == 1 and graph.neighbour[first] == node:
        return -1
    return node


@dataclass(frozen=True, eq=False)
class TargetRules:
    """The `rules` of one binary target with what both directions of query need.

    `parts` are their rows by shape. For each row its evidence (`power`) and, where they have a meaning, its `item`, the
    `length` of its line and its `line` number.
    """

    rules: RuleSet
    parts: Parts
    power: Longs
    item: Longs
    length: np.ndarray
    line: Ids

    @classmethod
    def of(cls, rules: RuleSet, shapes: Shapes, parts: Parts) -> TargetRules:
        """Return the rules of one target, whose bodies have these shapes and fall into these parts."""
        item, length = (column[rules.body] if len(rules) else column[:0] for column in (shapes.item, shapes.length))
        return cls(rules, parts, evidence(rules.weights), item, length, rules.line)

    @property
    def lines(self) -> Lines:
        """The lines that bodies are made of."""
        return self.rules.bodies.lines

    def first_step(self, rows: Longs) -> Ids:
        """Return the code of the first step of each of these rows."""
        return self.lines.steps[self.line[rows], 0].astype(np.int32)

    def distinct(self, rows: Longs) -> Mask:
        """Return whether the variables of each of these rows take different entities."""
        return self.lines.distinct[self.line[rows]]


def plan(mine: TargetRules, graph: Graph, direction: int, frequency: Longs | None = None) -> Plan:
    """Lay out the rules of a target, `mine`, for queries p(a, ?) (direction 0) or p(?, a) (direction 1).

    Where there is a `frequency`, it has evidence of each entity that breaks ties, beside that of the priors.
    """
    rules, power = mine.rules, mine.power
    parts = _that_count(mine, direction)
    chain = parts.chain[np.lexsort((parts.chain, -power[parts.chain]))]
    length = mine.length[chain].astype(np.int64)
    steps = np.ascontiguousarray(mine.lines.steps[mine.line[chain], : length.max(initial=1)], np.int64)
    if direction:
        steps = reversed_steps(steps, length, graph.is_unary)
    proposing, known = (SECOND, FIRST) if direction == 0 else (FIRST, SECOND)

    ahead = parts.anchored[(rules.fixed[parts.anchored] == proposing) & (mine.item[parts.anchored] >= 0)]
    ahead = ahead[stable_order(mine.item[ahead])]
    half = parts.half[rules.fixed[parts.half] == proposing]
    half = half[np.argsort(mine.first_step(half), kind="stable")]
    back, body = _back_rules(mine, parts, graph.num_spans, known)
    # Strongest first for each entity: the loop may then skip a candidate that already holds enough rules.
    by_power = np.argsort(-power[back], kind="stable")
    by_entity = by_power[stable_order(rules.head_entity[back][by_power])]
    back, body = back[by_entity], body[by_entity]
    back_entity, first = np.unique(rules.head_entity[back], return_index=True)
    kind, weight, prior_weight = kind_weights(rules.aggregation)
    priors = _weighed_priors(*_priors(mine, proposing), prior_weight, frequency)
    return Plan(
        2 * int(rules.head[0]) + direction if len(rules) else direction,
        steps, length.astype(np.int32), mine.distinct(chain), power[chain],
        mine.item[ahead].astype(span_numbers(graph.num_spans)), rules.head_entity[ahead], power[ahead],
        mine.first_step(half), mine.distinct(half), rules.head_entity[half], power[half],
        *priors,
        back_entity, np.append(first, len(back)), body, power[back],
        *_priors(mine, known),
        np.zeros(graph.num_codes, bool),
        kind, weight, prior_weight,
        *(None if graph.is_crisp else rules.weights[rows] for rows in (chain, ahead, half, back)),
    )  # fmt: skip


def _back_rules(mine: TargetRules, parts: Parts, num_items: int, known: int) -> tuple[Longs, Longs]:
    """Rows whose constant is the known entity, and the body of each."""
    rules = mine.rules
    anchored = parts.anchored[(rules.fixed[parts.anchored] == known) & (mine.item[parts.anchored] >= 0)]
    half = parts.half[rules.fixed[parts.half] == known]
    half_body = num_items + 2 * mine.first_step(half).astype(np.int64) + mine.distinct(half)
    return np.concatenate((anchored, half)), np.concatenate((mine.item[anchored], half_body))


def _priors(mine: TargetRules, side: int) -> tuple[Ids, Longs]:
    """The entities that priors name in that place of the head, and the summed evidence of each."""
    rows = mine.parts.prior[mine.rules.fixed[mine.parts.prior] == side]
    entity, of_row = np.unique(mine.rules.head_entity[rows], return_inverse=True)
    total = np.zeros(len(entity), np.int64)
    np.add.at(total, of_row, mine.power[rows])
    return entity, total


def _weighed_priors(entity: Ids, prior: Longs, weight: int, frequency: Longs | None) -> tuple[Ids, Longs, Longs, Ids]:
    """Candidates, their prior evidence, what it counts, and their order by that (see Plan)."""
    value = weighed(prior, weight)
    if frequency is not None:
        everyone = np.union1d(entity, np.flatnonzero(frequency)).astype(np.int32)
        place = np.searchsorted(everyone, entity)
        both = np.zeros((2, len(everyone)), np.int64)
        both[0, place], both[1, place] = prior, value
        entity, prior, value = everyone, both[0], both[1] + frequency[everyone]
    return entity, prior, value, np.argsort(-value, kind="stable").astype(np.int32)


def stable_order(keys: NDArray[np.integer]) -> Longs:
    """np.argsort(keys, kind="stable") for keys from 0 on.

    numpy sorts numbers of 16 bits by counting and others by comparing, which takes at least five times as long.

    >>> stable_order(np.array([70_000, 0, 70_000, 1]))
    array([1, 3, 0, 2])
    """
    if int(keys.max(initial=0)) >= 2**32:
        return np.argsort(keys, kind="stable")
    order = np.argsort(keys.astype(np.uint16), kind="stable")  # the lower 16 bits
    high = (keys >> 16).astype(np.uint16)
    return order[np.argsort(high[order], kind="stable")] if high.any() else order


def kinds(mine: TargetRules, direction: int) -> Longs:
    """Return the kind (KINDS) of each rule of a target, `mine`, for queries p(a, ?) (direction 0) or p(?, a) (1)."""
    rules, parts = mine.rules, mine.parts
    kind = np.full(len(rules), KINDS.index("other"))
    kind[parts.prior] = KINDS.index("prior")
    kind[parts.chain] = np.where(mine.length[parts.chain] == 1, 0, 1)
    known = SECOND if direction else FIRST
    for some, any_body in ((parts.anchored, 0), (parts.half, 1)):
        of_query = rules.fixed[some] == known
        kind[some] = any_body + np.where(of_query, KINDS.index("query constant"), KINDS.index("answer constant"))
    return kind


def _that_count(mine: TargetRules, direction: int) -> Parts:
    """Without the kinds that a weighing gives no weight: walking them would change nothing."""
    parts, aggregation = mine.parts, mine.rules.aggregation
    if not aggregation.weighing:
        return parts
    counts = np.append(kind_weights(aggregation)[1].max(axis=1) > 0, True)[kinds(mine, direction)]
    chain, anchored, half = (rows[counts[rows]] for rows in (parts.chain, parts.anchored, parts.half))
    return parts._replace(chain=chain, anchored=anchored, half=half)


def excluded_codes(codes: Iterable[int], direction: int, num_codes: int) -> Mask:
    """Return which codes rule a pair out, as a query walks them: backwards from a known object.

    `codes` are steps from subject to object; all are below `num_codes`.
    """
    excluded = np.zeros(num_codes, bool)
    excluded[[code ^ direction for code in codes]] = True
    return excluded
