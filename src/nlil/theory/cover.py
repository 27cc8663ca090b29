"""A greedy cover: the rules that together explain the most facts, each fact by its best rule.

The value of a set of rules is a sum over queries: the precision of the best rule in it that proposes the answer, a
tenth of that of the second best, a hundredth of that of the third, and so on. So more rules are added even when every
training fact has one: for an unknown fact, the best rule may lack a fact that it needs, and another rule can take its
place. Greedy choice achieves at least 1 - 1/e of the best value of any set of that size (Nemhauser 1978), and its first
k rules are the choice of size k. Of rules that hold for the same pairs, only the plainest is a candidate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.arrays import Doubles, Ids, Longs, Mask
from ..kernel.compiled import compiled
from ..kernel.ruleset import RuleSet
from ..logic.rule import ScoredRule
from .firings import Hits

LEAST_GAIN = 1e-9
"""Smaller gains are rounding errors of sums in different orders."""
NEXT, PLACES = 0.1, 8
"""Each next best rule of a query counts this share of the one before, up to this many rules. With two places the
theories of kin ended after 140 rules, at .907 of the score of all rules; shares of .1 to .3 differ by less than .005 on
the other sets, in either direction."""
STRONGEST = 40
"""Rules listed as the strongest on their own: a rule that is redundant here may still refine another in a formula."""
SAME_FACTS = 0.9
"""A rule belongs to the family of a chosen rule that proposes at least this share of its answers."""


PER_ATOM, CIRCULAR = 0.9, 0.5
"""`plainness`: the factor for each atom after the first, and for rules with the target in the body."""


class CoverChoice(NamedTuple):
    """The rules that an author chose for one target, the one that adds most first.

    rule       their numbers; numbers from the number of rules on refer to `own`
    gain       what each adds to the mean value of a query
    explained  training facts that it explains and no rule before it does
    backs_up   training facts that it explains and a rule before it explains too
    num_facts  the number of facts tried
    family     for each rule, the position of the chosen rule whose family it belongs to, or -1
    weight     the weight of each chosen rule; nan: the counted one
    strongest  the rules with the largest value on their own
    own        rules that the author wrote, with their statistics
    """

    rule: Longs
    gain: Doubles
    explained: Longs
    backs_up: Longs
    num_facts: int
    family: Longs
    weight: Doubles
    strongest: Longs
    own: tuple[ScoredRule, ...] = ()


def cover(hits: Hits, plainness: Doubles, most: int, family_of: int) -> CoverChoice:
    """Choose at most `most` rules greedily.

    Args:
        hits: the answers that the rules propose.
        plainness: a factor of each rule in [0, 1], by which its gain is multiplied when rules are compared.
        most: the greatest number of rules.
        family_of: only the first so many chosen rules have families.
    """
    num_rules = hits.wrong.shape[1]
    pointer = np.searchsorted(hits.rule, np.arange(num_rules + 1)).astype(np.int64)
    fact, most_weight = hits.query % max(hits.num_facts, 1), max(len(hits.wrong) * hits.weight.sum(), 1)
    value = hits.precision[hits.query // max(hits.num_facts, 1), hits.rule] * hits.weight[fact]
    bound, best = np.where(_first_of_equals(hits, plainness), np.inf, 0.0), np.zeros((hits.num_queries, PLACES))
    rule, gain = np.zeros(most, np.int64), np.zeros(most)
    size = _greedy(pointer, hits.query, value, plainness, bound, best, rule, gain)
    rule, gain = rule[:size], gain[:size]
    explained, backs_up = _explained(pointer, fact, hits.num_tried, rule)
    family = _families(pointer, hits.query, hits.num_queries, rule[:family_of])
    alone = np.bincount(hits.rule, value, num_rules) * plainness
    strongest = np.lexsort((np.arange(num_rules), -alone))[:STRONGEST]
    no_weight = np.full(len(rule), np.nan)
    return CoverChoice(rule, gain / most_weight, explained, backs_up, hits.num_tried, family, no_weight, strongest)


def plainness(rules: RuleSet) -> Doubles:
    """Return the factor by which the gain of each of `rules` is multiplied when rules are compared.

    Of rules that explain the same facts, people prefer short ones, and not those that explain a fact by another fact of
    the same predicate, which often explain many facts but are least informative.
    """
    lines, target = rules.bodies.lines, rules.head[:1]
    is_circular = rules.bodies.any_line(((lines.steps >> 1) == target).any(axis=1) & (lines.lengths > 0))
    plain = PER_ATOM ** np.maximum(rules.lengths - 1, 0)
    return np.where(is_circular[rules.body], CIRCULAR, 1.0) * plain if len(rules) else plain


def _first_of_equals(hits: Hits, plainness: Doubles) -> Mask:
    """Return which rules are the plainest of those with the same answers and equally many wrong candidates."""
    codes = np.random.default_rng(0).integers(2**63, size=hits.num_queries, dtype=np.uint64)
    answers = np.zeros(hits.wrong.shape[1], np.uint64)
    np.add.at(answers, hits.rule, codes[hits.query])  # equal sums modulo 2^64 mean equal sets
    order = np.lexsort((-plainness, *hits.wrong, answers))
    changes = np.any([np.diff(column[order]) != 0 for column in (answers, *hits.wrong)], axis=0)
    is_first = np.zeros(len(order), np.bool_)
    is_first[order] = np.concatenate(([True], changes))[: len(order)]
    return is_first


@compiled
def _greedy(
    pointer: Longs,
    query: Ids,
    value: Doubles,
    plainness: Doubles,
    gain: Doubles,
    best: np.ndarray,
    chosen: Longs,
    gains: Doubles,
) -> int:
    """Write the chosen rules to `chosen` and what each adds to `gains`; return how many there are.

    `gain` is an upper bound for each rule, 0 if it must not be chosen; `best` holds the largest values of the rules
    that propose the answer of each query. Gains only fall as rules are chosen, so only candidates for the largest are
    recomputed.
    """
    num_rules = len(pointer) - 1
    summed_at = np.zeros(num_rules, np.int64)  # the number of rules chosen before, plus one
    for k in range(len(chosen)):
        while True:
            r, largest = -1, LEAST_GAIN
            for j in range(num_rules):
                if gain[j] > largest:
                    r, largest = j, gain[j]
            if r < 0:
                return k
            if summed_at[r] == k + 1:
                break
            total = 0.0
            for i in range(pointer[r], pointer[r + 1]):
                total += _added(best[query[i]], value[i], False)
            gain[r], summed_at[r] = total * plainness[r], k + 1
        chosen[k], gains[k] = r, gain[r] / plainness[r]
        gain[r] = 0.0
        for i in range(pointer[r], pointer[r + 1]):
            _added(best[query[i]], value[i], True)
    return len(chosen)


@compiled
def _added(best: Doubles, value: float, keeps: bool) -> float:
    """Return what a rule of this value adds to a query with the rule values `best`; insert it if `keeps`."""
    added, share = 0.0, 1.0
    for j in range(len(best)):
        if value > best[j]:
            added += share * (value - best[j])
            before = best[j]
            if keeps:
                best[j] = value
            value = before  # shifted by one place
        if value == 0.0:
            break
        share *= NEXT
    return added


@compiled
def _explained(pointer: Longs, fact: Ids, num_tried: int, chosen: Longs) -> tuple[Longs, Longs]:
    """Return the numbers of training facts that each chosen rule explains first, and after another rule."""
    seen_by, first, again = np.full(num_tried, -1), np.zeros(len(chosen), np.int64), np.zeros(len(chosen), np.int64)
    for k in range(len(chosen)):
        for i in range(pointer[chosen[k]], pointer[chosen[k] + 1]):
            f = fact[i]
            if f < num_tried and seen_by[f] != k:  # a fact counts once, whatever the direction
                first[k] += seen_by[f] < 0
                again[k] += seen_by[f] >= 0
                seen_by[f] = k
    return first, again


@compiled
def _families(pointer: Longs, query: Ids, num_queries: int, chosen: Longs) -> Longs:
    """Return for each rule the position of the chosen rule that proposes most of its answers; ties go to the first."""
    hit = np.zeros((num_queries, len(chosen)), np.bool_)
    for k in range(len(chosen)):
        for i in range(pointer[chosen[k]], pointer[chosen[k] + 1]):
            hit[query[i], k] = True
    family, shared = np.full(len(pointer) - 1, -1), np.zeros(len(chosen), np.int64)
    for r in range(len(pointer) - 1):
        shared[:] = 0
        for i in range(pointer[r], pointer[r + 1]):
            for k in range(len(chosen)):
                shared[k] += hit[query[i], k]
        size, most = pointer[r + 1] - pointer[r], 0
        for k in range(len(chosen)):
            if shared[k] > most and shared[k] >= SAME_FACTS * size:
                most, family[r] = shared[k], k
    for k in range(len(chosen)):
        family[chosen[k]] = k
    return family
