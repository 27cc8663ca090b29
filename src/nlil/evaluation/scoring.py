"""Find the candidates that the line rules of a target propose for a query, and their evidence. Compiled loops.

Each shape of rule (`plan`) has its own loop. The loops run in one of two modes:

    score    without `firings`: a candidate keeps the `top` strongest rules that fire for it, in addition to priors.
             With top = 0 all rules count; `strongest_only` (the aggregation `max`) keeps the best, prior or not.
    list     with `firings`: every (rule, candidate) is recorded, whatever the weight of the rule

If facts are soft, a rule whose body holds to degree v counts v times its weight. The evidence of its full weight is
then an upper bound: if that does not exceed the floor of a candidate, the degree is not computed.

The compiler knows whether `firings` is None, and whether the `weights` of rules are None (crisp facts). It compiles
each loop up to three times, so the other two modes do not slow down the scoring of crisp facts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.arrays import Doubles, Ids, Longs
from ..data.facts import LEAST_TRUE
from ..kernel.aggregation import ScoreSpace, add, counts, degree_evidence, touch, weigh
from ..kernel.compiled import compiled
from ..kernel.graph import Graph, first_at_least, span_edges
from ..kernel.hidden import HiddenFact, hidden_neighbour
from ..kernel.spread import edge_weight, spread
from ..kernel.walk import NO_LIMIT, reach
from .plan import Plan, back_prior_of, back_rules, body_member, body_range


class Firings(NamedTuple):
    """A buffer for the firings of one query: the number of each `rule` and the `candidate` that it proposes.

    A rule that proposes more than `most` candidates is treated as if it did not fire.
    """

    rule: Ids
    candidate: Ids
    most: int

    @classmethod
    def of(cls, size: int, most: int) -> Firings:
        """Allocate a buffer for `size` firings of rules that propose up to `most` candidates each."""
        return cls(np.empty(size, np.int32), np.empty(size, np.int32), most)


@compiled
def is_soft(weights: Doubles | None) -> bool:
    """Return whether facts are soft: only then does a plan have the `weights` of its rules."""
    return weights is not None


@compiled
def _degree(graph: Graph, weights: Doubles | None, edge: int) -> float:
    return 1.0 if weights is None else edge_weight(graph, edge)


@compiled
def _value(values: Doubles | None, end: int) -> float:
    return 1.0 if values is None else values[end]


@compiled
def _matters(space: ScoreSpace, firings: Firings | None, candidate: int, bound: int, kind: int) -> bool:
    """Return whether a rule with evidence of at most `bound` can change the result for the candidate."""
    return firings is not None or counts(space, candidate, bound, kind)


@compiled
def _fire(
    space: ScoreSpace, firings: Firings | None, size: int, candidate: int, bound: int, weights: Doubles | None, i: int,
    degree: float, top: int, kind: int,
) -> int:  # fmt: skip
    """Fire a rule that `_matters` for the candidate. If facts are soft, its weight is weights[i] times the degree.

    `size` is the number of touched candidates, or of listed firings; returns the new number. A firing beyond the end of
    the buffer is counted but not stored.
    """
    if firings is not None:
        if size < len(firings.rule):
            firings.rule[size] = bound - 1
            firings.candidate[size] = candidate
        return size + 1
    if weights is not None:
        bound = degree_evidence(weights[i] * degree)
        if not counts(space, candidate, bound, kind):
            return size
    return add(space, size, candidate, bound, top, kind)


@compiled
def _two_moves(
    graph: Graph, plan: Plan, i: int, hidden: HiddenFact, top: int, space: ScoreSpace, num_touched: int
) -> int:
    """`chain` for two moves with distinct variables, the most common chain; only the first move can be hidden."""
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
def chain(
    graph: Graph, plan: Plan, weights: Doubles | None, i: int, hidden: HiddenFact, top: int, space: ScoreSpace,
    firings: Firings | None, size: int,
) -> int:  # fmt: skip
    """Walk chain `i` of the plan; `weights` are those of its chains. Returns the new `size` (see `_fire`)."""
    if space.walk.flag[0]:  # results after a stop are discarded
        return size
    most = NO_LIMIT
    if firings is not None:
        most = firings.most
    elif weights is None:
        first, second = plan.chain_steps[i, 0], plan.chain_steps[i, min(1, plan.chain_length[i] - 1)]
        moves = not graph.is_unary[first >> 1] and not graph.is_unary[second >> 1]
        if plan.chain_length[i] == 2 and plan.chain_distinct[i] and moves:
            return _two_moves(graph, plan, i, hidden, top, space, size)
    if weights is None:
        found = reach(
            graph, space.walk, plan.chain_steps[i], plan.chain_length[i], hidden.start, plan.chain_distinct[i], hidden,
            most + 1, -1,
        )  # fmt: skip
    else:
        found = spread(
            graph, space.walk, plan.chain_steps[i], plan.chain_length[i], hidden.start, plan.chain_distinct[i], hidden,
            -1, False, -1,
        )  # fmt: skip
    if found > most:
        return size
    evidence, kind = plan.chain_evidence[i], plan.kind[0 if plan.chain_length[i] == 1 else 1]
    for k in range(found):
        b = space.walk.ends[k]
        if _matters(space, firings, b, evidence, kind):
            size = _fire(space, firings, size, b, evidence, weights, i, _value(space.walk.value, b), top, kind)
    return size


@compiled
def _forward(
    graph: Graph, plan: Plan, hidden: HiddenFact, top: int, space: ScoreSpace, firings: Firings | None, size: int
) -> int:
    """Fire the rules whose head names the candidate and whose body is one step from the known entity."""
    known, item_kind, half_kind = hidden.start, plan.kind[2], plan.kind[3]
    for span in range(graph.node_span[known], graph.node_span[known + 1]):
        code = graph.span_code[span]
        skipped = hidden_neighbour(hidden, code, known)
        to_any, to_others = 0.0, 0.0
        for e in range(graph.span_pointer[span], graph.span_pointer[span + 1]):
            if graph.neighbour[e] == skipped:
                continue
            degree = _degree(graph, plan.item_weight, e)
            to_any += degree
            to_others += degree if graph.neighbour[e] != known else 0.0
            item = graph.back_span[e]
            i = first_at_least(plan.item, 0, len(plan.item), item)
            while i < len(plan.item) and plan.item[i] == item:
                b, evidence = plan.item_candidate[i], plan.item_evidence[i]
                if _matters(space, firings, b, evidence, item_kind):
                    size = _fire(space, firings, size, b, evidence, plan.item_weight, i, degree, top, item_kind)
                i += 1
        i = first_at_least(plan.half_code, 0, len(plan.half_code), code)
        while i < len(plan.half_code) and plan.half_code[i] == code:
            b, evidence, degree = plan.half_candidate[i], plan.half_evidence[i], to_any
            if plan.half_distinct[i]:
                degree = to_others
            if _matters(space, firings, b, evidence, half_kind) and degree > 0.0:
                degree = min(degree, 1.0)
                size = _fire(space, firings, size, b, evidence, plan.half_weight, i, degree, top, half_kind)
            i += 1
    return size


@compiled
def _body_degree(graph: Graph, hidden: HiddenFact, x: int, body: int, place: int, weights: Doubles | None) -> float:
    """Return the degree to which the body holds for x, its member at `place`, without the hidden fact."""
    num_items = len(graph.span_node)
    if body < num_items:
        is_hidden = graph.span_node[body] == hidden_neighbour(hidden, graph.span_code[body] ^ 1, x)
        return 0.0 if is_hidden else _degree(graph, weights, place)
    code, distinct, total = (body - num_items) >> 1, (body - num_items) & 1 == 1, 0.0
    skipped = hidden_neighbour(hidden, code, x)
    low, high = span_edges(graph, x, code)
    for e in range(low, high):
        there = graph.neighbour[e]
        if there != skipped and not (distinct and there == x):
            if weights is None:
                return 1.0
            total += edge_weight(graph, e)
    return min(total, 1.0)


@compiled
def _back(
    graph: Graph, plan: Plan, begin: int, end: int, hidden: HiddenFact, top: int, space: ScoreSpace,
    firings: Firings | None, size: int,
) -> int:  # fmt: skip
    """Fire the back rules begin .. end - 1: their head names the known entity, their body holds for the candidate.

    One call handles many rules, because most have few members and a call passes many arguments.
    """
    num_items = len(graph.span_node)
    for i in range(begin, end):
        body, evidence = plan.back_body[i], plan.back_evidence[i]
        kind = plan.kind[4 if body < num_items else 5]
        low, high = body_range(graph, body)
        if firings is not None and high - low > firings.most:
            continue
        for m in range(low, high):
            x = body_member(graph, body, m)
            if x < 0 or not _matters(space, firings, x, evidence, kind):
                continue
            degree = 1.0
            if hidden.end >= 0 or is_soft(plan.back_weight):
                degree = _body_degree(graph, hidden, x, body, m, plan.back_weight)
            if degree > 0.0:
                size = _fire(space, firings, size, x, evidence, plan.back_weight, i, degree, top, kind)
    return size


@compiled
def _chains_and_back(
    graph: Graph, plan: Plan, hidden: HiddenFact, top: int, most_steps: int, space: ScoreSpace, firings: Firings | None
) -> int:
    """Fire chains and back rules from strong to weak, so that most later firings are below the floor at once."""
    size = 0
    back, last = back_rules(plan, hidden.start)
    for i in range(len(plan.chain_length)):
        if plan.chain_length[i] > most_steps:
            continue
        stronger = back
        while stronger < last and plan.back_evidence[stronger] > plan.chain_evidence[i]:
            stronger += 1
        if stronger > back:
            size = _back(graph, plan, back, stronger, hidden, top, space, firings, size)
            back = stronger
        size = chain(graph, plan, plan.chain_weight, i, hidden, top, space, firings, size)
    return _back(graph, plan, back, last, hidden, top, space, firings, size)


@compiled
def collect(
    graph: Graph, plan: Plan, hidden: HiddenFact, top: int, most_steps: int, extra: np.ndarray, space: ScoreSpace
) -> int:
    """Collect the strongest rules of each kind for every candidate, with chains of up to `most_steps` steps.

    Returns the number of candidates with at least one rule. The rows of `extra`, (candidate, evidence), count too.
    """
    touched = _chains_and_back(graph, plan, hidden, top, most_steps, space, None)
    touched = _forward(graph, plan, hidden, top, space, None, touched)
    kind = plan.kind[6]
    for i in range(len(extra)):
        if counts(space, extra[i, 0], extra[i, 1], kind):
            touched = add(space, touched, extra[i, 0], extra[i, 1], top, kind)
    return touched


@compiled
def list_chains(
    graph: Graph, plan: Plan, hidden: HiddenFact, uses_hidden: bool, space: ScoreSpace, firings: Firings, size: int
) -> int:
    """List every (rule, candidate) of the chains that can use the `hidden` fact (`uses_hidden`), or of all others.

    The others fire alike whichever fact of the target is hidden. With distinct variables, only the first move of a
    chain can use it: the chain starts at one end of the fact and never returns.

    The `plan` holds rule numbers, starting at 1, in place of evidence (`Ranker.numbered_plan`). Every fact of `graph`
    counts as true; `space` is scratch. `size` is the number of `firings` before; returns the new one.
    """
    for i in range(len(plan.chain_length)):
        can_use = False
        for j in range(plan.chain_length[i]):
            code = plan.chain_steps[i, j]
            if graph.is_unary[code >> 1]:
                continue
            if plan.chain_distinct[i]:
                can_use = code == plan.code
                break
            can_use |= code >> 1 == plan.code >> 1
        if can_use == uses_hidden:
            size = chain(graph, plan, plan.chain_weight, i, hidden, 0, space, firings, size)
    return size


@compiled
def list_others(graph: Graph, plan: Plan, hidden: HiddenFact, space: ScoreSpace, firings: Firings, size: int) -> int:
    """List every (rule, candidate) of the chains that can use the `hidden` fact, and of the rules with constants.

    `size` and the other arguments are those of `list_chains`.
    """
    size = list_chains(graph, plan, hidden, True, space, firings, size)
    begin, end = back_rules(plan, hidden.start)
    size = _back(graph, plan, begin, end, hidden, 0, space, firings, size)
    return _forward(graph, plan, hidden, 0, space, firings, size)


# totals -----------------------------------------------------------------------------------------------


@compiled
def load_priors(plan: Plan, space: ScoreSpace) -> None:
    """Copy the priors of `plan` into `space`, until `drop_priors`."""
    for i in range(len(plan.prior_candidate)):
        space.prior[plan.prior_candidate[i]] = plan.weighed_prior[i]


@compiled
def drop_priors(plan: Plan, space: ScoreSpace) -> None:
    """Undo `load_priors` of this `plan` in `space`."""
    for i in range(len(plan.prior_candidate)):
        space.prior[plan.prior_candidate[i]] = 0


@compiled
def untouched_total(space: ScoreSpace, base: int, strongest_only: bool, candidate: int) -> int:
    """Return the total of a `candidate` with no rule except priors; `base` is the `back_prior_of` the query."""
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
    """Compute space.total of the `touched` candidates; returns the new number of touched candidates.

    Candidates that an exclusion rules out become touched, with a total of 0.
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
    # Every true fact can exclude a candidate, except the hidden fact: it must not rule itself out.
    for e in range(graph.pointer[known], graph.pointer[known + 1]):
        code, b = graph.code[e], graph.neighbour[e]
        if plan.excluded[code] and edge_weight(graph, e) >= LEAST_TRUE and b != hidden_neighbour(hidden, code, known):
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
    """Count the candidates, out of `num_entities`, whose `untouched_total` is at least `least`.

    Only the priors of `plan` count, and `base` as in `untouched_total`.
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
