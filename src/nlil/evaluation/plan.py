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

from ..data.arrays import Doubles, Ids, Longs, Mask, offsets
from ..kernel.aggregation import KINDS, evidence, kind_weights, weighed
from ..kernel.bodies import ANY_NODE, X_NODE, Y_NODE, Bodies, Lines, reversed_steps
from ..kernel.graph import Graph, span_numbers
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
        prior: the prior evidence of each candidate.
        back_pointer: by the known entity, into back_body and back_evidence, strongest first.
        back_body, back_evidence: back rules; a body is one of `StepSets`.
        back_prior: by the known entity, the prior evidence of every candidate.
        excluded: which codes rule out the entity that they lead to from the known one.
        body_pointer, body_member: `StepSets`.
        kind: the row of `weight` for each of KINDS.
        weight: weight[row, i] / UNIT is what the i-th strongest rule there counts.
        prior_weight: / UNIT, what a prior counts.
        weighed_prior: `prior` by that weight.
        chain_weight, item_weight, half_weight, back_weight: weights of the rules where facts are soft; else empty.
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
    prior: Longs
    back_pointer: Longs
    back_body: Longs
    back_evidence: Longs
    back_prior: Longs
    excluded: Mask
    body_pointer: Longs
    body_member: Ids
    kind: Longs
    weight: np.ndarray
    prior_weight: int
    weighed_prior: Longs
    chain_weight: Doubles
    item_weight: Doubles
    half_weight: Doubles
    back_weight: Doubles


CHAIN, ITEM, STEP, PRIOR, OTHER = range(5)
"""Shapes of bodies: a line from X to Y; one step to an entity; one step to any entity; `true`; everything else."""


class Shapes(NamedTuple):
    """For each body of a rule set its `shape`, the `item` that it names (-1: none) and the `length` of its line."""

    shape: np.ndarray
    item: Longs
    length: np.ndarray

    @classmethod
    def of(cls, bodies: Bodies, graph: Graph, is_unary: Mask) -> Shapes:
        """Find the shapes of `bodies`, items numbered as the spans of `graph`."""
        lines = bodies.lines
        length = lines.lengths
        # A line without a move equates X and Y; with distinct variables it never holds. The tensor driver knows.
        is_chain = (lines.start == X_NODE) & (lines.end == Y_NODE) & lines.moves(is_unary)
        is_step = (
            (length == 1) & ~is_unary[lines.steps[:, 0] >> 1] & ((lines.start == X_NODE) | (lines.start == Y_NODE))
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


class StepSets(NamedTuple):
    """The entities that each body on one entity holds of: body i of member[pointer[i] : pointer[i + 1]].

    These are k(Y, d), numbered as the span of d along k ^ 1, and behind them k(Y, Z) for each code k, as number 2 * k,
    or 2 * k + 1 where Z is another entity than Y.
    """

    pointer: Longs
    member: Ids


def step_sets(graph: Graph) -> StepSets:
    """Collect the sets of all bodies of one step on the facts of `graph`."""
    by_code, leaves = graph.code_span, graph.leaves()[graph.code_span]
    number = 2 * graph.span_code[by_code].astype(np.int64)
    number = np.concatenate((number, number[leaves] + 1))
    order = np.argsort(number, kind="stable")
    node = graph.span_node[by_code]
    behind = offsets(number[order], 2 * graph.num_codes)[1:] + graph.span_pointer[-1]
    member = np.concatenate((graph.neighbour, np.concatenate((node, node[leaves]))[order]))
    return StepSets(np.concatenate((graph.span_pointer, behind)), member)


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


def plan(mine: TargetRules, graph: Graph, sets: StepSets, is_unary: Mask, direction: int) -> Plan:
    """Lay out the rules of a target, `mine`, for queries p(a, ?) (direction 0) or p(?, a) (direction 1).

    `sets` are the `step_sets` of the graph.
    """
    rules, power = mine.rules, mine.power
    parts = _that_count(mine, direction)
    chain = parts.chain[np.lexsort((parts.chain, -power[parts.chain]))]
    length = mine.length[chain].astype(np.int64)
    steps = np.ascontiguousarray(mine.lines.steps[mine.line[chain], : length.max(initial=1)], np.int64)
    if direction:
        steps = reversed_steps(steps, length, is_unary)
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
    prior, weights = _priors(mine, proposing, graph.num_entities), kind_weights(rules.aggregation)
    return Plan(
        2 * int(rules.head[0]) + direction if len(rules) else direction,
        steps, length.astype(np.int32), mine.distinct(chain), power[chain],
        mine.item[ahead].astype(span_numbers(graph.num_spans)), rules.head_entity[ahead], power[ahead],
        mine.first_step(half), mine.distinct(half), rules.head_entity[half], power[half],
        prior,
        offsets(rules.head_entity[back], graph.num_entities), body, power[back],
        _priors(mine, known, graph.num_entities),
        np.zeros(graph.num_codes, bool),
        sets.pointer, sets.member,
        *weights, weighed(prior, weights[2]),
        *(np.zeros(0) if graph.is_crisp else rules.weights[rows] for rows in (chain, ahead, half, back)),
    )  # fmt: skip


def _back_rules(mine: TargetRules, parts: Parts, num_items: int, known: int) -> tuple[Longs, Longs]:
    """Rows whose constant is the known entity, and the body of each."""
    rules = mine.rules
    anchored = parts.anchored[(rules.fixed[parts.anchored] == known) & (mine.item[parts.anchored] >= 0)]
    half = parts.half[rules.fixed[parts.half] == known]
    half_body = num_items + 2 * mine.first_step(half).astype(np.int64) + mine.distinct(half)
    return np.concatenate((anchored, half)), np.concatenate((mine.item[anchored], half_body))


def _priors(mine: TargetRules, side: int, num_entities: int) -> Longs:
    """The summed evidence of the priors of each entity in that place of the head."""
    rows = mine.parts.prior[mine.rules.fixed[mine.parts.prior] == side]
    total = np.zeros(num_entities, np.int64)
    np.add.at(total, mine.rules.head_entity[rows], mine.power[rows])
    return total


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
