"""Authors of theories: from the proposals of a target's rules to an ordered choice of rules with weights.

All authors have the same contract: a `Surveyed` target and the choice of the greedy cover in, a `CoverChoice` out. The
cover is the first author and the fallback; the others start from its choice. `weigh_together` is defined here, the
other one in `formulas.py`.

Weights are fitted jointly: the candidates of a query compete, and the answer should have the most evidence among all
that the rules propose. Evidence is summed exactly as in ranking. Each rule stays near its counted weight: its evidence
is multiplied by exp(t), with the penalty `HOLD * t^2 / 2`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ..data.arrays import Doubles, Ids, Longs, Mask
from ..evaluation.ranking import Ranker
from ..kernel.aggregation import SCALE, UNIT, Aggregation, evidence, kind_weights
from ..kernel.compiled import compiled
from ..kernel.minimise import minimise
from .cover import CoverChoice
from .firings import Proposals

HOLD = 50.0
"""Strength of the penalty, in facts: the log-likelihood of each fact counts 1."""
STEPS = 30
"""Limit of the steps of L-BFGS."""


class Surveyed(NamedTuple):
    """The input of an author for one binary target.

    ranker       a ranker with the rules that the covers chose
    target       the predicate id
    numbers      the numbers of these rules of the target among all considered rules, ascending
    proposals    what they propose for a sample of facts; rules are positions in `numbers`
    aggregation  how rules become a score
    size         the number of rules of the theory
    seed         the seed of all randomness
    """

    ranker: Ranker
    target: int
    numbers: Longs
    proposals: Proposals
    aggregation: Aggregation
    size: int
    seed: int

    def places(self, rule: Longs) -> Longs:
        """Return the position in `numbers` of each `rule`, given by its number among all considered rules."""
        return np.searchsorted(self.numbers, rule)


Author = Callable[[Surveyed, CoverChoice], CoverChoice]


def weigh_together(surveyed: Surveyed, cover: CoverChoice) -> CoverChoice:
    """Return the rules of the `cover` in order, the first `size` with jointly fitted weights."""
    chosen = surveyed.places(cover.rule[: surveyed.size])
    rules = surveyed.ranker.rules_of(surveyed.target)
    some = only(surveyed.proposals, chosen, len(rules))
    kinds = surveyed.ranker.kinds_of(surveyed.target)[:, chosen]
    weight = cover.weight.copy()
    weight[: len(chosen)] = fit_weights(some, rules.weights[chosen], kinds, surveyed.aggregation)
    return cover._replace(weight=weight)


def only(proposals: Proposals, rules: Longs, num_rules: int) -> Proposals:
    """Return the proposals of these `rules`, numbered by their position in the list."""
    number = np.full(num_rules, -1)
    number[rules] = np.arange(len(rules))
    candidate, rule = proposals.firings
    kept = number[rule] >= 0
    candidate, rule = candidate[kept], number[rule[kept]]
    order = np.lexsort((rule, candidate))
    candidate, rule = candidate[order], rule[order]
    first = np.flatnonzero(np.diff(candidate, prepend=-1))
    alive = candidate[first]
    return proposals._replace(
        query=proposals.query[alive],
        is_right=proposals.is_right[alive],
        pointer=np.append(first, len(rule)).astype(np.int64),
        rule=rule.astype(np.int32),
    )


def fit_weights(proposals: Proposals, weight: Doubles, kind: Longs, aggregation: Aggregation) -> Doubles:
    """Return the weights that make the answers of the queries most probable among the proposed candidates.

    Args:
        proposals: what the rules propose.
        weight: the counted weight of each rule, at which the fit starts and towards which it is regularised.
        kind: (2, rules): the kind of each rule, by direction of query.
        aggregation: how ranking sums evidence.
    """
    used, size = _competing(proposals), len(weight)
    counted = evidence(weight) / SCALE
    row, place_weight, _ = kind_weights(aggregation)
    kind_row = np.ascontiguousarray(np.append(row, 0)[kind])  # one layout: the loop is compiled once
    places = aggregation.places or size
    share = place_weight[:, :places] / UNIT if aggregation.top else np.ones((1, places))
    num_facts = max(proposals.num_facts, 1)
    direction = (proposals.query // num_facts).astype(np.int64)
    fact_weight = proposals.weight[proposals.query % num_facts]
    pointer = np.flatnonzero(np.diff(proposals.query, prepend=-1, append=-1)).astype(np.int64)

    def loss(parameters: Doubles) -> tuple[float, Doubles]:
        strength = counted * np.exp(np.clip(parameters[:size], -20, 20))
        gradient = np.zeros(size + 1)
        value = _loss(
            pointer, used, proposals.is_right, direction, fact_weight, proposals.pointer, proposals.rule,
            kind_row, share, strength, float(np.exp(np.clip(parameters[size], -20, 20))), gradient,
        )  # fmt: skip
        gradient[:size] += HOLD * parameters[:size]
        return value + 0.5 * HOLD * float(np.add.reduce(parameters[:size] ** 2)), gradient

    found = minimise(loss, np.zeros(size + 1), STEPS)
    return np.asarray(-np.expm1(-counted * np.exp(np.clip(found[:size], -20, 20))))


def _competing(proposals: Proposals) -> Mask:
    """Return which queries have both the answer and another candidate: others contribute nothing to the fit."""
    begin = np.flatnonzero(np.diff(proposals.query, prepend=-1))
    right = np.logical_or.reduceat(proposals.is_right, begin) if len(begin) else np.zeros(0, bool)
    return right & (np.diff(np.append(begin, len(proposals.query))) > 1)


@compiled
def _loss(
    pointer: Longs, used: Mask, is_right: Mask, direction: Longs, fact_weight: Doubles, rule_pointer: Longs, rule: Ids,
    kind_row: Longs, share: np.ndarray, strength: Doubles, scale: float, gradient: Doubles,
) -> float:  # fmt: skip
    """Return the negative log-likelihood of the answers; add its derivatives to `gradient`."""
    loss = 0.0
    total = np.zeros(1)
    for q in range(len(pointer) - 1):
        if not used[q]:
            continue
        begin, end = pointer[q], pointer[q + 1]
        if end - begin > len(total):
            total = np.zeros(2 * (end - begin))
        top, right = 0.0, 0.0
        for c in range(begin, end):
            added = 0.0
            for i in range(rule_pointer[c], rule_pointer[c + 1]):
                counts = _share(rule_pointer[c], rule_pointer[c + 1], i, rule, kind_row[direction[c]], share, strength)
                added += counts * strength[rule[i]]
            total[c - begin] = scale * added
            top = max(top, total[c - begin])
            if is_right[c]:
                right = total[c - begin]
        mass = 0.0
        for c in range(begin, end):
            mass += np.exp(total[c - begin] - top)
        weight = fact_weight[begin]
        loss += weight * (np.log(mass) + top - right)
        for c in range(begin, end):
            slope = weight * (np.exp(total[c - begin] - top) / mass - (1.0 if is_right[c] else 0.0))
            gradient[-1] += slope * total[c - begin]
            for i in range(rule_pointer[c], rule_pointer[c + 1]):
                counts = _share(rule_pointer[c], rule_pointer[c + 1], i, rule, kind_row[direction[c]], share, strength)
                gradient[rule[i]] += slope * scale * counts * strength[rule[i]]
    return loss


@compiled
def _share(low: int, high: int, i: int, rule: Ids, kind_row: Longs, share: np.ndarray, strength: Doubles) -> float:
    """Return how much rule[i] counts among the rules low .. high - 1 of a candidate.

    This depends on its kind and on the number of stronger rules of that kind.
    """
    own, place = kind_row[rule[i]], 0
    for j in range(low, high):
        if kind_row[rule[j]] == own:
            stronger = strength[rule[j]] > strength[rule[i]] or (strength[rule[j]] == strength[rule[i]] and j < i)
            place += stronger
    return share[own, place] if place < share.shape[1] else 0.0


def _formulas(surveyed: Surveyed, cover: CoverChoice) -> CoverChoice:
    from .formulas import write_formulas  # imports torch

    return write_formulas(surveyed, cover)


WRITERS: Mapping[str, Author] = {"weights": weigh_together, "formulas": _formulas}
"""All authors except the cover."""
