"""The evidence of every candidate for a query, from the line rules of its target. Compiled loops.

A candidate keeps the `top` strongest rules that fire for it; priors count beside them. With top = 0
all rules count, and `strongest` (the aggregation `max`) keeps only the best, prior or not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.arrays import Longs
from ..engine.kernels import compiled
from ..engine.walk import NO_LIMIT, WalkSpace, code_range, reach, walk_space
from .evidence import SHIFT, UNIT


class ScoreSpace(NamedTuple):
    """Scratch of one thread, all zeros between queries. strongest[b, k, :] holds the best evidence of candidate b from
    rules of kind k, largest first; floor[b, k] is the last of them: what a rule must exceed to count."""

    strongest: np.ndarray
    floor: np.ndarray
    is_touched: np.ndarray
    touched: Longs
    total: Longs
    walk: WalkSpace


def score_space(num_entities: int, top: int, most_steps: int, kinds: int = 1) -> ScoreSpace:
    return ScoreSpace(
        np.zeros((num_entities, kinds, max(top, 1)), np.int64),
        np.zeros((num_entities, kinds), np.int64),
        np.zeros(num_entities, np.bool_),
        np.zeros(num_entities, np.int64),
        np.zeros(num_entities, np.int64),
        walk_space(num_entities, max(most_steps, 1)),
    )


@compiled
def sink(slots, evidence, top):
    """Keep the `top` largest values, sorted (top = 0: their sum); zeros are free slots."""
    if top == 0:
        slots[0] += evidence
        return
    place = top - 1
    if evidence <= slots[place]:
        return
    while place > 0 and slots[place - 1] < evidence:
        slots[place] = slots[place - 1]
        place -= 1
    slots[place] = evidence


@compiled
def add(space, num_touched, candidate, evidence, top, kind):
    """Give `candidate` one more firing rule (above its floor); returns the number of candidates touched so far."""
    slots = space.strongest[candidate, kind]
    if not space.is_touched[candidate]:
        space.is_touched[candidate] = True
        space.touched[num_touched] = candidate
        num_touched += 1
    sink(slots, evidence, top)
    if top > 0:
        space.floor[candidate, kind] = slots[top - 1]
    return num_touched


@compiled
def _hidden_end(query_code, known, hidden_end, node, code):
    """Where the query's own fact would lead from `node` along `code`: no such edge counts. -1: nowhere."""
    if hidden_end >= 0:
        if code == query_code and node == known:
            return hidden_end
        if code == (query_code ^ 1) and node == hidden_end:
            return known
    return -1


@compiled
def leaves(edges, node, code, distinct, hidden_end):
    """Has `node` an edge `code` (to another entity when distinct) besides the one to hidden_end?"""
    low, high = code_range(edges, node, code)
    for e in range(low, high):
        there = edges.neighbour[e]
        if there != hidden_end and not (distinct and there == node):
            return True
    return False


@compiled
def _lower_bound(values, wanted):
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _two_moves(edges, plan, i, known, hidden_end, top, space, num_touched):
    """_chain for two moves with distinct variables, the bulk of all chains; only their first move can be hidden."""
    evidence, kind = plan.chain_evidence[i], plan.kind[1]
    space.walk.clock[0] += 1
    epoch = space.walk.clock[0]
    second = plan.chain_steps[i, 1]
    hidden = _hidden_end(plan.code, known, hidden_end, known, plan.chain_steps[i, 0])
    low, high = code_range(edges, known, plan.chain_steps[i, 0])
    for e in range(low, high):
        middle = edges.neighbour[e]
        if middle == known or middle == hidden:
            continue
        begin, end = code_range(edges, middle, second)
        for f in range(begin, end):
            b = edges.neighbour[f]
            if evidence > space.floor[b, kind] and space.walk.seen[b] != epoch and b != known and b != middle:
                space.walk.seen[b] = epoch
                num_touched = add(space, num_touched, b, evidence, top, kind)
    return num_touched


@compiled
def _chain(edges, plan, i, is_unary, no_group, known, hidden_end, top, space, num_touched):
    first, second = plan.chain_steps[i, 0], plan.chain_steps[i, min(1, plan.chain_length[i] - 1)]
    moves = not is_unary[first >> 1] and not is_unary[second >> 1]
    if plan.chain_length[i] == 2 and plan.chain_distinct[i] and moves:
        return _two_moves(edges, plan, i, known, hidden_end, top, space, num_touched)
    found = reach(edges, space.walk, plan.chain_steps[i], plan.chain_length[i], is_unary, known,
                  plan.chain_distinct[i], plan.code, hidden_end, no_group, NO_LIMIT)
    evidence, kind = plan.chain_evidence[i], plan.kind[0 if plan.chain_length[i] == 1 else 1]
    for k in range(found):
        end = space.walk.ends[k]
        if evidence > space.floor[end, kind]:
            num_touched = add(space, num_touched, end, evidence, top, kind)
    return num_touched


@compiled
def _forward(edges, plan, known, hidden_end, top, space, num_touched):
    previous = -1
    item_kind, half_kind = plan.kind[2], plan.kind[3]
    for e in range(edges.pointer[known], edges.pointer[known + 1]):
        code = edges.code[e]
        if edges.neighbour[e] != _hidden_end(plan.code, known, hidden_end, known, code):
            item = edges.item_of_edge[e]
            i = _lower_bound(plan.item, item)
            while i < len(plan.item) and plan.item[i] == item:
                if plan.item_evidence[i] > space.floor[plan.item_candidate[i], item_kind]:
                    num_touched = add(space, num_touched, plan.item_candidate[i], plan.item_evidence[i], top, item_kind)
                i += 1
        if code != previous:
            previous = code
            hidden = _hidden_end(plan.code, known, hidden_end, known, code)
            i = _lower_bound(plan.half_code, code)
            while i < len(plan.half_code) and plan.half_code[i] == code:
                better = plan.half_evidence[i] > space.floor[plan.half_candidate[i], half_kind]
                if better and leaves(edges, known, code, plan.half_distinct[i], hidden):
                    num_touched = add(space, num_touched, plan.half_candidate[i], plan.half_evidence[i], top, half_kind)
                i += 1
    return num_touched


@compiled
def _back(edges, plan, i, known, hidden_end, top, space, num_touched):
    body, evidence = plan.back_body[i], plan.back_evidence[i]
    kind = plan.kind[4 if body >= 0 else 5]
    if body >= 0:
        code, end = edges.item_code[body], edges.item_entity[body]
        for m in range(edges.item_pointer[body], edges.item_pointer[body + 1]):
            x = edges.item_member[m]
            if evidence > space.floor[x, kind] and end != _hidden_end(plan.code, known, hidden_end, x, code):
                num_touched = add(space, num_touched, x, evidence, top, kind)
        return num_touched
    code = -2 - body
    previous = -1
    for j in range(edges.code_pointer[code], edges.code_pointer[code + 1]):
        x = edges.code_node[j]
        if x == previous or evidence <= space.floor[x, kind]:
            continue
        previous = x
        hidden = _hidden_end(plan.code, known, hidden_end, x, code)
        if leaves(edges, x, code, plan.back_distinct[i], hidden):
            num_touched = add(space, num_touched, x, evidence, top, kind)
    return num_touched


@compiled
def _chains_and_back(edges, plan, is_unary, known, hidden_end, top, space):
    """Both kinds from strong to weak, so that most later firings fall below the floor at once."""
    no_group = np.zeros(len(is_unary), np.bool_)
    num_touched = 0
    chain, num_chains = 0, len(plan.chain_length)
    back, last = plan.back_pointer[known], plan.back_pointer[known + 1]
    while chain < num_chains or back < last:
        if back == last or (chain < num_chains and plan.chain_evidence[chain] >= plan.back_evidence[back]):
            num_touched = _chain(edges, plan, chain, is_unary, no_group, known, hidden_end, top, space, num_touched)
            chain += 1
        else:
            num_touched = _back(edges, plan, back, known, hidden_end, top, space, num_touched)
            back += 1
    return num_touched


@compiled
def score_query(edges, plan, is_unary, known, hidden_end, top, strongest_only, extra, space):
    """space.total[b] = the evidence of candidate b for the query at `known`; hidden_end: its own fact, or -1.

    `extra` rows (candidate, evidence) are firings of rules that the general engine evaluated.
    A candidate that an exclusion rules out has none, priors included.
    """
    touched = collect(edges, plan, is_unary, known, hidden_end, 1 if strongest_only else top, extra, space)
    sum_up(edges, plan, known, hidden_end, strongest_only, space, touched)
    clear(space, touched)


@compiled
def collect(edges, plan, is_unary, known, hidden_end, top, extra, space):
    """The strongest rules of each kind for every candidate; returns how many candidates have any."""
    touched = _chains_and_back(edges, plan, is_unary, known, hidden_end, top, space)
    touched = _forward(edges, plan, known, hidden_end, top, space, touched)
    kind = plan.kind[6]
    for i in range(len(extra)):
        if extra[i, 1] > space.floor[extra[i, 0], kind]:
            touched = add(space, touched, extra[i, 0], extra[i, 1], top, kind)
    return touched


@compiled
def sum_up(edges, plan, known, hidden_end, strongest_only, space, touched):
    base = weighed(plan.back_prior[known], plan.prior_weight)
    for b in range(edges.num_entities):
        prior = weighed(plan.prior[b], plan.prior_weight)
        space.total[b] = max(base, prior) if strongest_only else base + prior
    for i in range(touched):
        b = space.touched[i]
        if strongest_only:
            space.total[b] = max(space.total[b], space.strongest[b, 0, 0])
            continue
        for k in range(space.strongest.shape[1]):
            for j in range(space.strongest.shape[2]):
                if space.strongest[b, k, j] == 0:
                    break
                space.total[b] += weighed(space.strongest[b, k, j], plan.weight[k, j])
    _exclude(edges, plan, known, hidden_end, space.total)


@compiled
def weighed(evidence, weight):
    """A sum of all rules may be too large to multiply, but then nothing is weighed."""
    return evidence if weight == UNIT else (evidence * weight) >> SHIFT


@compiled
def clear(space, touched):
    for i in range(touched):
        b = space.touched[i]
        space.strongest[b] = 0
        space.floor[b] = 0
        space.is_touched[b] = False


@compiled
def _exclude(edges, plan, known, hidden_end, total):
    """No fact but the hidden one is overlooked: it must not rule itself out."""
    for e in range(edges.pointer[known], edges.pointer[known + 1]):
        code, b = edges.code[e], edges.neighbour[e]
        if plan.excluded[code] and b != _hidden_end(plan.code, known, hidden_end, known, code):
            total[b] = 0


@compiled
def count_ranks(total, answer, known_answers, low, high):
    """(candidates above the answer, candidates tied with it and itself); known other answers do not count."""
    above, tied = 0, 0
    for b in range(len(total)):
        above += total[b] >= high
        tied += low <= total[b] < high
    for i in range(len(known_answers)):
        b = known_answers[i]
        if b != answer:
            above -= total[b] >= high
            tied -= low <= total[b] < high
    return above, tied
