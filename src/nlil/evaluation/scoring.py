"""The evidence of every candidate for a query, from the line rules of its target. Compiled loops.

A candidate keeps the `top` strongest rules that fire for it; priors count beside them. With top = 0
all rules count, and `strongest` (the aggregation `max`) keeps only the best, prior or not.
"""

from __future__ import annotations

import numpy as np

from ..data.arrays import Longs
from ..kernel.aggregation import ScoreSpace, add, counts, touch, weigh
from ..kernel.compiled import compiled
from ..kernel.graph import Graph, first_at_least, span_edges
from ..kernel.hidden import HiddenFact, hidden_neighbour
from ..kernel.walk import NO_LIMIT, reach
from .plan import Plan, back_prior_of, back_rules, body_member, body_range


@compiled
def leaves(graph: Graph, node: int, code: int, distinct: bool, skipped: int) -> bool:
    """Has `node` an edge `code` (to another entity when distinct) besides the one to `skipped`?"""
    low, high = span_edges(graph, node, code)
    for e in range(low, high):
        there = graph.neighbour[e]
        if there != skipped and not (distinct and there == node):
            return True
    return False


@compiled
def _two_moves(
    graph: Graph, plan: Plan, i: int, hidden: HiddenFact, top: int, space: ScoreSpace, num_touched: int
) -> int:
    """`chain` for two moves with distinct variables, the bulk of all chains; only their first move can be hidden."""
    known, evidence, kind = hidden.start, plan.chain_evidence[i], plan.kind[1]
    second = plan.chain_steps[i, 1]
    low, high = span_edges(graph, known, plan.chain_steps[i, 0])
    if low == high:
        return num_touched
    skipped = hidden_neighbour(hidden, plan.chain_steps[i, 0], known)
    space.walk.clock[0] += 1
    epoch = space.walk.clock[0]
    for e in range(low, high):
        middle = graph.neighbour[e]
        if middle == known or middle == skipped:
            continue
        begin, end = span_edges(graph, middle, second)
        for f in range(begin, end):
            b = graph.neighbour[f]
            if counts(space, b, evidence, kind) and space.walk.seen[b] != epoch and b != known and b != middle:
                space.walk.seen[b] = epoch
                num_touched = add(space, num_touched, b, evidence, top, kind)
    return num_touched


@compiled
def chain(graph: Graph, plan: Plan, i: int, hidden: HiddenFact, top: int, space: ScoreSpace, num_touched: int) -> int:
    """Walk chain `i` of the plan; returns how many candidates are touched then, `num_touched` before."""
    if space.walk.flag[0]:  # what is found after a stop is not used
        return num_touched
    first, second = plan.chain_steps[i, 0], plan.chain_steps[i, min(1, plan.chain_length[i] - 1)]
    moves = not graph.is_unary[first >> 1] and not graph.is_unary[second >> 1]
    if plan.chain_length[i] == 2 and plan.chain_distinct[i] and moves:
        return _two_moves(graph, plan, i, hidden, top, space, num_touched)
    found = reach(
        graph,
        space.walk,
        plan.chain_steps[i],
        plan.chain_length[i],
        hidden.start,
        plan.chain_distinct[i],
        hidden,
        NO_LIMIT,
        -1,
    )
    evidence, kind = plan.chain_evidence[i], plan.kind[0 if plan.chain_length[i] == 1 else 1]
    for k in range(found):
        end = space.walk.ends[k]
        if counts(space, end, evidence, kind):
            num_touched = add(space, num_touched, end, evidence, top, kind)
    return num_touched


@compiled
def _forward(graph: Graph, plan: Plan, hidden: HiddenFact, top: int, space: ScoreSpace, num_touched: int) -> int:
    known, item_kind, half_kind = hidden.start, plan.kind[2], plan.kind[3]
    end = graph.pointer[known]
    while end < graph.pointer[known + 1]:
        code, begin = graph.code[end], end
        skipped = hidden_neighbour(hidden, code, known)
        leaves_at_all, leaves_itself = False, False
        while end < graph.pointer[known + 1] and graph.code[end] == code:
            if graph.neighbour[end] != skipped:
                leaves_at_all = True
                leaves_itself = leaves_itself or graph.neighbour[end] != known
            end += 1
        for e in range(begin, end):
            if graph.neighbour[e] == skipped:
                continue
            item = graph.back_span[e]
            i = first_at_least(plan.item, 0, len(plan.item), item)
            while i < len(plan.item) and plan.item[i] == item:
                b, evidence = plan.item_candidate[i], plan.item_evidence[i]
                if counts(space, b, evidence, item_kind):
                    num_touched = add(space, num_touched, b, evidence, top, item_kind)
                i += 1
        i = first_at_least(plan.half_code, 0, len(plan.half_code), code)
        while i < len(plan.half_code) and plan.half_code[i] == code:
            b, evidence = plan.half_candidate[i], plan.half_evidence[i]
            if counts(space, b, evidence, half_kind) and (leaves_itself if plan.half_distinct[i] else leaves_at_all):
                num_touched = add(space, num_touched, b, evidence, top, half_kind)
            i += 1
    return num_touched


@compiled
def body_holds(graph: Graph, hidden: HiddenFact, x: int, body: int) -> bool:
    """Return whether `x`, a member of the `body`, is one without the `hidden` fact too."""
    num_items = len(graph.span_node)
    if body < num_items:
        return graph.span_node[body] != hidden_neighbour(hidden, graph.span_code[body] ^ 1, x)
    code, distinct = (body - num_items) >> 1, (body - num_items) & 1 == 1
    return leaves(graph, x, code, distinct, hidden_neighbour(hidden, code, x))


@compiled
def _back(
    graph: Graph, plan: Plan, begin: int, end: int, hidden: HiddenFact, top: int, space: ScoreSpace, num_touched: int
) -> int:
    """The back rules begin .. end - 1: in one call, since most have few members and a call has many arguments."""
    num_items = len(graph.span_node)
    for i in range(begin, end):
        body, evidence = plan.back_body[i], plan.back_evidence[i]
        kind = plan.kind[4 if body < num_items else 5]
        low, high = body_range(graph, body)
        for m in range(low, high):
            x = body_member(graph, body, m)
            if x < 0 or not counts(space, x, evidence, kind):
                continue
            if hidden.end < 0 or body_holds(graph, hidden, x, body):
                num_touched = add(space, num_touched, x, evidence, top, kind)
    return num_touched


@compiled
def _chains_and_back(graph: Graph, plan: Plan, hidden: HiddenFact, top: int, most_steps: int, space: ScoreSpace) -> int:
    """Both kinds from strong to weak, so that most later firings fall below the floor at once."""
    num_touched = 0
    back, last = back_rules(plan, hidden.start)
    for i in range(len(plan.chain_length)):
        if plan.chain_length[i] > most_steps:
            continue
        stronger = back
        while stronger < last and plan.back_evidence[stronger] > plan.chain_evidence[i]:
            stronger += 1
        if stronger > back:
            num_touched = _back(graph, plan, back, stronger, hidden, top, space, num_touched)
            back = stronger
        num_touched = chain(graph, plan, i, hidden, top, space, num_touched)
    return _back(graph, plan, back, last, hidden, top, space, num_touched)


@compiled
def collect(
    graph: Graph, plan: Plan, hidden: HiddenFact, top: int, most_steps: int, extra: np.ndarray, space: ScoreSpace
) -> int:
    """Collect the strongest rules of each kind for every candidate, chains of up to `most_steps`.

    Returns how many candidates have any.
    """
    touched = _chains_and_back(graph, plan, hidden, top, most_steps, space)
    touched = _forward(graph, plan, hidden, top, space, touched)
    return add_extra(plan, extra, top, space, touched)


@compiled
def add_extra(plan: Plan, extra: np.ndarray, top: int, space: ScoreSpace, touched: int) -> int:
    """Add the rows of `extra`; returns how many candidates are touched then."""
    kind = plan.kind[6]
    for i in range(len(extra)):
        if counts(space, extra[i, 0], extra[i, 1], kind):
            touched = add(space, touched, extra[i, 0], extra[i, 1], top, kind)
    return touched


# totals -----------------------------------------------------------------------------------------------


@compiled
def load_priors(plan: Plan, space: ScoreSpace) -> None:
    """Let `space` have the priors of `plan`, until `drop_priors`."""
    for i in range(len(plan.prior_candidate)):
        space.prior[plan.prior_candidate[i]] = plan.weighed_prior[i]


@compiled
def drop_priors(plan: Plan, space: ScoreSpace) -> None:
    """Undo `load_priors` of this `plan` in `space`."""
    for i in range(len(plan.prior_candidate)):
        space.prior[plan.prior_candidate[i]] = 0


@compiled
def untouched_total(space: ScoreSpace, base: int, strongest_only: bool, candidate: int) -> int:
    """Return the total of a `candidate` that no rule but a prior fires for; `base` is the `back_prior_of` the query."""
    return max(base, space.prior[candidate]) if strongest_only else base + space.prior[candidate]


@compiled
def total_of(space: ScoreSpace, base: int, strongest_only: bool, candidate: int) -> int:
    """Return the total of any `candidate` after `sum_touched`; `base` as in `untouched_total`."""
    slot = space.slot[candidate]
    return space.total[slot] if slot > 0 else untouched_total(space, base, strongest_only, candidate)


@compiled
def sum_touched(
    graph: Graph, plan: Plan, hidden: HiddenFact, strongest_only: bool, space: ScoreSpace, touched: int
) -> int:
    """Write space.total of the `touched` candidates, which have rules; returns how many are touched then.

    Those that an exclusion rules out are touched too: their total is 0.
    """
    known, base = hidden.start, back_prior_of(plan, hidden.start)
    for s in range(1, touched + 1):
        total = untouched_total(space, base, strongest_only, space.touched[s])
        if strongest_only:
            space.total[s] = max(total, space.strongest[s, 0, 0])
            continue
        for k in range(space.strongest.shape[1]):
            for j in range(space.strongest.shape[2]):
                if space.strongest[s, k, j] == 0:
                    break
                total += weigh(space.strongest[s, k, j], plan.weight[k, j])
        space.total[s] = total
    # No fact but the hidden one is overlooked: it must not rule itself out.
    for e in range(graph.pointer[known], graph.pointer[known + 1]):
        code, b = graph.code[e], graph.neighbour[e]
        if plan.excluded[code] and b != hidden_neighbour(hidden, code, known):
            touched = touch(space, touched, b)
            space.total[space.slot[b]] = 0
    return touched


@compiled
def write_totals(space: ScoreSpace, base: int, strongest_only: bool, touched: int, totals: Longs) -> None:
    """Write the total of every candidate into `totals`; `base` as in `untouched_total`."""
    for b in range(len(totals)):
        totals[b] = untouched_total(space, base, strongest_only, b)
    for s in range(1, touched + 1):
        totals[space.touched[s]] = space.total[s]


@compiled
def untouched_from(plan: Plan, num_entities: int, base: int, strongest_only: bool, least: int) -> int:
    """Count the candidates whose `untouched_total` would be `least` or more, if no rule but a prior of `plan` fired.

    They are all `num_entities`; `base` as in `untouched_total`.
    """
    if base >= least:
        return num_entities
    wanted = least if strongest_only else least - base
    low, high = 0, len(plan.prior_rank)
    while low < high:
        middle = (low + high) // 2
        if plan.weighed_prior[plan.prior_rank[middle]] >= wanted:
            low = middle + 1
        else:
            high = middle
    return low
