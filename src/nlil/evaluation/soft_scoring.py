"""The evidence of every candidate for a query where facts are soft: the loops of `scoring`, with degrees.

A rule whose body holds to degree v counts with v times its weight, so the evidence of its weight is a bound: where
that does not exceed the floor of a candidate, its degree need not be computed.
"""

from __future__ import annotations

import numpy as np

from ..data.arrays import Ids, Longs
from ..kernel.aggregation import ScoreSpace, add, clear, counts, degree_evidence
from ..kernel.compiled import compiled
from ..kernel.graph import Graph, first_at_least, span_edges
from ..kernel.hidden import HiddenFact, hides
from ..kernel.spread import edge_weight, spread
from .plan import Plan, back_prior_of, back_rules, body_member, body_range
from .scoring import add_extra, drop_priors, load_priors, sum_touched, write_totals


@compiled
def _offer(
    space: ScoreSpace, num_touched: int, candidate: int, bound: int, weight: float, degree: float, top: int, kind: int
) -> int:
    """Give the candidate a rule of this weight that holds to this degree, if it counts."""
    if counts(space, candidate, bound, kind):
        evidence = degree_evidence(weight * degree)
        if counts(space, candidate, evidence, kind):
            return add(space, num_touched, candidate, evidence, top, kind)
    return num_touched


@compiled
def _degree_of_step(graph: Graph, hidden: HiddenFact, x: int, code: int, distinct: bool) -> float:
    """The degree of code(x, Z) for any Z, another entity than x where distinct."""
    total = 0.0
    low, high = span_edges(graph, x, code)
    for e in range(low, high):
        there = graph.neighbour[e]
        if not (distinct and there == x) and not hides(hidden, code, x, there):
            total += edge_weight(graph, e)
    return min(total, 1.0)


@compiled
def _chains(graph: Graph, plan: Plan, hidden: HiddenFact, top: int, space: ScoreSpace, num_touched: int) -> int:
    walk = space.walk
    for i in range(len(plan.chain_length)):
        kind = plan.kind[0 if plan.chain_length[i] == 1 else 1]
        found = spread(
            graph, walk, plan.chain_steps[i], plan.chain_length[i], hidden.start, plan.chain_distinct[i], hidden, -1,
            False, -1,
        )  # fmt: skip
        bound, weight = plan.chain_evidence[i], plan.chain_weight[i]
        for k in range(found):
            b = walk.ends[k]
            num_touched = _offer(space, num_touched, b, bound, weight, walk.value[b], top, kind)
    return num_touched


@compiled
def _back(graph: Graph, plan: Plan, hidden: HiddenFact, top: int, space: ScoreSpace, num_touched: int) -> int:
    num_items = len(graph.span_node)
    begin, end = back_rules(plan, hidden.start)
    for i in range(begin, end):
        body, bound, weight = plan.back_body[i], plan.back_evidence[i], plan.back_weight[i]
        if body < num_items:
            # The span lists the x with code(x, d) as the edges d --code ^ 1--> x.
            node, code, kind = graph.span_node[body], graph.span_code[body], plan.kind[4]
            for e in range(graph.span_pointer[body], graph.span_pointer[body + 1]):
                x = graph.neighbour[e]
                if not hides(hidden, code, node, x):
                    num_touched = _offer(space, num_touched, x, bound, weight, edge_weight(graph, e), top, kind)
            continue
        code, distinct, kind = (body - num_items) >> 1, (body - num_items) & 1 == 1, plan.kind[5]
        low, high = body_range(graph, body)
        for m in range(low, high):
            x = body_member(graph, body, m)
            if x >= 0 and counts(space, x, bound, kind):
                degree = _degree_of_step(graph, hidden, x, code, distinct)
                if degree > 0.0:
                    num_touched = _offer(space, num_touched, x, bound, weight, degree, top, kind)
    return num_touched


@compiled
def _forward(graph: Graph, plan: Plan, hidden: HiddenFact, top: int, space: ScoreSpace, num_touched: int) -> int:
    known = hidden.start
    for e in range(graph.pointer[known], graph.pointer[known + 1]):
        if hides(hidden, graph.code[e], known, graph.neighbour[e]):
            continue
        item = graph.back_span[e]
        i = first_at_least(plan.item, 0, len(plan.item), item)
        while i < len(plan.item) and plan.item[i] == item:
            num_touched = _offer(
                space, num_touched, plan.item_candidate[i], plan.item_evidence[i], plan.item_weight[i],
                edge_weight(graph, e), top, plan.kind[2],
            )  # fmt: skip
            i += 1
    for span in range(graph.node_span[known], graph.node_span[known + 1]):
        code = graph.span_code[span]
        i = first_at_least(plan.half_code, 0, len(plan.half_code), code)
        if i == len(plan.half_code) or plan.half_code[i] != code:
            continue
        to_any = _degree_of_step(graph, hidden, known, code, False)
        to_others = _degree_of_step(graph, hidden, known, code, True)
        while i < len(plan.half_code) and plan.half_code[i] == code:
            degree = to_others if plan.half_distinct[i] else to_any
            if degree > 0.0:
                num_touched = _offer(
                    space, num_touched, plan.half_candidate[i], plan.half_evidence[i], plan.half_weight[i], degree,
                    top, plan.kind[3],
                )  # fmt: skip
            i += 1
    return num_touched


@compiled
def collect_soft(graph: Graph, plan: Plan, hidden: HiddenFact, top: int, extra: np.ndarray, space: ScoreSpace) -> int:
    """Do what `scoring.collect` does over soft facts."""
    touched = _chains(graph, plan, hidden, top, space, 0)
    touched = _back(graph, plan, hidden, top, space, touched)
    touched = _forward(graph, plan, hidden, top, space, touched)
    return add_extra(plan, extra, top, space, touched)


@compiled
def score_soft(
    graph: Graph, crisp: Graph, plan: Plan, query: Ids, hidden: Ids, top: int, strongest_only: bool,
    extra: np.ndarray, extra_pointer: Longs, space: ScoreSpace, totals: np.ndarray,
) -> None:  # fmt: skip
    """Write totals[i, b]: the evidence of candidate b for the query at query[i]; hidden[i] as in `score_block`.

    `crisp` has the facts that count, for exclusions.
    """
    load_priors(plan, space)
    for i in range(len(query)):
        own = HiddenFact(plan.code, query[i], hidden[i], -1, graph.is_unary)
        more = extra[extra_pointer[i] : extra_pointer[i + 1]]
        touched = collect_soft(graph, plan, own, 1 if strongest_only else top, more, space)
        touched = sum_touched(crisp, plan, own, strongest_only, space, touched)
        write_totals(space, back_prior_of(plan, query[i]), strongest_only, touched, totals[i])
        clear(space, touched)
    drop_priors(plan, space)
